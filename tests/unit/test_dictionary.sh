#!/bin/sh
# Every table, view and column of schema.sql is in the data dictionary (doc/run-file.md), in the
# section whose heading names its table; and the dictionary has no section for what is not there.
src=${top_srcdir:-.}
dictionary=$src/doc/run-file.md
count=0
failed=0

ok() { # CONDITION'S STATUS, WHAT
  count=$((count + 1))
  if [ "$1" -eq 0 ]; then
    echo "ok $count - $2"
  else
    echo "not ok $count - $2"
    failed=$((failed + 1))
  fi
}

if ! command -v sqlite3 >/dev/null 2>&1; then
  echo "1..0 # SKIP no sqlite3"
  exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

schema() {
  { cat "$src/schema/schema.sql"; echo "$1"; } | sqlite3 -batch -noheader -list :memory:
}

# The dictionary as lines "SECTION WORD": each `word` of a section, once for each name in its heading.
awk '
  /^## / { names = 0 }
  /^### / { names = 0; left = $0; sub(/:.*/, "", left)
    while (match(left, /`[a-z0-9_]+`/)) {
      name[++names] = substr(left, RSTART + 1, RLENGTH - 2)
      left = substr(left, RSTART + RLENGTH)
    }
  }
  { left = $0
    while (match(left, /`[a-z0-9_]+`/)) {
      word = substr(left, RSTART + 1, RLENGTH - 2)
      left = substr(left, RSTART + RLENGTH)
      for (i = 1; i <= names; i++) print name[i], word
    }
  }' "$dictionary" | sort -u >"$work/said"

schema "SELECT s.name || ' ' || c.name FROM sqlite_schema s, pragma_table_info(s.name) c
        WHERE s.type IN ('table', 'view');" | sort -u >"$work/columns"
schema "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view');" | sort >"$work/names"

ok "$([ "$(wc -l <"$work/columns")" -gt 250 ]; echo $?)" "the schema was read"
for name in $(cat "$work/names"); do
  missing=$(grep "^$name " "$work/columns" | comm -23 - "$work/said" | cut -d ' ' -f 2 | tr '\n' ' ')
  ok "$([ -z "$missing" ]; echo $?)" "$name${missing:+: not in the dictionary: $missing}"
done
strangers=$(cut -d ' ' -f 1 "$work/said" | sort -u | comm -23 - "$work/names" | tr '\n' ' ')
ok "$([ -z "$strangers" ]; echo $?)" "no section for what is not there${strangers:+: $strangers}"
for state in $(schema "SELECT sql FROM sqlite_schema WHERE name = 'proc';" |
  sed -n "/CHECK (state/,/)),/p" | grep -o "'[a-z]*'" | tr -d "'"); do
  grep -qx "process $state" "$work/said"
  ok $? "state $state"
done
echo "1..$count"
[ "$failed" -eq 0 ]
