#!/bin/sh
# scripts/man-pages.sh SOURCE FOLDER: makes a page per command, FOLDER/wavetap-COMMAND.1, of wavetap(1): from the
# command's block of the synopsis, its section, the selections where it takes them, and the examples that use it.
# One source, so that the pages can't disagree. `.\" COMMAND: what it is` before a section is the page's first line.
set -eu
source=$1 folder=$2

commands=$(sed -n 's/^\.Ss \([a-z][a-z]*\)\( .*\)*$/\1/p' "$source")
for command in $commands; do
  [ "$command" != help ] || continue
  awk -v command="$command" '
    # Is the command one of the words?
    function has_word(line,    words, n, i) {
      n = split(line, words, /[ |]+/)
      for (i = 1; i <= n; i++)
        if (words[i] == command) return 1
      return 0
    }
    # Paragraphs of the examples: those in which a line runs the command.
    function end_example() {
      if (is_used) examples = examples (examples == "" ? "" : ".Pp\n") example
      example = ""
      is_used = 0
    }
    /^\.Dd / { date = $0 }
    $1 == ".\\\"" && $2 == command ":" { sub(/^[^:]*: /, ""); title = $0 }
    /^\.S[hs] / { section = substr($0, 5); is_of_command = $1 == ".Ss" && $2 == command }
    section == "SYNOPSIS" && /^\.Nm/ { is_mine = 0; next }
    section == "SYNOPSIS" && /^\.Cm/ { is_mine = has_word($0); $0 = ".Cm " command }
    section == "SYNOPSIS" && is_mine { synopsis = synopsis $0 "\n"; if (/Ar selection/) is_selecting = 1; next }
    /^\.\\"/ || /^\.S[hs] / { next }
    section == "EXAMPLES" && /^\.Pp/ { end_example(); next }
    section == "EXAMPLES" {
      example = example $0 "\n"
      if ($0 ~ "(^|[ (])wavetap " command "($|[ )])") is_used = 1
      next
    }
    { sub(/^\.Nm$/, ".Nm wavetap") }
    is_of_command { body = body $0 "\n" }
    section == "Selections" { selections = selections $0 "\n" }
    END {
      end_example()
      if (title == "") missing = "first line"
      else if (synopsis == "") missing = "synopsis"
      else if (body == "") missing = "section"
      else if (examples == "") missing = "example"
      if (missing != "") {
        print "man-pages: " command " has no " missing > "/dev/stderr"
        exit 1
      }
      print ".\\\" Made from wavetap.1 by scripts/man-pages.sh."
      print date
      print ".Dt WAVETAP-" toupper(command) " 1\n.Os\n.Sh NAME\n.Nm wavetap-" command "\n.Nd " title
      printf ".Sh SYNOPSIS\n.Nm wavetap\n%s.Sh DESCRIPTION\n%s", synopsis, body
      if (is_selecting) printf ".Sh SELECTIONS\n%s", selections
      printf ".Sh EXAMPLES\n%s.Sh SEE ALSO\n.Xr wavetap 1 ,\n.Xr wavetapd 8\n", examples
    }' "$source" >"$folder/wavetap-$command.1.new" || {
    rm -f "$folder/wavetap-$command.1.new"
    exit 1
  }
  mv "$folder/wavetap-$command.1.new" "$folder/wavetap-$command.1"
done
