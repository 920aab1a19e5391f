#!/bin/sh
# tests/gpu/build.sh FOLDER [BUILD-TREE]: puts everything that run.sh needs into FOLDER, which can
# then be carried to a machine with a GPU and no toolkit.
#
#   BUILD-TREE   default build; after `make` and `make check TESTS=` in it
#   NVCC         default nvcc
#   ARCH         default sm_90
#   CC           default cc: for pm_probe
#
# Libraries beside libc that wavetap needs go into FOLDER/lib, which all programs search; the shared
# CUDA runtime goes into FOLDER/cudart, for cover_shared alone: PyTorch brings its own.
# Exit status: 0 done, 1 failed, 2 usage.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-nvcc}
arch=${ARCH:-sm_90}
if test $# -lt 1 || test $# -gt 2; then
  echo 'usage: tests/gpu/build.sh FOLDER [BUILD-TREE]' >&2
  exit 2
fi
folder=$1 tree=${2:-build}
mkdir -p "$folder/lib" "$folder/cudart"

for program in libwavetap.so wavetap wavetapd tests/gpu/occupancy_matrix tests/fake/app_launch \
  tests/fake/app_launch_link tests/fake/app_cover tests/fake/app_gaps tests/gpu/raw_cupti.so; do
  cp "$tree/$program" "$folder/"
done
# Not of every build.
test ! -e "$tree/wavetap-sampler" || cp "$tree/wavetap-sampler" "$folder/"
test ! -x "$tree/tests/data/strip_recording" || cp "$tree/tests/data/strip_recording" "$folder/"

compile() { # OUTPUT SOURCE OPTION...
  output=$1 source=$2
  shift 2
  "$nvcc" -O2 "-arch=$arch" -o "$folder/$output" "$here/$source" "$@"
}
compile truth truth.cu
compile causes_native causes_native.cu
compile link_truth cover/link_truth.cu
compile tool_target tool_target.cu
compile long_graph long_graph.cu
compile cover_static cover/cover.cu
# shellcheck disable=SC2016 # for the loader
compile cover_shared cover/cover.cu -cudart shared -Xlinker -rpath -Xlinker '$ORIGIN/cudart'
compile cover_ptds cover/cover.cu --default-stream per-thread
compile cover_device cover/cover_device.cu -rdc=true -lcudadevrt

# The probes call CUPTI by its own headers. One of these is C++ for the sake of <string> alone.
cuda=$(dirname "$(command -v "$nvcc")")/..
cupti=
for place in "$cuda/lib64" "$cuda/extras/CUPTI/lib64"; do
  test ! -e "$place/libcupti.so" || cupti=$place
done
if test -n "$cupti" && test -e "$cuda/include/cupti_pmsampling.h"; then
  places=/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64:$cupti
  compile sass_probe sass_probe.cu "-L$cupti" -lcupti -lcuda -Xlinker -rpath -Xlinker "$places"
  mkdir -p "$folder/empty"
  : >"$folder/empty/string"
  compile range_probe range_probe.cu "-I$folder/empty" "-L$cupti" -lcupti -lcuda -Xlinker -rpath -Xlinker "$places"
  compile blind_probe blind_probe.cu "-I$folder/empty" "-L$cupti" -lcupti -lcuda -Xlinker -rpath -Xlinker "$places"
  ${CC:-cc} -std=gnu11 -O2 "-I$folder/empty" "-I$cuda/include" "-I$cuda/extras/CUPTI/include" \
    -o "$folder/pm_probe" "$here/pm_probe.c" "-L$cupti" -lcupti -ldl "-Wl,-rpath,$places"
  rm -r "$folder/empty"
else
  echo 'build.sh: no CUPTI beside nvcc: the probes are left out' >&2
fi

# libc's own are everywhere; libcuda is the driver's.
ldd "$folder"/wavetap "$folder"/wavetapd "$folder"/wavetap-sampler 2>/dev/null |
  awk '$2 == "=>" && $3 ~ "^/" { print $3 }' | sort -u |
  while read -r library; do
    case $library in
      */libc.so.* | */libm.so.* | */libpthread.so.* | */libdl.so.* | */librt.so.* | */libcuda.so.* | */ld-linux*) ;;
      */libstdc++.so.* | */libgcc_s.so.*) ;;
      *) cp -L "$library" "$folder/lib/" ;;
    esac
  done
for library in "$cuda"/lib64/libcudart.so.[0-9][0-9]; do
  test ! -e "$library" || cp -L "$library" "$folder/cudart/"
done
ls "$folder" "$folder/lib" "$folder/cudart"
