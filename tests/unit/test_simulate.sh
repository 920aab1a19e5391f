#!/bin/sh
# `wavetap simulate`: numbers calculated by hand, as text, JSON and CSV; sweeps, charts and their
# width; the examples of the man page; errors and exit codes.
# Argument lists are split on purpose; cleanup is called by the trap.
# shellcheck disable=SC2086,SC2317
set -u
build=${top_builddir:-.}
source=${top_srcdir:-.}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/wavetap-sim.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
make_run="$build/tests/unit/make_run"

count=0 failed=0
ok() { # ok STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=$((failed + 1))
		echo "not ok $count - $2"
		sed 's/^/# out: /' "$tmp/out" | head -40
		sed 's/^/# err: /' "$tmp/err" | head -20
	fi
}
# sim EXPECTED_CODE ARGUMENT...: its output is in $tmp/out and $tmp/err.
sim() {
	want=$1
	shift
	"$build/wavetap" simulate "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	[ "$got" -eq "$want" ]
	ok $? "simulate $*: exit $want (got $got)"
}
out_has() { grep -qF -- "$1" "$tmp/out"; ok $? "stdout has: $1"; }
out_lacks() { ! grep -qF -- "$1" "$tmp/out"; ok $? "stdout lacks: $1"; }
out_matches() { grep -qE -- "$1" "$tmp/out"; ok $? "stdout matches: $1"; }
err_has() { grep -qF -- "$1" "$tmp/err"; ok $? "stderr has: $1"; }
json() { # json EXPECTED EXPRESSION: asks the JSON of the last command
	got=$("$make_run" json "$tmp/out" "$2")
	[ "$got" = "$1" ]
	ok $? "$2 is $1 (got $got)"
}
members() { # members PATH=VALUE...: the same, several at once
	for pair; do
		json "${pair#*=}" "\$.${pair%%=*}"
	done
}
width() { # width COLUMNS: no line is wider; one byte a column
	LC_ALL=C awk -v most="$1" 'length > most { n++ } END { exit n > 0 }' "$tmp/out"
	ok $? "no line is wider than $1 columns"
}

unset COLUMNS NO_COLOR WAVETAP_COLOR
export LC_ALL=C TERM=xterm WAVETAP_DIR="$tmp/data" WAVETAP_SHM_DIR="$tmp"

# ---- the worked example: 4 SMs, 8 blocks of 70 but the 4th of 130
example="--sms 4 --blocks-per-sm 1 --times 70,70,70,130,70,70,70,70"
sim 0 $example
out_has "4 SMs x 1 block  grid 8  blocks of 70 to 130"
out_has "makespan 200  waves 2.00  last wave 4 of 4 blocks"
out_matches '^active +620 +77\.5 '
out_matches '^underfill +0 +0\.0 '
out_matches '^wave +0 +0\.0 '
out_matches '^straggle +180 +22\.5 '
out_matches '^sum +800 +100\.0 '
out_has "tail idle 180  25.0% of the SMs active in the last 60"
out_matches '^SM 0   0=+4-+\.+ 140$'
out_matches '^SM 3   3=+7-+ 200$'
[ "$(grep -c '^SM ' "$tmp/out")" -eq 4 ]
ok $? "four SMs are drawn"
width 80
sim 0 --sms 4 --blocks-per-sm 1 --times 3x70us,130,4x70 --json
members schema=1 sms=4 blocks_per_sm=1 grid=8 waves=2 waves_sm=2 full_waves=2 last_wave_blocks=4 \
	makespan=200 active=620 idle=180 tail_idle=180 wave_idle=0 straggle_idle=180 underfill_idle=0 \
	tail_time=60 tail_active=60 unit=us evidence=model 'sm=[140,140,140,200]'
sim 0 $example --csv
[ "$(sed -n 2p "$tmp/out")" = "4,1,,,,8,8,4,2,2,2,4,4,200,620,180,180,0,180,0,," ]
ok $? "the same as CSV"
head -1 "$tmp/out" | grep -q '^sms,blocks_per_sm,.*,makespan,active,idle,tail_idle,wave_idle,straggle_idle,underfill_idle,unit,reason$'
ok $? "under its heading"

# ---- equal blocks: 300 = 264 + 36
sim 0 --sms 132 --blocks-per-sm 2 --grid 300 --block-time 100us --json
members makespan=200 active=16800 wave_idle=9600 straggle_idle=0 underfill_idle=0 last_wave_blocks=36 \
	full_waves=1 resident_blocks=264
