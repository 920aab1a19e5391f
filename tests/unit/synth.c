/*
 * synth.c - see synth.h. Any thread for records; the rest from one.
 */
#include "tests/unit/synth.h"
#include "schema/wt_rows.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#define ARENA_BYTES (256u * 1024)
#define CALL_NS 1000 /* from one call to the next; each takes the first 800 of them */
#define CALL_TAKES_NS 800
#define LINK_TAKES_NS 50

uint64_t synth_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* An entry time: now, and at least a microsecond after the one before, so that the calls of a
 * thread do not overlap however fast they are made up. */
static uint64_t next_entry_ns(struct synth *synth)
{
	uint64_t last = wt_load_relaxed(&synth->last_entry_ns), entry;

	do {
		entry = synth_now_ns();
		if (entry < last + CALL_NS)
			entry = last + CALL_NS;
	} while (!wt_cas_relaxed(&synth->last_entry_ns, &last, entry));
	return entry;
}

static uint64_t own_start_ticks(void)
{
	unsigned long long ticks = 0;
	char text[1024] = "", *at;
	FILE *file = fopen("/proc/self/stat", "r");

	if (file && fgets(text, sizeof(text), file) && (at = strrchr(text, ')')))
		sscanf(at + 1,
		       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
		       "%*d %llu",
		       &ticks);
	if (file)
		fclose(file);
	return ticks;
}

static uint64_t own_pid_namespace(void)
{
	unsigned long long ino = 0;
	char link[64];
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n > 0) {
		link[n] = '\0';
		sscanf(link, "pid:[%llu]", &ino);
	}
	return ino;
}

static uint64_t round_up(uint64_t bytes)
{
	return (bytes + WT_GROUP_BYTES - 1) / WT_GROUP_BYTES * WT_GROUP_BYTES;
}

static void fill_header(struct synth *synth, const struct synth_options *options,
                        const char *data_dir)
{
	struct wt_segment_header *h = synth->header;
	struct timespec mono;
	uint64_t offset = WT_CELLS_OFFSET;

	clock_gettime(CLOCK_MONOTONIC, &mono);
	h->abi = WT_SEGMENT_ABI;
	h->header_bytes = sizeof(*h);
	h->file_bytes = synth->file_bytes;
	if (getrandom(h->uuid, sizeof(h->uuid), 0) < 0)
		abort();
	for (int i = 0; i < WT_RING_MAX; i++) {
		h->cell_count[i] = options->cells[i] ? options->cells[i] : 4096;
		h->cells_offset[i] = offset;
		offset += round_up(h->cell_count[i] * WT_CELL_BYTES);
	}
	h->arena_offset = offset;
	h->arena_bytes = ARENA_BYTES;
	h->pid = options->pid ? options->pid : getpid();
	h->ppid = getppid();
	h->start_ticks = options->start_ticks ? options->start_ticks : own_start_ticks();
	h->pid_namespace = options->pid_namespace ? options->pid_namespace : own_pid_namespace();
	h->created_realtime_ns = synth_now_ns();
	h->created_monotonic_ns = (uint64_t)mono.tv_sec * 1000000000 + (uint64_t)mono.tv_nsec;
	h->uid = geteuid();
	h->rank = h->local_rank = h->world_size = -1;
	strcpy(h->boot_id, "synth-boot");
	strcpy(h->hostname, "synth-host");
	strcpy(h->library_version, "synth");
	snprintf(h->run_key, sizeof(h->run_key), "%s",
	         options->run_key ? options->run_key : "synth");
	snprintf(h->run_name, sizeof(h->run_name), "%s",
	         options->run_name ? options->run_name : "");
	snprintf(h->run_tags, sizeof(h->run_tags), "%s",
	         options->run_tags ? options->run_tags : "");
	snprintf(h->record_dir, sizeof(h->record_dir), "%s",
	         options->record_dir ? options->record_dir : "");
	strcpy(h->executable, "/bin/synth");
	strcpy(h->command, "synth --test");
	snprintf(h->data_dir, sizeof(h->data_dir), "%s", data_dir);
	h->producer = options->producer;
	h->sample_interval_ns = options->producer == WT_PRODUCER_SAMPLER ? 50000 : 0;
}

