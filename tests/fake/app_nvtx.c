/*
 * app_nvtx.c - a program with named ranges (NVTX) around its launches, which keeps its own list of
 * them: what a recorder must have found.
 *
 *	app_nvtx [--truth FILE] [--steps N] [--threads N] PART...
 *
 *	steps      N times "step" around "forward", "backward", "optimizer": 3, 5 and 2 launches
 *	threads    threads that come and go, each with ranges that nest and launches
 *	cross      ranges that one thread starts and another one ends, overlapping
 *	domains    a domain beside the default one, interleaved; registered, wide, long and no names
 *	deep       100 ranges in one another, within one of another domain
 *	unbalanced three pops and two ends too many
 *	flood      20,000 ranges without a launch
 *	names      70,000 ranges, each with a name of its own
 *	open       ranges that never end
 *	fork       a child that uses ranges, and one that pops what its parent has pushed
 *	early      a range that ends before the first launch
 *	none       launches, and no call of NVTX
 *	mark       a mark, which nobody takes
 *	environment  getenv against the environment itself; prints "injection=VALUE"
 *	pause      until the file $APP_NVTX_GO is there, at most a minute
 *	kill       two ranges are open when it kills itself
 *
 * Parts run in the order given. FILE gets a line for each range that ended or is left open: kind,
 * domain, name, thread, thread that ended it, depth, times before and after the calls that began and
 * ended it (0: never), launches made inside (of the same thread for pushed ones; else of any).
 * Depths that the calls returned are compared with its own; the first one that differs is told on
 * stderr, unless there was no recorder. Prints "returned=N launches=N", N: what the first push gave.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/app_driver.h"
#ifdef APP_NVTX_VENDOR
#include "tests/fake/nvtx_vendor.h"
#else
#include "tests/fake/nvtx_client.h"
#endif

#define OPEN_MAX 128
#define TID() ((long)syscall(SYS_gettid))

static const char nvtx_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                               ".visible .entry ranged(.param .u64 unused)\n"
                               "{\n"
                               "ret;\n"
                               "}\n"
                               "// wtfake: kernel=ranged regs=32 block_ns=2000\n";

static struct {
	const char *truth;
	int steps, threads;
} opt = {.steps = 5, .threads = 8};

static FILE *truth;
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static wtcu_context context;
static wtcu_function kernel;
static atomic_ulong launches;
static atomic_int first_returned = 99, has_tool = -1;

struct open_range {
	const char *kind, *domain, *name;
	long tid;
	int depth;
	long long before_ns, after_ns;
	unsigned long launches_before;
};

static __thread struct open_range stack[OPEN_MAX];
static __thread int stack_count;
static __thread unsigned long own_launches;

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void tell(const struct open_range *r, long end_tid, long long before_ns, long long after_ns,
                 unsigned long inside)
{
	if (!truth)
		return;
	pthread_mutex_lock(&truth_lock);
	fprintf(truth, "%s\t%s\t%s\t%ld\t%ld\t%d\t%lld\t%lld\t%lld\t%lld\t%lu\n", r->kind,
	        r->domain, r->name, r->tid, end_tid, r->depth, r->before_ns, r->after_ns, before_ns,
	        after_ns, inside);
	pthread_mutex_unlock(&truth_lock);
}

static void expect(int got, int want, const char *what)
{
	int unknown = -1;

	atomic_compare_exchange_strong(&has_tool, &unknown, got != WTNVTX_NO_TRACKING);
	if (atomic_load(&has_tool) && got != want)
		fprintf(stderr, "app_nvtx: %s returned %d, not %d\n", what, got, want);
	if (!atomic_load(&has_tool) && got != WTNVTX_NO_TRACKING)
		fprintf(stderr, "app_nvtx: %s returned %d without a tool\n", what, got);
}

static int depth_of(const char *domain)
{
	int depth = 0;

	for (int i = 0; i < stack_count; i++)
		depth += !strcmp(stack[i].domain, domain);
	return depth;
}

static struct open_range *begin(const char *domain, const char *name)
{
	struct open_range *r = &stack[stack_count];

	*r = (struct open_range){"push",           domain,   name, TID(),
	                         depth_of(domain), now_ns(), 0,    own_launches};
	return r;
}

static void begun(struct open_range *r, int returned)
{
	int unset = 99;

	r->after_ns = now_ns();
	stack_count++;
	atomic_compare_exchange_strong(&first_returned, &unset, returned);
	if (stack_count <= 64)
		expect(returned, r->depth, "push");
}

static void push(const char *name)
{
	struct open_range *r = begin("", name);

	begun(r, nv_push_a(name));
}

/* Takes the innermost one of the domain off our own list. */
static void ended(const char *domain, long long before_ns, int returned)
{
	long long after_ns = now_ns();
	int i = stack_count - 1;

	while (i >= 0 && strcmp(stack[i].domain, domain))
		i--;
	if (i < 0)
		exit(3);
	if (stack_count <= 64)
		expect(returned, stack[i].depth, "pop");
	tell(&stack[i], stack[i].tid, before_ns, after_ns, own_launches - stack[i].launches_before);
	memmove(&stack[i], &stack[i + 1], (size_t)(stack_count - i - 1) * sizeof(stack[0]));
	stack_count--;
}

