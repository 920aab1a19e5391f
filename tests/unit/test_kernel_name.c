/*
 * test_kernel_name.c - cli/demangle.h and cli/kernel_name.h on kernel names of a
 * PyTorch training run on an H200, on other libraries' names, and on damaged,
 * hostile and huge ones. The mutations are seeded: a failure repeats itself.
 * One thread, memory only.
 */
#include <dlfcn.h>
#include <errno.h>

#include "cli/demangle.h"
#include "cli/kernel_name.h"
#include "tests/tap.h"

struct pair {
	const char *name, *want;
};

/* Mangled, as the profiling interface reports them. */
static const struct pair recorded[] = {
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1"
         "EEEEviT0_T1_",
         "vectorized_elementwise<4,FillFunctor<float>>"},
        {"_ZN2at6native39_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e139nll_loss_backward_reduce_cud"
         "a_kernel_2dIflEEvPT_PKS3_PKT0_S6_S6_biill",
         "nll_loss_backward_reduce_cuda_kernel_2d<float>"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi8EZNS0_25bfloat16_copy_kernel_cudaERN"
         "S_18TensorIteratorBaseEEUlfE_St5arrayIPcLm2EEEEviT0_T1_",
         "vectorized_elementwise<8,bfloat16_copy(float)>"},
        {"_ZN2at6native43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6324cunn_SoftMaxBackwardSmem"
         "ILi8EN3c108BFloat16EfS4_NS1_26LogSoftMaxBackwardEpilogueEEEvPT0_PKT2_SA_l",
         "cunn_SoftMaxBackwardSmem<8,bf16,float,LogSoftMaxBackwardEpilogue>"},
        {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "nvjet tst 256x128x64 1x2 coopA NNT"},
        {"_ZN2at6native13reduce_kernelILi128ELi4ENS0_8ReduceOpIN3c108BFloat16ENS0_14func_wrapp"
         "er_tIS4_ZNS0_11sum_functorIS4_fS4_EclERNS_14TensorIteratorEEUlffE_EEjS4_Li4ELi8EEEEE"
         "vT1_",
         "reduce<128,4,sum_functor<bf16,float>>"},
        {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18Te"
         "nsorIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffset"
         "CalculatorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_"
         "T0_T2_T3_T4_T5_",
         "unrolled_elementwise<direct_copy(float),4>"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi8EZZZNS0_26GeluBackwardCUDAKernelImpl"
         "ERNS_18TensorIteratorBaseENS0_8GeluTypeEENKUlvE0_clEvENKUlvE2_clEvEUlN3c108BFloat16E"
         "S8_E_St5arrayIPcLm3EEEEviT0_T1_",
         "vectorized_elementwise<8,GeluBackward(bf16,bf16)>"},
        {"_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a35GammaBetaBackw"
         "ardCUDAKernelTemplateIffLj32ELj32ELj256ELb0ELb1ELb0EEEvllPKT_S5_PKT0_S8_PS3_S9_",
         "GammaBetaBackward<float,32,32,256>"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIP"
         "cLm3EEEEviT0_T1_",
         "vectorized_elementwise<4,CUDAFunctor_add<float>>"},
        {"nvjet_sm90_tst_64x64_64x13_1x2_h_bz_splitK_NTT", "nvjet tst 64x64x64 1x2 splitK NTT"},
        {"_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif13__nv_bfloat16fS1_Lb0EfS1_S1_Lb1ELb0E"
         "Lb0ELb0EEEvNS_18cublasSplitKParamsIT4_EEPKT2_PKT8_PT7_PT3_PKS3_SG_PKT9_S7_PSH_PvlPS3"
         "_PiSM_SM_SG_SG_SG_SG_SG_",
         "cublasLt::splitKreduce_kernel<32,16,float,bf16>"},
        {"_ZN5cudnn6fusion28compute_dot_do_o_specializedILb1ELi64EEEvPKvS3_PvS4_jjjjjjjjjjjjjj"
         "jjjfS3_S3_S3_S3_S3_bS3_S4_S3_iiiiiiiii",
         "cudnn::fusion::compute_dot_do_o_specialized<64>"},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_c"
         "ga1x1x1_kernel0_0",
         "cudnn sdpa_sm90_flash_bprop_wgmma_f16_64x64x64_1x4x1_cga1x1x1"},
        {"cudnn_generated_fort_native_sdpa_sm90_knob_kernel0_0", "cudnn sdpa_sm90"},
        {"_ZN2at6native40_GLOBAL__N__0f1a8107_8_Shape_cu_49f7391c19CatArrayBatchedCopyINS1_10O"
         "paqueTypeILj2EEEjLi4ELi64ELi64EEEvPT_NS1_25CatArrInputTensorMetadataIS5_T0_XT2_EXT3_"
         "EEENS1_16TensorSizeStrideIS8_Lj4EEEiS8_",
         "CatArrayBatchedCopy<OpaqueType,4,64,64>"},
        {"_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23d"
         "irect_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_clEvENKUlvE10_clEvEUlN3c108"
         "BFloat16EE_EEvS4_RKT_EUliE_EEviT1_",
         "elementwise<128,4,direct_copy(bf16)>"},
        {"_ZN50_GLOBAL__N__fa15d16e_17_RangeFactories_cu_38772b0829elementwise_kernel_with_ind"
         "exIiZZZN2at6native15arange_cuda_outERKN3c106ScalarES6_S6_RNS1_6TensorEENKUlvE_clEvEN"
         "KUlvE2_clEvEUllE_EEvT_T0_PN15function_traitsISD_E11result_typeE",
         "elementwise_kernel_with_index<arange_cuda_out(long)>"},
        {"_ZN14at_cuda_detail3cub6detail10radix_sort30DeviceRadixSortHistogramKernelINS1_5radi"
         "x10policy_hubIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE10Policy1000ELNS0_9SortOrder"
         "E0ElyNS1_21identity_decomposer_tEEEvPT2_PKT1_SG_iiT3_",
         "DeviceRadixSortHistogram"},
        {"_ZN14at_cuda_detail3cub6detail10radix_sort29DeviceRadixSortOnesweepKernelINS1_5radix"
         "10policy_hubIlN2at4cuda3cub6detail10OpaqueTypeILi8EEEyE10Policy1000ELNS0_9SortOrderE"
         "0ElSB_yiiNS1_21identity_decomposer_tEEEvPT5_SH_PT3_PKSI_PT1_PKSM_PT2_PKSQ_T4_iiT6_",
         "DeviceRadixSortOnesweep<OpaqueType>"},
        {"_ZN14at_cuda_detail3cub6detail13unique_by_key28DeviceUniqueByKeySweepKernelINS2_10po"
         "licy_hubIliE10Policy1000EPKlN6thrust45THRUST_300001_SM_750_800_860_900_1000_1200_NS1"
         "7counting_iteratorIiNSA_11use_defaultESC_SC_EEPlSE_SE_NS0_13ScanTileStateIyLb1EEEN4c"
         "uda3std3__48equal_toIvEEyNS2_11VSMemHelperEEEvT0_T1_T2_T3_T4_T5_T6_T7_iNS1_7vsmem_tE",
         "DeviceUniqueByKeySweep<equal_to<void>>"},
        {"_ZN14at_cuda_detail3cub6detail4scan16DeviceScanKernelINS2_10policy_hubIllljN2at4cuda"
         "3cub38_GLOBAL__N__5e798be1_6_cub_cu_8a0ccfeb5SumOpIlEEE10Policy1000EPKlPlNS0_13ScanT"
         "ileStateIlLb1EEESA_NS1_10InputValueIlSF_EEjlLb0ElEEvT0_T1_T2_iT3_T4_T5_",
         "DeviceScan<SumOp>"},
        {"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT",
         "nvjet tst 256x128x64 1x2 coopA bias TNT"},
        {"_ZN2at6native57_GLOBAL__N__e658eeb9_24_ForeachBinaryOpScalar_cu_86b9896c25multi_tens"
         "or_apply_kernelINS1_18TensorListMetadataILi1EEENS1_21BinaryOpScalarFunctorIfLi1ELi1E"
         "Li0EEEJSt10multipliesIfEfEEEvT_T0_DpT1_",
         "multi_tensor_apply<BinaryOpScalarFunctor<float>,multiplies<float>,float>"},
        {"_ZN2at6native52_GLOBAL__N__4671fab5_19_ForeachTernaryOp_cu_5285c63625multi_tensor_ap"
         "ply_kernelINS1_18TensorListMetadataILi2EEENS1_22TernaryOpScalarFunctorIfLi2ELi2ELi0E"
         "EEJNS0_11LerpFunctorIfEEfEEEvT_T0_DpT1_",
         "multi_tensor_apply<TernaryOpScalarFunctor<float>,LerpFunctor<float>,float>"},
        {"_ZN2at6native50_GLOBAL__N__b6ca21f8_17_ForeachUnaryOp_cu_77fe623d25multi_tensor_appl"
         "y_kernelINS1_18TensorListMetadataILi2EEENS1_14UnaryOpFunctorIfLi2ELi1ELi1EEEJNS0_4Sq"
         "rtIfEEEEEvT_T0_DpT1_",
         "multi_tensor_apply<UnaryOpFunctor<float>,Sqrt<float>>"},
};

