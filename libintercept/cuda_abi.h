/*
 * cuda_abi.h - the part of the CUDA driver ABI and of CUPTI's that wavetap uses.
 *
 * wavetap builds without a CUDA toolkit, so it carries its own declarations.
 * Every type is named wtcu_* or wtcupti_* and every constant WTCU_* or
 * WTCUPTI_*: a translation unit may include this file and the vendor's headers
 * together, and tests/unit/test_abi.c does, to compare sizes, offsets and
 * values wherever real headers are found.
 *
 * Declarations only: no code, no threads, no I/O. 64-bit Linux.
 *
 * Record layouts. CUPTI's records grow at their end from one API version to
 * the next, and what is served depends on the libcupti loaded, not on what we
 * were built for. So: walk a buffer with cuptiActivityGetNextRecord, take a
 * record's length from the distance to the next one (for the last: to the end
 * of the valid bytes), and read a field only if WTCUPTI_HAS says that the
 * record reaches that far. Each structure below is the newest we know.
 */
#ifndef WT_CUDA_ABI_H
#define WT_CUDA_ABI_H

#include "libintercept/cuda_driver_abi.h"
#include "libintercept/cupti_abi.h"

#endif /* WT_CUDA_ABI_H */
