/*
 * shorten_rules.c - see shorten_impl.h: which names and arguments are worth showing.
 *
 * Threads: any, no state. Never blocks.
 */
#include <ctype.h>
#include <string.h>

#include "cli/shorten_impl.h"

const char *wt_ks_data_type(const struct shortener *k, struct span a)
{
	static const char *const types[][2] = {
	        {"float", "float"},
	        {"double", "double"},
	        {"c10::BFloat16", "bf16"},
	        {"__nv_bfloat16", "bf16"},
	        {"c10::Half", "half"},
	        {"__half", "half"},
	        {"half", "half"},
	        {"bool", "bool"},
	        {"char", "char"},
	        {"signed char", "int8"},
	        {"unsigned char", "uint8"},
	        {"short", "short"},
	        {"cutlass::half_t", "half"},
	        {"cutlass::tfloat32_t", "tf32"},
	        {"cutlass::bfloat16_t", "bf16"},
	        {"c10::complex<float>", "complex<float>"},
	        {"c10::complex<double>", "complex<double>"},
	        {"cutlass::float_e4m3_t", "e4m3"},
	        {"cutlass::float_e5m2_t", "e5m2"},
	        {"c10::Float8_e4m3fn", "e4m3"},
	        {"c10::Float8_e5m2", "e5m2"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (wt_ks_span_is(k, a, types[i][0]))
			return types[i][1];
	return NULL;
}

const char *wt_ks_index_type(const struct shortener *k, struct span a)
{
	static const char *const types[][2] = {
	        {"int", "int"},
	        {"long", "long"},
	        {"long long", "llong"},
	        {"unsigned int", "uint"},
	        {"unsigned long", "ulong"},
	        {"unsigned long long", "ullong"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (wt_ks_span_is(k, a, types[i][0]))
			return types[i][1];
	return NULL;
}

/* Arguments that say how a kernel is built rather than what it does. */
bool wt_ks_is_boring(const struct shortener *k, struct span a)
{
	static const char *const names[] = {"true",
	                                    "false",
	                                    "array",
	                                    "TrivialOffsetCalculator",
	                                    "OffsetCalculator",
	                                    "LoadWithCast",
	                                    "StoreWithCast",
	                                    "LoadWithoutCast",
	                                    "StoreWithoutCast",
	                                    "identity_decomposer_t",
	                                    "ScanTileState",
	                                    "ReduceByKeyScanTileState",
	                                    "TensorListMetadata",
	                                    "TensorListScalarListMetadata",
	                                    "FusedOptimizerTensorListMetadata",
	                                    "VSMemHelper",
	                                    "InputValue",
	                                    "counting_iterator",
	                                    "use_default",
	                                    "integral_constant",
	                                    "IndexType",
	                                    "result_type",
	                                    "Arch",
	                                    "GridDependencyControl",
	                                    NULL};
	size_t args;
	struct span name = wt_ks_last_name(k, a, &args);

	return a.from == a.to || k->s[a.to - 1] == '*' ||
	       (k->s[a.from] == '(' && wt_ks_is_number(k, wt_ks_after_cast(k, a))) ||
	       wt_ks_index_type(k, a) || wt_ks_span_is_any(k, name, names) ||
	       wt_ks_span_starts(k, name, "Policy") || wt_ks_span_starts(k, name, "policy_hub");
}

/* Templates that only carry another one. */
bool wt_ks_is_wrapper(const struct shortener *k, struct span name)
{
	static const char *const names[] = {"ReduceOp",
	                                    "func_wrapper_t",
	                                    "gpu_kernel_impl",
	                                    "gpu_kernel_impl_nocast",
	                                    "Kernel",
	                                    "Kernel2",
	                                    "device_kernel",
	                                    "enable_sm80_to_sm89",
	                                    "enable_sm90",
	                                    "enable_sm90_or_later",
	                                    "enable_sm100_or_later",
	                                    "GemmUniversalAdapter",
	                                    NULL};

	return wt_ks_span_is_any(k, name, names);
}

/* What only says "this is a kernel" at the end of a name; most of the name must remain. */
struct span wt_ks_without_suffix(const struct shortener *k, struct span name)
{
	static const char *const suffixes[] = {"_loop_seqk_parallel_kernel",
	                                       "CUDAKernelTemplate",
	                                       "CUDAKernelImpl",
	                                       "KernelTemplate",
	                                       "KernelImpl",
	                                       "_kernel_cuda",
	                                       "_cuda_kernel",
	                                       "_kernel_impl",
	                                       "_kernel",
	                                       "Kernel",
	                                       NULL};

	for (size_t i = 0; suffixes[i]; i++)
		if (wt_ks_span_ends(k, name, suffixes[i]) &&
		    name.to - name.from >= strlen(suffixes[i]) + 3) {
			name.to -= strlen(suffixes[i]);
			break;
		}
	return name;
}

/* Libraries whose inner namespaces tell a user nothing. */
bool wt_ks_is_known_root(const struct shortener *k, const struct path *p)
{
	static const char *const roots[] = {"at",
	                                    "c10",
	                                    "std",
	                                    "cub",
	                                    "thrust",
	                                    "cuda",
	                                    "cutlass",
	                                    "cute",
	                                    "at_cuda_detail",
	                                    "flash",
	                                    "pytorch_flash",
	                                    "nv",
	                                    "libcudacxx",
	                                    NULL};
	size_t i = 0;

	while (i + 1 < p->count && wt_ks_is_anonymous(k, p->parts[i]))
		i++;
	return i + 1 < p->count && wt_ks_span_is_any(k, p->parts[i], roots);
}

/* nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNT -> nvjet tst 128x256x64 2x1 coopA NNT */
bool wt_ks_put_nvjet(struct shortener *k)
{
	unsigned field = 0;
	const char *p = k->s;

	if (strncmp(p, "nvjet_sm", 8) != 0)
		return false;
	for (const char *end; *p; p = end + (*end == '_'), field++) {
		size_t n;

		end = strchrnul(p, '_');
		n = (size_t)(end - p);
		if (field == 3 || field == 4 || field == 5) {
			size_t digits = strspn(p, "0123456789");

			if (!digits || p[digits] != 'x' || digits + 1 >= n ||
			    strspn(p + digits + 1, "0123456789") != n - digits - 1) {
				k->used = 0;
				return false;
			}
			wt_ks_put(k, field == 4 ? "x" : " ");
			wt_ks_put_bytes(k, p,
			                field == 4 ? digits
			                           : n); /* the other is the pipeline's depth */
		} else if (field != 1 && !(field > 5 && n == 1) &&
		           !(n == 2 && !memcmp(p, "bz", 2))) {
			wt_ks_put(k, field ? " " : "");
			wt_ks_put_bytes(k, p, n);
		}
	}
	return field > 5;
}

/* cudnn_generated_fort_native_sdpa_.._knob_26_.._kernel0_0 -> cudnn sdpa_.. */
bool wt_ks_put_cudnn(struct shortener *k)
{
	static const char prefix[] = "cudnn_generated_fort_native_";
	const char *p = k->s, *end, *knob;

	if (strncmp(p, prefix, strlen(prefix)) != 0)
		return false;
	p += strlen(prefix);
	end = strstr(p, "_kernel");
	end = end ? end : p + strlen(p);
	knob = strstr(p, "_knob_");
	wt_ks_put(k, "cudnn ");
	if (knob && knob < end) {
		wt_ks_put_bytes(k, p, (size_t)(knob - p));
		p = knob + 6 + strspn(knob + 6, "0123456789");
		p = p < end ? p : end; /* "_knob_kernel": one underscore belongs to both */
	}
	wt_ks_put_bytes(k, p, (size_t)(end - p));
	return true;
}
