#!/bin/sh
# wavetap doctor: what it says with and without a (simulated) GPU, and for every fault planted:
# files of ours missing, damaged, of another version or at a bad path; drivers that hang, crash or
# refuse; libcupti too old, too new, absent; shared memory, data directory, limits; settings; programs
# that can't be preloaded. Exit codes, JSON, width, colour; and it changes nothing.
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
make_run=$top_builddir/tests/unit/make_run
fake=$top_builddir/tests/fake
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH CUDA_VISIBLE_DEVICES WAVETAP_KEEP WAVETAP_SPAWN COLUMNS NO_COLOR
export WAVETAP_CUPTI="$fake/libcupti.so.13" # where a real one is installed, too
program=$wavetap

doctor() { # doctor CODE ARGUMENT...
  want=$1
  shift
  "$program" doctor --timeout 30s "$@" >"$work/out" 2>"$work/err"
  code=$?
  is "$code" "$want" "doctor $*: exit $want"
}
# says WORDS: on one line of the output, however it is broken; "STATUS NAME WORDS"
says() {
  tests_run=$((tests_run + 1))
  awk '/^  [a-zF]/ { if (l) print l; l = $0; next } /^ / { sub(/^ +/, " "); l = l $0; next } { if (l) print l; l = ""; print }
    END { if (l) print l }' "$work/out" | sed 's/  */ /g' >"$work/lines"
  if grep -qE -- "$1" "$work/lines" "$work/err"; then
    echo "ok $tests_run - says: $1"
  else
    echo "not ok $tests_run - says: $1"
    sed 's/^/#   out: /' "$work/lines" "$work/err"
    tests_failed=$((tests_failed + 1))
  fi
}
json() {
  "$make_run" json "$work/out" "$1"
}

# ---- a simulated GPU: all is well
rmdir "$data"
WTFAKE_DEVICES=2 WTFAKE_SMS=114 doctor 0
says "^ ok library $library "
says "^ ok preload type: LD_PRELOAD=$library COMMAND"
says "^ ok driver .*libcuda.so.1, for CUDA 13.0"
says "^ ok device 0: .* 114 SMs, compute capability 9.0"
says "^ ok device 1: "
says "^ ok libcupti .*libcupti.so.13 of CUDA 13.0 Update 1, WAVETAP_CUPTI"
says "^ ok wavetap-sampler $top_builddir/wavetap-sampler "
says "^ warn sampling not possible: wavetap simulated H200: this device, driver or libcupti has no PM sampling \(cupti.*: 27\)"
says "^ ok directory .* \(will be made\)"
says "^ ok daemon not running"
says "^kernels can be recorded here"
ok "it changed nothing" test ! -e "$data" -a -z "$(ls "$shm")"
ok "a pipe gets no colour" test -z "$(tr -dc '\033' <"$work/out")"
WTFAKE_PM=$work/pm doctor 0
says "^ ok sampling wavetap simulated H200 can be sampled: active SMs, SM clock, resident warps, tensor pipe, DRAM, issue slots"
WTFAKE_PM=$work/pm WTFAKE_FAIL='cuptiPmSamplingEnable:*:35' doctor 0
says "^ warn sampling not possible: .*administrators alone.* -> run as root or with CAP_SYS_ADMIN"
WTFAKE_PM=$work/pm WTFAKE_FAIL='cuptiPmSamplingEnable:*:26' doctor 0
says "^ warn sampling not possible: .*somebody else has the device's counters.* -> is another wavetap-sampler"
WAVETAP_SAMPLER=$work/none doctor 0
says "^ warn sampling wavetap-sampler was not found.* -> install it, or set WAVETAP_SAMPLER"
WAVETAP_SAMPLE=fast WAVETAP_PROFILE=many doctor 0
says "^ warn WAVETAP_SAMPLE WAVETAP_SAMPLE=fast makes no sense"
says "^ warn WAVETAP_PROFILE WAVETAP_PROFILE=many makes no sense"
ok "which left nothing either" test ! -e "$data" -a -z "$(ls "$shm")"
mkdir "$data"
doctor 0 --json
is "$(json '$.schema')|$(json '$.can_record')|$(json '$.devices')|$(json '$.preload')" "1|1|1|$library" "JSON: the essentials"
is "$(json '$.checks[0].group') $(json '$.checks[0].name') $(json '$.checks[0].status') $(json '$.checks[0].remedy')" \
  "wavetap library ok null" "JSON: a check"