sim 0 --sms 132 --blocks-per-sm 2 --grid 300 --block-time 100us --share --json
members makespan=300 active=30000 wave_idle=9600 straggle_idle=0
sim 0 --sms 132 --blocks-per-sm 2 --grid 300 --block-time 100us --pack --json
members makespan=200 active=15000 wave_idle=11400
sim 0 --sms 132 --blocks-per-sm 2 --grid 66 --block-time 2.5 --json
members makespan=2.5 active=165.0 underfill_idle=165.0 wave_idle=0.0 tail_idle=0.0 sms_used=66
sim 0 --sms 132 --blocks-per-sm 2 --grid 300 --block-time 100us
out_matches '^active +16,800us +63\.6 '
out_has "27.3% of the SMs active in the last 100us"
out_has "SMs active over time"
width 80
sim 0 --sms 4 --blocks-per-sm 1 --grid 4x2x3 --json
members grid=24 makespan=6
sim 0 --sms 1 --blocks-per-sm 1 --times 0.25,1.5 --json
grep -q '"makespan": 1.75,' "$tmp/out"
ok $? "decimals stay exact"
sim 0 --sms 2 --blocks-per-sm 1 --times 1,1,100 --json
members wave_idle=34 straggle_idle=66 tail_idle=100
sim 0 --sms 2 --blocks-per-sm 1 --grid 4 --block-time 0
out_has "makespan 0"
out_matches '^active +0 +\. '
sim 0 --sms 4 --blocks-per-sm 1 --grid 2147483647x65535x65535 --json
members grid=9223090559730712575 makespan=2305772639932678144 wave_idle=1

# ---- GEMM
sim 0 --sms 132 --blocks-per-sm 1 --gemm 4096,4096,4096 --tile 128x256 --json
members grid=512 tiles_m=32 tiles_n=16 makespan=536870912 active=68719476736 useful_share=1 \
	unit=multiply-adds tile_m=128 tile_n=256
sim 0 --sms 8 --blocks-per-sm 1 --gemm 1000,1000,512 --tile 128x256x64 --split-k 2 --json
members grid=64 makespan=67108864 useful_share=0.95367431640625
sim 0 --sms 132 --blocks-per-sm 1 --gemm 4096,4096,4096 --tile 128x256x64 --stream-k --json
members grid=132 items=32768 makespan=522190848 active=68719476736 wave_idle=0
sim 0 --sms 8 --blocks-per-sm 1 --gemm 300,512,64 --tile 128x128 --cluster 2x1 --block-time 3us --json
members tiles_m=4 tiles_n=4 grid=16 makespan=6 unit=us
sim 0 --sms 132 --blocks-per-sm 1 --gemm 4096,4096,4096 --tile 128x128,64x64,256x256
out_has "least makespan 536,870,912 with tile 128x128"
out_matches '^256x256 +256 +1\.94 +536,870,912 +97\.0 +0\.0 +3\.0 +100\.0$'
sim 0 --sms 4 --blocks-per-sm 1 --gemm 1000,1000,512 --tile 128x256
out_has "GEMM 1000 x 1000 x 512  8 x 4 tiles of 128x256  padding 4.6% of the work"

# ---- clusters
sim 0 --sms 6 --blocks-per-sm 1 --grid 6 --block-time 10 --cluster 2 --gpc 3 --json
members makespan=20 underfill_idle=40 wave_idle=20 straggle_idle=0 resident_blocks=4 'sm=[20,20,0,10,10,0]'
sim 0 --sms 6 --blocks-per-sm 1 --grid 6 --block-time 10 --cluster 2 --gpc 2,4 --json
members makespan=10 underfill_idle=0 resident_blocks=6
sim 3 --sms 6 --blocks-per-sm 1 --grid 8 --cluster 4 --gpc 3
err_has "a cluster does not fit into any GPC"
sim 3 --sms 6 --blocks-per-sm 1 --grid 8 --cluster 4 --gpc 3 --json
members makespan=null tail_idle=null waves=null 'reason=a cluster does not fit into any GPC'
sim 0 --sms 3:6 --blocks-per-sm 1 --grid 8 --cluster 4 --json
members 'rows[0].makespan=null' 'rows[0].reason=a cluster does not fit into any GPC' 'rows[1].makespan=2'
sim 0 --sms 3:6 --blocks-per-sm 1 --grid 8 --cluster 4
out_matches '^ +3 +8 +\. +\. .* a cluster does not fit'
sim 3 --sms 2:3 --blocks-per-sm 1 --grid 8 --cluster 4

