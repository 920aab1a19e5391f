/*
 * optimizer.c - see optimizer.h. Pure; any thread.
 */
#include <stddef.h>
#include <string.h>

#include "analysis/optimizer.h"

/*
 * Parts of names. Not multi_tensor_apply alone: FSDP copies and gradient clipping go through it as
 * well, many times a step.
 */
static const char *const parts[] = {
        "adam",       "adagrad", "adafactor", "rmsprop", "fusedsgd", "sgdfunctor",
        "koptimizer", "addcdiv", "lamb",      "lion_",   "lars_",    "applygradientdescent",
};

bool wt_is_optimizer_kernel(const char *mangled_name)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const char *at = strcasestr(mangled_name, parts[i]);

		/* "lambda" is in most PyTorch kernels' names. */
		if (at && !(parts[i][0] == 'l' && strcasestr(mangled_name, "lambda")))
			return true;
	}
	/* addcmul and addcdiv on lists of tensors. */
	return strstr(mangled_name, "multi_tensor_apply") && strstr(mangled_name, "PointwiseOp");
}