static void pop(void)
{
	long long before_ns = now_ns();

	ended("", before_ns, nv_pop());
}

static void launch(int count)
{
	uint64_t unused = 0;
	void *params[] = {&unused};

	for (int i = 0; i < count; i++) {
		APP_CHECK(app.launch(kernel, 4, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
		own_launches++;
		atomic_fetch_add(&launches, 1);
	}
}

/* ---- parts */

static void part_steps(void)
{
	for (int i = 0; i < opt.steps; i++) {
		push("step");
		push("forward");
		launch(3);
		pop();
		push("backward");
		launch(5);
		pop();
		push("optimizer");
		launch(2);
		pop();
		pop();
	}
}

static void *thread_main(void *unused)
{
	(void)unused;
	APP_CHECK(app.ctx_set(context));
	for (int i = 0; i < 20; i++) {
		push("outer");
		launch(1);
		push("inner");
		launch(2);
		pop();
		launch(1);
		pop();
	}
	return NULL;
}

static void part_threads(void)
{
	pthread_t threads[64];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < opt.threads; i++)
			if (pthread_create(&threads[i], NULL, thread_main, NULL))
				exit(3);
		for (int i = 0; i < opt.threads; i++)
			pthread_join(threads[i], NULL);
	}
}

struct crossing {
	struct open_range range;
	uint64_t id;
};

static void *cross_main(void *argument)
{
	struct crossing *c = argument;
	long long before_ns;

	APP_CHECK(app.ctx_set(context));
	launch(2);
	before_ns = now_ns();
	nv_end(c->id);
	tell(&c->range, TID(), before_ns, now_ns(),
	     atomic_load(&launches) - c->range.launches_before);
	return NULL;
}

static void part_cross(void)
{
	static const char *const names[] = {"request 0", "request 1", "request 2"};
	struct crossing c[3];
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		c[i].range = (struct open_range){
		        "start", "", names[i], TID(), 0, now_ns(), 0, atomic_load(&launches)};
		c[i].id = nv_start_a(names[i]);
		c[i].range.after_ns = now_ns();
		launch(1);
	}
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, cross_main, &c[i]))
			exit(3);
		pthread_join(thread, NULL);
	}
}

static struct wtnvtx_attributes attributes(int type, const void *message)
{
	struct wtnvtx_attributes a = {.version = 3, .size = sizeof(a), .message_type = type};

	a.message.registered = message;
	return a;
}

static void push_in(const void *handle, const char *domain, int type, const void *message,
                    const char *name)
{
	struct wtnvtx_attributes a = attributes(type, message);
	struct open_range *r = begin(domain, name);

	begun(r, nv_domain_push_ex(handle, &a));
}

static void pop_in(const void *handle, const char *domain)
{
	long long before_ns = now_ns();

	ended(domain, before_ns, nv_domain_pop(handle));
}

#define LONG_NAME                                                                                  \
	"a name of more characters than a record has room for, so that it must be cut "            \
	"somewhere, and be marked"
#define CUT_79                                                                                     \
	"a name of more characters than a record has room for, so that it must be cut "            \
	"so\xe2\x80\xa6"
