#!/bin/sh
# Processes that use no GPU are left alone: same output, return code, order and system calls
# with and without the preload (but for mapping it), no segment, no daemon. Exercises: sh, git,
# env, a tree of fork/vfork/posix_spawn/system children, a host that waits for all its children.
. "$top_srcdir/tests/e2e/lib.sh"
[ -z "${WT_COVERAGE:-}" ] || skip_all "a library with gcov counters writes files of its own"

programs='
sh -c "echo one; (echo two; exit 3); echo rc $?"
sh -c "for i in 1 2 3; do /bin/echo $i | cat; done; exit 5"
env -u LD_PRELOAD -u WT_TAPPED
git --version
ls /
'
same_output() {
  (bare sh -c "$1") >"$work/out.bare" 2>"$work/err.bare"
  rc_bare=$?
  (tap sh -c "$1") >"$work/out.tap" 2>"$work/err.tap"
  rc_tap=$?
  [ "$rc_bare" = "$rc_tap" ] && cmp -s "$work/out.bare" "$work/out.tap" &&
    cmp -s "$work/err.bare" "$work/err.tap"
}
echo "$programs" >"$work/programs"
while IFS= read -r line; do
  [ -n "$line" ] || continue
  command -v "${line%% *}" >/dev/null 2>&1 || continue
  ok "same output and return code: $line" same_output "$line"
done <"$work/programs"

tree=$top_builddir/tests/fake/app_tree
ok "same output and return code: a tree of children" same_output "$tree"

ok "no segment and no daemon came of it" test -z "$(ls -A "$shm")"
ok "no run file came of it" test ! -e "$data/runs"

# System calls, compared with those under an empty library of the same make, so that only what
# libwavetap.so itself does can differ. Mapping a library is cut out: from its openat to the close.
if command -v strace >/dev/null 2>&1 && strace -o /dev/null true 2>/dev/null; then
  echo 'extern int wt_empty; int wt_empty;' >"$work/empty.c"
  # Paths of one length, since `env` prints them.
  ${CC:-cc} -shared -fPIC -o "$work/libemptyxy.so" "$work/empty.c"
  cp "$library" "$work/libwavetap.so"
  calls() { # PRELOAD COMMAND: one line per system call, numbers and addresses taken out
    rm -f "$work"/trace.*
    env -i PATH="$PATH" HOME="$HOME" LD_PRELOAD="$1" strace -ff -qq -s 256 -o "$work/trace" sh -c "$2" >/dev/null 2>&1
    # Children in the order of their pids: fork order.
    for file in $(ls "$work"/trace.* | sort -t. -k2 -n); do
      awk '
        /openat\(.*(libemptyxy|libwavetap)\.so/ { skip = 1 }
        !skip {
          # When SIGCHLD comes is a matter of scheduling, and so is what its handler returns to.
          if (/^--- SIGCHLD/ || /^rt_sigreturn\(/ || /ERESTART/) next
          gsub(/0x[0-9a-f]+/, "X"); gsub(/[0-9]+/, "N"); gsub(/lib(emptyxy|wavetap)\.so/, "LIB")
          gsub(/"[^"]*\/LIB/, "\"LIB"); print
        }
        skip && /^close\(/ { skip = 0 }
      ' "$file" | grep -vE '^(mprotect|munmap|brk|getrandom|mmap)\('
    done
  }
  for command in 'true' 'sh -c "exit 3"' 'git --version' 'env' "$tree"; do
    calls "$work/libemptyxy.so" "$command" >"$work/calls.empty"
    calls "$work/libwavetap.so" "$command" >"$work/calls.tap"
    ok "there are system calls to compare: $command" test -s "$work/calls.empty"
    if cmp -s "$work/calls.empty" "$work/calls.tap"; then
      ok "same system calls: $command" true
    else
      ok "same system calls: $command" false
      diff "$work/calls.empty" "$work/calls.tap" | head -n 20 | sed 's/^/# /'
    fi
  done
else
  echo "# strace is not usable here: system calls not compared"
fi
done_testing
