#!/bin/sh
# Completion: what `wavetap --complete` offers for each kind of word, and what bash makes of it with
# cli/completion/wavetap; fish and zsh, where they are installed. Each option that help names is offered.
# shellcheck disable=SC2016,SC2086 # programs of other shells; lists are split
set -u
build=${top_builddir:-.}
src=${top_srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-completion.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
count=0 failed=0
ok() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		sed 's/^/# /' "$tmp/out" | head -n 10
	fi
}
is() { # GOT WANT WHAT
	[ "$1" = "$2" ]
	ok $? "$3: $1"
}
unset COLUMNS WAVETAP_RUN WAVETAP_NAME LD_PRELOAD
export LC_ALL=C TERM=xterm TZ=UTC0 HOME="$tmp" WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp/shm"
mkdir -p "$tmp/data/runs" "$tmp/shm" "$tmp/bin" "$tmp/cwd/folder" || exit 99
cp "$build/wavetap" "$tmp/bin/" || exit 99
build=$(cd "$build" && pwd)
src=$(cd "$src" && pwd)
make_run=$build/tests/unit/make_run
"$make_run" "$tmp/data/runs/19700101-001640-aaaa0001.db" full first-aaaa0001 1000000000000 || exit 99
"$make_run" "$tmp/data/runs/19700101-003320-aaaa0002.db" ranks job-aaaa0002 2000000000000 || exit 99
"$make_run" "$tmp/data/runs/19700101-005000-cccc0003.db" hooks job-cccc0003 3000000000000 || exit 99
: >"$tmp/data/runs/19700101-010000-broken.db"
# One with named ranges.
"$build/wavetap" import -o "$tmp/ranges.db" "$src/tests/data/h200x2-late-ddp-rank0.wtrec" >/dev/null 2>&1
: >"$tmp/cwd/a-file.db"
cd "$tmp/cwd" || exit 99
PATH=$tmp/bin:$PATH

# offered WORDS...: the candidates for the last, without what they are, on one line
offered() {
	wavetap --complete "$@" >"$tmp/out" 2>&1
	cut -f 1 "$tmp/out" | tr '\n' ' '
}

# ---- commands and options
is "$(offered d)" "diagnose doctor " "commands by their beginning"
is "$(wavetap --complete "" | cut -f 1)" "$(wavetap --list-commands)" "all commands"
is "$(wavetap --complete sh | cut -f 2)" "$(wavetap help | sed -n 's/^  show  *//p')" "what a command is"
for command in $(wavetap --list-commands); do
	wavetap --complete "$command" -- >"$tmp/out"
	is "$(cut -f 1 "$tmp/out" | sort | tr '\n' ' ')" "$(wavetap --list-options "$command" | grep '^--' | sort | tr '\n' ' ')" "$command: its options"
done
is "$(offered nosuch "")" "" "of no command: nothing"
is "$(offered ledger --ker)" "" "what a command refuses is not offered"
is "$(offered help wh)" "whatif " "help: a command"

# ---- values
is "$(offered gaps --by "")" "cause kernel call " "words of a choice"
is "$(offered gaps --by=k)" "--by=kernel " "... after an equals sign"
is "$(offered gaps -b c)" "cause call " "... of a short option"
is "$(offered gaps -bc)" "-bcause -bcall " "... in one word with it"
is "$(offered gaps --b k)" "kernel " "... of an option that was typed in part"
is "$(offered run --sample "")" "auto off " "words in an argument's form"
is "$(offered top --columns rank,wav)" "rank,wave rank,wavemax rank,waves " "columns, the last of several"
is "$(offered top --device "")" "1 2 " "devices of the latest run"
is "$(offered top -r aaaa0001 --device "")" "1 " "... of the one that was named"
is "$(offered top --run=aaaa0001 --device "")" "1 " "... in one word, too"
is "$(offered top --limit "")" "" "numbers: nothing"