/* Demangled already, or never mangled. */
static const struct pair others[] = {
        {"void "
         "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_nn_align8>"
         "(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_nn_align8::Params)",
         "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x3_nn_align8"},
        {"void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<"
         "Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t, "
         "Flash_kernel_traits<64, 128, 128, 8, cutlass::bfloat16_t> >, false, true, false, false, "
         "true, "
         "true, false>(pytorch_flash::Flash_bwd_params)",
         "flash_bwd_dq_dk_dv<64,128,128>"},
        {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
         "flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, "
         "cute::tuple<cute::C<128>, cute::C<176>, cute::C<128> >, cutlass::bfloat16_t>, int> > "
         ">(int)",
         "FlashAttnFwdSm90<CollectiveMainloopFwdSm90<1x1x1,128x176x128,bf16>>"},
        {"triton_poi_fused_add_0", "triton_poi_fused_add_0"},
        {"my_kernel", "my_kernel"},
        {"saxpy_kernel(int, float, float*)", "saxpy_kernel"},
        {"void mine::scale<float>(float*)", "mine::scale<float>"},
        {"unsigned long (anonymous namespace)::count<3>(int) [clone .part.0]", "count<3>"},
        {"Memset (Device)", "Memset (Device)"},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "ncclDevKernel_AllReduce_Sum_f32_RING_LL"},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64",
         "sm90_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x64"},
        {"nvjet_sm90_odd", "nvjet_sm90_odd"},
        {"nvjet_sm90_tst_128x_64x4_2x1_v", "nvjet_sm90_tst_128x_64x4_2x1_v"},
        {"f<(a)>(b)", "f<(a)>"},
        {"f<int, (ns::Order)2>(int)", "f"},
        {"void f<&(g(int))>()", "f<&(g(int))>"},
        {"X::operator()(int) const", "X::operator()"},
        {"X::operator<<(int)", "X::operator<<"},
        {"", ""},
        {"_Z", "_Z"},
        {"_Z3", "_Z3"},
        {"<", "<"},
        {"::", "::"},
        {"(((", "((("},
        {")>", ")>"},
        {"a::b<c", "a::b<c"},
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static char *brief(const char *name)
{
	char *demangled = wt_kernel_name_demangle(name);
	char *text = demangled ? wt_kernel_name_shorten(demangled, WT_KERNEL_NAME_BRIEF) : NULL;

	free(demangled);
	return text;
}

