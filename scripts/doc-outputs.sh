#!/bin/sh
# scripts/doc-outputs.sh [-n] WAVETAP SOURCE PAGE: runs the commands of PAGE, lines that begin with "$ " in blocks
# ```console, in order, and puts what they print below each. They run in an empty folder with SOURCE's tests/data in
# it, 80 columns wide, in UTF-8. An imported run has another id each time: here the first is a44b3e64, the next
# 74dca971. Prints PAGE's name if that changes it; with -n nothing is changed, and the
# differences are printed.
set -eu
dry=
[ "$1" != -n ] || { dry=1; shift; }
wavetap=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
source=$(cd "$2" && pwd)
page=$3
folder=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-page.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
mkdir -p "$folder/here/tests" "$folder/bin"
ln -s "$source/tests/data" "$folder/here/tests/data"
ln -s "$wavetap" "$folder/bin/wavetap"
unset WAVETAP_COLOR NO_COLOR LC_CTYPE LANG
export COLUMNS=80 LC_ALL=C.UTF-8 TZ=UTC0 TERM=dumb WAVETAP_DIR="$folder/data" WAVETAP_SHM_DIR="$folder"
PATH=$folder/bin:$PATH

in_block=
while IFS= read -r line; do
  case $line in
  '```console') in_block=1 ;;
  '```') in_block= ;;
  '$ '*)
    if [ -n "$in_block" ]; then
      printf '%s\n' "$line"
      (cd "$folder/here" && eval "${line#??}") 2>&1 </dev/null || true
      continue
    fi
    ;;
  *) [ -z "$in_block" ] || continue ;; # what was printed before
  esac
  printf '%s\n' "$line"
done <"$page" >"$folder/raw"
awk '
  BEGIN { split("a44b3e64 74dca971 5d1c09b2 c6f0e817", shown) }
  match($0, /^run [0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f] /) {
    id = substr($0, 5, 8)
    if (!(id in place)) place[id] = shown[++count]
    $0 = "run " place[id] substr($0, 13)
  }
  { print }' "$folder/raw" >"$folder/page"
if [ -n "$dry" ]; then
  diff "$page" "$folder/page" || true
elif ! cmp -s "$page" "$folder/page"; then
  cp "$folder/page" "$page"
  echo "$page"
fi
