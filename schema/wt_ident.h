/*
 * wt_ident.h - a line inside each of our binaries that says what it is, so that `wavetap doctor`
 * can compare files without running them. `strings` shows it too.
 */
#ifndef WT_IDENT_H
#define WT_IDENT_H

#include "schema/wt_segment.h"

#define WT_IDENT_MARK "@(#)wavetap-ident "
#define WT_IDENT_TEXT_(text) #text
#define WT_IDENT_TEXT(text) WT_IDENT_TEXT_(text)

/* In one file of a program, after config.h: the linker must keep it though nobody reads it. */
#define WT_IDENT(program)                                                                          \
	__attribute__((used)) static const char wt_ident[] =                                       \
	        WT_IDENT_MARK program " " PACKAGE_VERSION " layout " WT_IDENT_TEXT(WT_SEGMENT_ABI)

#endif /* WT_IDENT_H */