static void test_pairs(const struct pair *pairs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *text = brief(pairs[i].name);

		is_str(text, pairs[i].want, pairs[i].want);
		free(text);
	}
}

/* Our demangler says what the C++ runtime's says, wherever that one is there. */
static void test_against_runtime(void)
{
	static const char *const more[] = {
	        "_Z1fPFvPiEPA4_KfRK1S",  "_ZN1AIiEC1Ev",          "_ZNK1A1BclEi",
	        "_Z1fIJifEEvDpT_",       "_Z1fILb1ELin5ELj7EEvv", "_Z1fIL1E0EEvv",
	        "_ZN12_GLOBAL__N_11fEv", "_Z1fv.part.0",          "_ZStlsIcEvT_",
	        "_Z1fPPFvvERA2_A3_i",    "_Z1fSt4pairIiS_IifEE",  "_ZZ1fiEN1A1gEv",
	        "_Z1fILi3EEv1XIXT_EE",
	};
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	char *(*demangle)(const char *, char *, size_t *, int *) = NULL;

	if (library)
		*(void **)&demangle = dlsym(library, "__cxa_demangle");
	if (!demangle) {
		ok(true, "against the C++ runtime # SKIP no libstdc++.so.6 here");
		return;
	}
	for (size_t i = 0; i < COUNT(recorded) + COUNT(more); i++) {
		const char *name =
		        i < COUNT(recorded) ? recorded[i].name : more[i - COUNT(recorded)];
		char *want = demangle(name, NULL, NULL, NULL), *got = NULL;
		int error = strncmp(name, "_Z", 2) ? 0 : wt_demangle(name, false, &got);

		is_i64(error, 0, "demangled");
		is_str(got, want, name);
		free(got);
		free(want);
	}
	dlclose(library);
}

