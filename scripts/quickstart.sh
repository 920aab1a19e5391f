#!/bin/sh
# From a fresh clone to a first picture: installs what is missing (as root or with sudo), builds,
# runs the demo program under wavetap, which ends with where its SM-time went, and shows its `top`.
#
# Without a GPU the demo runs on the simulated one (tests/fake/), and says so; then the `top` of a
# real H200 training run is shown, from the recording in tests/data/.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
"$top/scripts/install-deps.sh"
echo "building wavetap (half a minute) ..."
"$top/scripts/build.sh" "$top/build"
cd "$top/build"
make -s V=1 tests/fake/app_demo tests/fake/libcuda.so.1 tests/fake/libcupti.so.13

# A place of its own, so that trying it out leaves your own runs alone.
WAVETAP_DIR=$top/build/quickstart
export WAVETAP_DIR

has_gpu() {
  [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || return 1
  tests/fake/app_demo --seconds 0.1 >/dev/null 2>&1
}

if has_gpu; then
  echo "the demo runs on this machine's GPU"
else
  echo
  echo "No usable NVIDIA GPU here: the demo runs on a SIMULATED GPU."
  LD_LIBRARY_PATH=$top/build/tests/fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
  simulated=1
fi

echo
echo "\$ wavetap run --name demo -- app_demo"
./wavetap run --name demo -- tests/fake/app_demo
echo
echo "\$ wavetap top"
./wavetap top

if [ -n "${simulated:-}" ]; then
  file=$WAVETAP_DIR/h200-train-eager.db
  ./wavetap import --force --name gpt-eager -o "$file" "$top/tests/data/h200-train-eager.wtrec" >/dev/null
  echo
  echo "A recorded run: PyTorch training on an NVIDIA H200 (tests/data/README.md)"
  echo "\$ wavetap top --limit 8 -r $(basename "$file")"
  ./wavetap top --limit 8 -r "$file"
fi

cat <<MSG

Next, in $top:
  export WAVETAP_DIR=build/quickstart    the demo's run stays apart, there:
  build/wavetap diagnose                 what costs most, why, what to try
  build/wavetap show 1                   the first kernel of its top
  build/wavetap top --watch              the live view: ? has the keys, q ends it
  build/wavetap export -o report.html    all of it as one page, for a browser
  unset WAVETAP_DIR
  build/wavetap run -- python train.py   your own program, and its story
  sudo make -C build install             put it into /usr/local
MSG
