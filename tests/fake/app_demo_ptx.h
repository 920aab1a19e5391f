/*
 * app_demo_ptx.h - the kernels of the demo program, as PTX that any GPU since
 * Pascal compiles when the program starts. Lines beginning "// wtfake:" are
 * comments to a real driver; they tell the simulated one how a kernel behaves.
 */
#ifndef APP_DEMO_PTX_H
#define APP_DEMO_PTX_H

/* Each block spins for `cycles` of the SM clock. `adjust` may change %rd1 first. */
#define SPIN_KERNEL_PLAIN(name, adjust)                                                            \
	".visible .entry " name "(.param .u64 cycles)\n"                                           \
	"{\n"                                                                                      \
	".reg .u64 %rd<5>;\n"                                                                      \
	".reg .u32 %r<3>;\n"                                                                       \
	".reg .pred %p<3>;\n"                                                                      \
	"ld.param.u64 %rd1, [cycles];\n" adjust "mov.u64 %rd2, %clock64;\n"                        \
	"SPIN:\n"                                                                                  \
	"mov.u64 %rd3, %clock64;\n"                                                                \
	"sub.u64 %rd4, %rd3, %rd2;\n"                                                              \
	"setp.lt.u64 %p1, %rd4, %rd1;\n"                                                           \
	"@%p1 bra SPIN;\n"                                                                         \
	"ret;\n"                                                                                   \
	"}\n"                                                                                      \
	"// wtfake: kernel=" name " regs=16 param=0"
#define SPIN_KERNEL(name, adjust) SPIN_KERNEL_PLAIN(name, adjust) " tensor=0.25 issue=0.1"

/* Every 97th block takes six times as long. */
#define ADJUST_UNEVEN                                                                              \
	"mov.u32 %r1, %ctaid.x;\n"                                                                 \
	"rem.u32 %r2, %r1, 97;\n"                                                                  \
	"setp.eq.u32 %p2, %r2, 96;\n"                                                              \
	"@%p2 mul.lo.u64 %rd1, %rd1, 6;\n"

static const char demo_ptx[] = ".version 6.0\n"
                               ".target sm_60\n"
                               ".address_size 64\n"
        // clang-format off
	SPIN_KERNEL("demo_full_waves", "") "\n"
	SPIN_KERNEL("demo_just_over_a_wave", "") "\n"
	SPIN_KERNEL("demo_underfilled", "") "\n"
	SPIN_KERNEL("demo_uneven_blocks", ADJUST_UNEVEN) " slow_every=97 slow_factor=6\n"
	SPIN_KERNEL("demo_tiny", "") "\n"
	SPIN_KERNEL("demo_graph_wide", "") "\n"
	SPIN_KERNEL("demo_graph_narrow", "") "\n"
                                                              // clang-format on
                                                              /* Blocks of one SM share its arithmetic units, so more of them take longer. */
                                                              ".visible .entry "
                                                              "demo_arithmetic(.param .u64 "
                                                              "iterations, .param .u64 result)\n"
                                                              "{\n"
                                                              ".reg .u64 %rd<4>;\n"
                                                              ".reg .f32 %f<5>;\n"
                                                              ".reg .pred %p<3>;\n"
                                                              "ld.param.u64 %rd1, [iterations];\n"
                                                              "ld.param.u64 %rd2, [result];\n"
                                                              "mov.f32 %f1, 0f3F800000;\n"
                                                              "mov.f32 %f2, 0f3F800000;\n"
                                                              "mov.f32 %f3, 0f3F7FFFFE;\n"
                                                              "LOOP:\n"
                                                              "fma.rn.f32 %f1, %f1, %f3, %f3;\n"
                                                              "fma.rn.f32 %f2, %f2, %f3, %f1;\n"
                                                              "fma.rn.f32 %f1, %f1, %f3, %f2;\n"
                                                              "fma.rn.f32 %f2, %f2, %f3, %f3;\n"
                                                              "sub.u64 %rd1, %rd1, 1;\n"
                                                              "setp.ne.u64 %p1, %rd1, 0;\n"
                                                              "@%p1 bra LOOP;\n"
                                                              "add.f32 %f4, %f1, %f2;\n"
                                                              "setp.eq.f32 %p2, %f4, 0f00000000;\n"
                                                              "@!%p2 bra DONE;\n"
                                                              "cvta.to.global.u64 %rd3, %rd2;\n"
                                                              "st.global.f32 [%rd3], %f4;\n"
                                                              "DONE:\n"
                                                              "ret;\n"
                                                              "}\n"
                                                              "// wtfake: kernel=demo_arithmetic "
                                                              "regs=16 param=0 param_ns=9 "
                                                              "sharing=1 tensor=0.25 issue=0.9\n";

#endif /* APP_DEMO_PTX_H */
