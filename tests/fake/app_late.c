/*
 * app_late.c - a thread goes on launching while the exit handlers run, after the library's own: for
 * app_late SECONDS. Prints "at-exit=N total=N": launches when main ended, and in all.
 *
 * For what a daemon does that is killed in between. Two threads; any driver, else 77.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/app_driver.h"

static const char late_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                               ".visible .entry late(.param .u64 unused)\n"
                               "{\n"
                               "ret;\n"
                               "}\n"
                               "// wtfake: kernel=late regs=32 block_ns=2000\n";

static wtcu_context context;
static wtcu_function function;
static _Atomic unsigned long launched;
static unsigned seconds = 1;

static void *keep_launching(void *unused)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	unsigned long long argument = 0;
	void *params[] = {&argument};

	(void)unused;
	APP_CHECK(app.ctx_set(context));
	for (;;) {
		app.launch(function, 4, 1, 1, 64, 1, 1, 0, NULL, params, NULL);
		launched++;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Registered before the library registers its own, so it runs after that. */
static void at_exit(void)
{
	printf("at-exit=%lu", launched);
	sleep(seconds);
	printf(" total=%lu\n", launched);
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	wtcu_module module;
	wtcu_device device;
	pthread_t thread;

	if (argc > 1)
		seconds = (unsigned)atoi(argv[1]);
	atexit(at_exit);
	app_load("dlsym");
	APP_CHECK(app.init(0));
	APP_CHECK(app.device_get(&device, 0));
	APP_CHECK(app.primary_retain(&context, device));
	APP_CHECK(app.ctx_set(context));
	APP_CHECK(app.module_load(&module, late_ptx));
	APP_CHECK(app.module_function(&function, module, "late"));
	if (pthread_create(&thread, NULL, keep_launching, NULL))
		return 1;
	sleep(1);
	return 0;
}
