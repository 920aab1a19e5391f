# tests/hosts: a driver that forgives nothing, and programs that use it in ways that went wrong under
# other tools (tests/e2e/0120-odd-hosts.sh). Its libcuda.so.1 is built as that of tests/fake is.
check_PROGRAMS += \
	tests/hosts/libcuda.so.1 \
	tests/hosts/odd_alloc.so \
	tests/hosts/odd_hook.so \
	tests/hosts/odd_host \
	tests/hosts/odd_library.so \
	tests/hosts/odd_linked \
	tests/hosts/odd_refuse \
	tests/hosts/slow_clock.so

tests_hosts_libcuda_so_1_SOURCES = tests/hosts/odd_driver.c tests/hosts/odd.h
tests_hosts_libcuda_so_1_CFLAGS = $(fake_cflags)
tests_hosts_libcuda_so_1_LDFLAGS = $(fake_ldflags) -Wl,-soname,libcuda.so.1
tests_hosts_odd_alloc_so_SOURCES = tests/hosts/odd_alloc.c
tests_hosts_odd_alloc_so_CFLAGS = $(fake_cflags) -fno-builtin
tests_hosts_odd_alloc_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_hosts_odd_hook_so_SOURCES = tests/hosts/odd_hook.c tests/hosts/odd.h
tests_hosts_odd_hook_so_CFLAGS = $(fake_cflags)
tests_hosts_odd_hook_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_hosts_odd_library_so_SOURCES = tests/hosts/odd_library.c tests/hosts/odd.h
tests_hosts_odd_library_so_CFLAGS = $(fake_cflags)
tests_hosts_odd_library_so_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,odd_library.so

# It needs odd_library.so, which is therefore initialised before any preload.
tests_hosts_odd_host_SOURCES = tests/hosts/odd_host.c tests/hosts/odd.h
tests_hosts_odd_host_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_hosts_odd_host_LDADD = tests/hosts/odd_library.so
tests_hosts_odd_linked_SOURCES = tests/hosts/odd_linked.c tests/hosts/odd.h
tests_hosts_odd_linked_LDADD = tests/hosts/libcuda.so.1
tests_hosts_slow_clock_so_SOURCES = tests/hosts/slow_clock.c
tests_hosts_slow_clock_so_CFLAGS = $(fake_cflags)
tests_hosts_slow_clock_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_hosts_odd_refuse_SOURCES = tests/hosts/odd_refuse.c
