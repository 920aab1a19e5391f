/*
 * cupti_buffer.c - activity buffers: who owns them, filling, handing over.
 *
 * The client gives buffers when asked; until they are handed back they belong
 * to us, and a client that touches, frees or hands out one again is caught: the
 * unused part holds canaries, the used part a running sum, and both are checked
 * at hand-over. Any thread; client callbacks run without our lock.
 *
 * A record that never gets its times (a launch under the range profiler) holds back
 * its buffer and all behind it, full or not, until a forced flush: measured on an H200.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "tests/fake/cupti_int.h"

#define CANARY 0x5afe5afec0dec0deull
#define CANARY_STRIDE 4096
#define BUFFER_BYTES_MIN 1024

struct buffer {
	struct buffer *next;
	uint8_t *start;
	size_t bytes, used;
	uint64_t sum; /* of the records written */
	int owner_tid; /* 0: shared by all threads */
	bool is_full;
	bool is_held; /* has a record without times */
};

static struct buffer *buffers; /* ours until delivered, oldest first */

static int movers; /* under cupti_lock */
static pthread_cond_t mover_done = PTHREAD_COND_INITIALIZER;
static __thread int movers_here; /* this thread's share: a callback may flush */

void cupti_move_begin(void)
{
	pthread_mutex_lock(&cupti_lock);
	movers++;
	movers_here++;
	pthread_mutex_unlock(&cupti_lock);
}

void cupti_move_end(void)
{
	pthread_mutex_lock(&cupti_lock);
	movers--;
	movers_here--;
	pthread_cond_broadcast(&mover_done);
	pthread_mutex_unlock(&cupti_lock);
}

void cupti_move_wait(void)
{
	pthread_mutex_lock(&cupti_lock);
	while (movers > movers_here)
		pthread_cond_wait(&mover_done, &cupti_lock);
	pthread_mutex_unlock(&cupti_lock);
}

static uint64_t sum_words(const uint8_t *at, size_t bytes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i + 8 <= bytes; i += 8) {
		uint64_t word;

		memcpy(&word, at + i, 8);
		sum = sum * 31 + word;
	}
	return sum;
}

static void canaries_write(struct buffer *b)
{
	const uint64_t canary = CANARY;

	for (size_t at = 0; at + 8 <= b->bytes; at += CANARY_STRIDE)
		memcpy(b->start + at, &canary, 8);
}

static void buffer_check(const struct buffer *b)
{
	uint64_t sum = 0;
	size_t at = (b->used + CANARY_STRIDE - 1) / CANARY_STRIDE * CANARY_STRIDE;

	for (size_t record = 0; record < b->used;) {
		size_t bytes;
		int kind;

		memcpy(&kind, b->start + record, sizeof(kind));
		bytes = cupti_record_bytes(kind);
		if (!bytes)
			break;
		sum = sum * 31 + sum_words(b->start + record, bytes);
		record += bytes;
	}
	if (sum != b->sum)
		fake_die("activity buffer %p was written to while CUPTI owned it",
		         (void *)b->start);
	for (; at + 8 <= b->bytes; at += CANARY_STRIDE) {
		uint64_t word;

		memcpy(&word, b->start + at, 8);
		if (word != CANARY)
			fake_die("activity buffer %p was written to while CUPTI owned it",
			         (void *)b->start);
	}
}

/* The rules a buffer must keep to be taken; false: the client had none to give. */
static bool buffer_accept(const uint8_t *start, size_t bytes)
{
	if (!start)
		return false;
	if ((uintptr_t)start % 8)
		fake_die("activity buffer %p is not aligned to 8", (const void *)start);
	if (bytes < BUFFER_BYTES_MIN)
		fake_die("activity buffer of %zu bytes", bytes);
	for (struct buffer *b = buffers; b; b = b->next)
		if (start < b->start + b->bytes && b->start < start + bytes)
			fake_die("activity buffer %p given twice, or overlaps %p",
			         (const void *)start, (void *)b->start);
	return true;
}

/* Asks the client. Takes and returns with the lock held, but lets go of it meanwhile. */
static struct buffer *buffer_request(int owner_tid)
{
	struct buffer *b = calloc(1, sizeof(*b));
	struct buffer **end = &buffers;
	wtcupti_buffer_requested_fn requested = cupti.requested;
	size_t max_records = 0;

	if (!b || !requested) {
		free(b);
		return NULL;
	}
	pthread_mutex_unlock(&cupti_lock);
	requested(&b->start, &b->bytes, &max_records);
	pthread_mutex_lock(&cupti_lock);
	if (!buffer_accept(b->start, b->bytes)) {
		free(b);
		return NULL;
	}
	b->owner_tid = owner_tid;
	canaries_write(b);
	while (*end)
		end = &(*end)->next;
	*end = b;
	return b;
}

static struct buffer *buffer_open(int owner_tid, size_t bytes)
{
	for (struct buffer *b = buffers; b; b = b->next) {
		if (b->owner_tid != owner_tid || b->is_full)
			continue;
		if (b->used + bytes <= b->bytes)
			return b;
		b->is_full = true;
	}
	return NULL;
}

void cupti_append(const void *record, size_t bytes, bool is_per_thread, bool is_unfinished)
{
	struct buffer *b;
	int tid;

	pthread_mutex_lock(&cupti_lock);
	tid = is_per_thread && cupti.per_thread_buffers ? (int)syscall(SYS_gettid) : 0;
	b = buffer_open(tid, bytes);
	if (!b)
		b = buffer_request(tid);
	if (b) {
		memcpy(b->start + b->used, record, bytes);
		b->sum = b->sum * 31 + sum_words(record, bytes);
		b->used += bytes;
		b->is_held = b->is_held || is_unfinished;
	} else {
		cupti.dropped++;
	}
	pthread_mutex_unlock(&cupti_lock);
}

/* The first that may go, which is ours no more. With the lock held. */
static struct buffer *take_ready(bool all, bool is_forced)
{
	for (struct buffer **at = &buffers; *at && (is_forced || !(*at)->is_held);
	     at = &(*at)->next) {
		struct buffer *b = *at;

		if (b->is_full || (all && b->used)) {
			*at = b->next;
			return b;
		}
	}
	return NULL;
}

static void deliver(bool all, bool is_forced)
{
	for (;;) {
		wtcupti_buffer_completed_fn completed;
		struct buffer *b;

		pthread_mutex_lock(&cupti_lock);
		b = take_ready(all, is_forced);
		if (b)
			buffer_check(b);
		completed = cupti.completed;
		pthread_mutex_unlock(&cupti_lock);
		if (!b)
			return;
		cupti_count("cupti_buffers_delivered");
		if (completed)
			completed(NULL, 0, b->start, b->bytes, b->used);
		free(b);
	}
}

void cupti_deliver(bool all, bool is_forced)
{
	cupti_move_begin();
	deliver(all, is_forced);
	cupti_move_end();
}

wtcupti_result cupti_next_record(uint8_t *buffer, size_t valid, struct wtcupti_activity **record)
{
	uint8_t *at = buffer;
	size_t bytes;

	if (!buffer || !record)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		bytes = cupti_record_bytes((*record)->kind);
		if (!bytes)
			return WTCUPTI_ERROR_INVALID_KIND;
		at = (uint8_t *)*record + bytes;
	}
	if (at >= buffer + valid)
		return WTCUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (struct wtcupti_activity *)(void *)at;
	return cupti_record_bytes((*record)->kind) ? WTCUPTI_SUCCESS : WTCUPTI_ERROR_INVALID_KIND;
}
