/* odd.h - what odd_driver.c and the hosts share: a launch, and the driver's own counts. */
#ifndef WT_ODD_H
#define WT_ODD_H

#include <stdint.h>

#define LAUNCH_PARAMS                                                                              \
	void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,     \
	        unsigned smem, void *stream, void **params, void **extra
#define LAUNCH_ARGS f, gx, gy, gz, bx, by, bz, smem, stream, params, extra

/* Calls that came to the driver so far: launches, and all others. */
uint64_t odd_launches(void);
uint64_t odd_others(void);
/* From now on calls other than launches do not return. */
void odd_seal(void);

#endif /* WT_ODD_H */
