/*
 * odd_host.c - programs that use the driver in ways that went wrong under other tools; see the cases.
 * Over odd_driver.c, or any driver where a case says so.
 *
 *	odd_host CASE [ARGUMENT]
 *
 * What it prints must not depend on being observed. The launches that it made, by its own count, go
 * into the file that ODD_COUNT names. A case that hangs is ended by the test.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/hosts/odd.h"

static int (*launch)(LAUNCH_PARAMS);
static void *cuda, *context;
static _Atomic uint64_t made;
static _Atomic int stop;

static int launch_blocks(unsigned blocks)
{
	int result = launch(context, blocks, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);

	atomic_fetch_add(&made, 1);
	return result;
}

static int launch_one(void)
{
	return launch_blocks(3);
}

static int launch_many(int count)
{
	int failed = 0;

	for (int i = 0; i < count; i++)
		failed += launch_one() != 0;
	return failed;
}

static void *entry(const char *symbol)
{
	void *found = dlsym(cuda, symbol);

	if (!found) {
		fprintf(stderr, "no %s\n", symbol);
		exit(2);
	}
	return found;
}

static void start(void)
{
	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (!cuda) {
		fprintf(stderr, "%s\n", dlerror());
		exit(77);
	}
	((int (*)(unsigned))entry("cuInit"))(0);
	((int (*)(void **, int))entry("cuDevicePrimaryCtxRetain"))(&context, 0);
	*(void **)&launch = entry("cuLaunchKernel");
}

static void tell_count(void)
{
	const char *path = getenv("ODD_COUNT");
	FILE *out = path ? fopen(path, "w") : NULL;

	if (out) {
		fprintf(out, "%llu\n", (unsigned long long)atomic_load(&made));
		fclose(out);
	}
}

/* ---- plain: as many launches as it says; its library may have launched before */

static int run_plain(const char *argument)
{
	start();
	printf("failed %d\n", launch_many(argument ? atoi(argument) : 100));
	return 0;
}

/* ---- sealed: four threads launch while every other call of the driver waits for ever */

static void *launch_thread(void *count)
{
	launch_many((int)(intptr_t)count);
	return NULL;
}

static int run_sealed(const char *argument)
{
	pthread_t thread[4];

	(void)argument;
	start();
	launch_many(10);
	usleep(400000); /* what follows the first launch has been done */
	((void (*)(void))entry("odd_seal"))();
	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, launch_thread, (void *)(intptr_t)5000);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("done\n");
	return 0;
}

/* ---- quiet: what a thread allocates while it launches, by odd_alloc.c */

static int run_quiet(const char *argument)
{
	uint64_t (*count)(void);
	uint64_t before;

	(void)argument;
	start();
	*(void **)&count = dlsym(RTLD_DEFAULT, "odd_alloc_count");
	if (!count)
		return 2;
	launch_many(10);
	usleep(400000);
	before = count();
	launch_many(20000);
	printf("allocated %llu times\n", (unsigned long long)(count() - before));
	return 0;
}

/* ---- signals: a handler launches, too, wherever it comes */

static _Atomic int handled;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	launch_blocks(5); /* another than the one that it may have come in */
	atomic_fetch_add(&handled, 1);
}

static void set_timer(long period_us)
{
	struct itimerval timer = {.it_interval = {.tv_usec = period_us},
	                          .it_value = {.tv_usec = period_us}};

	setitimer(ITIMER_REAL, &timer, NULL);
}

static int run_signals(const char *argument)
{
	struct sigaction action = {.sa_handler = on_alarm};

	(void)argument;
	start();
	sigaction(SIGALRM, &action, NULL);
	set_timer(300);
	while (atomic_load(&handled) < 1000)
		launch_one();
	set_timer(0);
	printf("launched by %s\n", "both");
	return 0;
}

/* ---- longjmp: a handler leaves the launch that it interrupted for good */

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void on_alarm_jump(int signal_number)
{
	(void)signal_number;
	if (may_jump)
		siglongjmp(back, 1);
}

static int run_longjmp(const char *argument)
{
	struct sigaction action = {.sa_handler = on_alarm_jump};
	volatile int jumps = 0;

	(void)argument;
	start();
	launch_many(10);
	sigaction(SIGALRM, &action, NULL);
	set_timer(300);
	if (sigsetjmp(back, 1))
		jumps++;
	while (jumps < 300) {
		may_jump = 1;
		launch_one();
	}
	may_jump = 0;
	set_timer(0);
	launch_many(1000);
	printf("jumped\n");
	return 0;
}

