/*
 * kernel_class.c - see kernel_class.h. Pure: any thread, never blocks.
 */
#include <stddef.h>
#include <string.h>

#include "analysis/collective.h"
#include "analysis/kernel_class.h"
#include "analysis/optimizer.h"

static const char *const names[WT_CLASS_MAX] = {
        [WT_CLASS_COLLECTIVE] = "collective",
        [WT_CLASS_OPTIMIZER] = "optimizer",
        [WT_CLASS_ATTENTION] = "attention",
        [WT_CLASS_CONVOLUTION] = "convolution",
        [WT_CLASS_GEMM] = "gemm",
        [WT_CLASS_NORM] = "norm",
        [WT_CLASS_SOFTMAX] = "softmax",
        [WT_CLASS_EMBEDDING] = "embedding",
        [WT_CLASS_RANDOM] = "random",
        [WT_CLASS_SORT] = "sort",
        [WT_CLASS_COPY] = "copy",
        [WT_CLASS_REDUCTION] = "reduction",
        [WT_CLASS_ELEMENTWISE] = "elementwise",
        [WT_CLASS_OTHER] = "other",
};

/*
 * The first word that a name has decides, whatever its case: PyTorch, cuBLAS, cuDNN, CUTLASS,
 * Triton as torch.compile names it, FlashAttention, CUB, XLA.
 */
static const struct word {
	const char *text;
	enum wt_kernel_class kernel_class;
} words[] = {
        {"flash", WT_CLASS_ATTENTION},
        {"fmha", WT_CLASS_ATTENTION},
        {"sdpa", WT_CLASS_ATTENTION},
        {"attention", WT_CLASS_ATTENTION},
        {"attn", WT_CLASS_ATTENTION},
        {"conv1d", WT_CLASS_CONVOLUTION},
        {"conv2d", WT_CLASS_CONVOLUTION},
        {"conv3d", WT_CLASS_CONVOLUTION},
        {"convolution", WT_CLASS_CONVOLUTION},
        {"winograd", WT_CLASS_CONVOLUTION},
        {"implicit_gemm", WT_CLASS_CONVOLUTION},
        {"fprop", WT_CLASS_CONVOLUTION},
        {"dgrad", WT_CLASS_CONVOLUTION},
        {"wgrad", WT_CLASS_CONVOLUTION},
        {"nvjet", WT_CLASS_GEMM},
        {"gemm", WT_CLASS_GEMM}, /* and gemmSN, sgemm, cutlass::gemm */
        {"gemv", WT_CLASS_GEMM},
        {"matmul", WT_CLASS_GEMM},
        {"splitKreduce", WT_CLASS_GEMM}, /* cuBLASLt's second half */
        {"triton_tem_", WT_CLASS_GEMM},
        {"layer_norm", WT_CLASS_NORM},
        {"layernorm", WT_CLASS_NORM},
        {"batch_norm", WT_CLASS_NORM},
        {"batchnorm", WT_CLASS_NORM},
        {"bn_fw", WT_CLASS_NORM},
        {"bn_bw", WT_CLASS_NORM},
        {"group_norm", WT_CLASS_NORM},
        {"groupnorm", WT_CLASS_NORM},
        {"rms_norm", WT_CLASS_NORM},
        {"rmsnorm", WT_CLASS_NORM},
        {"softmax", WT_CLASS_SOFTMAX},
        {"nll_loss", WT_CLASS_SOFTMAX},
        {"cross_entropy", WT_CLASS_SOFTMAX},
        {"embedding", WT_CLASS_EMBEDDING},
        {"gather", WT_CLASS_EMBEDDING},
        {"scatter", WT_CLASS_EMBEDDING},
        {"index", WT_CLASS_EMBEDDING},
        {"dropout", WT_CLASS_RANDOM},
        {"distribution_", WT_CLASS_RANDOM},
        {"curand", WT_CLASS_RANDOM},
        {"philox", WT_CLASS_RANDOM},
        {"radixsort", WT_CLASS_SORT},
        {"DeviceScan", WT_CLASS_SORT},
        {"bitonic", WT_CLASS_SORT},
        {"topk", WT_CLASS_SORT},
        {"sort", WT_CLASS_SORT},
        {"copy", WT_CLASS_COPY},
        {"convert_dq", WT_CLASS_COPY},
        {"FillFunctor", WT_CLASS_COPY},
        {"transpose", WT_CLASS_COPY},
        {"CatArray", WT_CLASS_COPY},
        {"memset", WT_CLASS_COPY},
        {"reduce", WT_CLASS_REDUCTION},
        {"reduction", WT_CLASS_REDUCTION},
        {"elementwise", WT_CLASS_ELEMENTWISE},
        {"pointwise", WT_CLASS_ELEMENTWISE},
        {"multi_tensor_apply", WT_CLASS_ELEMENTWISE},
        {"loop_", WT_CLASS_ELEMENTWISE}, /* XLA's fusions */
};

static const char *const triton_kinds[] = {"triton_red_", "triton_per_", "triton_poi_"};

enum wt_kernel_class wt_kernel_class(const char *name)
{
	if (!name)
		return WT_CLASS_OTHER;
	if (wt_is_collective_kernel(name))
		return WT_CLASS_COLLECTIVE;
	if (wt_is_optimizer_kernel(name))
		return WT_CLASS_OPTIMIZER;
	/* torch.compile's fusions are called by all that they fuse: their first word is the kind. */
	for (size_t i = 0; i < sizeof(triton_kinds) / sizeof(triton_kinds[0]); i++)
		if (!strncmp(name, triton_kinds[i], strlen(triton_kinds[i])))
			return i < 2 ? WT_CLASS_REDUCTION : WT_CLASS_ELEMENTWISE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasestr(name, words[i].text))
			return words[i].kernel_class;
	return WT_CLASS_OTHER;
}

const char *wt_kernel_class_name(enum wt_kernel_class kernel_class)
{
	return kernel_class < WT_CLASS_MAX ? names[kernel_class] : "";
}

bool wt_is_persistent_kernel(const char *name)
{
	static const char *const marks[] = {
	        "PersistentTileScheduler",  "TileSchedulerStreamK",      "StreamKScheduler",
	        "PersistentVariableLength", "matmul_persistent",         "gemm_persistent",
	        "_persistent_kernel",       "ThreadblockSwizzleStreamK", "stream_k_kernel",
	        "streamk_kernel",           "GemmUniversalStreamk"};

	for (size_t i = 0; name && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strcasestr(name, marks[i]))
			return true;
	return false;
}
