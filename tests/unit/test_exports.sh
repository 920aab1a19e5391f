#!/bin/sh
# What libwavetap.so promises to every program it is preloaded into, read from the file itself.
lib=${top_builddir:-.}/libwavetap.so
src=${top_srcdir:-.}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
count=0
failed=0

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

NM=${NM:-nm} READELF=${READELF:-readelf} OBJDUMP=${OBJDUMP:-objdump}
host_cpu=${host_cpu:-$(uname -m)}
if ! command -v "$READELF" >/dev/null || ! command -v "$OBJDUMP" >/dev/null; then
	echo "1..0 # SKIP no readelf or objdump"
	exit 0
fi
if [ ! -f "$lib" ]; then
	echo "1..0 # SKIP no $lib"
	exit 0
fi

# Exports: the hook list, CUPTI's functions that we share, dlsym, the injection doors, getenv, the marker.
{
	sed -n 's/^WT_HOOK([0-9]*, *\([A-Za-z0-9_]*\),.*/\1/p' "$src/schema/wt_hooks.def"
	sed -n 's/^WT_SHARED(\([A-Za-z0-9_]*\))$/\1/p' "$src/libintercept/cupti_exports.def"
	echo dlsym
	echo InitializeInjection
	echo InitializeInjectionNvtx2
	echo getenv
	echo wavetap_marker
} | sort >"$tmp/want"
"$NM" -D --defined-only "$lib" | awk '{ sub(/@.*/, "", $3); print $3 }' | sort >"$tmp/got"
if [ -n "$WT_SANITIZED$WT_COVERAGE" ]; then
	grep -v '^__' "$tmp/got" >"$tmp/got.own"
	mv "$tmp/got.own" "$tmp/got"
fi
diff "$tmp/want" "$tmp/got" | sed 's/^/# /' >"$tmp/diff"
cat "$tmp/diff"
[ ! -s "$tmp/diff" ]
ok $? "exports are the hook list and nothing else"

# The launch family as cuda.h has it, with the twins for per-thread streams, is on the list.
header=$(sed -n 's/^CUDA_INCLUDE = \(..*\)$/\1/p' "${top_builddir:-.}/Makefile" 2>/dev/null)/cuda.h
if [ -r "$header" ]; then
	{
		grep -oE 'CUDAAPI +cu(Launch|GraphLaunch)[A-Za-z0-9_]* *\(' "$header" | sed 's/CUDAAPI *//; s/ *(//'
		sed -nE 's/^ *# *define +(cu(Launch|GraphLaunch)[A-Za-z0-9_]*) +__CUDA_API_PTSZ.*/\1_ptsz/p' "$header"
	} | sort -u >"$tmp/family"
	sort "$tmp/want" | comm -23 "$tmp/family" - | sed 's/^/# not hooked: /' >"$tmp/missing"
	cat "$tmp/missing"
	[ "$(wc -l <"$tmp/family")" -gt 10 ] && [ ! -s "$tmp/missing" ]
	ok $? "every launch call of cuda.h is on the list"
else
	ok 0 "every launch call of cuda.h is on the list # SKIP configure found no CUDA headers"
fi

# An unversioned dlsym answers dlsym@GLIBC_2.2.5 and dlsym@GLIBC_2.34 alike.
[ "$("$NM" -D --defined-only "$lib" | grep -c ' dlsym$')" -eq 1 ]
ok $? "dlsym has no version"

# The way out of dlsym is a jump, for the loader takes the return address for the caller.
"$OBJDUMP" -d --no-show-raw-insn "$lib" | awk '/<dlsym>:$/ { on = 1 } on && /^$/ { exit } on' >"$tmp/dlsym"
case $host_cpu in
x86_64) out='jmpq? +\*%rax' mine='jmpq? .*<wt_dlsym_listed' ;;
aarch64) out='br\s+x16' mine='b\s.*<wt_dlsym_listed' ;;
esac
[ "$(grep -Ec "$out" "$tmp/dlsym")" -eq 2 ] && [ "$(grep -Ec "$mine" "$tmp/dlsym")" -eq 1 ]
ok $? "dlsym leaves by a jump, everywhere"
! grep -Eq '\bretq?\b' "$tmp/dlsym"
ok $? "... and never returns itself"
sed -n 2p "$tmp/dlsym" | grep -Eq '\bendbr64\b|\bbti[[:space:]]+c\b|\bhint[[:space:]]+#0x22\b'
ok $? "dlsym begins with a landing pad for indirect branches"

"$READELF" -dW "$lib" >"$tmp/dynamic"
grep -q 'SONAME.*\[libwavetap.so\]' "$tmp/dynamic"
ok $? "the soname is libwavetap.so"
grep -q 'FLAGS_1.*NODELETE' "$tmp/dynamic"
ok $? "it is never unloaded"
! grep -Eq 'RPATH|RUNPATH|TEXTREL' "$tmp/dynamic"
ok $? "no run path, no relocated code"

if [ -n "$WT_SANITIZED$WT_COVERAGE" ]; then
	for what in "needs libc alone" "no constructors" "small TLS"; do
		count=$((count + 1))
		echo "ok $count - $what # SKIP the sanitizer's or gcov's runtime"
	done
else
	sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$tmp/dynamic" | grep -Ev '^(libc\.so\.6|ld-linux.*|lib(dl|pthread)\.so.*)$' >"$tmp/needed"
	sed 's/^/# needs /' "$tmp/needed"
	[ ! -s "$tmp/needed" ]
	ok $? "it needs libc alone"

	# The compiler's own frame_dummy is the only entry there may be.
	bytes=$(sed -n 's/.*(INIT_ARRAYSZ) *\([0-9]*\).*/\1/p' "$tmp/dynamic")
	[ "${bytes:-0}" -le 8 ] && ! grep -q PREINIT "$tmp/dynamic"
	ok $? "no constructors"

	tls=$("$READELF" -lW "$lib" | awk '$1 == "TLS" { print $6 }')
	[ $((${tls:-0})) -le 48 ]
	ok $? "at most 48 bytes of TLS ($((${tls:-0})))"
fi

# Nothing in here may end the program, or print.
"$NM" -D --undefined-only "$lib" | awk '{ sub(/@.*/, "", $2); print $2 }' |
	grep -Ex 'exit|abort|__assert_fail|printf|puts|fprintf|signal|raise|kill|malloc|calloc|realloc|pthread_atfork|__register_atfork|sigaction|dlclose' >"$tmp/bad"
sed 's/^/# calls /' "$tmp/bad"
[ -n "$WT_SANITIZED$WT_COVERAGE" ] || [ ! -s "$tmp/bad" ]
ok $? "no exit, abort, output, heap, signals, handlers at fork"

echo "1..$count"
exit $failed