# ---- runs
is "$(offered top -r "")" "latest cccc0003 job-cccc0003 aaaa0002 job-aaaa0002 aaaa0001 first-aaaa0001 " "runs, the last first; none that can't be read"
is "$(offered top -r aa)" "aaaa0002 aaaa0001 " "runs by the beginning of their ids"
is "$(offered check "fi")" "first-aaaa0001 " "check: a run by its name"
is "$(wavetap --complete top -r aaaa0001 | cut -f 2)" "1970-01-01 00:16  5 kernels  first-aaaa0001" "what a run is"
is "$(offered top -r ./)" ":files " "a path is the shell's matter"

# ---- kernels
is "$(offered show -r aaaa0001 "")" "id:1 id:2 id:3 " "kernels by id, most time first"
is "$(offered show -r aaaa0001 id:2)" "id:2 " "... by the beginning"
is "$(offered show -r aaaa0001 ta)" "tail " "... by name"
is "$(offered show -r aaaa0001 tail "")" "" "one is enough"
is "$(offered show -r aaaa0001 ev)" "" "a name with an escape character is not offered"
is "$(offered top -r aaaa0001 --kernel "")" "half tail ev " "for an expression: what of a name means itself"

# ---- ranges
ranges="ncclAllGather ncclBroadcast ncclAllReduce ncclCommDestroy ncclCommInitRankConfig ncclCommFinalize "
is "$(offered top -r "$tmp/ranges.db" --range nccl)" "$ranges" "ranges by the beginning of their names"
is "$(wavetap --complete top -r "$tmp/ranges.db" --range ncclB)" "ncclBroadcast	NCCL" "... with their domain"
is "$(offered show -r "$tmp/ranges.db" --range any:ncclB)" "any:ncclBroadcast " "... by whatever thread"
is "$(offered top -r "$tmp/ranges.db" --range=ncclB)" "--range=ncclBroadcast " "... behind an equals sign"
is "$(offered steps -r "$tmp/ranges.db" --step-marker ncclB)" "ncclBroadcast " "... as where steps begin"
is "$(offered ledger -r "$tmp/ranges.db" --range "")" "" "... not where they are refused"

# ---- what the shell completes by itself
is "$(offered run "")$(offered run -- "")$(offered run -n x "")" ":commands :commands :commands " "run: a command"
is "$(offered run -- python tr)$(offered run python --n)" ":files :files " "... and its arguments"
is "$(offered export -o "")$(offered run --record "")" ":files :directories " "files, directories"

# ---- bash
if bash=$(command -v bash); then
	cat >"$tmp/try.bash" <<'END'
source "$1"
# line WORDS: as readline hands them over, taken apart at = and :
try() {
	local line=$1 word=
	local -i i
	COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=${2:-9} COMP_WORDS=() COMPREPLY=()
	for ((i = 0; i < ${#line}; i++)); do
		case ${line:i:1} in
		' ') [[ -z $word ]] || COMP_WORDS+=("$word"); word= ;;
		[=:]) [[ -z $word ]] || COMP_WORDS+=("$word"); COMP_WORDS+=("${line:i:1}"); word= ;;
		*) word+=${line:i:1} ;;
		esac
	done
	[[ $line == *[=:] ]] || COMP_WORDS+=("$word")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_wavetap
	(IFS='|'; printf '%s\n' "${COMPREPLY[*]}")
}
try "$2" "${3:-9}"
END
	tried() { # LINE [COMP_TYPE]
		"$bash" "$tmp/try.bash" "$src/cli/completion/wavetap" "$@" >"$tmp/out" 2>&1
		cat "$tmp/out"
	}
	is "$(tried 'wavetap led')" ledger "bash: a command"
	is "$(tried 'wavetap gaps --by ')" "cause  (one row per cause (default))|kernel  (one row per kernel that ended a gap)|call  (one row per call that the launching thread sat in, or none)" \
		"bash: several, with what they are"
	is "$(tried 'wavetap gaps --by ' 37)" "cause|kernel|call" "bash: plain where they are inserted one after the other"
	is "$(tried 'wavetap gaps --by=k')" kernel "bash: behind an equals sign"
	is "$(tried 'wavetap gaps --by=')" "cause  (one row per cause (default))|kernel  (one row per kernel that ended a gap)|call  (one row per call that the launching thread sat in, or none)" "bash: right behind it"
	is "$(tried 'wavetap show -r aaaa0001 id:2')" 2 "bash: behind a colon"
	is "$(tried 'wavetap top -r first')" first-aaaa0001 "bash: a run"
	is "$(tried "wavetap top -r $tmp/ranges.db --range any:ncclB")" ncclBroadcast "bash: a range"
	is "$(tried 'wavetap export -o a-')" a-file.db "bash: a file"
	is "$(tried 'wavetap run --record fo')" folder "bash: a directory"
	tried 'wavetap run wavet' | tr '|' '\n' | grep -qx wavetap
	ok $? "bash: a command to run"
	sqlite3 -batch "$tmp/data/runs/19700101-001640-aaaa0001.db" "UPDATE kernel SET name = 'twofold<int, 2>' WHERE kernel_id = 1" 2>/dev/null &&
		is "$(tried 'wavetap show -r aaaa0001 two')" 'twofold\<2\>' "bash: a name that has to be quoted"
	"$bash" -n "$src/cli/completion/wavetap" && [ "$("$bash" -c '. "$1"; complete -p wavetap' x "$src/cli/completion/wavetap")" = "complete -F _wavetap wavetap" ]
	ok $? "bash: registered"