#define LONG_DOMAIN "a.domain.with.a.long.name.too"
#define CUT_DOMAIN "a.domain.with.a.long.nam\xe2\x80\xa6"

static void part_domains(void)
{
	const void *domain = nv_domain_a("my.library"), *long_domain = nv_domain_w(L"" LONG_DOMAIN);
	const void *text = nv_register_a(domain, "registered");
	const void *wide = nv_register_w(domain, L"registered wide \u00e9\u20ac");
	struct wtnvtx_attributes a = attributes(1, "started in a domain");
	struct wtnvtx_attributes small = attributes(1, "not there");
	struct open_range started, *r;
	long long before_ns;
	uint64_t id;

	push("default outside");
	push_in(domain, "my.library", 1, "library outside", "library outside");
	launch(1);
	push_in(domain, "my.library", 3, text, "registered");
	launch(1);
	pop(); /* of the default domain, though two of the library's are within */
	launch(1);
	pop_in(domain, "my.library");
	pop_in(domain, "my.library");
	push_in(domain, "my.library", 3, wide, "registered wide \xc3\xa9\xe2\x82\xac");
	pop_in(domain, "my.library");
	push_in(domain, "my.library", 2, L"wide \u00fc", "wide \xc3\xbc");
	pop_in(domain, "my.library");
	push_in(long_domain, CUT_DOMAIN, 1, "x", "x");
	pop_in(long_domain, CUT_DOMAIN);
	r = begin("", CUT_79);
	begun(r, nv_push_a(LONG_NAME));
	pop();
	push_in(NULL, "", 0, NULL, ""); /* no name */
	pop_in(NULL, "");
	small.size = 16; /* older than messages */
	r = begin("", "");
	begun(r, nv_push_ex(&small));
	pop();
	push_in(domain, "my.library", 3, &a, ""); /* a handle that nobody gave out */
	pop_in(domain, "my.library");
	started = (struct open_range){
	        "start", "my.library",          "started in a domain", TID(), 0, now_ns(),
	        0,       atomic_load(&launches)};
	id = nv_domain_start_ex(domain, &a);
	started.after_ns = now_ns();
	launch(2);
	before_ns = now_ns();
	nv_domain_end(domain, id);
	tell(&started, TID(), before_ns, now_ns(),
	     atomic_load(&launches) - started.launches_before);
}

static void part_deep(void)
{
	const void *domain = nv_domain_a("my.library");
	FILE *all = truth;

	push_in(domain, "my.library", 1, "under them", "under them");
	for (int i = 0; i < 100; i++)
		push("deep");
	launch(1);
	pop_in(domain, "my.library"); /* not one of those that found no room */
	launch(1);
	for (int i = 99; i >= 0; i--) {
		truth = i < 63 ? all : NULL; /* deeper ones are only counted */
		pop();
	}
}

static void part_unbalanced(void)
{
	for (int i = 0; i < 3; i++)
		expect(nv_pop(), -1, "a pop too many");
	nv_end(12345);
	nv_end(UINT64_C(1) << 40 | 3);
}

static void part_flood(void)
{
	for (int i = 0; i < 20000; i++) {
		push("flood");
		pop();
	}
}

static void part_names(void)
{
	char name[32];

	for (int i = 0; i < 70000; i++) {
		snprintf(name, sizeof(name), "request %d", i);
		nv_push_a(name);
		nv_pop();
	}
}

static void part_open(void)
{
	struct open_range started = {"start",  "", "never ended",         TID(), 0,
	                             now_ns(), 0,  atomic_load(&launches)};
	uint64_t id = nv_start_a("never ended");

	(void)id;
	started.after_ns = now_ns();
	push("never popped");
	launch(1);
	tell(&stack[stack_count - 1], 0, 0, 0, 1);
	tell(&started, 0, 0, 0, 1);
	stack_count--; /* only here */
}

static void in_child(void)
{
	expect(nv_pop(), -1, "a pop of the parent's in a child");
	expect(nv_push_a("in the child"), 0, "push in a child");
	expect(nv_pop(), 0, "pop in a child");
	_exit(0);
}

