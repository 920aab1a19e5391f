/*
 * optimizer.h - kernels that update parameters, by name: where one ran, a training step ends.
 *
 * Pure; any thread. A name that is not known is no optimizer's: steps are then found without this
 * hint, or not.
 */
#ifndef WT_OPTIMIZER_H
#define WT_OPTIMIZER_H

#include <stdbool.h>

/* PyTorch's (by tensor, by lists, fused), Apex's, DeepSpeed's, bitsandbytes' and TensorFlow's. */
bool wt_is_optimizer_kernel(const char *mangled_name);

#endif /* WT_OPTIMIZER_H */
