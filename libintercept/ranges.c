/*
 * ranges.c - see ranges.h.
 *
 * A range becomes a record when it ends. Until then it is kept here: those that nest in a stack per
 * thread, the others in a table, both in one mapping that fork wipes, since a child has not opened
 * them. A thread has a stack only as long as it has a range open, so 256 serve any number of threads.
 * What finds no room is not recorded and counted, and the pop or end that belongs to it is known.
 *
 * Who closes an entry is decided by one exchange, for the exit handler takes what other threads have
 * open. Counters go to the segment; before there is one, here.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "libintercept/ranges.h"

#define STACKS 256
#define STACK_DEPTH 64
#define OPEN_MAX 2048 /* a power of two */
#define OPEN_TRIES 64
#define ID_UNTRACKED UINT64_C(0xffff) /* low half of an id: its range found no room */
#define RING_KEPT 4 /* ranges leave this part of the ring to launches */

#define OPEN UINT64_C(1)
#define TAKEN UINT64_C(2) /* being filled, or emptied: not to be used again yet */

struct entry {
	_Atomic uint64_t state; /* 0 = closed. Of a stack: OPEN. Of the table: its id. Or TAKEN */
	uint64_t start_ns;
	const void *domain;
	uint32_t tid;
	uint16_t depth;
	struct wt_range_copy name;
};

struct stack {
	uint32_t used; /* entries from 0; closed ones may be among them, never on top */
	uint32_t lost; /* pushed beyond the depth */
	const void *lost_domain; /* theirs, if it is one */
	bool is_lost_mixed; /* of several domains: which are whose is not kept */
	struct entry entry[STACK_DEPTH];
};

struct counts {
	_Atomic uint64_t begun, early, untracked, unbalanced, dropped;
};

struct table {
	_Atomic uint64_t epoch; /* pid once in use by this process; wiped by fork */
	_Atomic uint64_t used[STACKS / 64]; /* bit per stack: it belongs to a thread */
	_Atomic uint64_t next_id;
	struct counts counts; /* before there was a segment */
	struct entry open[OPEN_MAX];
	struct stack stack[STACKS];
};

static _Atomic(struct table *) the_table;

/* 8 bytes of static TLS. */
static __thread struct {
	uint32_t epoch; /* marker of the process that `stack` is of: its pid */
	uint16_t stack; /* index + 1; 0 = none */
	uint16_t lost; /* pushed while there was no stack to be had; UINT16_MAX: or more */
} thread __attribute__((tls_model("initial-exec")));

/* ---- memory */

void *wt_ranges_map(size_t bytes, bool is_wiped)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (is_wiped && madvise(at, bytes, MADV_WIPEONFORK)) {
		munmap(at, bytes);
		return NULL;
	}
	return at;
}

bool wt_ranges_begin(void)
{
	int saved_errno = errno;
	struct table *no_table = NULL, *table;
	bool has_texts = wt_range_texts_begin();

	if (!atomic_load(&the_table)) {
		table = wt_ranges_map(sizeof(*table), true);
		if (table && !atomic_compare_exchange_strong(&the_table, &no_table, table))
			munmap(table, sizeof(*table));
	}
	errno = saved_errno;
	return has_texts && wt_fork_page() && atomic_load(&the_table);
}

/* The table, as this process's own; NULL: there is none. */
static struct table *get_table(void)
{
	struct table *table = atomic_load_explicit(&the_table, memory_order_acquire);

	/* A forked child finds it wiped; two threads at once write the same. */
	if (table && !WT_LIKELY(wt_load_relaxed(&table->epoch)))
		wt_store_relaxed(&table->epoch, (uint64_t)wt_libc_pid());
	return table;
}

/* ---- counters */

#define COUNT(table, field)                                                                        \
	do {                                                                                       \
		struct wt_view *view_ = wt_view_now();                                             \
                                                                                                   \
		wt_add_relaxed(view_ ? &view_->producer->ranges_##field : &(table)->counts.field,  \
		               1);                                                                 \
	} while (0)