# ---- persistent grids
sim 0 --sms 4 --blocks-per-sm 1 --grid 10 --block-time 10 --setup 5 --json
members grid=10 makespan=45
for how in queue turn; do
	sim 0 --sms 4 --blocks-per-sm 1 --grid 10 --block-time 10 --setup 5 --persistent $how --json
	members grid=4 items=10 makespan=35 wave_idle=0 straggle_idle=20 active=120
done
sim 0 --sms 4 --blocks-per-sm 1 --grid 10 --block-time 10 --setup 5 --persistent queue --workers 2 --json
members options.persistent=queue options.setup=5 options.seed=null grid=2 makespan=55 underfill_idle=110 'sm=[55,55,0,0]'

# ---- drawn times: the first of seed 7 was calculated elsewhere
sim 0 --sms 1 --blocks-per-sm 1 --grid 1 --block-time 1000~50 --seed 7 --json
members makespan=1027.475 options.seed=7 options.persistent=off options.share=0
drawn="--sms 20 --blocks-per-sm 2 --grid 200 --block-time 8us..12us --json"
sim 0 $drawn
cp "$tmp/out" "$tmp/first"
sim 0 $drawn --seed 0
cmp -s "$tmp/out" "$tmp/first"
ok $? "the same seed, the same schedule"
sim 0 $drawn --seed 1
! cmp -s "$tmp/out" "$tmp/first"
ok $? "another seed, another schedule"

# ---- sweeps
sim 0 --sms 132 --blocks-per-sm 1 --grid 1:600
out_has "SMs active: most 100.0% with grid 132  least 0.8% with grid 1"
out_matches '^ *132 +1\.00 +1 +100\.0 +0\.0 +0\.0$'
out_matches '^ *133 +1\.01 +2 +50\.4 +0\.0 +49\.6$'
out_matches '^ *529 +4\.01 +5 +80\.2 +0\.0 +19\.8$'
out_has "8 of 600 rows"
grep -q '^100% |.*[:#]' "$tmp/out"
ok $? "the saw is drawn in ASCII"
LC_ALL=C grep -q "$(printf '[\200-\377]')" "$tmp/out"
[ $? -eq 1 ]
ok $? "and in nothing else"
width 80
sim 0 --sms 132 --blocks-per-sm 1 --grid 1:600 --json
members 'rows[132].grid=133' 'rows[132].makespan=2' 'rows[599].grid=600' 'rows[600].grid=null'
sim 0 --sms 132 --blocks-per-sm 1 --grid 1:600:200,999 --csv
[ "$(cut -d, -f6 "$tmp/out" | tr '\n' ' ')" = "grid 1 201 401 999 " ]
ok $? "ranges with a step, and lists"
sim 0 --sms 4,8 --blocks-per-sm 1:2 --grid 8,16 --csv
[ "$(sed 1d "$tmp/out" | cut -d, -f1,2,6,14 | tr '\n' ' ')" = \
	"4,1,8,2 4,1,16,4 4,2,8,1 4,2,16,2 8,1,8,1 8,1,16,2 8,2,8,1 8,2,16,1 " ]
ok $? "several ranges: their product"
sim 0 --sms 4,8 --blocks-per-sm 1:2 --grid 8,16
out_matches '^SMS +B +GRID +WAVES'
out_lacks "100%"
sim 0 --sms 90:140 --blocks-per-sm 1 --grid 500 --limit 0
[ "$(grep -cE '^ *[0-9]+ +500 ' "$tmp/out")" -eq 51 ]
ok $? "--limit 0: all rows"
sim 0 --sms 90:140 --blocks-per-sm 1 --grid 500
out_matches '^ *99 +500 +5\.05 +6 +84\.2'
out_matches '^ *100 +500 +5\.00 +5 +100\.0'
sim 0 --sms 5:5 --blocks-per-sm 1 --grid 5 --json
members 'rows[0].sms=5'
# One row of a sweep equals the schedule on its own.
sim 0 --sms 7:9 --blocks-per-sm 2 --grid 50 --block-time 5~1 --csv
grep '^8,' "$tmp/out" >"$tmp/first"
sim 0 --sms 8 --blocks-per-sm 2 --grid 50 --block-time 5~1 --csv
sed 1d "$tmp/out" | cmp -s - "$tmp/first"
ok $? "a row of a sweep is the schedule on its own"

