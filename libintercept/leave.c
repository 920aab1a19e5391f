/*
 * leave.c - in a container: at exit, gives the daemon time to take the last records.
 *
 * A pid namespace ends with its first process, which often is this one or waits for this one:
 * the kernel then kills the daemon in it, and the shared memory of a container goes too. Elsewhere
 * the daemon outlives us and nothing is waited for.
 *
 * The thread that runs the exit handlers; blocks for some tens of milliseconds as a rule, for
 * LEAVE_LIMIT_MS at most, and only where a daemon is there to wait for.
 */
#include <errno.h>
#include <time.h>

#include "libintercept/hooks.h"
#include "schema/wt_ring.h"

#define INITIAL_PID_NAMESPACE UINT64_C(0xeffffffc) /* PROC_PID_INIT_INO */
#define LEAVE_LIMIT_MS 2000
#define LEAVE_POLL_MS 2
#define LEAVE_CHECK_MS 100 /* is there still a daemon? */

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Has the daemon stored all that was there at `since_ns`, the end of this process included? */
static bool is_taken(const struct wt_view *view, uint64_t since_ns)
{
	const struct wt_consumer *consumer =
	        (const void *)((const uint8_t *)view->header + WT_CONSUMER_OFFSET);

	for (int i = 0; i < WT_RING_MAX; i++)
		if (wt_load_acquire(view->ring[i].head) < wt_ring_tail(&view->ring[i]))
			return false;
	return wt_load_acquire(&consumer->heartbeat_ns) > since_ns;
}

void wt_leave_container(struct wt_view *view)
{
	const struct timespec pause = {.tv_nsec = LEAVE_POLL_MS * 1000000};
	uint64_t since_ns = monotonic_ns();
	uint64_t space = view->header->pid_namespace;
	int saved_errno = errno;

	if (space == INITIAL_PID_NAMESPACE)
		return;
	for (int waited_ms = 0; waited_ms < LEAVE_LIMIT_MS && !is_taken(view, since_ns);
	     waited_ms += LEAVE_POLL_MS) {
		if (waited_ms % LEAVE_CHECK_MS == 0 &&
		    !wt_daemon_is_expected(view->header->data_dir))
			break;
		(void)nanosleep(&pause, NULL);
	}
	errno = saved_errno;
}