void wt_ranges_move_early(struct wt_view *view)
{
	struct table *table = atomic_load_explicit(&the_table, memory_order_acquire);

	if (!table)
		return;
#define MOVE(field)                                                                                \
	wt_add_relaxed(&view->producer->ranges_##field, atomic_exchange(&table->counts.field, 0))
	MOVE(begun);
	MOVE(early);
	MOVE(untracked);
	MOVE(unbalanced);
	MOVE(dropped);
#undef MOVE
}

/* ---- records */

/* The last quarter of the ring is for launches: a flood of ranges must not push them out. */
static bool has_room(const struct wt_ring *ring)
{
	uint64_t tail = wt_load_relaxed(&ring->control->tail), cells = ring->mask + 1;

	return tail - wt_load_relaxed(&ring->control->head_cache) <= cells - cells / RING_KEPT ||
	       tail - wt_load_acquire(ring->head) <= cells - cells / RING_KEPT;
}

static void put_text(struct wt_range *record, const struct entry *entry)
{
	struct wt_range_copy domain;
	size_t room;

	wt_range_take(&domain, WT_RANGE_TEXT_KEPT, entry->domain);
	if (domain.length > WT_RANGE_DOMAIN_BYTES) {
		domain.length = WT_RANGE_DOMAIN_BYTES;
		wt_range_cut(&domain);
	}
	memcpy(record->text, domain.bytes, domain.length);
	record->domain_bytes = domain.length;
	if (domain.is_cut)
		record->flags |= WT_RANGE_DOMAIN_CUT;
	room = WT_RANGE_TEXT_BYTES - domain.length;
	record->name_bytes = entry->name.length;
	if (entry->name.length > room) {
		struct wt_range_copy name = entry->name;

		name.length = (uint8_t)room;
		wt_range_cut(&name);
		record->name_bytes = name.length;
		record->flags |= WT_RANGE_NAME_CUT;
	}
	memcpy(record->text + domain.length, entry->name.bytes, record->name_bytes);
	if (entry->name.is_cut)
		record->flags |= WT_RANGE_NAME_CUT;
}

/* The record of a range that is closed: `end_ns` 0 if it never ended. */
static void emit(struct table *table, const struct entry *entry, enum wt_range_type type,
                 uint64_t end_ns, uint32_t end_tid)
{
	struct wt_view *view = wt_view_now();
	struct wt_range record = {
	        .start_ns = entry->start_ns,
	        .end_ns = end_ns,
	        .tid = entry->tid,
	        .end_tid = end_tid,
	        .depth = entry->depth,
	        .type = (uint8_t)type,
	};

	/* Nothing was launched yet, so nothing can be in it. */
	if (!view) {
		COUNT(table, early);
		return;
	}
	put_text(&record, entry);
	if (!has_room(&view->ring[WT_RING_CALLS]) ||
	    wt_ring_put(&view->ring[WT_RING_CALLS], WT_KIND_RANGE, 1, &record, sizeof(record)))
		wt_add_relaxed(&view->producer->ranges_dropped, 1);
}

/* ---- those that nest */

/* The calling thread's stack; NULL: it has none (yet). */
static struct stack *own_stack(struct table *table)
{
	uint32_t epoch = (uint32_t)wt_load_relaxed(&table->epoch);

	if (thread.epoch != epoch) { /* the first time, or in a forked child */
		thread.epoch = epoch;
		thread.stack = thread.lost = 0;
	}
	return thread.stack ? &table->stack[thread.stack - 1] : NULL;
}

static struct stack *claim_stack(struct table *table)
{
	for (uint32_t i = 0; i < STACKS / 64; i++) {
		uint64_t used = wt_load_relaxed(&table->used[i]);

		while (~used) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~used);

			if (!atomic_compare_exchange_weak(&table->used[i], &used,
			                                  used | UINT64_C(1) << bit))
				continue;
			thread.stack = (uint16_t)(i * 64 + bit + 1);
			return &table->stack[thread.stack - 1];
		}
	}
	return NULL;
}

/* Gives the stack back once nothing is open on it. */
static void trim(struct table *table, struct stack *stack)
{
	uint32_t index = thread.stack - 1;

	while (stack->used && !wt_load_relaxed(&stack->entry[stack->used - 1].state))
		stack->used--;
	if (stack->used || stack->lost)
		return;
	thread.stack = 0;
	atomic_fetch_and(&table->used[index / 64], ~(UINT64_C(1) << index % 64));
}

static uint16_t level_in(const struct stack *stack, const void *domain)
{
	uint16_t level = 0;

	for (uint32_t i = 0; i < stack->used; i++)
		level +=
		        stack->entry[i].domain == domain && wt_load_relaxed(&stack->entry[i].state);
	return level;
}

static int push(struct table *table, const void *domain, enum wt_range_text how, const void *text)
{
	struct stack *stack = own_stack(table);
	struct entry *entry;

	COUNT(table, begun);
	if (!stack && !thread.lost)
		stack = claim_stack(table);
	if (!stack || stack->used == STACK_DEPTH || stack->lost) {
		COUNT(table, untracked);
		if (!stack)
			return thread.lost < UINT16_MAX ? (int)thread.lost++ : UINT16_MAX;
		stack->is_lost_mixed =
		        stack->lost && (stack->is_lost_mixed || stack->lost_domain != domain);
		stack->lost_domain = domain;
		return (int)(level_in(stack, domain) + stack->lost++);
	}
	entry = &stack->entry[stack->used];
	wt_range_take(&entry->name, how, text);
	entry->domain = domain;
	entry->tid = wt_tid();
	entry->depth = level_in(stack, domain);
	entry->start_ns = wt_now_ns();
	wt_store_release(&entry->state, OPEN);
	stack->used++;
	return entry->depth;
}

