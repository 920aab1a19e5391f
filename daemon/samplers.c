/*
 * samplers.c - starts wavetap-sampler for the devices of runs that ask for it, and ends it.
 *
 * One sampler per run and device, while a live process of the run has the device. A device has one
 * set of counters: another run on it waits until the first is over. A sampler that dies is started
 * once more, then never again for that run and device. What it measures comes through its segment,
 * like everything else; here are its process and the pipe that it ends with.
 *
 * Main thread. Nothing here waits for a sampler: it is asked to end by closing the pipe, killed when
 * it does not, and reaped when it is gone.
 */
#include "daemon/daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#define STARTS_MAX 2
#define AGAIN_NS (3 * WT_SECOND) /* before the second start: what was in the way may be gone */
#define KILL_NS (5 * WT_SECOND) /* it has 3 s of its own to give the counters back */
#define KILL_STOPPED_NS WT_SECOND /* SIGSTOP: it has none */

struct wt_sampler_child {
	struct wt_sampler_child *next;
	char run_key[WT_RUN_KEY_BYTES];
	struct wt_device device;
	pid_t pid; /* 0: none is running */
	pid_t last_pid;
	int pipe_fd; /* -1: closed, it was asked to end */
	int starts;
	bool is_over; /* nothing more is started */
	int64_t again_ns, ending_ns;
	char problem[200]; /* "" = none */
	bool is_told; /* in the run file */
};

/* ---- what is wanted */

/* Does the process want its devices sampled, and is it still there? */
static bool asks(const struct wt_process *process)
{
	return !wt_process_is_sampler(process) && process->mapped.header.sample_interval_ns &&
	       !process->is_done && !process->is_lost && !process->is_superseded &&
	       process->liveness.life != WT_LIFE_DEAD;
}

/* And has it the device with that UUID? */
static bool wants(const struct wt_process *process, const uint8_t uuid[16])
{
	uint64_t count = process->counters.device_count;
	struct wt_device device;

	if (!asks(process))
		return false;
	for (uint64_t i = 0; i < count && i < WT_DEVICES_MAX; i++)
		if (!wt_segment_device(&process->mapped, i, &device) &&
		    !memcmp(device.uuid, uuid, 16))
			return true;
	return false;
}

static const struct wt_process *find_user(const struct wt_daemon *daemon,
                                          const struct wt_sampler_child *child)
{
	for (const struct wt_process *at = daemon->processes; at; at = at->next)
		if (!strcmp(at->run->key, child->run_key) && wants(at, child->device.uuid))
			return at;
	return NULL;
}

static struct wt_run *find_run(const struct wt_daemon *daemon, const char *key)
{
	struct wt_run *run = daemon->runs;

	while (run && strcmp(run->key, key) != 0)
		run = run->next;
	return run;
}

/* Who samples the device now; NULL: nobody of ours. */
static const struct wt_sampler_child *find_holder(const struct wt_daemon *daemon,
                                                  const struct wt_sampler_child *child)
{
	for (const struct wt_sampler_child *at = daemon->samplers; at; at = at->next)
		if (at != child && at->pid && !memcmp(at->device.uuid, child->device.uuid, 16))
			return at;
	return NULL;
}

static void add_device(struct wt_daemon *daemon, const struct wt_process *process,
                       const struct wt_device *device)
{
	struct wt_sampler_child *child;

	for (child = daemon->samplers; child; child = child->next)
		if (!strcmp(child->run_key, process->run->key) &&
		    !memcmp(child->device.uuid, device->uuid, 16))
			return;
	child = calloc(1, sizeof(*child));
	if (!child)
		return; /* next time */
	snprintf(child->run_key, sizeof(child->run_key), "%s", process->run->key);
	child->device = *device;
	child->pipe_fd = -1;
	child->next = daemon->samplers;
	daemon->samplers = child;
}

/* Devices of processes that ask, which have not been seen with their run. */
static void find_devices(struct wt_daemon *daemon)
{
	for (const struct wt_process *at = daemon->processes; at; at = at->next) {
		uint64_t count = at->counters.device_count;
		struct wt_device device;

		for (uint64_t i = 0; i < count && i < WT_DEVICES_MAX && asks(at); i++)
			if (!wt_segment_device(&at->mapped, i, &device))
				add_device(daemon, at, &device);
	}
}