static void test_demangle_limits(void)
{
	char name[4096], *text = NULL;
	size_t n = (size_t)sprintf(name, "_Z1fIJ");

	for (int i = 0; i < 400; i++)
		n += (size_t)sprintf(name + n, "6type%02d", i % 100);
	strcpy(name + n, "EEvv");
	is_i64(wt_demangle(name, false, &text), 0,
	       "names beyond the C++ runtime's limit of 1,024 bytes");
	ok(text && strstr(text, "type98, type99>()"), "to their end");
	free(text);
	text = NULL;
	n = (size_t)sprintf(name, "_Z1f1PI1AS0_E"); /* each next type is twice the last */
	for (int i = 1; i < 100; i++)
		n += i + 1 <= 35 ? (size_t)sprintf(name + n, "S_IS%c_S%c_E",
		                                   i < 10 ? '0' + i : 'A' + i - 10,
		                                   i < 10 ? '0' + i : 'A' + i - 10)
		                 : (size_t)sprintf(name + n, "S_ISY_SY_E");
	is_i64(wt_demangle(name, false, &text), -E2BIG, "text that doubles and doubles is refused");
	ok(text == NULL, "and the out parameter is untouched");
	text = wt_kernel_name_demangle(name);
	is_str(text, "f", "but the function's name is found");
	free(text);
	is_i64(wt_demangle("triton_add", false, &text), -EINVAL, "not mangled");
	is_i64(wt_demangle("_Z1fi!", false, &text), -EINVAL, "something behind the name");
	is_i64(wt_demangle("_ZS_", false, &text), -EINVAL, "a reference to nothing");
	is_i64(wt_demangle("_Z99999999999999999999a", false, &text), -E2BIG, "a senseless length");
	is_i64(wt_demangle("_Z1fSZZZZZZZZZZZZZZZZ_", false, &text), -E2BIG,
	       "a senseless reference");
	is_i64(wt_demangle("_Z1fIiEvT99999999999_", false, &text), -E2BIG, "a senseless parameter");
}

static void test_details(void)
{
	static const char name[] =
	        "void at::native::(anonymous namespace)::k_kernel<float, float, 32u, true, "
	        "at::native::F<float, 3>, std::array<char*, 2ul> >(int)";
	static const char *const want[] = {
	        "k_kernel<float,32,F<float>>",
	        "k_kernel<float,float,32,true,F<float>,array>",
	        "k_kernel<float,float,32,true,F<float,3>,array<char*,2>>",
	        name,
	};

	for (unsigned detail = 0; detail < COUNT(want); detail++) {
		char *text = wt_kernel_name_shorten(name, detail);

		is_str(text, want[detail], "detail");
		free(text);
	}
}

