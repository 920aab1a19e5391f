/*
 * leave.c - at exit: what has to be done so that the last records are stored.
 *
 * In a container the daemon gets time to take them.
 *
 * A pid namespace ends with its first process, which often is this one or waits for this one:
 * the kernel then kills the daemon in it, and the shared memory of a container goes too. Elsewhere
 * the daemon outlives us and nothing is waited for.
 *
 * A logout removes a user's files in /dev/shm while programs run on (systemd's RemoveIPC). A daemon that
 * has the segment open goes on with it. If none has, or it is gone, nobody would find the records: they
 * are written into a new file.
 *
 * The thread that runs the exit handlers; blocks for some tens of milliseconds as a rule, for
 * LEAVE_LIMIT_NS at most, and only where a daemon is there to wait for.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "schema/wt_ring.h"

#define INITIAL_PID_NAMESPACE UINT64_C(0xeffffffc) /* PROC_PID_INIT_INO */
#define MS UINT64_C(1000000)
#define LEAVE_LIMIT_NS (2000 * MS)
#define LEAVE_POLL_NS (2 * MS)
#define LEAVE_CHECK_NS (100 * MS) /* is there still a daemon? */

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/*
 * Has the daemon stored all that is there, and that this process has finished? It hands back our
 * own word for that, since its clock may be that of another time namespace.
 */
static bool is_taken(const struct wt_view *view)
{
	const struct wt_consumer *consumer =
	        (const void *)((const uint8_t *)view->header + WT_CONSUMER_OFFSET);

	for (int i = 0; i < WT_RING_MAX; i++)
		if (wt_load_acquire(view->ring[i].head) < wt_ring_tail(&view->ring[i]))
			return false;
	return wt_load_acquire(&consumer->finished_ns) ==
	       wt_load_acquire(&view->producer->finished_ns);
}

static void wait_until_taken(struct wt_view *view)
{
	const struct timespec pause = {.tv_nsec = LEAVE_POLL_NS};
	uint64_t begun_ns = monotonic_ns(), now_ns = begun_ns, check_ns = begun_ns;

	while (now_ns - begun_ns < LEAVE_LIMIT_NS && !is_taken(view)) {
		if (now_ns >= check_ns) {
			if (!wt_daemon_is_expected(view->header->data_dir))
				return;
			check_ns = now_ns + LEAVE_CHECK_NS;
		}
		(void)nanosleep(&pause, NULL);
		now_ns = monotonic_ns();
	}
}

/* With timers that are on time: else one pause may last as long as the program allows. */
static void wait_precisely(struct wt_view *view)
{
	/* Not prctl(): that returns an int. */
	long slack_ns = syscall(SYS_prctl, PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L);

	if (slack_ns > 1)
		syscall(SYS_prctl, PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
	wait_until_taken(view);
	if (slack_ns > 1)
		syscall(SYS_prctl, PR_SET_TIMERSLACK, slack_ns, 0L, 0L, 0L);
}

/* Not if it can't be told. */
static bool is_name_gone(const struct wt_view *view)
{
	struct stat st;

	if (wt_libc_stat(view->path, &st))
		return errno == ENOENT;
	return view->inode && (uint64_t)st.st_ino != view->inode;
}

void wt_leave_process(struct wt_view *view)
{
	int saved_errno = errno, err;
	bool is_gone = is_name_gone(view);

	if (is_gone || view->header->pid_namespace != INITIAL_PID_NAMESPACE)
		wait_precisely(view);
	if (is_gone && !is_taken(view)) {
		err = wt_segment_file_copy(view->header);
		wt_log("the segment was removed: written anew (%d)", -err);
		if (!err)
			wt_spawn_daemon(view->header->data_dir);
	}
	errno = saved_errno;
}