else
	ok 0 "bash # SKIP there is none"
fi

# ---- fish
if command -v fish >/dev/null 2>&1; then
	fished() {
		fish --no-config -c "source $src/cli/completion/wavetap.fish; complete -C '$1'" >"$tmp/out" 2>&1
		cut -f 1 "$tmp/out" | tr '\n' ' '
	}
	is "$(fished 'wavetap led')" "ledger " "fish: a command"
	is "$(fished 'wavetap gaps --by ')" "cause kernel call " "fish: values, in our order"
	is "$(fished 'wavetap gaps --by=k')" "--by=kernel " "fish: behind an equals sign"
	is "$(fished 'wavetap show -r aaaa0002 id:2')" "id:2 " "fish: kernels"
	is "$(fished "wavetap top -r $tmp/ranges.db --range any:ncclB")" "any:ncclBroadcast " "fish: a range"
	is "$(fished 'wavetap export -o a-')" "a-file.db " "fish: files"
	is "$(fished 'wavetap run --record fo')" "folder/ " "fish: directories"
else
	ok 0 "fish # SKIP there is none"
fi

# ---- zsh: through a terminal of its own
if command -v zsh >/dev/null 2>&1; then
	cat >"$tmp/try.zsh" <<'END'
zmodload zsh/zpty || exit 77
zpty z "TERM=dumb zsh -f -i"
zpty -w z "PS1= PROMPT= RPS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; print READ''Y"
zpty -r z line "*READY*"
zpty -w -n z "$2"$'\t\C-a''print -r -- '$'\C-e'" >$3"$'\n'"exit"$'\n'
while zpty -r z line; do :; done
END
	zshed() {
		rm -f "$tmp/got"
		timeout 60 zsh -f "$tmp/try.zsh" "$src/cli/completion" "$1" "$tmp/got" >"$tmp/out" 2>&1
		sed 's/ *$//' "$tmp/got"
	}
	is "$(zshed 'wavetap led')" "wavetap ledger" "zsh: a command"
	is "$(zshed 'wavetap gaps --by ke')" "wavetap gaps --by kernel" "zsh: a value"
	is "$(zshed 'wavetap top -r fir')" "wavetap top -r first-aaaa0001" "zsh: a run"
	is "$(zshed 'wavetap show -r aaaa0002 id:2')" "wavetap show -r aaaa0002 id:2" "zsh: a kernel"
	is "$(zshed "wavetap top -r $tmp/ranges.db --range any:ncclB")" "wavetap top -r $tmp/ranges.db --range any:ncclBroadcast" "zsh: a range"
	is "$(zshed 'wavetap top --limi')" "wavetap top --limit" "zsh: an option"
	is "$(zshed 'wavetap export -o a-')" "wavetap export -o a-file.db" "zsh: a file"
else
	ok 0 "zsh # SKIP there is none"
fi

echo "1..$count"
exit $failed
