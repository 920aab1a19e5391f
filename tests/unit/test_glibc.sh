#!/bin/sh
# Which glibc libwavetap.so needs, read from the file: a symbol version that a process's glibc lacks
# ends that process before it begins. Then another libc: a preload that musl loads must do no harm.
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

if [ -n "$WT_SANITIZED" ]; then
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
"$readelf" -W --dyn-syms "$lib" | awk '$7 == "UND" && $5 == "GLOBAL" { sub(/@.*/, "", $8); print $8 }' |
	grep -Ex 'dl(open|sym|vsym|addr|error|close|info)|pthread_(create|join|detach|kill|sigmask|once|key_create|[gs]etspecific|setname_np|attr_setstacksize|mutex_trylock|rwlock_.*)|sem_.*|shm_open|clock_nanosleep|timer_.*' >"$tmp/moved"
sed 's/^/# binds /' "$tmp/moved"
[ ! -s "$tmp/moved" ]
ok $? "what glibc 2.34 moved into libc.so.6 is bound weakly or not at all"

# ---- musl

cat >"$tmp/musl.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	void *self = dlopen(NULL, RTLD_NOW);

	if (!dlsym(self, "printf") || !dlsym(RTLD_NEXT, "puts") || dlsym(self, "cuLaunchKernel"))
		return 1;
	puts("as ever");
	return 7;
}
END
if [ -n "$WT_EMULATOR" ]; then
	skip "a musl process" "no musl for $host_cpu here"
elif ! command -v musl-gcc >/dev/null; then
	skip "a musl process" "no musl-gcc (Debian: musl-tools)"
else
	musl-gcc -o "$tmp/musl" "$tmp/musl.c" 2>"$tmp/cc.err"
	ok $? "a program for musl"
	LD_PRELOAD=$lib "$tmp/musl" >"$tmp/out" 2>"$tmp/err"
	[ $? -eq 7 ] && [ "$(cat "$tmp/out")" = "as ever" ] && [ ! -s "$tmp/err" ]
	ok $? "... runs with the preload as without, and finds its symbols"
	sed 's/^/# /' "$tmp/err"
fi

echo "1..$count"
exit $failed