# ---- charts
LC_ALL=C.UTF-8 sim 0 $example
grep -q "$(printf '\342\226\210\342\226\210')" "$tmp/out"
ok $? "blocks of UTF-8 where the terminal has it"
COLUMNS=50 sim 0 $example
grep '^SM ' "$tmp/out" >"$tmp/first" && mv "$tmp/first" "$tmp/out"
width 50
sim 0 $example --gantt off
out_lacks "SM 0"
sim 2 --sms 132 --blocks-per-sm 2 --grid 300 --gantt on
sim 2 --sms 4:5 --blocks-per-sm 2 --grid 300 --gantt on
sim 0 --sms 2 --blocks-per-sm 2 --grid 100000
out_has "SMs active over time"

# ---- times from a file
printf '70 70\n70\n130, 4x70\n' >"$tmp/times"
sim 0 --sms 4 --blocks-per-sm 1 --times "@$tmp/times" --json
members makespan=200 active=620
"$build/wavetap" simulate --sms 4 --blocks-per-sm 1 --times @- --json <"$tmp/times" >"$tmp/out" 2>"$tmp/err"
members makespan=200
awk 'BEGIN { for (i = 0; i < 50000; i++) print "1.5us" }' >"$tmp/times"
sim 0 --sms 5 --blocks-per-sm 2 --times "@$tmp/times" --json
members makespan=7500.0 grid=50000
sim 1 --sms 4 --blocks-per-sm 1 --times "@$tmp/none"
err_has "No such file"
sim 1 --sms 4 --blocks-per-sm 1 --times "@$tmp"
printf '7\0007' >"$tmp/times"
sim 1 --sms 4 --blocks-per-sm 1 --times "@$tmp/times"
err_has "is no text file"

# ---- the GPU of a run: 4 SMs with 65,536 registers, 2,048 threads and 228 KiB each
kernel="--grid 40 --json"
sim 3 --block 128 $kernel
err_has "no run has been recorded"
mkdir -p "$tmp/data/runs"
"$make_run" "$tmp/data/runs/19700101-003320-aaaa0002.db" full job-aaaa0002 2000000000000 &&
	"$make_run" "$tmp/pair.db" pair job-pair 1 && "$make_run" "$tmp/empty.db" empty job-empty 1
ok $? "run files made"
sim 0 --block 128 $kernel
members sms=4 blocks_per_sm=16 'options.gpu=Testbed 4 of run aaaa0002, blocks per SM limited by warps'
sim 0 -r latest --block 16x8 --regs 64 $kernel
members sms=4 blocks_per_sm=8
sim 0 -r aaaa0002 --block 256 --regs 255 --sms 9 $kernel
members sms=9 blocks_per_sm=1
sim 0 -r "$tmp/pair.db" --device 2 --block 128 --smem 100000 --grid 40
out_has "8 SMs x 2 blocks"
out_has "Testbed 8 of run"
out_has "limited by shared memory"
sim 0 -r aaaa0002 --blocks-per-sm 1:2 --grid 40 --csv
[ "$(sed 1d "$tmp/out" | cut -d, -f1,2 | tr '\n' ' ')" = "4,1 4,2 " ]
ok $? "SMs of the run, blocks per SM as given"
sim 2 -r "$tmp/pair.db" --block 128 $kernel
err_has "has 2 GPUs"
sim 3 -r "$tmp/pair.db" --device 7 --block 128 $kernel
sim 3 -r "$tmp/empty.db" --block 128 $kernel
sim 3 -r aaaa0002 --block 1024 --regs 255 $kernel
err_has "not one such block fits on an SM of Testbed 4: registers"
sim 2 -r aaaa0002 $kernel
sim 2 --block 128 --blocks-per-sm 2 $kernel
sim 2 --sms 4 --blocks-per-sm 2 --regs 40 $kernel
sim 2 --block 0 $kernel
sim 2 --block 4096 $kernel
sim 2 --block 128 --regs 256 $kernel
sim 2 --block 128 --smem 99999999999 $kernel
rm -r "$tmp/data"

