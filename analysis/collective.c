/*
 * collective.c - see collective.h. Pure: any thread, never blocks.
 */
#include <stddef.h>
#include <string.h>

#include "analysis/collective.h"

bool wt_is_collective_kernel(const char *name)
{
	static const char *const marks[] = {"ncclDevKernel", "ncclKernel_", "nvshmemi_",
	                                    "nvshmem_"};

	for (size_t i = 0; name && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(name, marks[i]))
			return true;
	return false;
}
