/*
 * wt_testpoint.h - named places at which a test may stop or kill a process.
 *
 * In the product the macro is nothing. A test compiled with -DWT_TESTPOINTS
 * provides wt_testpoint() and, say, raises SIGKILL at the place it wants.
 */
#ifndef WT_TESTPOINT_H
#define WT_TESTPOINT_H

#ifdef WT_TESTPOINTS
void wt_testpoint(const char *place);
#define WT_TESTPOINT(place) wt_testpoint(place)
#else
#define WT_TESTPOINT(place) ((void)0)
#endif

#endif /* WT_TESTPOINT_H */