/* ---- one process */

/* WAVETAP_SAMPLER as the program was started with; "": it has none, or can't be asked. */
static void read_setting(int32_t pid, char setting[WT_PATH_BYTES])
{
	static const char name[] = "WAVETAP_SAMPLER=";
	size_t bytes = 0, name_bytes = sizeof(name) - 1;
	char *environment = pid > 0 ? wt_environ_read(pid, &bytes) : NULL;

	setting[0] = '\0';
	for (size_t at = 0; environment && at < bytes;) {
		const char *variable = environment + at;
		size_t length = strnlen(variable, bytes - at);

		if (length > name_bytes && length - name_bytes < WT_PATH_BYTES &&
		    !memcmp(variable, name, name_bytes))
			snprintf(setting, WT_PATH_BYTES, "%.*s", (int)(length - name_bytes),
			         variable + name_bytes);
		at += length + 1;
	}
	free(environment);
}

static bool find_beside(char path[WT_PATH_BYTES])
{
	ssize_t n = readlink("/proc/self/exe", path, WT_PATH_BYTES - sizeof("wavetap-sampler"));
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, "wavetap-sampler");
	return !access(path, X_OK);
}

/*
 * WAVETAP_SAMPLER and nothing else: the program's, which is newer than ours, else ours. Without one
 * beside us, or where make install puts it. False: why not is in `problem`.
 */
static bool find_program(int32_t user_pid, char path[WT_PATH_BYTES], char *problem,
                         size_t problem_bytes)
{
	const char *ours = getenv("WAVETAP_SAMPLER");
	bool is_theirs;

	read_setting(user_pid, path);
	is_theirs = path[0] != '\0';
	if (!is_theirs && ours && ours[0])
		snprintf(path, WT_PATH_BYTES, "%s", ours);
	if (path[0]) {
		if (!access(path, X_OK))
			return true;
		snprintf(problem, problem_bytes, "WAVETAP_SAMPLER%s: %.120s: %s",
		         is_theirs ? "" : " of wavetapd", path, strerror(errno));
		return false;
	}
	if (find_beside(path))
		return true;
	snprintf(path, WT_PATH_BYTES, "%s/wavetap-sampler", WT_BINDIR);
	if (!access(path, X_OK))
		return true;
	snprintf(problem, problem_bytes,
	         "wavetap-sampler was not found (set WAVETAP_SAMPLER to its path)");
	return false;
}