static int pop(struct table *table, const void *domain)
{
	struct stack *stack = own_stack(table);
	struct entry *entry = NULL;
	uint64_t now_ns = wt_now_ns(), open = OPEN;
	int level;

	if (!stack && thread.lost)
		return (int)--thread.lost;
	if (stack && stack->lost && (stack->is_lost_mixed || stack->lost_domain == domain))
		return (int)(level_in(stack, domain) + --stack->lost);
	for (uint32_t i = stack ? stack->used : 0; i-- > 0 && !entry;)
		if (stack->entry[i].domain == domain && wt_load_relaxed(&stack->entry[i].state))
			entry = &stack->entry[i];
	if (!entry) {
		COUNT(table, unbalanced);
		return -1;
	}
	level = entry->depth;
	/* Else the exit handler was first. */
	if (atomic_compare_exchange_strong(&entry->state, &open, 0))
		emit(table, entry, WT_RANGE_PUSH, now_ns, entry->tid);
	trim(table, stack);
	return level;
}

int wt_range_push(const void *domain, enum wt_range_text how, const void *text)
{
	struct table *table = get_table();
	int level;

	if (!table || !wt_enter())
		return -1;
	level = push(table, domain, how, text);
	wt_leave();
	return level;
}

int wt_range_pop(const void *domain)
{
	struct table *table = get_table();
	int level;

	if (!table || !wt_enter())
		return -1;
	level = pop(table, domain);
	wt_leave();
	return level;
}

/* ---- those that don't */

/*
 * An id is a number that grows, times 65,536, plus the place in the table. A place is 0 when free,
 * TAKEN while it is filled or emptied, and holds its id in between.
 */

static uint64_t start(struct table *table, const void *domain, enum wt_range_text how,
                      const void *text)
{
	uint64_t number = wt_add_relaxed(&table->next_id, 1) + 1;

	COUNT(table, begun);
	for (uint64_t i = 0; i < OPEN_TRIES; i++) {
		uint64_t place = (number + i * 31) % OPEN_MAX, expected = 0;
		struct entry *entry = &table->open[place];

		if (wt_load_relaxed(&entry->state) ||
		    !atomic_compare_exchange_strong(&entry->state, &expected, TAKEN))
			continue;
		wt_range_take(&entry->name, how, text);
		entry->domain = domain;
		entry->tid = wt_tid();
		entry->depth = 0;
		entry->start_ns = wt_now_ns();
		wt_store_release(&entry->state, number << 16 | place);
		return number << 16 | place;
	}
	COUNT(table, untracked);
	return number << 16 | ID_UNTRACKED;
}

static void end(struct table *table, uint64_t id)
{
	uint64_t place = id & 0xffff, now_ns = wt_now_ns(), expected = id;

	if (place == ID_UNTRACKED)
		return;
	if (place >= OPEN_MAX || id >> 16 == 0 ||
	    !atomic_compare_exchange_strong(&table->open[place].state, &expected, TAKEN)) {
		COUNT(table, unbalanced);
		return;
	}
	emit(table, &table->open[place], WT_RANGE_START, now_ns, wt_tid());
	wt_store_release(&table->open[place].state, 0);
}

uint64_t wt_range_start(const void *domain, enum wt_range_text how, const void *text)
{
	struct table *table = get_table();
	uint64_t id;

	if (!table || !wt_enter())
		return ID_UNTRACKED;
	id = start(table, domain, how, text);
	wt_leave();
	return id;
}

void wt_range_end(uint64_t id)
{
	struct table *table = get_table();

	if (!table || !wt_enter())
		return;
	end(table, id);
	wt_leave();
}

/* ---- exit */

static void finish_stack(struct table *table, struct stack *stack)
{
	for (uint32_t i = 0; i < STACK_DEPTH; i++) {
		uint64_t open = OPEN;

		if (wt_load_acquire(&stack->entry[i].state) != OPEN ||
		    !atomic_compare_exchange_strong(&stack->entry[i].state, &open, TAKEN))
			continue;
		emit(table, &stack->entry[i], WT_RANGE_PUSH, 0, 0);
		wt_store_release(&stack->entry[i].state, 0);
	}
}

void wt_ranges_finish(struct wt_view *view)
{
	struct table *table = atomic_load_explicit(&the_table, memory_order_acquire);

	if (!table || !wt_load_relaxed(&table->epoch))
		return;
	for (uint32_t i = 0; i < STACKS; i++)
		if (wt_load_acquire(&table->used[i / 64]) >> i % 64 & 1)
			finish_stack(table, &table->stack[i]);
	for (uint64_t i = 0; i < OPEN_MAX; i++) {
		uint64_t id = wt_load_acquire(&table->open[i].state);

		if (id > TAKEN &&
		    atomic_compare_exchange_strong(&table->open[i].state, &id, TAKEN)) {
			emit(table, &table->open[i], WT_RANGE_START, 0, 0);
			wt_store_release(&table->open[i].state, 0);
		}
	}
	wt_ranges_move_early(view);
}
