/*
 * test_ring_crash.c - a producer killed at each testpoint: what is left is exactly what
 * wt_ring.h says. Compiled with -DWT_TESTPOINTS.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/wt_ring.h"
#include "tests/tap.h"

#define CELLS 64
#define BEFORE 10 /* whole records before the fatal one */

struct shared {
	struct wt_ring_control control;
	_Atomic uint64_t head;
	struct wt_cell cells[CELLS];
};

static const char *deadly_place;
static int countdown;

void wt_testpoint(const char *place)
{
	if (deadly_place && !strcmp(place, deadly_place) && countdown-- == 0)
		raise(SIGKILL);
}

static struct wt_ring ring_of(struct shared *shared)
{
	return (struct wt_ring){&shared->control, &shared->head, shared->cells, CELLS - 1};
}

/* In a child: puts records until it is killed at the place. */
static void produce(struct shared *shared, const char *place, unsigned batch)
{
	struct wt_ring ring = ring_of(shared);
	uint64_t pos;

	for (uint64_t i = 0; i < BEFORE; i++)
		wt_ring_put(&ring, 1, 1, &i, sizeof(i));
	deadly_place = place;
	countdown = batch > 1 && strcmp(place, "ring-claimed") ? (int)batch / 2 : 0;
	if (!wt_ring_reserve(&ring, batch, &pos))
		for (uint64_t i = 0; i < batch; i++)
			wt_ring_commit(&ring, pos + i, 1, 1, &i, sizeof(i));
	_exit(1);
}

static void kill_at(const char *place, unsigned batch, int want_claimed, int want_torn)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct wt_ring ring = ring_of(shared);
	int status, torn = 0, whole = 0;
	struct wt_cell cell;
	pid_t pid = fork();

	if (!pid)
		produce(shared, place, batch);
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "killed at %s, batch %u", place,
	   batch);
	for (uint64_t pos = 0; pos < wt_ring_tail(&ring); pos++) {
		if (wt_ring_peek(&ring, pos, &cell))
			torn++;
		else
			whole++;
	}
	is_i64(wt_ring_tail(&ring), BEFORE + want_claimed, "claimed");
	is_i64(torn, want_torn, "torn");
	is_i64(whole, BEFORE + want_claimed - want_torn, "the rest is delivered");
	munmap(shared, sizeof(*shared));
}

int main(void)
{
	kill_at("ring-before-claim", 1, 0, 0);
	kill_at("ring-claimed", 1, 1, 1);
	kill_at("ring-copied", 1, 1, 1);
	kill_at("ring-committed", 1, 1, 0);
	kill_at("ring-claimed", 8, 8, 8);
	kill_at("ring-copied", 8, 8, 4);
	kill_at("ring-committed", 8, 8, 3);
	return tap_done();
}
