#!/bin/sh
# Which glibc libwavetap.so needs, read from the file: a symbol version that a process's glibc lacks
# ends that process before it begins. Then hosts of other kinds, which a preload must not harm.
lib=${top_builddir:-.}/libwavetap.so
readelf=${READELF:-readelf}
oldest=2.17 # README.md says so
count=0
failed=0
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

ok()
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}

skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

if [ -n "$WT_SANITIZED${WT_COVERAGE:-}" ]; then
	echo "1..0 # SKIP the sanitizer's runtime needs a newer glibc"
	exit 0
fi
if [ ! -f "$lib" ] || ! command -v "$readelf" >/dev/null; then
	echo "1..0 # SKIP no $lib or no $readelf"
	exit 0
fi

# ---- version needs

"$readelf" -VW "$lib" | sed -n '/^Version needs/,/^$/s/.*Name: \([A-Za-z0-9_.]*\) .*/\1/p' | sort -u >"$tmp/needs"
[ -s "$tmp/needs" ]
ok $? "it needs versioned symbols"
# GLIBC_2.17 and below; GLIBC_PRIVATE, GLIBC_ABI_DT_RELR and the like are never needed.
awk -F'[_.]' -v oldest="$oldest" '
	BEGIN { split(oldest, max, ".") }
	$0 !~ /^GLIBC_2\.[0-9.]+$/ || $2 != max[1] || $3 + 0 > max[2] + 0' "$tmp/needs" >"$tmp/newer"
sed 's/^/# needs /' "$tmp/newer"
[ ! -s "$tmp/newer" ]
ok $? "none of them is newer than glibc $oldest"

# What lived outside libc.so.6 before glibc 2.34 is not in every process there: weak, or it would
# be the end of those that lack it. (sed: only names whose version is the old one are left.)
"$readelf" -W --dyn-syms "$lib" | awk '$7 == "UND" { sub(/@.*/, "", $8); print $8 }' |
	grep -Ex 'dl(open|sym|vsym|addr|error|close|info)|pthread_(create|join|detach|kill|sigmask|once|key_create|[gs]etspecific|setname_np|attr_setstacksize|mutex_trylock|rwlock_.*)|sem_.*|shm_open|clock_nanosleep|timer_.*' >"$tmp/moved"
sed 's/^/# binds /' "$tmp/moved"
[ ! -s "$tmp/moved" ]
ok $? "what glibc 2.34 moved into libc.so.6 is not bound"

# ---- hosts that are not plain glibc: they run with the preload as without

cat >"$tmp/host.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static void *run(void *argument)
{
	return argument;
}

int main(void)
{
	void *self = dlopen(NULL, RTLD_NOW);
	pthread_t thread;

	if (!dlsym(self, "printf") || !dlsym(RTLD_NEXT, "puts") || dlsym(self, "cuLaunchKernel"))
		return 1;
	if (pthread_create(&thread, NULL, run, NULL) || pthread_join(thread, NULL))
		return 2;
	puts("as ever");
	return 7;
}
END

# host NAME COMPILER...
host()
{
	name=$1
	shift
	if [ -n "$WT_EMULATOR" ]; then
		skip "$name" "not under an emulator"
	elif ! "$@" -o "$tmp/host" "$tmp/host.c" -ldl -pthread 2>"$tmp/cc.err"; then
		skip "$name" "not to be had: $1 $2"
	elif [ "$("$tmp/host" 2>&1; echo $?)" != "as ever
7" ]; then
		skip "$name" "does not run here without the preload either"
	else
		LD_PRELOAD=$lib "$tmp/host" >"$tmp/out" 2>"$tmp/err"
		[ $? -eq 7 ] && [ "$(cat "$tmp/out")" = "as ever" ] && [ ! -s "$tmp/err" ]
		ok $? "$name"
		sed 's/^/# /' "$tmp/err"
	fi
}

# The loader of musl refuses a library with a symbol that it hasn't, and ends the process.
host "a program for musl (Debian: musl-tools)" musl-gcc
# Sanitizers call dlsym when none of their own functions works yet.
export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
# shellcheck disable=SC2086 # the compiler may be two words
host "a program under AddressSanitizer" ${CC:-cc} -fsanitize=address
# shellcheck disable=SC2086
host "a program under ThreadSanitizer" ${CC:-cc} -fsanitize=thread

echo "1..$count"
exit $failed
