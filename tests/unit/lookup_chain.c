/*
 * lookup_chain.c - a library for test_lookup.c, built twice. Each copy exports the same names
 * and looks for "the next" of them, as interposers do; and names that begin like the driver's.
 */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int chain_next(void);
EXPORT int cudnnCreate(void);
EXPORT int cuMemFree_v2(void);
EXPORT void *chain_lookup(void *handle, const char *symbol);

/* This copy's digit, then those of the copies behind it. */
int chain_next(void)
{
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "chain_next");

	return next == chain_next ? -1000 : CHAIN_DIGIT + (next ? 10 * next() : 0);
}

/* The prefix of the driver's functions, but none of them. */
int cudnnCreate(void)
{
	return 100 + CHAIN_DIGIT;
}

/* The name of one of them, but a function of this library. */
int cuMemFree_v2(void)
{
	return 200 + CHAIN_DIGIT;
}

/* A lookup with this library as the caller. */
void *chain_lookup(void *handle, const char *symbol)
{
	void *volatile found = dlsym(handle, symbol);

	return found;
}
