/*
 * copy_names.c - see copy_names.h. Any thread.
 */
#include "cli/copy_names.h"

const char *wt_copy_direction_name(int kind)
{
	static const char *const names[] = {"memset", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
	                                    "AtoD",   "DtoA", "DtoD", "HtoH", "PtoP"};

	return kind >= 0 && kind < (int)(sizeof(names) / sizeof(names[0])) ? names[kind] : "other";
}

const char *wt_copy_memory_name(int kind)
{
	static const char *const names[] = {"unknown",       "pageable",      "pinned",
	                                    "device",        "array",         "managed",
	                                    "device-static", "managed-static"};

	return kind >= 0 && kind < (int)(sizeof(names) / sizeof(names[0])) ? names[kind]
	                                                                   : "unknown";
}
