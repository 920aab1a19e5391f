# tests/fake: a simulated GPU (libcuda.so.1, libcupti.so.13) and the programs
# that tests and the demo run on it. Both libraries are built as "programs"
# linked with -shared, because they must have exactly these names; -Bsymbolic,
# because a preload that exports cuLaunchKernel must not be called from inside.
fake_cflags = $(AM_CFLAGS) -fPIC
fake_ldflags = $(AM_LDFLAGS) -shared -Wl,-Bsymbolic

check_PROGRAMS += \
	tests/fake/libcuda.so.1 \
	tests/fake/libcupti.so.13 \
	tests/fake/libnvidia-ml.so.1 \
	tests/fake/app_cover \
	tests/fake/app_classes \
	tests/fake/app_demo \
	tests/fake/app_gaps \
	tests/fake/app_launch \
	tests/fake/app_launch_link \
	tests/fake/app_multi \
	tests/fake/app_nvtx \
	tests/fake/app_profiler \
	tests/fake/app_random \
	tests/fake/app_ranks \
	tests/fake/app_tree \
	tests/fake/fake_counters \
	tests/fake/inject_nvtx.so \
	tests/fake/inject_rude.so

tests_fake_libcuda_so_1_SOURCES = \
	tests/fake/cuda_capture.c \
	tests/fake/cuda_device.c \
	tests/fake/cuda_entry.c \
	tests/fake/cuda_graph.c \
	tests/fake/cuda_green.c \
	tests/fake/cuda_host.c \
	tests/fake/cuda_int.h \
	tests/fake/cuda_launch.c \
	tests/fake/cuda_memory.c \
	tests/fake/cuda_module.c \
	tests/fake/cuda_nodes.c \
	tests/fake/cuda_pm.c \
	tests/fake/cuda_sched.c \
	tests/fake/cuda_stream.c \
	tests/fake/cuda_truth.c \
	tests/fake/entries.def \
	tests/fake/fake_common.c \
	tests/fake/fake_common.h \
	tests/fake/fake_counters.h \
	tests/fake/fake_tools.h \
	tests/fake/pm_file.h
tests_fake_libcuda_so_1_CFLAGS = $(fake_cflags)
tests_fake_libcuda_so_1_LDFLAGS = $(fake_ldflags) -Wl,-soname,libcuda.so.1

tests_fake_libcupti_so_13_SOURCES = \
	tests/fake/cupti_buffer.c \
	tests/fake/cupti_calls.c \
	tests/fake/cupti_core.c \
	tests/fake/cupti_host.c \
	tests/fake/cupti_int.h \
	tests/fake/cupti_pm.c \
	tests/fake/cupti_pm_file.c \
	tests/fake/cupti_prof.h \
	tests/fake/cupti_range.c \
	tests/fake/cupti_record.c \
	tests/fake/fake_common.c
tests_fake_libcupti_so_13_CFLAGS = $(fake_cflags)
tests_fake_libcupti_so_13_LDFLAGS = $(fake_ldflags) -Wl,-soname,libcupti.so.13

tests_fake_libnvidia_ml_so_1_SOURCES = tests/fake/nvml.c tests/fake/fake_common.c
tests_fake_libnvidia_ml_so_1_CFLAGS = $(fake_cflags)
tests_fake_libnvidia_ml_so_1_LDFLAGS = $(fake_ldflags) -Wl,-soname,libnvidia-ml.so.1

tests_fake_inject_nvtx_so_SOURCES = tests/fake/inject_nvtx.c
tests_fake_inject_nvtx_so_CFLAGS = $(fake_cflags)
tests_fake_inject_nvtx_so_LDFLAGS = $(fake_ldflags)

tests_fake_inject_rude_so_SOURCES = tests/fake/inject_rude.c
tests_fake_inject_rude_so_CFLAGS = $(fake_cflags)
tests_fake_inject_rude_so_LDFLAGS = $(fake_ldflags)

fake_app_driver = tests/fake/app_driver.c tests/fake/app_driver.h
tests_fake_app_cover_SOURCES = tests/fake/app_cover.c $(fake_app_driver)
tests_fake_app_classes_SOURCES = tests/fake/app_classes.c tests/fake/app_demo_ptx.h $(fake_app_driver)
tests_fake_app_demo_SOURCES = tests/fake/app_demo.c tests/fake/app_demo_ptx.h $(fake_app_driver)
tests_fake_app_gaps_SOURCES = tests/fake/app_gaps.c tests/fake/app_demo_ptx.h $(fake_app_driver)
tests_fake_app_launch_SOURCES = tests/fake/app_launch.c $(fake_app_driver)
tests_fake_app_launch_link_SOURCES = tests/fake/app_launch.c $(fake_app_driver)
tests_fake_app_launch_link_CPPFLAGS = $(AM_CPPFLAGS) -DAPP_LINKED
tests_fake_app_launch_link_LDADD = tests/fake/libcuda.so.1
tests_fake_app_multi_SOURCES = tests/fake/app_multi.c $(fake_app_driver)
tests_fake_app_ranks_SOURCES = tests/fake/app_ranks.c $(fake_app_driver)
tests_fake_app_nvtx_SOURCES = tests/fake/app_nvtx.c tests/fake/nvtx_client.h \
	tests/fake/nvtx_vendor.h $(fake_app_driver)