static void fill_producer(struct synth *synth)
{
	struct wt_device *device = &synth->producer->device[0];

	*device = (struct wt_device){.name = "Synthetic H200",
	                             .uuid = {0x48, 0x32, 0x30, 0x30},
	                             .cc_major = 9,
	                             .sm_count = 132,
	                             .warp_size = 32,
	                             .max_threads_per_sm = 2048,
	                             .max_blocks_per_sm = 32,
	                             .max_threads_per_block = 1024,
	                             .regs_per_sm = 65536,
	                             .regs_per_block = 65536,
	                             .smem_per_sm_bytes = 233472,
	                             .smem_per_block_bytes = 49152,
	                             .smem_per_block_optin_bytes = 232448,
	                             .smem_reserved_per_block_bytes = 1024,
	                             .mem_total_bytes = UINT64_C(150000000000),
	                             .driver_version = 13000};
	wt_store_release(&synth->producer->device_count, 1);
	wt_store_relaxed(&synth->producer->arena_used_bytes, 8);
	wt_store_relaxed(&synth->producer->armed_ns, synth_now_ns());
	wt_store_relaxed(&synth->producer->capture, WT_CAPTURE_FULL);
}

int synth_create(struct synth *synth, const struct synth_options *options)
{
	static const struct synth_options usual;
	char data_dir[WT_PATH_BYTES], suffix[128];
	uint64_t random = 0;
	uint8_t *base;
	int fd, err = wt_path_data_dir(data_dir);

	options = options ? options : &usual;
	memset(synth, 0, sizeof(*synth));
	if (err)
		return err;
	if (getrandom(&random, sizeof(random), 0) < 0)
		return -errno;
	snprintf(suffix, sizeof(suffix), "-%llu-%d-%llu-%016llx.seg",
	         (unsigned long long)(options->pid_namespace ? options->pid_namespace
	                                                     : own_pid_namespace()),
	         options->pid ? options->pid : getpid(),
	         (unsigned long long)(options->start_ticks ? options->start_ticks
	                                                   : own_start_ticks()),
	         (unsigned long long)random);
	err = wt_path_shm(synth->path, data_dir, suffix);
	if (err)
		return err;
	synth->file_bytes = WT_CELLS_OFFSET + ARENA_BYTES;
	for (int i = 0; i < WT_RING_MAX; i++)
		synth->file_bytes +=
		        round_up((options->cells[i] ? options->cells[i] : 4096) * WT_CELL_BYTES);
	fd = open(synth->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = posix_fallocate(fd, 0, (off_t)synth->file_bytes);
	base = err ? MAP_FAILED
	           : mmap(NULL, synth->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (base == MAP_FAILED)
		return err ? -err : -errno;
	synth->header = (struct wt_segment_header *)base;
	synth->producer = (struct wt_producer *)(base + WT_PRODUCER_OFFSET);
	synth->consumer = (struct wt_consumer *)(base + WT_CONSUMER_OFFSET);
	fill_header(synth, options, data_dir);
	for (int i = 0; i < WT_RING_MAX; i++)
		synth->ring[i] = (struct wt_ring){
		        .control = &synth->producer->ring[i],
		        .head = &synth->consumer->head[i],
		        .cells = (struct wt_cell *)(base + synth->header->cells_offset[i]),
		        .mask = synth->header->cell_count[i] - 1,
		};
	synth->arena = base + synth->header->arena_offset;
	fill_producer(synth);
	synth->next_correlation = 1;
	if (!options->is_unmade)
		wt_store_release(&synth->header->magic, WT_SEGMENT_MAGIC);
	return 0;
}

void synth_unmap(struct synth *synth)
{
	munmap(synth->header, synth->file_bytes);
}

uint32_t synth_name(struct synth *synth, const char *name)
{
	uint64_t at = wt_load_relaxed(&synth->producer->arena_used_bytes);
	struct wt_name_entry entry = {.length = (uint32_t)strlen(name)};

	entry.hash = (uint32_t)wt_fnv1a(name, entry.length);
	memcpy(synth->arena + at, &entry, sizeof(entry));
	memcpy(synth->arena + at + sizeof(entry), name, entry.length);
	wt_store_relaxed(&synth->producer->arena_used_bytes,
	                 (at + sizeof(entry) + entry.length + 7) / 8 * 8);
	return (uint32_t)(at / 8);
}

int synth_call_record(struct synth *synth, const struct synth_launch *launch, uint64_t *ret_seq)
{
	struct wt_launch record = {
	        .seq = wt_add_relaxed(&synth->producer->launch_attempted, 1),
	        .entry_ns = launch->entry_ns ? launch->entry_ns : next_entry_ns(synth),
	        .stream = 7,
	        .function = 0xf00,
	        .grid = {launch->grid ? launch->grid : 1000, 1, 1},
	        .block = {launch->block ? launch->block : 256, 1, 1},
	        .dynamic_smem_bytes = launch->smem_bytes,
	        .result = launch->result,
	        .tid = (uint32_t)getpid(),
	        .thread32 = launch->thread32,
	        .api = 1,
	        .flags = launch->flags,
	};
	int err;

	record.return_ns = record.entry_ns + (launch->takes_ns ? launch->takes_ns : CALL_TAKES_NS);
	if (ret_seq)
		*ret_seq = record.seq;
	err = wt_ring_put(&synth->ring[WT_RING_CALLS], WT_KIND_LAUNCH, 1, &record, sizeof(record));
	if (err)
		wt_add_relaxed(&synth->producer->launch_dropped, 1);
	return err;
}

static int put_link(struct synth *synth, const struct wt_link *link)
{
	int err;

	wt_add_relaxed(&synth->producer->links_seen, 1);
	err = wt_ring_put(&synth->ring[WT_RING_ACTIVITY], WT_KIND_LINK, 1, link, sizeof(*link));
	if (err)
		wt_add_relaxed(&synth->producer->links_dropped_ring, 1);
	return err;
}

int synth_link_record(struct synth *synth, uint32_t correlation_id, uint32_t thread32,
                      uint64_t start_ns)
{
	return put_link(synth,
	                &(struct wt_link){start_ns, LINK_TAKES_NS, correlation_id, thread32, 0});
}

static int put_kernel(struct synth *synth, const struct wt_kernel *record)
{
	int err;

	wt_add_relaxed(&synth->producer->kernels_seen, 1);
	err = wt_ring_put(&synth->ring[WT_RING_ACTIVITY], WT_KIND_KERNEL, 1, record,
	                  sizeof(*record));
	if (err)
		wt_add_relaxed(&synth->producer->kernels_dropped_ring, 1);
	return err;
}

static struct wt_kernel make_kernel(const struct synth_launch *launch, uint32_t correlation_id)
{
	uint64_t start = launch->entry_ns + (launch->lag_ns ? launch->lag_ns : 5000);

	return (struct wt_kernel){
	        .start_ns = launch->without_time ? 0 : start,
	        .end_ns = launch->without_time
	                          ? 0
	                          : start + (launch->duration_ns ? launch->duration_ns : 10000),
	        .correlation_id = correlation_id,
	        .context_id = 1,
	        .stream_id = 7,
	        .name_id = launch->name_id,
	        .grid = {launch->grid ? launch->grid : 1000, 1, 1},
	        .block = {(uint16_t)(launch->block ? launch->block : 256), 1, 1},
	        .dynamic_smem_bytes = launch->smem_bytes,
	        .regs_per_thread = 32,
	};
}

int synth_kernel_record(struct synth *synth, const struct synth_launch *launch,
                        uint32_t correlation_id)
{
	struct synth_launch timed = *launch;
	struct wt_kernel record;

	/* Calls made up fast have times ahead of the clock; a kernel does not run before its call. */
	if (!timed.entry_ns) {
		uint64_t last_entry_ns = wt_load_relaxed(&synth->last_entry_ns);

		timed.entry_ns = synth_now_ns();
		if (timed.entry_ns < last_entry_ns)
			timed.entry_ns = last_entry_ns;
	}
	record = make_kernel(&timed, correlation_id);
	return put_kernel(synth, &record);
}

uint32_t synth_run(struct synth *synth, const struct synth_launch *given)
{
	struct synth_launch launch = *given;
	uint32_t id = atomic_fetch_add(&synth->next_correlation, 1);

	if (!launch.entry_ns)
		launch.entry_ns = next_entry_ns(synth);
	if (!launch.thread32)
		launch.thread32 = (uint32_t)(uintptr_t)pthread_self();
	if (!launch.without_call)
		synth_call_record(synth, &launch, NULL);
	if (!launch.without_link)
		synth_link_record(synth, id, launch.thread32, launch.entry_ns + 500);
	if (!launch.without_kernel)
		synth_kernel_record(synth, &launch, id);
	return id;
}

void synth_graph(struct synth *synth, const struct synth_launch *given, unsigned nodes)
{
	struct wt_call call = {
	        .seq = wt_add_relaxed(&synth->producer->graph_launch_attempted, 1),
	        .entry_ns = given->entry_ns ? given->entry_ns : next_entry_ns(synth),
	        .result = given->result,
	        .thread32 = given->thread32,
	        .api = 20,
	};
	uint32_t id = atomic_fetch_add(&synth->next_correlation, 1);
	struct synth_launch launch = *given;

	launch.entry_ns = call.entry_ns;
	call.return_ns = call.entry_ns + CALL_TAKES_NS;
	if (wt_ring_put(&synth->ring[WT_RING_CALLS], WT_KIND_CALL, 1, &call, sizeof(call)))
		wt_add_relaxed(&synth->producer->call_dropped, 1);
	if (!launch.without_link)
		synth_link_record(synth, id, launch.thread32, call.entry_ns + 500);
	for (unsigned i = 0; i < nodes; i++) {
		struct wt_kernel record = make_kernel(&launch, id);

		record.graph_id = 3;
		record.graph_node_id = 100 + i;
		put_kernel(synth, &record);
		launch.entry_ns += launch.node_ns;
	}
}

void synth_multi(struct synth *synth, const struct synth_launch *given, unsigned count)
{
	struct synth_launch launch = *given;
	struct wt_link link = {.duration_ns = CALL_TAKES_NS + 100, .flags = WT_LINK_RUNTIME};
	unsigned stored = 0;

	link.correlation_id = atomic_fetch_add(&synth->next_correlation, 1);
	link.thread32 = launch.thread32;
	launch.entry_ns = next_entry_ns(synth);
	link.start_ns = launch.entry_ns - 50;
	for (; stored < count; stored++, launch.grid++)
		synth_call_record(synth, &launch, NULL);
	put_link(synth, &link);
	while (stored-- > 0) { /* the last device is the first to be done */
		launch.grid--;
		synth_kernel_record(synth, &launch, link.correlation_id);
	}
}

void synth_samples(struct synth *synth, const struct wt_sample *samples, size_t count)
{
	struct wt_producer *producer = synth->producer;

	for (size_t i = 0; i < count; i += WT_SAMPLES_PER_CELL) {
		size_t some = count - i < WT_SAMPLES_PER_CELL ? count - i : WT_SAMPLES_PER_CELL;

		wt_add_relaxed(&producer->samples_taken, some);
		if (wt_ring_put(&synth->ring[WT_RING_ACTIVITY], WT_KIND_SAMPLE, (uint16_t)some,
		                samples + i, (uint32_t)(some * sizeof(*samples))))
			wt_add_relaxed(&producer->samples_dropped, some);
	}
}

void synth_finish(struct synth *synth)
{
	wt_store_release(&synth->producer->finished_ns, synth_now_ns());
}

/* ---- around the daemon */

void synth_folder(char folder[512])
{
	const char *tmp = getenv("TMPDIR");
	char path[600];

	snprintf(folder, 512, "%.400s/wt-test-XXXXXX", tmp && tmp[0] == '/' ? tmp : "/tmp");
	if (!mkdtemp(folder)) {
		perror(folder);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/data", folder);
	setenv("WAVETAP_DIR", path, 1);
	snprintf(path, sizeof(path), "%s/shm", folder);
	mkdir(path, 0700);
	setenv("WAVETAP_SHM_DIR", path, 1);
}

void synth_folder_remove(const char *folder)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", folder, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

pid_t synth_daemon(const char *folder, const char *idle)
{
	const char *build = getenv("top_builddir");
	char program[1024], output[600];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(program, sizeof(program), "%s/wavetapd", build ? build : ".");
	snprintf(output, sizeof(output), "%s/daemon.out", folder);
	if (freopen(output, "a", stdout))
		dup2(STDOUT_FILENO, STDERR_FILENO);
	execl(program, "wavetapd", "--foreground", "--idle", idle, (char *)NULL);
	_exit(127);
}

int synth_daemon_wait(pid_t pid)
{
	int status;

	for (int i = 0; i < 3000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

bool synth_run_file(const char *folder, char path[1024])
{
	char runs[600];
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(runs, sizeof(runs), "%s/data/runs", folder);
	dir = opendir(runs);
	while (dir && (entry = readdir(dir))) {
		size_t length = strlen(entry->d_name);

		if (length > 3 && !strcmp(entry->d_name + length - 3, ".db")) {
			snprintf(path, 1024, "%s/%s", runs, entry->d_name);
			count++;
		}
	}
	if (dir)
		closedir(dir);
	return count == 1;
}

int64_t synth_query(const char *path, const char *sql)
{
	sqlite3_stmt *query = NULL;
	int64_t value = INT64_MIN;
	sqlite3 *db = NULL;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK) {
		sqlite3_busy_timeout(db, 2000);
		if (wt_rows_attach(db, NULL, NULL) == SQLITE_OK && wt_rows_hide(db) == SQLITE_OK &&
		    sqlite3_prepare_v2(db, sql, -1, &query, NULL) == SQLITE_OK &&
		    sqlite3_step(query) == SQLITE_ROW)
			value = sqlite3_column_int64(query, 0);
		else
			printf("# %s: %s\n", sql, sqlite3_errmsg(db));
	}
	sqlite3_finalize(query);
	sqlite3_close(db);
	return value;
}

#define POLL_US 10000
#define POLL_COUNT 3000

int64_t synth_query_until(const char *folder, const char *sql, int64_t want)
{
	int64_t value = INT64_MIN;
	char path[1024];

	for (int i = 0; i < POLL_COUNT && value != want; i++) {
		if (i)
			usleep(POLL_US);
		if (synth_run_file(folder, path))
			value = synth_query(path, sql);
	}
	return value;
}

bool synth_request_until(const char *request, const char *text, char *reply, size_t reply_bytes)
{
	for (int i = 0; i < POLL_COUNT; i++) {
		if (synth_request(request, reply, reply_bytes) == 0 && strstr(reply, text))
			return true;
		usleep(POLL_US);
	}
	return false;
}

int synth_segments_left(const char *folder)
{
	char path[600];
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/shm", folder);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		count += strstr(entry->d_name, ".seg") != NULL;
	if (dir)
		closedir(dir);
	return count;
}

int synth_request(const char *request, char *reply, size_t reply_bytes)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char data_dir[WT_PATH_BYTES] = "", path[WT_PATH_BYTES];
	size_t used = 0;
	ssize_t n;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = 0;

	reply[0] = '\0';
	if (wt_path_data_dir(data_dir) || wt_path_shm(path, data_dir, ".sock") ||
	    strlen(path) >= sizeof(address.sun_path))
		err = -ENAMETOOLONG;
	else
		strcpy(address.sun_path, path);
	if (!err && connect(fd, (struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	if (!err && (send(fd, request, strlen(request), MSG_NOSIGNAL) < 0 ||
	             send(fd, "\n", 1, MSG_NOSIGNAL) < 0))
		err = -errno;
	while (!err && used + 1 < reply_bytes &&
	       (n = recv(fd, reply + used, reply_bytes - 1 - used, 0)) > 0)
		used += (size_t)n;
	reply[used] = '\0';
	if (used && reply[used - 1] == '\n')
		reply[used - 1] = '\0';
	close(fd);
	return err;
}
