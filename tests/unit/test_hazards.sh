#!/bin/sh
# tests/HAZARDS.md: every hazard once, each with a test or a reason, and what it names exists: tests are
# among those of `make check`, checks in quotes in their sources, sections in tests/gpu/run.sh. Then
# scripts/hazards.sh itself, by which scripts/test.sh finds tests that did not run.
src=${top_srcdir:-.}
build=${top_builddir:-.}
table=$src/tests/HAZARDS.md
hazards=$src/scripts/hazards.sh
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
count=0
failed=0

ok() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		echo "not ok $count - $2"
		failed=1
	fi
}
none() { # FILE WHAT: ok if FILE is empty, else its lines
	sed 's/^/# /' "$1"
	[ ! -s "$1" ]
	ok $? "$2"
}

# ---- the table
sed -n 's/^| \([A-F][0-9]*\) |.*/\1/p' "$table" >"$tmp/ids"
{
	for of in A:21 B:19 C:14 D:12 E:8 F:30; do
		seq -f "${of%:*}%g" 1 "${of#*:}"
	done
} >"$tmp/want"
diff "$tmp/want" "$tmp/ids" >"$tmp/differ"
none "$tmp/differ" "all 104 hazards are there, once, in order"
awk '/^\| [A-F][0-9]+ \|/ { gsub(/\\\|/, ""); n = split($0, c, / *\| */); if (n != 6 || c[3] == "" || c[4] == "" || c[5] == "") print }' \
	"$table" >"$tmp/bad"
none "$tmp/bad" "each has what breaks, what wavetap does, and what holds it"

sh "$hazards" named "$table" >"$tmp/named"
awk -F '\t' '$2 == "-" && $3 != "no test" { print $1 }' "$tmp/named" >"$tmp/bad"
none "$tmp/bad" "each has a test, or a reason for none"
[ "$(grep -c "$(printf '\t-\tno test$')" "$tmp/named")" -le 20 ]
ok $? "at most 20 have none ($(grep -c "$(printf '\t-\tno test$')" "$tmp/named"))"

# ---- what it names
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -C "$build" list-tests 2>/dev/null | tr ' ' '\n' | grep '^tests/' | sort >"$tmp/tests"
[ "$(wc -l <"$tmp/tests")" -gt 50 ]
ok $? "the tests of make check are known ($(wc -l <"$tmp/tests"))"
cut -f 2 "$tmp/named" | grep -E '^(unit|e2e|fuzz)/' | sed 's|^|tests/|' | sort -u >"$tmp/files"
comm -23 "$tmp/files" "$tmp/tests" >"$tmp/bad"
none "$tmp/bad" "each of $(wc -l <"$tmp/files") tests named is one of make check's"

source_of() { # TEST
	case $1 in
	*.sh) echo "$src/tests/$1" ;;
	*) echo "$src/tests/$1.c" ;;
	esac
}
grep -E "$(printf '\t')(unit|e2e|fuzz)/" "$tmp/named" | while IFS="$(printf '\t')" read -r id test check; do
	[ -z "$check" ] && [ ! -e "$(source_of "$test")" ] && echo "$id: no $(source_of "$test")"
	# Texts may be broken into two strings by the formatter.
	[ -z "$check" ] || tr '\n\t' '  ' <"$(source_of "$test")" | sed 's/" *"//g' | grep -qF -- "$check" ||
		echo "$id: $test has no \"$check\""
done >"$tmp/bad"
none "$tmp/bad" "each of $(cut -f 3 "$tmp/named" | grep -c .) checks in quotes is in its source"

# shellcheck disable=SC2016 # run.sh's own variables
sections=$(sed -n "s/^SECTIONS=['\"]\(.*\)['\"]$/\1/p" "$src/tests/gpu/run.sh" | sed 's/\$SECTIONS//' | tr '\n' ' ')
sed -n "s|.*$(printf '\t')gpu/run.sh \([a-z-]*\).*|\1|p" "$tmp/named" | sort -u | while read -r section; do
	case " $sections " in
	*" $section "*) grep -qE "^    ([a-z-]+ \| )*$section( \| [a-z-]+)*\)" "$src/tests/gpu/run.sh" || echo "$section: not run" ;;
	*) echo "$section: no such section" ;;
	esac
done >"$tmp/bad"
none "$tmp/bad" "each section of tests/gpu/run.sh exists"

# ---- the rule of scripts/test.sh
cat >"$tmp/table" <<'T'
| A1 | x | y | `unit/one` "a", "b \| c"; `e2e/two.sh`; `make stress`; "no check"; `gpu/run.sh link` |
| A2 | x | y | no test: because |
| A3 | x | y | `unit/three`, `fuzz/four`, `unit/on` |
T
printf 'A1\tunit/one\t\nA1\tunit/one\ta\nA1\tunit/one\tb | c\nA1\te2e/two.sh\t\nA1\tgpu/run.sh link\t\nA2\t-\tno test\nA3\tunit/three\t\nA3\tfuzz/four\t\nA3\tunit/on\t\n' >"$tmp/want"
sh "$hazards" named "$tmp/table" >"$tmp/got"
diff "$tmp/want" "$tmp/got" >"$tmp/differ"
none "$tmp/differ" "names and checks are read as written"
cat >"$tmp/output" <<'T'
PASS: tests/unit/one 1 - a
PASS: tests/unit/one 2 - b
SKIP: tests/e2e/two.sh - no namespaces here
SKIP: tests/unit/three
FAIL: tests/fuzz/four 1 - found
T
sh "$hazards" not-run "$tmp/table" "$tmp/output" >"$tmp/got"
printf 'unit/on\nunit/three\n' >"$tmp/want"
diff "$tmp/want" "$tmp/got" >"$tmp/differ"
none "$tmp/differ" "what did not run, or was skipped without a reason, is found"

echo "1..$count"
exit $failed
