/*
 * bounds.h - what measured numbers of a run file can be at most. `wavetap check` tells of rows beyond,
 * readers take them for damaged. Generous: no GPU and no error of a measurement comes near. No code.
 */
#ifndef WT_CLI_BOUNDS_H
#define WT_CLI_BOUNDS_H

#define WT_BOUND_SHARE 1.5 /* of time x SMs, or of a peak */
#define WT_BOUND_WARPS_PER_SM 256.0
#define WT_BOUND_DRAM_BYTES_PER_NS 1e5
#define WT_BOUND_SM_CLOCK_MHZ 1e5
#define WT_BOUND_TIME_NS 4e18 /* of all kernels of a configuration */
#define WT_BOUND_SMS (1 + 1e-6) /* times the SMs: what is at most all of them */
#define WT_BOUND_BIN 3.0 /* times the SMs: a bin of a profile swings over by its error */
#define WT_BOUND_ERRORS 1e3 /* times the SMs: of joint times and bins a poor one is kept */
#define WT_BOUND_OFFSET_NS 1e9 /* of two clocks that are nearly the same */

#endif /* WT_CLI_BOUNDS_H */