COLUMNS=80 doctor 0
is "$(awk 'length > 80 { long = 0; for (i = 1; i <= NF; i++) if (length($i) > 50) long = 1; if (!long) print }' "$work/out")" "" \
  "80 columns: no line is longer, but for long paths"
WAVETAP_COLOR=always doctor 0
ok "WAVETAP_COLOR=always colours" grep -q "$(printf '\033')" "$work/out"
doctor 2 --timeout 5
doctor 2 --timeout 0s
doctor 2 --nosuch

# ---- no GPU
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda.so.1'; then
  LD_LIBRARY_PATH='' doctor 3
  says "^ n.a. driver no NVIDIA driver on this host"
  says "^no GPU here"
  LD_LIBRARY_PATH='' doctor 3 --json
  is "$(json '$.can_record')|$(json '$.devices')" "null|0" "JSON: not known"
fi
WTFAKE_FAIL='cuInit:*:100' doctor 3
says "^ n.a. device cuInit refuses with 100: no device -> is CUDA_VISIBLE_DEVICES"
WTFAKE_FAIL='cuInit:*:803' doctor 1
says "^ FAIL device cuInit refuses with 803 -> .*reboot"
WTFAKE_DRIVER_VERSION=10020 doctor 1
says "^ FAIL driver .* for CUDA 10.2 -> update"
CUDA_VISIBLE_DEVICES=0 doctor 0
says "^ ok visible CUDA_VISIBLE_DEVICES=0"

# ---- drivers that hang and crash
broken() { # CODE-OF-CUINIT
  mkdir -p "$work/broken"
  printf '#include <stdlib.h>\n#include <unistd.h>\nint cuDriverGetVersion(int *v) { *v = 13000; return 0; }\nint cuInit(unsigned f) { (void)f; %s; return 0; }\n' "$1" |
    ${CC:-cc} -shared -fPIC -x c - -o "$work/broken/libcuda.so.1" 2>/dev/null
}
if broken 'for (;;) sleep(1)'; then
  "$program" doctor --timeout 1s >"$work/out" 2>"$work/err" &
  hanging=$!
  wait "$hanging"
  is "$?" 0 "the simulated driver, for comparison"
  export LD_LIBRARY_PATH="$work/broken"
  "$program" doctor --timeout 1s >"$work/out" 2>"$work/err"
  is "$?" 1 "a driver that hangs in cuInit: exit 1"
  says "^ FAIL driver .*did not answer in time"
  is "$(pgrep -f "$work/broken" || true)" "" "nothing is left of it"
  broken 'abort()'
  doctor 1
  says "^ FAIL driver .*crashed with signal 6"
  export LD_LIBRARY_PATH="$fake"
  # NVML: MIG on for one of two
  mkdir "$work/nvml"
  if printf 'int nvmlInit_v2(void) { return 0; }\nint nvmlDeviceGetCount_v2(unsigned *c) { *c = 2; return 0; }\nint nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(long)(i + 1); return 0; }\nint nvmlDeviceGetMigMode(void *d, unsigned *c, unsigned *p) { *c = *p = d == (void *)1L; return 0; }\n' |
    ${CC:-cc} -shared -fPIC -x c - -o "$work/nvml/libnvidia-ml.so.1" 2>/dev/null; then
    LD_LIBRARY_PATH=$work/nvml:$fake doctor 0
    says "^ ok MIG on for 1 of 2 GPUs"
  fi
else
  echo "# no compiler here: broken drivers were not tried"
fi

