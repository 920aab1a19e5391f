#!/bin/sh
# Help and man pages: what a command takes is the same in its help, on its page and in completion; help holds a
# screen; pages have all sections, render without a word of complaint, and name every column that the commands
# print and every variable that the programs read. The pages' examples run, in order, on a data directory that
# starts empty, over the simulated GPU.
# shellcheck disable=SC2016,SC2317
. "$top_srcdir/tests/e2e/lib.sh"

pages=$top_srcdir/doc/man
commands=$("$wavetap" --list-commands | grep -v '^help$')
is "$(for page in "$pages"/wavetap-*.1; do basename "$page" .1; done | sed 's/^wavetap-//' | sort)" "$(echo "$commands" | sort)" "a page for each command"

# ---- one table: help, page, completion
on_one_line() { sort -u | tr '\n' ' '; }
without_section() {
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" EXAMPLES "SEE ALSO"; do
    grep -qx "\.Sh $section" "$1" || echo "$section"
  done
}
for command in $commands; do
  page=$pages/wavetap-$command.1
  COLUMNS=80 "$wavetap" "$command" --help >"$work/help"
  options=$("$wavetap" --list-options "$command" | sed -n 's/^--//p' | on_one_line)
  is "$(sed -n 's/^\.Nd //p' "$page")" "$("$wavetap" help | sed -n "s/^  $command  *//p")" "$command: what it is, as help says"
  is "$(sh "$top_srcdir/scripts/man-options.sh" -n "$wavetap" "$page")" "" "$command: its page has the table's words (else: make man-options)"
  is "$({ sed -n 's/^\.It Fl . , Fl -\([a-z-]*\).*/\1/p; s/^\.It Fl -\([a-z-]*\).*/\1/p' "$page"; echo help; } | on_one_line)" "$options" "$command: its page has its options, no others"
  is "$(grep '^  ' "$work/help" | grep -o -- '--[a-z][a-z-]*' | sed 's/^--//' | on_one_line)" "$options" "$command: help has its options, no others"
  is "$("$wavetap" --complete "$command" -- | cut -f 1 | sed 's/^--//' | on_one_line)" "$options" "$command: completion has its options, no others"
  ok "$command: help on one screen" test "$(wc -l <"$work/help")" -le 24
  ok "... of 80 columns" test "$(awk '{ if (length($0) > most) most = length($0) } END { print most }' "$work/help")" -le 80
  ok "... with an example" grep -q '^example:  .*wavetap' "$work/help"
  is "$(tail -n 1 "$work/help")" "more:     man wavetap-$command" "... that names the page"
  is "$(without_section "$page")" "" "$command: its page has all sections"
  ok "$command: its page is installed" grep -q "[[:space:]]doc/man/wavetap-$command\.1\([[:space:]]\|\$\)" "$top_srcdir/doc/local.mk"
  ok "$command: in the overview" grep -qx "\.Xr wavetap-$command 1\( ,\)\{0,1\}" "$pages/wavetap.1"
done
for program in wavetapd wavetap-sampler; do
  is "$({ sed -n '/^\.Sh DESCRIPTION/,/^\.Sh EXAMPLES/s/^\.It Fl \(. , Fl \)\{0,1\}-\([a-z-]*\).*/\2/p; s/^\.It Fl . , -\([a-z-]*\).*/\1/p' "$pages/$program.8"; echo help; echo version; } | on_one_line)" \
    "$("$top_builddir/$program" --help | sed -n 's/^  *\(-[A-Za-z], \)\{0,1\}--\([a-z-]*\).*/\2/p' | on_one_line)" "$program: its page has its options, no others"
done
# Every option that a page speaks of is one of somebody.
{
  for command in $commands; do "$wavetap" --list-options "$command" | sed -n 's/^--//p'; done
  "$top_builddir/wavetapd" --help | grep -o -- '--[a-z-]*[a-z]' | sed 's/^--//'
  "$top_builddir/wavetap-sampler" --help | grep -o -- '--[a-z-]*[a-z]' | sed 's/^--//'
  printf '%s\n' version complete list-commands list-options shm-size ipc # docker's
} | sort -u >"$work/known"
is "$(sed -n 's/.*\(Fl\|,\||\) -\([a-z-]*\).*/\2/p' "$pages"/* | sort -u | comm -23 - "$work/known")" "" "no page speaks of an option that nobody takes"

# ---- what was meant
meant() { "$wavetap" "$@" 2>&1 | head -n 1; }
is "$(meant topp)" 'wavetap: there is no command "topp": did you mean "top"?' "a command with a letter too many"
is "$(meant legder)" 'wavetap: there is no command "legder": did you mean "ledger"?' "two letters swapped"
is "$(meant diag)" 'wavetap: there is no command "diag": did you mean "diagnose"?' "the beginning of a command"
is "$(meant help shwo)" 'wavetap: there is no command "shwo": did you mean "show"?' "help of such a one"
is "$(meant frobnicate)" 'wavetap: there is no command "frobnicate"' "nothing like it: no guess"
is "$(meant top --colums x)" 'wavetap: unknown option --colums: did you mean --columns?' "an option"
is "$(meant ledger --ra x -r nosuch)" "$(meant ledger --rank x -r nosuch)" "... and does not make a beginning ambiguous"
is "$(meant ledger --kernl x)" 'wavetap: unknown option --kernl' "one that the command refuses is not offered"

