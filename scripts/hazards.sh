#!/bin/sh
# scripts/hazards.sh named|not-run TABLE [CHECK-OUTPUT]: what tests/HAZARDS.md says.
#
#   named TABLE            each test it names: hazard, test, the check in quotes behind it (perhaps
#                          none), between tabs; a hazard without any: "-", and "no test" or nothing
#   not-run TABLE OUTPUT   of those tests that `make check` should run, the ones that neither passed,
#                          failed nor were skipped with a reason in its output
set -eu

named() {
  awk '
    function tell(id, test, check) { print id "\t" test "\t" check }
    /^\| [A-F][0-9]+ \|/ {
      gsub(/\\\|/, "\001")
      split($0, column, / *\| */)
      id = column[2]; rest = column[5]; test = ""; count = 0
      gsub(/\001/, "|", rest)
      while (match(rest, /`[^`]*`|"[^"]*"/)) {
        word = substr(rest, RSTART + 1, RLENGTH - 2)
        is_check = substr(rest, RSTART, 1) == "\""
        rest = substr(rest, RSTART + RLENGTH)
        if (is_check && test != "") {
          tell(id, test, word)
        } else if (!is_check) {
          test = word ~ /^((unit|e2e|fuzz)\/|gpu\/run\.sh )/ ? word : ""
          if (test != "") { count++; tell(id, test, "") }
        }
      }
      if (!count) tell(id, "-", column[5] ~ /^no test: ./ ? "no test" : "")
    }' "$1"
}

not_run() {
  named "$1" | cut -f 2 | sort -u | grep -E '^(unit|e2e|fuzz)/' | while read -r test; do
    grep -qE "^(PASS|FAIL|XFAIL|ERROR): tests/$test( |$)|^SKIP: tests/$test .*[^ -]" "$2" || echo "$test"
  done
}

case ${1:-} in
  named) named "$2" ;;
  not-run) not_run "$2" "$3" ;;
  *)
    echo "usage: hazards.sh named TABLE | not-run TABLE CHECK-OUTPUT" >&2
    exit 2
    ;;
esac
