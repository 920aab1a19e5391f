/*
 * fake_common.h - what both simulated libraries need: environment, clock,
 * scripted faults, and dying loudly.
 *
 * Compiled into libcuda.so.1 and libcupti.so.13 alike; every name here is
 * hidden in each. All functions may be called from any thread.
 */
#ifndef FAKE_COMMON_H
#define FAKE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* A number from the environment: decimal, or `fallback` where unset or empty. */
int64_t fake_env_i64(const char *name, int64_t fallback);
double fake_env_double(const char *name, double fallback);

/* CLOCK_REALTIME in ns: the device's clock too. */
int64_t fake_now_ns(void);
void fake_sleep_until_ns(int64_t when_ns);
/* WTFAKE_SLOW=CALL:US,...: how much longer a call of that name takes; 0: no longer. */
int64_t fake_scripted_delay_ns(const char *function);

/*
 * Prints what was done wrong on stderr and aborts: the caller made a call it
 * must not make. With WTFAKE_STRICT=0 it prints only and returns.
 */
__attribute__((format(printf, 1, 2))) void fake_die(const char *fmt, ...);

/* Opens the file a variable names, %p replaced by the pid; -1 where unset. */
int fake_open_env(const char *name, int flags);

/*
 * The code WTFAKE_FAIL scripts for the `call`-th call (from 1) of `function`,
 * or 0. WTFAKE_FAIL is a comma list of FUNCTION:WHICH:CODE, where WHICH is a
 * number, N+ (from the Nth on), %N (every Nth) or * (all).
 */
int fake_scripted_fault(const char *function, uint64_t call);

#endif /* FAKE_COMMON_H */
