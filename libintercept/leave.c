/*
 * leave.c - in a container: at exit, gives the daemon time to take the last records.
 *
 * A pid namespace ends with its first process, which often is this one or waits for this one:
 * the kernel then kills the daemon in it, and the shared memory of a container goes too. Elsewhere
 * the daemon outlives us and nothing is waited for.
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

void wt_leave_container(struct wt_view *view)
{
	int saved_errno = errno;
	long slack_ns;

	if (view->header->pid_namespace == INITIAL_PID_NAMESPACE)
		return;
	/* Else one pause may last as long as the program allows its timers to be late. Not prctl():
	 * that returns an int. */
	slack_ns = syscall(SYS_prctl, PR_GET_TIMERSLACK, 0L, 0L, 0L, 0L);
	if (slack_ns > 1)
		syscall(SYS_prctl, PR_SET_TIMERSLACK, 1L, 0L, 0L, 0L);
	wait_until_taken(view);
	if (slack_ns > 1)
		syscall(SYS_prctl, PR_SET_TIMERSLACK, slack_ns, 0L, 0L, 0L);
	errno = saved_errno;
}
