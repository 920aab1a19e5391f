#!/bin/sh
# The man pages: one for every command, with the command's own words, every option that it takes, and examples
# that run. They run in order, on a data directory that starts empty, over the simulated GPU.
# shellcheck disable=SC2016,SC2317
. "$top_srcdir/tests/e2e/lib.sh"

pages=$work/pages
mkdir -p "$pages"
ok "pages are made" sh "$top_srcdir/scripts/man-pages.sh" "$top_srcdir/doc/wavetap.1" "$pages"
commands=$("$wavetap" --list-commands | grep -v '^help$')
is "$(for page in "$pages"/*.1; do basename "$page" .1; done | sed 's/^wavetap-//' | sort)" "$(echo "$commands" | sort)" "one for each command"
for command in $commands; do
  page=$pages/wavetap-$command.1
  is "$(sed -n 's/^\.Nd //p' "$page")" "$("$wavetap" help | sed -n "s/^  $command  *//p")" "$command: what it is, as help says"
  is "$("$wavetap" help "$command" | tail -n 1)" "more: man wavetap-$command" "$command: help names the page"
  ok "$command: built" cmp -s "$page" "$top_builddir/doc/wavetap-$command.1"
  ok "$command: installed" grep -q "[[:space:]]doc/wavetap-$command\.1\([[:space:]]\|\$\)" "$top_srcdir/doc/local.mk"
  missing=$("$wavetap" --list-options "$command" | grep '^--' | grep -v '^--help' | while read -r option; do
    grep -qe "Fl ${option#-}\\( \\|\$\\|,\\)" -e "-${option#--} " -e "-${option#--}\$" "$page" || printf '%s ' "$option"
  done)
  is "$missing" "" "$command: has its options"
done

# ---- what renders them
if command -v mandoc >/dev/null 2>&1; then
  for page in "$pages"/*.1 "$top_srcdir"/doc/wavetap.1 "$top_srcdir"/doc/wavetapd.8 "$top_srcdir"/doc/wavetap-sampler.8; do
    is "$(mandoc -Tlint -Wwarning "$page" 2>&1)" "" "mandoc: $(basename "$page")"
  done
else
  ok "mandoc -Tlint # SKIP mandoc is not installed" true
fi
if command -v groff >/dev/null 2>&1 && echo .Dd x | groff -mdoc -Tutf8 -z >/dev/null 2>&1; then
  for page in "$pages"/*.1 "$top_srcdir"/doc/wavetap.1 "$top_srcdir"/doc/wavetapd.8 "$top_srcdir"/doc/wavetap-sampler.8; do
    is "$(groff -mdoc -Tutf8 -ww -z "$page" 2>&1)" "" "groff: $(basename "$page")"
  done
else
  ok "groff -ww # SKIP groff with mdoc is not installed" true
fi

# ---- the examples
here=$work/here
mkdir -p "$here/bin"
ln -s "$wavetap" "$here/bin/wavetap"
# The program of the examples.
printf '#!/bin/sh\nexec "%s" --seconds 0.2\n' "$top_builddir/tests/fake/app_demo" >"$here/bin/python"
printf '#!/bin/sh\nexec python train.py\n' >"$here/train.py"
printf '#!/bin/sh\nexec "%s" steps\n' "$top_builddir/tests/fake/app_nvtx" >"$here/with_ranges.py"
chmod +x "$here/bin/python" "$here/train.py" "$here/with_ranges.py"
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/p' "$top_srcdir/doc/wavetap.1" | sed -n '/^\.Bd/,/^\.Ed/p' | grep -v '^\.' | sed 's/\\-/-/g; s/\\(ti/~/g' >"$here/examples"
ok "there are examples" test "$(wc -l <"$here/examples")" -ge 30
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
  *"wavetap run"* | LD_PRELOAD* | *" -o "* | *doctor* | *" gc "*) ;;
  *) ok "  on stdout, and nothing on stderr" test -s "$work/out" -a ! -s "$work/err" ;;
  esac
  case $line in LD_PRELOAD*) settle ;; esac
done <"$here/examples"
done_testing