static void test_list(void)
{
	static const char *const names[] = {
	        "void at::native::gone_kernel<float, true>(int)",
	        "void at::native::gone_kernel<float, false>(int)",
	        "void at::native::gone_kernel<float, true>(int)",
	        "_ZN36_GLOBAL__N__00000001_4_a_cu_000000014sameEv",
	        "_ZN36_GLOBAL__N__00000002_4_b_cu_000000024sameEv",
	        "nvjet_sm90_tst_64x64_64x8_2x1_v_bz_NTN",
	        "nvjet_sm90_tst_64x64_64x8_2x1_h_bz_NTN",
	        "alone",
	};
	static const char *const want[] = {
	        "gone<float,true>",
	        "gone<float,false>",
	        "gone<float,true>",
	        "(anonymous namespace)::same()",
	        "(anonymous namespace)::same()#2",
	        "nvjet_sm90_tst_64x64_64x8_2x1_v_bz_NTN",
	        "nvjet_sm90_tst_64x64_64x8_2x1_h_bz_NTN",
	        "alone",
	};
	char **texts = NULL;

	is_i64(wt_kernel_name_shorten_all(names, COUNT(names), &texts), 0, "list");
	for (size_t i = 0; texts && i < COUNT(names); i++)
		is_str(texts[i], want[i], want[i]);
	wt_kernel_name_free_all(texts, COUNT(names));
	is_i64(wt_kernel_name_shorten_all(NULL, 0, &texts), 0, "empty list");
	wt_kernel_name_free_all(texts, 0);
	wt_kernel_name_free_all(NULL, 0);
}

/* Small, seeded, and good enough to pick bytes. */
static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

enum { MUTANT_MAX_BYTES = 8192 };

static void mutate(char *text, uint64_t *seed)
{
	static const char pieces[] = "<>(){}[]:,ESNIZJTLXUK_* \x1b\xff\x80#0159&-";
	unsigned changes = 1 + random_next(seed) % 6;

	while (changes--) {
		size_t n = strlen(text), at = n ? random_next(seed) % n : 0;
		size_t length = n > at ? 1 + random_next(seed) % (n - at) : 0;
		char piece = pieces[random_next(seed) % (sizeof(pieces) - 1)];

		switch (random_next(seed) % 5) {
		case 0:
			if (n)
				text[at] = piece;
			break;
		case 1:
			memmove(text + at, text + at + length, n - at - length + 1);
			break;
		case 2: /* doubled */
			if (n + length < MUTANT_MAX_BYTES)
				memmove(text + at + length, text + at, n - at + 1);
			break;
		case 3:
			if (n + 1 < MUTANT_MAX_BYTES) {
				memmove(text + at + 1, text + at, n - at + 1);
				text[at] = piece;
			}
			break;
		default:
			if (random_next(seed) % 8 == 0)
				text[at] = '\0';
		}
	}
}

/* All functions on one name. False if a result is missing or longer than it may be. */
static bool survives(const char *name)
{
	char *demangled = wt_kernel_name_demangle(name);
	bool good = demangled != NULL;

	for (unsigned detail = 0; good && detail <= WT_KERNEL_NAME_FULL; detail++) {
		char *text = wt_kernel_name_shorten(demangled, detail);

		good = text && strlen(text) <= strlen(demangled) + 64 && (*text || !*demangled);
		free(text);
	}
	free(demangled);
	return good;
}