static void part_fork(void)
{
	int status = 1;
	pid_t child;

	push("around a fork");
	launch(1);
	child = fork();
	if (child == 0)
		in_child();
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		exit(3);
	launch(1);
	pop();
}

static void start_gpu(void)
{
	wtcu_device device;
	wtcu_module module;

	if (kernel)
		return;
	app_load("dlsym");
	module = app_start(0, nvtx_ptx);
	APP_CHECK(app.device_get(&device, 0));
	APP_CHECK(app.primary_retain(&context, device));
	APP_CHECK(app.module_function(&kernel, module, "ranged"));
}

static void part_early(void)
{
	FILE *all = truth;

	truth = NULL;
	push("early");
	pop();
	truth = all;
}

static void part_none(void)
{
	launch(20);
}

static void part_mark(void)
{
	nv_mark("a mark");
}

/* getenv must say what the environment says, for every name that is in it and some that are not. */
static void part_environment(void)
{
	const char *injection, *set;
	char name[256];

	for (char **at = environ; *at; at++) {
		size_t length = strcspn(*at, "=");

		if (length >= sizeof(name))
			continue;
		memcpy(name, *at, length);
		name[length] = '\0';
		if (getenv(name) != *at + length + 1)
			fprintf(stderr, "app_nvtx: getenv(%s) is not what is there\n", name);
	}
	if (getenv("APP_NVTX_NONE") || getenv("NVTX_INJECTION64_PAT") || getenv("N") ||
	    getenv("") || getenv("NVTX_INJECTION64_PATHS"))
		fprintf(stderr, "app_nvtx: getenv knows what is not there\n");
	setenv("APP_NVTX_NONE", "1", 1);
	set = getenv("APP_NVTX_NONE");
	if (!set || strcmp(set, "1"))
		fprintf(stderr, "app_nvtx: getenv does not see what was set\n");
	unsetenv("APP_NVTX_NONE");
	if (getenv("APP_NVTX_NONE"))
		fprintf(stderr, "app_nvtx: getenv sees what was unset\n");
	injection = getenv(WTNVTX_ENVIRONMENT);
	printf("injection=%s\n", injection ? injection : "");
}

static void part_pause(void)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	const char *go = getenv("APP_NVTX_GO");

	for (int i = 0; go && i < 6000 && access(go, F_OK); i++)
		nanosleep(&pause, NULL);
}

static void part_kill(void)
{
	push("killed");
	nv_start_a("killed as well");
	launch(1);
	APP_CHECK(app.ctx_sync());
	kill(getpid(), SIGKILL);
}

static const struct {
	const char *name;
	void (*run)(void);
	bool is_before_gpu;
} parts[] = {
        {"steps", part_steps, false}, {"threads", part_threads, false},
        {"cross", part_cross, false}, {"domains", part_domains, false},
        {"deep", part_deep, false},   {"unbalanced", part_unbalanced, false},
        {"flood", part_flood, false}, {"names", part_names, false},
        {"open", part_open, false},   {"fork", part_fork, false},
        {"early", part_early, true},  {"none", part_none, false},
        {"mark", part_mark, false},   {"pause", part_pause, false},
        {"kill", part_kill, false},   {"environment", part_environment, true},
};

static void run_part(const char *name)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (strcmp(parts[i].name, name))
			continue;
		if (!parts[i].is_before_gpu)
			start_gpu();
		parts[i].run();
		return;
	}
	fprintf(stderr, "app_nvtx: no part \"%s\"\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"truth", required_argument, NULL, 't'},
	                                        {"steps", required_argument, NULL, 's'},
	                                        {"threads", required_argument, NULL, 'n'},
	                                        {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 't')
			opt.truth = optarg;
		else if (c == 's')
			opt.steps = atoi(optarg);
		else if (c == 'n')
			opt.threads = atoi(optarg);
		else
			return 2;
	}
	if (opt.truth) {
		truth = fopen(opt.truth, "w");
		if (!truth)
			return 2;
	}
	for (; optind < argc; optind++)
		run_part(argv[optind]);
	start_gpu();
	APP_CHECK(app.ctx_sync());
	if (truth && fclose(truth))
		return 2;
	printf("returned=%d launches=%lu\n", atomic_load(&first_returned), atomic_load(&launches));
	return 0;
}