# ---- libcupti
WTFAKE_DRIVER_VERSION=12040 doctor 1
says "^ warn not usable .*too new: of CUDA 13.0 Update 1, the driver is for CUDA 12.4"
says "^ FAIL libcupti none of them can be used: launches would be recorded without kernel times ->"
WTFAKE_CUPTI_VERSION=12 doctor 1
says "^ warn not usable .*too old"
WTFAKE_CUPTI_VERSION=22 WTFAKE_DRIVER_VERSION=12040 doctor 0
says "^ ok libcupti .* of CUDA 12.4,"
WAVETAP_CUPTI=$work/absent.so doctor 1
says "^ FAIL WAVETAP_CUPTI .*No such file"
WAVETAP_CUPTI=0 doctor 0
says "^ warn WAVETAP_CUPTI .*without kernel times"
echo text >"$work/text.so"
for wrong in many -1 8x 1000000000000 65537 ""; do
  WAVETAP_CUPTI_BUFFERS=$wrong doctor 0
  says "^ warn WAVETAP_CUPTI_BUFFERS .*\"$wrong\" is none"
done
for setting in PROFILE_SHARE=101 PROFILE_WARMUP_MS=later FLUSH_MS=0 BUDGET_WINDOW_MS=-1; do
  export "WAVETAP_$setting"
  doctor 0
  says "^ warn WAVETAP_${setting%=*} \"${setting#*=}\" is none from "
  unset "WAVETAP_${setting%=*}"
done
WAVETAP_CUPTI_BUFFERS=0 doctor 0
is "$(grep -c CUPTI_BUFFERS "$work/out")" 0 "a number is not worth a word"
WAVETAP_CUPTI=$work/text.so doctor 1
says "^ warn not usable .*text.so"
mkdir -p "$work/bin" "$work/site/nvidia/cu13/lib"
cp "$fake/libcupti.so.13" "$work/site/nvidia/cu13/lib"
printf '#!/bin/sh\necho; echo %s\n' "$work/site" >"$work/bin/python3"
chmod +x "$work/bin/python3"
(
  unset WAVETAP_CUPTI
  PATH=$work/bin:$PATH "$program" doctor >"$work/out" 2>"$work/err"
)
is "$?" 0 "a wheel of Python"
says "^ ok libcupti $work/site/nvidia/cu13/lib/libcupti.so.13 of CUDA 13.0 Update 1, a package of Python"
says "^ ok also there .*$fake/libcupti.so.13"
printf '#!/bin/sh\nexit 9\n' >"$work/bin/python3"
(
  unset WAVETAP_CUPTI
  PATH=$work/bin:$PATH "$program" doctor >"$work/out" 2>"$work/err"
)
says "^ warn python .*python3 ended with exit code 9"

# ---- other tools, settings
CUDA_INJECTION64_PATH=/opt/libToolsInjection64.so doctor 0
says "^ warn other tools CUDA_INJECTION64_PATH=/opt/libToolsInjection64.so: that tool may hold CUPTI"
NSYS_PROFILING_SESSION_ID=1 doctor 0
says "^ warn other tools NSYS_PROFILING_SESSION_ID is set"
mkdir "$work/mps"
CUDA_MPS_PIPE_DIRECTORY=$work/mps doctor 0
ok "no MPS server there: nothing is said of it" sh -c '! grep -q " MPS" "$1"' sh "$work/out"
mkfifo "$work/mps/control"
CUDA_MPS_PIPE_DIRECTORY=$work/mps doctor 0
says "^ warn MPS $work/mps/control is there: kernels of other MPS clients are not seen, and SMs may be capped -> read idle"
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 doctor 0
says "^ warn MPS CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50: "
WAVETAP=0 doctor 1
says "^ FAIL WAVETAP WAVETAP=0"
WAVETAP_SPAWN=0 doctor 0
says "^ warn WAVETAP_SPAWN "
WAVETAP_NVTX=0 doctor 0
says "^ warn WAVETAP_NVTX "
NVTX_INJECTION64_PATH=/opt/tool.so doctor 0
says "^ warn other tools NVTX_INJECTION64_PATH=/opt/tool.so: .*named ranges are its own"
WAVETAP_KEEP=lots doctor 0
says "^ warn WAVETAP_KEEP \"lots\" is no number"
WAVETAP_SHM_BYTES=5000 doctor 1
says "^ FAIL WAVETAP_SHM_BYTES "
LD_PRELOAD=$library doctor 0
says "^ ok LD_PRELOAD it names the library already"
LD_PRELOAD=/nonexistent/libwavetap.so doctor 1
says "^ FAIL LD_PRELOAD it names /nonexistent/libwavetap.so, which can't be read"

