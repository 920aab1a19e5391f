#!/bin/sh
# scripts/man-options.sh WAVETAP PAGE...: brings the list of options of each page wavetap-COMMAND.1 up to what the
# program WAVETAP has in its table of commands, and prints the names of pages that this changes. In the page:
#
#	.\" options
#	.\" option NAME         made of the table: the option, what it is for, its words
#	.\" more                below this line: what the page says beyond that; stays as it is
#	.\" options end
#
# New options come where the table has them, options that are gone go. With -n nothing is changed.
set -eu
dry=
[ "$1" != -n ] || { dry=1; shift; }
wavetap=$1
shift
new=$(mktemp "${TMPDIR:-/tmp}/wavetap-page.XXXXXX")
trap 'rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM
for page; do
  command=$(basename "$page" .1)
  command=${command#wavetap-}
  "$wavetap" --mdoc-options "$command" | awk -v page="$page" '
    # What the page has: text around the list, and what stands below "more", by option.
    FILENAME == page && $0 == ".\\\" options" { print; place = "list"; next }
    FILENAME == page && $0 == ".\\\" options end" { place = "behind" }
    FILENAME == page && place == "list" {
      if ($1 == ".\\\"" && $2 == "option") { name = $3; is_more = 0 }
      else if ($0 == ".\\\" more") is_more = 1
      else if (is_more) more[name] = more[name] $0 "\n"
      next
    }
    FILENAME == page && place == "behind" { behind = behind $0 "\n"; next }
    FILENAME == page { print; next }
    function end_option() { if (current != "" && current in more) printf ".\\\" more\n%s", more[current] }
    $1 == ".\\\"" && $2 == "option" { end_option(); current = $3 }
    { print }
    END {
      end_option()
      printf "%s", behind
      if (place != "behind") { print page ": has no list of options between .\\\" options and .\\\" options end" > "/dev/stderr"; exit 1 }
    }' "$page" - >"$new"
  cmp -s "$page" "$new" && continue
  echo "$page"
  [ -n "$dry" ] || cat "$new" >"$page"
done