/* ---- frozen: a thread is held anywhere in a launch, and the others must not need it */

static _Atomic int is_frozen, may_thaw;

static void on_freeze(int signal_number)
{
	(void)signal_number;
	atomic_store(&is_frozen, 1);
	while (!atomic_load(&may_thaw))
		;
	atomic_store(&is_frozen, 0);
}

static void *launch_until_stopped(void *unused)
{
	while (!atomic_load(&stop))
		launch_one();
	return unused;
}

static int run_frozen(const char *argument)
{
	struct sigaction action = {.sa_handler = on_freeze};
	pthread_t thread;

	(void)argument;
	start();
	launch_many(10);
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, launch_until_stopped, NULL);
	for (int i = 0; i < 300; i++) {
		atomic_store(&may_thaw, 0);
		pthread_kill(thread, SIGUSR1);
		while (!atomic_load(&is_frozen))
			sched_yield();
		launch_many(50);
		atomic_store(&may_thaw, 1);
		while (atomic_load(&is_frozen))
			sched_yield();
		usleep(50);
	}
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	printf("thawed\n");
	return 0;
}

/* ---- unload: the library that ARGUMENT names, loaded and unloaded under launches */

static int run_unload(const char *argument)
{
	pthread_t thread[2];
	int loaded = 0;

	start();
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, launch_until_stopped, NULL);
	while (atomic_load(&made) < 1000)
		sched_yield();
	for (int i = 0; i < 300; i++) {
		void *library = dlopen(argument, RTLD_NOW);

		loaded += library != NULL;
		if (library)
			dlclose(library);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("loaded %d times\n", loaded);
	return 0;
}

/* ---- newer: an entry that a newer driver has under an old name, and private tables */

static int run_newer(const char *argument)
{
	int (*get)(const char *, void **, int, unsigned long long, int *);
	int (*newer)(LAUNCH_PARAMS) = NULL;
	const void *const *table = NULL;
	void *none = &none;
	int status = 77;

	(void)argument;
	start();
	launch_many(10);
	*(void **)&get = entry("cuGetProcAddress_v2");
	printf("result %d", get("cuNoSuchEntry", &none, 13000, 0, &status));
	printf(" %s status %d\n", none ? "something" : "nothing", status);
	get("cuLaunchKernel", (void **)&newer, 14000, 0, NULL);
	printf("newer: %d\n", newer(context, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	((int (*)(const void *const **, const void *))entry("cuGetExportTable"))(&table, NULL);
	*(const void **)&newer = table[1];
	printf("table: %d\n", newer(context, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	return 0;
}

/* ---- versions: dlsym as old and as new programs import it */

#if defined(__x86_64__) && defined(__GLIBC__)
__asm__(".symver dlsym_old, dlsym@GLIBC_2.2.5");
void *dlsym_old(void *handle, const char *symbol);
#else
#define dlsym_old dlsym
#endif

static int run_versions(const char *argument)
{
	(void)argument;
	start();
	launch_many(10);
	*(void **)&launch = dlsym_old(cuda, "cuLaunchKernel");
	printf("failed %d\n", launch_many(10));
	return 0;
}

/* ---- deepbind, dlmopen: a library that no preload reaches launches, beside the host */

static int run_apart(const char *library, int is_namespace)
{
	int (*other)(void *, int);
	void *handle;

	start();
	launch_many(10);
	handle = is_namespace ? dlmopen(LM_ID_NEWLM, library, RTLD_NOW)
	                      : dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
	*(void **)&other = dlsym(handle, "odd_library_launch");
	printf("failed %d\n", other(context, 30));
	return launch_many(10);
}

static int run_deepbind(const char *argument)
{
	return run_apart(argument, 0);
}

static int run_dlmopen(const char *argument)
{
	return run_apart(argument, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *argument);
	} cases[] = {
	        {"plain", run_plain},       {"sealed", run_sealed},   {"quiet", run_quiet},
	        {"signals", run_signals},   {"longjmp", run_longjmp}, {"frozen", run_frozen},
	        {"unload", run_unload},     {"newer", run_newer},     {"versions", run_versions},
	        {"deepbind", run_deepbind}, {"dlmopen", run_dlmopen},
	};
	int code = 2;

	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			code = cases[i].run(argc > 2 ? argv[2] : NULL);
	fflush(stdout);
	tell_count();
	return code;
}