# ---- what renders them
if command -v mandoc >/dev/null 2>&1; then
  for page in "$pages"/*; do
    is "$(mandoc -Tlint -Wstyle "$page" 2>&1 | grep -v 'STYLE: referenced manual not found')" "" "mandoc: $(basename "$page")"
  done
else
  ok "mandoc -Tlint # SKIP mandoc is not installed" true
fi
if command -v groff >/dev/null 2>&1 && echo .Dd x | groff -mdoc -Tutf8 -z >/dev/null 2>&1; then
  for page in "$pages"/*; do
    is "$(groff -mdoc -Tutf8 -ww -z "$page" 2>&1)" "" "groff: $(basename "$page")"
  done
else
  ok "groff -ww # SKIP groff with mdoc is not installed" true
fi
# Pages refer to pages that there are.
is "$(sed -n 's/^\.Xr \([a-z-]*\) \([0-9]\).*/\1.\2/p' "$pages"/* | sort -u | grep -v '^ncu\.1$\|^nvidia-smi\.1$' | while read -r page; do [ -e "$pages/$page" ] || echo "$page"; done)" "" "what pages refer to is there"

# ---- columns: the words above a table, as they are printed
"$wavetap" import -o "$work/two.db" "$top_srcdir"/tests/data/h200x2-late-ddp-rank?.wtrec >/dev/null 2>&1
ok "a run of two ranks" test -s "$work/two.db"
"$top_builddir/tests/unit/make_run" "$work/measured.db" full job-full 1000000000000 && sqlite3 -batch "$work/measured.db" <"$top_srcdir/tests/unit/measured.sql"
ok "a run that was measured" test -s "$work/measured.db"
undocumented() { # COMMAND, as text: headings that its page doesn't have
  grep '^ *[A-Z#][A-Z#%<=./ ]*$' | sed 's/^ *//; s/   */\n/g; s/  /\n/g' | sort -u | while read -r heading; do
    grep -q "^\.\(It \)\{0,1\}Li \(.* \)\{0,1\}$heading\( \|\$\)" "$pages/wavetap-$1.1" || printf '%s ' "$heading"
  done
}
for reader in "top --by gap" "top --group config" "show id:1" ledger gaps "gaps --by kernel" "gaps --by call" timeline \
  "steps --slowest 3" ranges copies sms ranks "whatif --no-gaps"; do
  for run in two measured; do
    # shellcheck disable=SC2086 # a list
    COLUMNS=300 "$wavetap" $reader -r "$work/$run.db" >"$work/out" 2>/dev/null || continue
    is "$(undocumented "${reader%% *}" <"$work/out")" "" "$reader of $run: each column is on the page"
  done
done
mkdir -p "$data/runs"
cp "$work/two.db" "$data/runs/20261101-000000-00000001.db"
is "$("$wavetap" runs | undocumented runs)" "" "runs: each column is on the page"
rm -r "$data/runs"
is "$("$wavetap" top --columns help | while read -r name heading rest; do
  grep -q "^\.\(It \)\{0,1\}Li \(.* \)\{0,1\}$heading\( \|\$\)" "$pages/wavetap-top.1" &&
    grep -q "^\.Pq Cm \(.* \)\{0,1\}$name\( \|\$\)" "$pages/wavetap-top.1" || echo "$name $heading $rest"
done)" "" "top: each of --columns is on the page"

# ---- which part of a run: what help offers is taken, and what is refused is not offered
"$wavetap" import -o "$work/steps.db" "$top_srcdir/tests/data/sim-demo.wtrec" >/dev/null 2>&1
for command in $commands; do
  "$wavetap" --list-options "$command" >"$work/options"
  grep -qx -- --from "$work/options" || continue
  case $command in
  show) rest=id:1 ;;
  whatif) rest=--no-gaps ;;
  export) rest="-o - --format csv" ;;
  *) rest= ;;
  esac
  offered='' taken=''
  for words in "from 0s" "to 1000s" "steps 5:9" all "rank 0" "device 1" "kernel ." "range x"; do
    ! grep -qx -e "--${words%% *}" "$work/options" || offered="$offered --${words%% *}"
    # shellcheck disable=SC2086 # lists
    "$wavetap" "$command" $rest --$words -r "$work/steps.db" >/dev/null 2>"$work/err"
    code=$?
    case $code,$(head -n 1 "$work/err") in
    2,* | 3,*"its kernels share the devices with"* | 3,*"kernels of a device share"*) ;; # refused, and why
    *) taken="$taken --${words%% *}" ;;
    esac
  done
  is "$taken" "$offered" "$command: takes the parts of a run that its help offers, no others"
done

