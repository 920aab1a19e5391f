/*
 * wt_atomic.h - the few C11 atomics that shared memory uses, each with its
 * memory order in its name, so that no call site can pick a wrong one.
 *
 * Words shared by two processes must be lock-free: an atomic that hides a lock
 * does not work across address spaces.
 */
#ifndef WT_ATOMIC_H
#define WT_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "64-bit atomics must be lock-free");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "32-bit atomics must be lock-free");
_Static_assert(sizeof(_Atomic uint64_t) == 8, "an atomic word carries no lock");

static inline uint64_t wt_load_relaxed(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static inline uint64_t wt_load_acquire(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

static inline void wt_store_relaxed(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline void wt_store_release(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* Returns the value before the addition. */
static inline uint64_t wt_add_relaxed(_Atomic uint64_t *word, uint64_t value)
{
	return atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

static inline bool wt_cas_relaxed(_Atomic uint64_t *word, uint64_t *expected, uint64_t value)
{
	return atomic_compare_exchange_weak_explicit(word, expected, value, memory_order_relaxed,
	                                             memory_order_relaxed);
}

#endif /* WT_ATOMIC_H */
