/*
 * collective.h - does a kernel move data between GPUs rather than compute?
 *
 * By name, mangled or not: NCCL's device kernels (ncclDevKernel..., before 2.19 ncclKernel_...)
 * and NVSHMEM's. Pure; any thread.
 */
#ifndef WT_COLLECTIVE_H
#define WT_COLLECTIVE_H

#include <stdbool.h>

/* NULL: false. */
bool wt_is_collective_kernel(const char *name);

#endif /* WT_COLLECTIVE_H */