# The same over the vendor's own headers.
if WT_HAVE_NVTX_HEADERS
check_PROGRAMS += tests/fake/app_nvtx_vendor
tests_fake_app_nvtx_vendor_SOURCES = $(tests_fake_app_nvtx_SOURCES)
tests_fake_app_nvtx_vendor_CPPFLAGS = $(AM_CPPFLAGS) -DAPP_NVTX_VENDOR -isystem $(NVTX_INCLUDE)
endif
tests_fake_app_profiler_SOURCES = tests/fake/app_profiler.c $(fake_app_driver)
tests_fake_app_random_SOURCES = tests/fake/app_random.c tests/fake/app_demo_ptx.h $(fake_app_driver)
tests_fake_app_tree_SOURCES = tests/fake/app_tree.c
tests_fake_fake_counters_SOURCES = tests/fake/counters.c

# What the simulation must do, and our declarations against real headers.
fake_tests = tests/unit/test_fake tests/unit/test_fake_calls tests/unit/test_fake_strict \
	tests/unit/test_fake_pm tests/unit/test_fake_pm_strict tests/unit/test_fake_range \
	tests/unit/test_fake_nvml \
	tests/unit/test_abi tests/unit/test_profiler_abi tests/unit/test_nvtx_abi
check_PROGRAMS += $(fake_tests)
TESTS += $(fake_tests)
fake_case = tests/unit/fake_case.c tests/unit/fake_case.h
fake_libraries = tests/fake/libcuda.so.1 tests/fake/libcupti.so.13 tests/fake/libnvidia-ml.so.1
tests_unit_test_fake_SOURCES = tests/unit/test_fake.c $(fake_case)
tests_unit_test_fake_LDADD = -lm
EXTRA_tests_unit_test_fake_DEPENDENCIES = $(fake_libraries)
tests_unit_test_fake_calls_SOURCES = tests/unit/test_fake_calls.c $(fake_case)
tests_unit_test_fake_calls_LDADD = -lm
EXTRA_tests_unit_test_fake_calls_DEPENDENCIES = $(fake_libraries)
tests_unit_test_fake_strict_SOURCES = tests/unit/test_fake_strict.c $(fake_case)
tests_unit_test_fake_strict_LDADD = -lm
EXTRA_tests_unit_test_fake_strict_DEPENDENCIES = $(fake_libraries)
pm_case = tests/unit/pm_case.c tests/unit/pm_case.h $(fake_case)
tests_unit_test_fake_pm_SOURCES = tests/unit/test_fake_pm.c $(pm_case)
tests_unit_test_fake_pm_LDADD = -lm
EXTRA_tests_unit_test_fake_pm_DEPENDENCIES = $(fake_libraries)
tests_unit_test_fake_pm_strict_SOURCES = tests/unit/test_fake_pm_strict.c $(pm_case)
tests_unit_test_fake_pm_strict_LDADD = -lm
EXTRA_tests_unit_test_fake_pm_strict_DEPENDENCIES = $(fake_libraries)
range_case = tests/unit/range_case.c tests/unit/range_case.h $(fake_case)
tests_unit_test_fake_range_SOURCES = tests/unit/test_fake_range.c $(range_case)
tests_unit_test_fake_range_LDADD = -lm
EXTRA_tests_unit_test_fake_range_DEPENDENCIES = $(fake_libraries)
tests_unit_test_fake_nvml_SOURCES = tests/unit/test_fake_nvml.c $(fake_case)
tests_unit_test_fake_nvml_LDADD = -lm
EXTRA_tests_unit_test_fake_nvml_DEPENDENCIES = $(fake_libraries)
tests_unit_test_abi_SOURCES = tests/unit/test_abi.c tests/unit/abi_values.h
tests_unit_test_abi_LDADD = -lm
tests_unit_test_profiler_abi_SOURCES = tests/unit/test_profiler_abi.c tests/unit/nvml_values.h \
	libintercept/nvml_abi.h
tests_unit_test_profiler_abi_LDADD = -lm
if WT_HAVE_CUDA_HEADERS
tests_unit_test_abi_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_INCLUDE)
# The folder holds an empty <string>, which a header of CUPTI's asks for.
tests_unit_test_profiler_abi_CPPFLAGS = $(tests_unit_test_abi_CPPFLAGS) \
	-idirafter $(srcdir)/tests/unit/abi_include
else
tests_unit_test_abi_CPPFLAGS = $(AM_CPPFLAGS) -DWT_NO_CUDA_HEADERS
tests_unit_test_profiler_abi_CPPFLAGS = $(tests_unit_test_abi_CPPFLAGS)
endif
tests_unit_test_nvtx_abi_SOURCES = tests/unit/test_nvtx_abi.c
if WT_HAVE_NVTX_HEADERS
tests_unit_test_nvtx_abi_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(NVTX_INCLUDE)
else
tests_unit_test_nvtx_abi_CPPFLAGS = $(AM_CPPFLAGS) -DWT_NO_NVTX_HEADERS
endif

EXTRA_DIST += tests/fake/README.md tests/unit/abi_include/string

check_PROGRAMS += tests/fake/app_compare
tests_fake_app_compare_SOURCES = tests/fake/app_compare.c $(fake_app_driver)