/* With `stdin_fd` as its input, our signals undone. 0 or an error number. */
static int spawn(const char *path, char *const argv[], int stdin_fd, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = posix_spawnattr_init(&attributes);
	if (err) {
		posix_spawn_file_actions_destroy(&actions);
		return err;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn_file_actions_adddup2(&actions, stdin_fd, STDIN_FILENO);
	if (!err)
		err = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
		                                       O_WRONLY, 0);
	if (!err)
		err = posix_spawn(ret_pid, path, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* For `user`, whose libraries it uses. 0 or an error number. */
static int start_program(struct wt_daemon *daemon, struct wt_sampler_child *child,
                         const struct wt_process *user, const char *path)
{
	uint64_t interval_ns = user->mapped.header.sample_interval_ns;
	char uuid[WT_UUID_TEXT_BYTES], interval[32] = "auto", pid[16];
	char cupti[WT_TEXT_BYTES] = "";
	char *argv[16];
	int count = 0, pipe_fds[2], err;

	if (interval_ns != WT_SAMPLE_AUTO)
		snprintf(interval, sizeof(interval), "%lluns", (unsigned long long)interval_ns);
	snprintf(pid, sizeof(pid), "%d", (int)user->liveness.pid);
	(void)wt_segment_cupti_path(&user->mapped, cupti);
	argv[count++] = (char *)"wavetap-sampler";
	if (user->liveness.pid > 0) { /* first: it starts itself anew there */
		argv[count++] = (char *)"--like";
		argv[count++] = pid;
	}
	argv[count++] = (char *)"--until-eof";
	argv[count++] = (char *)"--data-dir";
	argv[count++] = daemon->data_dir;
	argv[count++] = (char *)"--run";
	argv[count++] = child->run_key;
	argv[count++] = (char *)"--device";
	argv[count++] = (char *)wt_device_uuid_text(uuid, child->device.uuid);
	argv[count++] = (char *)"--interval";
	argv[count++] = interval;
	if (cupti[0]) {
		argv[count++] = (char *)"--cupti";
		argv[count++] = cupti;
	}
	argv[count] = NULL;
	if (pipe2(pipe_fds, O_CLOEXEC))
		return errno;
	err = spawn(path, argv, pipe_fds[0], &child->pid);
	close(pipe_fds[0]);
	child->pipe_fd = pipe_fds[1];
	if (err) {
		close(pipe_fds[1]);
		child->pipe_fd = -1;
		child->pid = 0;
	}
	return err;
}

static void start(struct wt_daemon *daemon, struct wt_sampler_child *child,
                  const struct wt_process *user)
{
	char path[WT_PATH_BYTES];
	int err;

	child->starts++;
	child->problem[0] = '\0';
	if (!find_program(user->liveness.pid, path, child->problem, sizeof(child->problem))) {
		child->is_over = true;
	} else {
		err = start_program(daemon, child, user, path);
		child->last_pid = child->pid;
		child->is_over = err != 0;
		if (err)
			snprintf(child->problem, sizeof(child->problem), "%.120s: %s", path,
			         strerror(err));
	}
	if (child->problem[0])
		wt_log_line("%s: not sampled: %s", child->device.name, child->problem);
}

/* Gone: why, and whether it is worth another try. */
static void note_end(struct wt_sampler_child *child, int status, int64_t now_ns)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	const char *words = code > WT_SAMPLER_ENDED ? wt_sampler_text((unsigned)code) : NULL;
	bool may_try = code < 0 || code == WT_SAMPLER_BUSY;

	child->pid = 0;
	if (child->pipe_fd >= 0)
		close(child->pipe_fd);
	else
		may_try = false; /* as it was asked to */
	child->pipe_fd = -1;
	child->again_ns = now_ns + AGAIN_NS;
	child->is_over = !may_try || child->starts >= STARTS_MAX;
	if (words)
		snprintf(child->problem, sizeof(child->problem), "%s", words);
	else if (code < 0 && child->problem[0])
		; /* we killed it, and said why */
	else if (code < 0 && !child->ending_ns)
		snprintf(child->problem, sizeof(child->problem),
		         "wavetap-sampler was killed by signal %d", WTERMSIG(status));
	else if (code > 0)
		snprintf(child->problem, sizeof(child->problem), "wavetap-sampler ended with %d",
		         code);
	if (child->problem[0])
		wt_log_line("%s: %s", child->device.name, child->problem);
}

static bool is_stopped(pid_t pid)
{
	uint64_t start_ticks;
	int32_t ppid;
	char state;

	return !wt_proc_stat(pid, &ppid, &start_ticks, &state) && state == 'T';
}

/* Asks it to end. `wavetap run` waits for that: not for long where it can't. */
static void end(struct wt_sampler_child *child, int64_t now_ns)
{
	bool is_late = now_ns - child->ending_ns > KILL_NS;

	if (child->pipe_fd >= 0) {
		close(child->pipe_fd);
		child->pipe_fd = -1;
		child->ending_ns = now_ns;
	} else if (is_late ||
	           (now_ns - child->ending_ns > KILL_STOPPED_NS && is_stopped(child->pid))) {
		snprintf(child->problem, sizeof(child->problem),
		         "wavetap-sampler %s: it was killed",
		         is_late ? "did not end" : "was stopped (SIGSTOP) and could not end");
		kill(child->pid, SIGKILL);
		child->ending_ns = now_ns;
	}
}

/* ---- all of them */

/* The run as people know it: by its id, once it has a file. */
static void tell_holder(const struct wt_daemon *daemon, struct wt_sampler_child *child,
                        const struct wt_sampler_child *holder)
{
	const struct wt_run *run = find_run(daemon, holder->run_key);
	char id[32] = "";

	if (run && run->db)
		(void)wt_db_meta(run->db, "run_id", id, sizeof(id));
	snprintf(child->problem, sizeof(child->problem), "the device is sampled for %s%s",
	         id[0] ? "run " : "another run", id);
}

/* Why a device of the run was not sampled, for those that read its file. Once, when that is settled. */
static void tell(struct wt_daemon *daemon, struct wt_sampler_child *child)
{
	struct wt_run *run = find_run(daemon, child->run_key);
	char text[400];

	if (child->is_told || !child->problem[0] || !run || !run->db || run->state != WT_STORE_OK)
		return;
	snprintf(text, sizeof(text), "%s: %s", child->device.name, child->problem);
	child->is_told = !wt_run_set_meta(run, "sampler_problem", text);
}

static void step(struct wt_daemon *daemon, struct wt_sampler_child *child, int64_t now_ns)
{
	const struct wt_process *user = find_user(daemon, child);
	const struct wt_sampler_child *holder;
	int status;

	if (child->pid) {
		if (waitpid(child->pid, &status, WNOHANG) == child->pid)
			note_end(child, status, now_ns);
		else if (!user)
			end(child, now_ns);
	} else if (user && !child->is_over && now_ns >= child->again_ns) {
		holder = find_holder(daemon, child);
		if (!holder)
			start(daemon, child, user);
		else
			tell_holder(daemon, child, holder);
	}
	if (child->is_over || !user)
		tell(daemon, child);
}

void wt_samplers_step(struct wt_daemon *daemon, int64_t now_ns)
{
	struct wt_sampler_child **at = &daemon->samplers;

	find_devices(daemon);
	while (*at) {
		struct wt_sampler_child *child = *at;

		step(daemon, child, now_ns);
		if (!child->pid && !find_run(daemon, child->run_key)) {
			*at = child->next;
			free(child);
		} else {
			at = &child->next;
		}
	}
}

void wt_samplers_close(struct wt_daemon *daemon)
{
	while (daemon->samplers) {
		struct wt_sampler_child *child = daemon->samplers;

		daemon->samplers = child->next;
		if (child->pipe_fd >= 0)
			close(child->pipe_fd); /* they end with it, and with us */
		free(child);
	}
}

/* ---- for status */

static const struct wt_process *find_segment(const struct wt_daemon *daemon, pid_t pid)
{
	for (const struct wt_process *at = daemon->processes; pid && at; at = at->next)
		if (wt_process_is_sampler(at) && at->liveness.pid == pid)
			return at;
	return NULL;
}

bool wt_samplers_is_child(const struct wt_daemon *daemon, pid_t pid)
{
	for (const struct wt_sampler_child *at = daemon->samplers; at; at = at->next)
		if (pid && at->last_pid == pid)
			return true;
	return false;
}

void wt_samplers_each(const struct wt_daemon *daemon,
                      void (*tell_one)(void *opaque, const struct wt_sampler_view *view),
                      void *opaque)
{
	for (const struct wt_sampler_child *at = daemon->samplers; at; at = at->next) {
		const struct wt_process *segment = find_segment(daemon, at->last_pid);
		const struct wt_sampler_view view = {
		        .run_key = at->run_key,
		        .device = at->device,
		        .pid = at->pid,
		        .counters = segment ? &segment->counters : NULL,
		        .problem = at->problem,
		};

		tell_one(opaque, &view);
	}
	/* Those that somebody started by hand. */
	for (const struct wt_process *at = daemon->processes; at; at = at->next) {
		struct wt_sampler_view view = {
		        .run_key = at->run->key, .counters = &at->counters, .problem = ""};

		if (!wt_process_is_sampler(at) || wt_samplers_is_child(daemon, at->liveness.pid))
			continue;
		if (at->counters.device_count)
			(void)wt_segment_device(&at->mapped, 0, &view.device);
		view.pid = at->liveness.life == WT_LIFE_DEAD ? 0 : at->mapped.header.pid;
		tell_one(opaque, &view);
	}
}