# ---- examples of the man page
sed 's/\\-/-/g; s/\\(ti/~/g; s/\\e$/\\/' "$source/doc/man/wavetap-simulate.1" | sed -e ':join' -e '/\\$/{N;s/\\\n *//;b join' -e '}' | grep '^wavetap simulate' >"$tmp/examples"
[ "$(wc -l <"$tmp/examples")" -ge 5 ]
ok $? "the man page has examples"
while read -r line; do
	(cd "$tmp" && PATH="$(cd "$OLDPWD" && cd "$build" && pwd):$PATH" && COLUMNS=80 && export COLUMNS && eval "$line") >"$tmp/out" 2>"$tmp/err" </dev/null
	ok $? "$line"
	width 80
done <"$tmp/examples"

# ---- errors
machine="--sms 4 --blocks-per-sm 1"
while read -r words; do
	case $words in
	'') continue ;;
	esac
	sim 2 $words
	[ "$(grep -c '^wavetap: ' "$tmp/err")" -eq 1 ] && [ "$(wc -l <"$tmp/err")" -le 2 ] && [ ! -s "$tmp/out" ]
	ok $? "one clear line, no output"
done <<END
--grid 3
--sms 4
$machine
--sms 4 --grid 3
--sms 0 --blocks-per-sm 1 --grid 3
--sms -4 --blocks-per-sm 1 --grid 3
--sms 4.5 --blocks-per-sm 1 --grid 3
--sms 70000 --blocks-per-sm 1 --grid 3
--sms 65536 --blocks-per-sm 128 --grid 3
--sms 4 --blocks-per-sm 0 --grid 3
--sms 4 --blocks-per-sm 2000 --grid 3
$machine --grid 0
$machine --grid 3x0
$machine --grid 1x2x3x4
$machine --grid 9999999999999999999
$machine --grid 18446744073709551617
$machine --grid 9:3
$machine --grid 3:9:0
$machine --grid 3:
$machine --grid ,
$machine --grid 1:1000000000
$machine --sms 1:1000 --grid 1:1000
$machine --grid 3 --times 4
$machine --times 4,-1
$machine --times 4,,x
$machine --times 1us,1ms
$machine --times 1lightyear
$machine --times 99999999999x1
$machine --times 1.0000000001
$machine --times 99999999999999999999
$machine --times 4 --block-time 4
$machine --grid 3 --block-time 4~
$machine --grid 3 --block-time ~4
$machine --grid 3 --block-time 9..4
$machine --grid 3 --block-time 4us~1ms
$machine --grid 3 --block-time 1us --setup 1ms
$machine --grid 9000000000000000000 --block-time 2
$machine --grid 200000000 --block-time 4~1
$machine --grid 1:100000 --block-time 4~1
$machine --grid 3 --seed 4
$machine --grid 3 --tile 4x4
$machine --grid 3 --split-k 2
$machine --grid 3 --workers 2
$machine --grid 9 --persistent queue --workers 0
$machine --grid 9 --persistent queue --workers 5
$machine --grid 9 --persistent no
$machine --grid 3 --gpc 2
$machine --grid 3 --cluster 2
$machine --grid 4 --cluster 0
$machine --grid 4 --cluster 2x
$machine --grid 4 --cluster 999x999
$machine --grid 4 --cluster 2 --gpc 3,2
--sms 4 --blocks-per-sm 2 --grid 4 --cluster 2 --share
$machine --gemm 4,4,4
$machine --gemm 4,4 --tile 4x4
$machine --gemm 4,4:6 --tile 4x4
$machine --gemm 4,4,0 --tile 4x4
$machine --gemm 4,4,4 --tile 4
$machine --gemm 4,4,4 --tile 4x4,
$machine --gemm 4,4,4 --tile 4x4 --stream-k
$machine --gemm 4,4,4 --tile 4x4 --split-k 5
$machine --gemm 4,4,4 --tile 4x4 --split-k 0
$machine --gemm 4,4,4 --tile 4x4,2x2 --block-time 3
$machine --gemm 4,4,4 --tile 4x4 --setup 3us
$machine --gemm 4,4,4 --tile 4x4x1 --stream-k --persistent queue
$machine --gemm 4,4,4 --tile 4x4 --cluster 1x1x2
$machine --grid 3 --json --csv
$machine --grid 3 4
$machine --grid 3 --nosuch
END
for format in --json --csv --limit=3; do
	"$build/wavetap" simulate $machine --grid 1:50 $format >/dev/full 2>"$tmp/err"
	[ $? -eq 1 ] && grep -q "can't write" "$tmp/err"
	ok $? "a full disk is told ($format)"
done

echo "1..$count"
exit $((failed > 0))