# ---- our own files
mkdir "$work/ours"
cp "$wavetap" "$top_builddir/wavetapd" "$library" "$work/ours"
program=$work/ours/wavetap
unset WAVETAP_DAEMON
doctor 0
says "^ ok wavetapd $work/ours/wavetapd "
version=$("$program" --version | sed 's/.* //')
layout=$(sed -n 's/^#define WT_SEGMENT_ABI \([0-9]*\)u.*/\1/p' "$top_srcdir/schema/wt_segment.h")
sed "s/libwavetap $version layout ${layout}u/libwavetap 9.9.9 layout ${layout}u/" "$library" >"$work/ours/libwavetap.so"
doctor 0
says "^ warn library .* is version 9.9.9; this program is $version"
sed "s/libwavetap $version layout ${layout}u/libwavetap $version layout 7u/" "$library" >"$work/ours/libwavetap.so"
doctor 1
says "^ FAIL library .* is version $version, layout 7; this program is $version, layout $layout -> install all"
echo "no library" >"$work/ours/libwavetap.so"
doctor 1
says "^ FAIL preload the loader does not take the library: .*libwavetap.so.* -> "
rm "$work/ours/libwavetap.so"
doctor 1
says "^ FAIL library libwavetap.so is neither beside this program nor in "
cp "$library" "$work/ours"
printf '#!/bin/sh\nexit 127\n' >"$work/ours/wavetapd"
doctor 1
says "^ FAIL wavetapd .*exit code 127"
rm "$work/ours/wavetapd"
doctor 1
says "^ FAIL wavetapd wavetapd is neither beside"
WAVETAP_DAEMON=/nonexistent doctor 1
says "^ FAIL wavetapd WAVETAP_DAEMON=/nonexistent can't be executed"
cp "$top_builddir/wavetapd" "$work/ours"
mv "$work/ours" "$work/with blank"
program="$work/with blank/wavetap"
doctor 1
says "^ FAIL preload .*with blank/libwavetap.so can't be preloaded: LD_PRELOAD is split"
program=$wavetap
WAVETAP_DAEMON=$top_builddir/wavetapd
export WAVETAP_DAEMON

