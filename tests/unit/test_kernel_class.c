/*
 * test_kernel_class.c - classes of kernels, on names that were recorded or are in the sources of
 * the libraries that launch them.
 */
#include "analysis/kernel_class.h"
#include "tests/tap.h"

static const struct {
	const char *name, *want;
} cases[] = {
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "collective"},
        {"nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NTN", "gemm"},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "gemm"},
        {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif13__nv_bfloat16fS1_Lb0E", "gemm"},
        {"triton_tem_fused_mm_3", "gemm"},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64",
         "attention"},
        {"_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traits", "attention"},
        {"sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc", "convolution"},
        {"_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a35GammaBetaBackward",
         "norm"},
        {"_ZN2at6native43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6322cunn_SoftMaxForwardReg",
         "softmax"},
        {"_ZN2at6native45_GLOBAL__N__83039fe0_12_Embedding_cu_9c8c8d3a33embedding_backward",
         "embedding"},
        {"_ZN2at6native24vectorized_gather_kernelILi16ElEEvPcS2_PT0_illllb", "embedding"},
        {"_ZN2at6native60_GLOBAL__N__27_DistributionRandomKernel_cu_43distribution_elementwise_"
         "grid",
         "random"},
        {"_ZN3cub17DeviceRadixSortOnesweepKernelINS_21DeviceRadixSortPolicy", "sort"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_kernel_cuda",
         "copy"},
        {"_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c19CatArrayBatchedCopy", "copy"},
        {"_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIN3c108BFloat16", "reduction"},
        {"triton_per_fused_native_layer_norm_2", "reduction"},
        {"triton_poi_fused__to_copy_4", "elementwise"},
        {"_ZN2at6native27unrolled_elementwise_kernelINS0_15CUDAFunctor_addIfEE", "elementwise"},
        {"_ZN2at6native54_GLOBAL__N__24_ForeachPointwiseOp_cu_25multi_tensor_apply_"
         "kernelI18PointwiseOp",
         "optimizer"},
        {"my_kernel", "other"},
        {"", "other"},
        {NULL, "other"},
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		is_str(wt_kernel_class_name(wt_kernel_class(cases[i].name)), cases[i].want,
		       cases[i].name ? cases[i].name : "no name");
	is_str(wt_kernel_class_name(WT_CLASS_MAX), "", "no such class");
	ok(wt_is_persistent_kernel("cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90"),
	   "a tile scheduler that says so");
	ok(wt_is_persistent_kernel("matmul_persistent"), "Triton's");
	ok(!wt_is_persistent_kernel("triton_per_fused_add_1"), "a persistent reduction is none");
	ok(!wt_is_persistent_kernel("nvjet_sm90_tst_64x64_64x13_2x1_v_bz_NNT") &&
	           !wt_is_persistent_kernel(NULL),
	   "names that say nothing");
	return tap_done();
}
