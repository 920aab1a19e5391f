#!/bin/sh
# Installs what building and testing wavetap needs on Debian and Ubuntu: a C compiler,
# autotools, SQLite, zlib, ncurses; for the tests also sqlite3, binutils and tmux. As root or with sudo.
# On other systems it says what to install. Nothing is touched when all is there already.
#
# With --cross, where nobody is asked for a password (root, or CI set): also what checks man pages (mandoc), and what the tests for
# aarch64 and musl need, about 250 MB on disk. Without it those tests are skipped, each with its reason.
set -eu

is_cross=
[ "${1:-}" != --cross ] || is_cross=1

packages="gcc make autoconf automake pkg-config libsqlite3-dev zlib1g-dev libncurses-dev libc6-dev binutils sqlite3 gzip tmux"

missing=
for package in $packages; do
  # pkg-config is a virtual name on newer releases: its command decides.
  [ "$package" = pkg-config ] && command -v pkg-config >/dev/null 2>&1 && continue
  if command -v dpkg-query >/dev/null 2>&1; then
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      missing="$missing $package"
  fi
done

if ! command -v apt-get >/dev/null 2>&1; then
  for tool in cc make autoreconf pkg-config; do
    command -v "$tool" >/dev/null 2>&1 || {
      echo "install-deps: '$tool' is missing, and this is not a Debian system: install a C compiler," >&2
      echo "install-deps: make, autoconf, automake, pkg-config, SQLite and zlib with headers (ncurses for --watch)" >&2
      exit 1
    }
  done
  exit 0
fi

cross=
if [ -n "$is_cross" ] && { [ "$(id -u)" = 0 ] || [ -n "${CI:-}" ]; }; then
  for package in gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user musl-tools mandoc; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' ||
      cross="$cross $package"
  done
fi
[ -n "$missing$cross" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null 2>&1 || {
    [ -n "$missing" ] || exit 0
    echo "install-deps: missing:$missing; run this as root, or install sudo" >&2
    exit 1
  }
  sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
if [ -n "$missing" ]; then
  echo "install-deps: installing$missing" >&2
  $sudo apt-get update -qq
  # shellcheck disable=SC2086 # a list of names
  $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
# shellcheck disable=SC2086
if [ -n "$cross" ]; then
  echo "install-deps: installing$cross (for tests)" >&2
  { [ -n "$missing" ] || $sudo apt-get update -qq -o Acquire::Retries=0; } &&
    $sudo apt-get install -y -qq --no-install-recommends $cross >/dev/null ||
    echo "install-deps: not installed:$cross; the tests that need them will be skipped" >&2
fi