# ---- environment: what the sources read is on a page, and the reverse
(cd "$top_srcdir" && cat libintercept/*.[ch] schema/*.[ch] daemon/*.[ch] cli/*.[ch]) | grep -o '"WAVETAP[A-Z_]*"' | tr -d '"' |
  grep -vx 'WAVETAP_\|WAVETAP_TEST_.*\|WAVETAP_SAMPLER_TIMEOUT_MS\|WAVETAP_SAMPLER_LIKE\|WAVETAP_LEDGER' | sort -u >"$work/read" # for tests, and between our own programs
sed -n 's/^\.\(It \)\{0,1\}Ev //p' "$pages"/* | tr -s ' ,' '\n' | grep '^WAVETAP' | grep -v '^WAVETAP_TEST_' | sort -u >"$work/told"
is "$(comm -3 "$work/read" "$work/told")" "" "each variable that is read is on a page, and no other"
sed -n 's/^\.It Ev //p' "$pages/libwavetap.7" | tr -s ' ,' '\n' >"$work/library"
is "$(grep -ho 'secure_getenv("WAVETAP[A-Z_]*")\|{"WAVETAP[A-Z_]*"' "$top_srcdir"/libintercept/*.c "$top_srcdir"/schema/*.h | grep -o 'WAVETAP[A-Z_]*' | sort -u | while read -r name; do
  grep -qx "$name" "$work/library" || echo "$name"
done)" "" "libwavetap(7) has all that the library reads"

# Plain numbers have their limits and their usual value there.
sed -n 's/.*{"\(WAVETAP_[A-Z_]*\)", \([0-9]*\), \([0-9]*\), \([0-9]*\)},*/\1 \2 \3 \4/p' "$top_srcdir/schema/wt_setting.h" >"$work/settings"
ok "there are such settings" test "$(wc -l <"$work/settings")" -ge 5
while read -r name least most usual; do
  ok "$name: from $least to $most, else $usual" sh -c 'sed -n "/^\.It Ev $2\$/,/^\.It/p" "$1" | tr "\n" " " | grep -q "from $3 to $4, else $5[. ]"' x "$pages/libwavetap.7" "$name" "$least" "$most" "$usual"
done <"$work/settings"

# ---- the examples
here=$work/here
mkdir -p "$here/bin"
ln -s "$wavetap" "$here/bin/wavetap"
# The program of the examples.
printf '#!/bin/sh\nexec "%s" --seconds 0.2\n' "$top_builddir/tests/fake/app_demo" >"$here/bin/python"
printf '#!/bin/sh\nexec python train.py\n' >"$here/train.py"
printf '#!/bin/sh\nexec "%s" steps\n' "$top_builddir/tests/fake/app_nvtx" >"$here/with_ranges.py"
chmod +x "$here/bin/python" "$here/train.py" "$here/with_ranges.py"
for host in a:0 b:1; do
  "$wavetap" import -o "$here/host-${host%:*}.db" "$top_srcdir/tests/data/h200x2-ddp-rank${host#*:}.wtrec" >/dev/null 2>&1
done
examples_of() { # PAGE...: a command a line
  for page; do
    sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$page" | sed -n '/^\.Bd/,/^\.Ed/p' | grep -v '^\.' |
      sed 's/\\-/-/g; s/\\(ti/~/g; s/\\e/\\/g' | sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join' -e '}'
  done
}
# The ranges' program becomes the latest run: it comes last. Where a page is the helper's own matter, it is not run.
others=$(for page in "$pages"/wavetap-*.1 "$pages/wavetap-selection.7" "$pages/libwavetap.7"; do echo "$page"; done | grep -v 'wavetap-run\.1\|wavetap-ranges\.1')
# shellcheck disable=SC2086 # lists
examples_of "$pages/wavetap.1" "$pages/wavetap-run.1" $others "$pages/wavetap-ranges.1" >"$here/examples"
for command in $commands; do
  COLUMNS=300 "$wavetap" "$command" --help | sed -n 's/^example:  //p'
done | grep -vxFf "$here/examples" >"$here/more"
ok "there are examples" test "$(wc -l <"$here/examples")" -ge 60
while read -r line; do
  (cd "$here" && PATH=$here/bin:$PATH LC_ALL=C eval "$line") >"$work/out" 2>"$work/err" </dev/null
  code=$?
  file=$(echo "$line" | sed -n 's/.* -o \([^ ]*\).*/\1/p')
  made=no
  if [ -s "$work/out" ] || [ -s "$work/err" ] || { [ -n "$file" ] && [ -s "$here/$file" ]; }; then made=yes; fi
  is "$code $made" "0 yes" "$line"
  [ "$code" = 0 ] || sed 's/^/# /' "$work/err" "$work/out" | head -n 10
  # Without a word to say, a reader of a run has missed something.
  case $line in
  *"wavetap run"* | *LD_PRELOAD* | *" -o "* | *doctor* | *" gc "* | *"sweep --run"*) ;;
  *) ok "  on stdout, and nothing on stderr" test -s "$work/out" -a ! -s "$work/err" ;;
  esac
  case $line in *LD_PRELOAD*) settle ;; esac
done <"$here/examples"
is "$(cat "$here/more")" "" "the examples of help are on the pages"
done_testing
