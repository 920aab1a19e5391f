/*
 * inject_nvtx.c - somebody else's NVTX injection: a push gives 7, all else is left unset. Told by
 * WTFAKE_NVTX_REFUSE=1 it refuses, as an injection may.
 */
#include <stdlib.h>

#include "libintercept/nvtx_abi.h"

__attribute__((visibility("default"))) int
InitializeInjectionNvtx2(wtnvtx_get_export_table_fn get_export_table);

static int push(const char *message)
{
	(void)message;
	return 7;
}

int InitializeInjectionNvtx2(wtnvtx_get_export_table_fn get_export_table)
{
	const struct wtnvtx_callbacks *table = get_export_table(WTNVTX_ETID_CALLBACKS);
	wtnvtx_fn **functions;
	unsigned size;

	if (getenv("WTFAKE_NVTX_REFUSE") ||
	    !table->get_functions(WTNVTX_MODULE_CORE, &functions, &size))
		return 0;
	*functions[WTNVTX_CORE_RANGE_PUSH_A] = (wtnvtx_fn)(void *)push;
	return 1;
}