static void test_mutants(unsigned count)
{
	uint64_t seed = 0x9e3779b97f4a7c15u;
	char *texts[16] = {0}, **shorts = NULL;
	unsigned bad = 0, bad_lists = 0;

	for (unsigned i = 0; i < count; i++) {
		char *text = calloc(1, MUTANT_MAX_BYTES + 1), *plain = NULL;
		const struct pair *pair = random_next(&seed) % 4
		                                  ? &recorded[random_next(&seed) % COUNT(recorded)]
		                                  : &others[random_next(&seed) % COUNT(others)];

		if (!text)
			break;
		if (random_next(&seed) % 2 && !wt_demangle(pair->name, false, &plain))
			strncpy(text, plain, MUTANT_MAX_BYTES);
		else
			strncpy(text, pair->name, MUTANT_MAX_BYTES);
		free(plain);
		mutate(text, &seed);
		if (!survives(text) && !bad++)
			printf("# mutant %u: %s\n", i, text);
		free(texts[i % COUNT(texts)]);
		texts[i % COUNT(texts)] = text;
		if (i % COUNT(texts) != COUNT(texts) - 1)
			continue;
		if (wt_kernel_name_shorten_all((const char *const *)texts, COUNT(texts), &shorts))
			break;
		for (size_t a = 0; a < COUNT(texts); a++)
			for (size_t b = 0; b < a; b++)
				bad_lists += !strcmp(texts[a], texts[b]) !=
				             !strcmp(shorts[a], shorts[b]);
		wt_kernel_name_free_all(shorts, COUNT(texts));
	}
	for (size_t i = 0; i < COUNT(texts); i++)
		free(texts[i]);
	is_i64(bad, 0, "mutated names survive");
	is_i64(bad_lists, 0, "in lists, different names stay different and equal ones equal");
}

static void test_huge(void)
{
	static const char *const units[] = {"<",
	                                    "(",
	                                    "{",
	                                    ">",
	                                    "a<",
	                                    "a::",
	                                    "a<b,",
	                                    "f<(",
	                                    "operator",
	                                    "_ZN",
	                                    "(anonymous namespace)::",
	                                    "{lambda()#1}::",
	                                    "\xff",
	                                    "P",
	                                    "N1a",
	                                    "1aI",
	                                    "Z1fv",
	                                    "cute::tuple<cute::C<1>,",
	                                    "Kernel2<",
	                                    "const ",
	                                    "a()::{lambda(",
	                                    "S_",
	                                    "IS_",
	                                    "-",
	                                    " ",
	                                    "J",
	                                    "L_Z"};

	for (size_t i = 0; i < COUNT(units); i++) {
		size_t size = 64 << 10, length = strlen(units[i]), n = 0;
		char *text = malloc(size + 8);
		bool good;

		if (!text)
			return;
		for (n = 0; n + length <= size; n += length)
			memcpy(text + 2 + n, units[i], length);
		memcpy(text, "_Z", 2);
		text[2 + n] = '\0';
		good = survives(text); /* mangled ... */
		memcpy(text, "a<", 2);
		good = survives(text) && good; /* ... and not */
		ok(good, "64 KiB of %s", *units[i] == '\xff' ? "0xff" : units[i]);
		free(text);
	}
}

/* The function alone, as ncu names it. */
static void test_function(void)
{
	static const struct pair functions[] = {
	        {"void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)",
	         "vectorized_gather_kernel"},
	        {"void at::native::(anonymous namespace)::cunn_SoftMaxForwardReg<c10::BFloat16, "
	         "float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue, long, 8>("
	         "c10::BFloat16*, long)",
	         "cunn_SoftMaxForwardReg"},
	        {"void "
	         "cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2>("
	         "cutlass::Params)",
	         "Kernel2"},
	        {"a::holder<int, b<c>>::run<float>(int)", "run"},
	        {"a::holder<int>::run(x<y>)", "run"},
	        {"void run<&a::operator->>(int)", "run"},
	        {"nvjet_sm90_tst_96x128_64x7_2x1_v_bz_bias_TNT",
	         "nvjet_sm90_tst_96x128_64x7_2x1_v_bz_bias_TNT"},
	        {"(anonymous namespace)::spin(int)", "spin"},
	        {"broken<int", "broken"},
	        {"", ""},
	};

	for (size_t i = 0; i < COUNT(functions); i++) {
		char *function = wt_kernel_name_function(functions[i].name);

		is_str(function, functions[i].want, functions[i].want);
		free(function);
	}
}

int main(void)
{
	ok(wt_kernel_name_problem() == NULL, "no problem at the start");
	test_pairs(recorded, COUNT(recorded));
	test_pairs(others, COUNT(others));
	test_against_runtime();
	test_demangle_limits();
	test_details();
	test_list();
	test_function();
	test_huge();
	test_mutants(3200);
	ok(wt_kernel_name_problem() != NULL, "names that stay mangled are noticed");
	return tap_done();
}