# ---- shared memory, data, limits
WAVETAP_SHM_DIR=$work/absent doctor 1
says "^ FAIL shared memory .*absent: No such file"
echo x >"$work/file"
WAVETAP_DIR=$work/file doctor 1
says "^ FAIL directory $work/file is not a directory"
WAVETAP_DIR=/proc/nowhere doctor 1
says "^ FAIL directory|^ FAIL disk"
chmod 777 "$data"
doctor 0
says "^ warn directory $data can be written to by others \(mode 777\) -> chmod go-w"
chmod 700 "$data"
mkdir "$data/runs"
echo text >"$data/runs/text.db"
doctor 0
says "^ warn runs 1 of 1 can't be read -> wavetap check --all"
rm "$data/runs/text.db"
(
  ulimit -f 100
  "$program" doctor >"$work/out" 2>"$work/err"
)
is "$?" 1 "a limit on file sizes: exit 1"
says "^ FAIL file size at most "
(
  # shellcheck disable=SC3045 # dash and bash both know it
  ulimit -n 32
  "$program" doctor >"$work/out" 2>"$work/err"
)
is "$?" 1 "few descriptors: exit 1"
says "^ FAIL open files at most 32: wavetapd needs 64"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
  mkdir "$work/small"
  inside() { # COMMANDS: with $work/small as a mount of our own
    unshare -m sh -c "$1; exec '$program' doctor" >"$work/out" 2>"$work/err"
    code=$?
  }
  inside "mount -t tmpfs -o size=700k tmpfs '$work/small'; export WAVETAP_SHM_DIR='$work/small'"
  is "$code" 1 "shared memory of 700 KiB: exit 1"
  says "^ FAIL shared memory .*too little room"
  inside "mount -t tmpfs -o size=64m tmpfs '$work/small'; export WAVETAP_SHM_DIR='$work/small'"
  is "$code" 0 "64 MiB, as docker gives: exit 0"
  says "^ warn shared memory .*64.0 MiB of 64.0 MiB free, 4.00 MiB for each process: bursts may be lost -> docker"
  inside "mount -t tmpfs -o ro tmpfs '$work/small'; export WAVETAP_SHM_DIR='$work/small'"
  is "$code" 1 "read-only: exit 1"
  inside "mount -t tmpfs -o size=8m tmpfs '$work/small'; export WAVETAP_DIR='$work/small/data'"
  is "$code" 1 "a full disk: exit 1"
  says "^ FAIL disk 8.00 MiB free on tmpfs: runs can't be stored"
  inside "mount -t tmpfs -o ro tmpfs '$work/small'; export WAVETAP_DIR='$work/small/data'"
  is "$code" 1 "a read-only disk: exit 1"
  says "^ FAIL directory .*Read-only file system"
  inside "mount -t tmpfs -o noexec tmpfs '$work/small'; cp '$library' '$work/with blank/wavetap' '$top_builddir/wavetapd' '$work/small'; ln -s '$work/small' '$work/noexec'"
  rm -f "$work/noexec"
  unshare -m sh -c "mount -t tmpfs tmpfs '$work/small'; cp '$wavetap' '$top_builddir/wavetapd' '$work/small'
    mkdir '$work/small/n'; mount -t tmpfs -o noexec tmpfs '$work/small/n'; cp '$library' '$work/small/n'
    ln -s n/libwavetap.so '$work/small/libwavetap.so'; exec '$work/small/wavetap' doctor" >"$work/out" 2>"$work/err"
  is "$?" 1 "the library on a noexec mount: exit 1"
  says "^ FAIL preload the loader does not take the library: .*failed to map.* -> move it to a file system that is not mounted noexec"
  # What only the kernel module writes.
  if [ -d /proc/driver ] && [ ! -d /proc/driver/nvidia ]; then
    inside "mount -t tmpfs tmpfs /proc/driver; mkdir /proc/driver/nvidia; echo 'RmProfilingAdminOnly: 1' >/proc/driver/nvidia/params"
    says "^ ok counters permitted"
    if setpriv --bounding-set=-all true 2>/dev/null; then
      unshare -m sh -c "mount -t tmpfs tmpfs /proc/driver; mkdir /proc/driver/nvidia; echo 'RmProfilingAdminOnly: 1' >/proc/driver/nvidia/params
        exec setpriv --bounding-set=-all '$program' doctor" >"$work/out" 2>"$work/err"
      says "^ warn counters reserved to root \(RmProfilingAdminOnly: 1\): SM activity is not measured; launch records need none -> run as root"
    fi
    if ! ldconfig -p 2>/dev/null | grep -q 'libcuda.so.1'; then
      inside "mount -t tmpfs tmpfs /proc/driver; mkdir /proc/driver/nvidia; echo 'NVRM version: 580' >/proc/driver/nvidia/version; LD_LIBRARY_PATH="
      is "$code" 1 "a module without its library, as in a container: exit 1"
      says "^ FAIL driver the kernel module is loaded, but libcuda.so.1 is not found"
    fi
  fi
else
  echo "# small, full and read-only mounts need root and mount namespaces: not tested here"
fi

# ---- the daemon, leftovers
WAVETAP_SPAWN=0 WAVETAP_RUN=dead tap "$app" --launches 50 >/dev/null
doctor 0
says "^ warn leftovers 1 file of programs or a daemon that are gone, .* -> wavetap gc"
WAVETAP_RUN=live LD_PRELOAD=$library "$app" --launches 100000 --rate 100 >/dev/null &
alive=$!
tries=0
while [ "$tries" -lt 300 ] && ! "$wavetap" status 2>/dev/null | grep -q "1 process"; do
  tries=$((tries + 1))
  sleep 0.1
done
doctor 0
says "^ ok daemon wavetapd $version runs, pid [0-9]+"
says "^ ok leftovers none"
kill "$alive"
wait "$alive" 2>/dev/null
settle
hash=$("$make_run" hash "$data")
sock=$shm/wavetap-$(id -u)-$hash.sock
if [ "${#sock}" -lt 108 ]; then
  "$top_builddir/tests/unit/answering_daemon" "$sock" '{"version":"0.0.9","pid":12,"runs":[{"store":{"error":"disk full"}}]}' none >"$work/ready" &
  answering=$!
  while [ ! -s "$work/ready" ]; do sleep 0.05; done
  doctor 1
  says "^ warn daemon wavetapd 0.0.9 runs, pid 12; this program is $version -> kill it"
  says "^ FAIL storing disk full"
  kill "$answering"
  wait "$answering" 2>/dev/null
  rm -f "$sock"
fi

# ---- the program that is to be recorded: looked at, never run
doctor 0 -- sh -c 'touch "$0"' "$work/was-run"
says "^ ok program .*sh can be preloaded"
ok "it was not run" test ! -e "$work/was-run"
doctor 1 -- nosuchprogram
says "^ FAIL program nosuchprogram: not found"
doctor 1 -- "$work"
says "is not a file"
printf '#!/usr/bin/env sh\n:\n' >"$work/script"
doctor 1 -- "$work/script"
says "^ FAIL program .*script: Permission denied"
chmod +x "$work/script"
doctor 0 "$work/script"
says "^ ok program $work/script is a script that .*/sh runs: can be preloaded"
cp "$work/script" "$work/bin/sudo"
PATH=$work/bin:$PATH doctor 0 -- sudo true
says "^ warn wrapper sudo: it clears the environment -> put wavetap run behind it"
printf '\177ELF\001\001\001\000\000\000\000\000\000\000\000\000\002\000\003\000' >"$work/elf32"
printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\002\000\024\000\001\000\000\000' >"$work/elfother"
head -c 100 /dev/zero >>"$work/elf32"
head -c 100 /dev/zero >>"$work/elfother"
echo text >"$work/textfile"
chmod +x "$work/elf32" "$work/elfother" "$work/textfile"
doctor 1 -- "$work/elf32"
says "^ FAIL program .*elf32: it is a 32-bit program"
doctor 1 -- "$work/elfother"
says "^ FAIL program .*elfother: it is for another processor"
doctor 0 -- "$work/textfile"
says "^ warn program .*textfile is neither a program nor a script"
if printf 'int main(void) { return 0; }\n' | ${CC:-cc} -static -x c - -o "$work/static" 2>/dev/null; then
  doctor 1 -- "$work/static"
  says "^ FAIL program .*static can't be preloaded: it is statically linked"
fi
if printf 'int main(void) { return 0; }\n' | musl-gcc -x c - -o "$work/musl" 2>/dev/null; then
  doctor 1 -- "$work/musl"
  says "^ FAIL program .*musl: it uses musl, for which there is no CUDA"
fi
if [ "$(id -u)" = 0 ] && cp /bin/true "$work/raised" && chown 1 "$work/raised" && chmod u+s "$work/raised"; then
  doctor 1 -- "$work/raised"
  says "^ FAIL program .*raised can't be preloaded: it runs with raised privileges"
fi
if python=$(command -v python3) && [ "$(head -c 2 "$python")" != '#!' ]; then
  printf '#!/usr/bin/env python3\n' >"$work/train.py"
  chmod +x "$work/train.py"
  doctor 0 -- "$work/train.py"
  says "^ ok program $work/train.py is a script that .*python3 runs"
fi
done_testing
