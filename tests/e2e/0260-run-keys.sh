#!/bin/sh
# Which processes make up one run, and which rank each has: torchrun, Slurm, MPI launchers, shell
# scripts, names of the user's own. The launchers are played by setting what they set.
# $ is for inner shells.
# shellcheck disable=SC2016
. "$top_srcdir/tests/e2e/lib.sh"

app=$top_builddir/tests/fake/app_launch
for name in $(env | sed -n 's/^\(\(SLURM\|OMPI\|PMI\|PMIX\|MV2\|I_MPI\|MPI\|TORCHELASTIC\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
  unset "$name"
done
unset RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
expected=0 # processes that are to be stored

ranked() { # VARIABLE=VALUE...: one process with these in its environment
  expected=$((expected + 1))
  env "$@" LD_PRELOAD="$library" "$app" --launches 3 >>"$work/out" 2>&1
}

# ---- torchrun
for port in 29500 29501; do
  for rank in 0 1; do
    ranked TORCHELASTIC_RUN_ID=100 MASTER_ADDR=node1 MASTER_PORT=$port RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2
  done
done
ranked TORCHELASTIC_RUN_ID=100 MASTER_ADDR=node2 MASTER_PORT=29500 RANK=2 LOCAL_RANK=0 WORLD_SIZE=4
# --standalone makes up a UUID; a restart has another port and is the same run.
uuid=0b5d1f0e-8f0a-4b3c-9a6d-1234567890aB
for restart in 0 1; do
  ranked TORCHELASTIC_RUN_ID=$uuid TORCHELASTIC_RESTART_COUNT=$restart MASTER_ADDR=localhost MASTER_PORT=4000$restart \
    RANK=0 LOCAL_RANK=0 WORLD_SIZE=1
done
# Within a Slurm step torchrun's own id goes first, but "none" says nothing.
ranked TORCHELASTIC_RUN_ID=inner MASTER_ADDR=a MASTER_PORT=1 SLURM_JOB_ID=90 SLURM_STEP_ID=0 SLURM_PROCID=7 \
  RANK=1 LOCAL_RANK=1 WORLD_SIZE=2
ranked TORCHELASTIC_RUN_ID=none MASTER_ADDR=a MASTER_PORT=1 SLURM_JOB_ID=90 SLURM_STEP_ID=1 SLURM_PROCID=1 RANK=0 WORLD_SIZE=2

# ---- Slurm
for step in 0 1; do
  for rank in 0 1 2; do
    ranked SLURM_JOB_ID=4711 SLURM_STEP_ID=$step SLURM_PROCID=$rank SLURM_LOCALID=$rank SLURM_NTASKS=3
  done
done

# ---- MPI
for job in 1001 1002; do
  for rank in 0 1; do
    ranked OMPI_MCA_ess_base_jobid=$job PMIX_NAMESPACE=other OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_LOCAL_RANK=$rank \
      OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=$((5 + rank))
  done
done
ranked PMIX_NAMESPACE=prterun-node1-77@1 PMIX_RANK=3
ranked PMI_JOBID=kvs_77_0 PMI_RANK=1 PMI_SIZE=2 PMI_LOCAL_RANK=1
ranked I_MPI_HYDRA_UUID=abc PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0
ranked I_MPI_HYDRA_UUID=abc PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1
ranked PMI_JOBID=mv2 MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_LOCAL_RANK=0 MV2_COMM_WORLD_SIZE=2

# ---- the user's own, above all others; whatever it holds
ranked WAVETAP_RUN=own TORCHELASTIC_RUN_ID=1 SLURM_JOB_ID=1 SLURM_STEP_ID=1 PMIX_NAMESPACE=1
ranked WAVETAP_RUN='own' RANK=0
ranked WAVETAP_RUN="it's a \"run\" / ../; DROP é"
ranked WAVETAP_RUN="two
lines"
ranked WAVETAP_RUN="two?lines"
ranked WAVETAP_RUN="$(printf 'latin-\351')"
long=$(printf '%0300d' 0)
ranked WAVETAP_RUN="${long}1"
ranked WAVETAP_RUN="${long}2"
ranked WAVETAP_RUN="${long}2"

settle
# KEY|PROCESSES|RANK/LOCAL/SIZE of each
for file in "$data"/runs/*.db; do
  sqlite3 -batch "$file" "SELECT replace(value, char(10), '\n'), (SELECT count(*) FROM process),
      (SELECT group_concat(ifnull(rank, '-') || '/' || ifnull(local_rank, '-') || '/' || ifnull(world_size, '-'), ' ')
        FROM (SELECT * FROM process ORDER BY rank, process_id)) FROM meta WHERE key = 'run_key'"
done >"$work/runs"
run() { # KEY, WHAT IT IS TO HAVE, WORDS
  is "$(grep -F "$1|" "$work/runs" | sed 's/^[^|]*|//')" "$2" "$3"
}
run torchrun:100@node1:29500 "2|0/0/2 1/1/2" "torchrun: ranks of a job are one run"
run torchrun:100@node1:29501 "2|0/0/2 1/1/2" "torchrun: the same id at another port is another"
run torchrun:100@node2:29500 "1|2/0/4" "torchrun: at another address too"
run torchrun:$uuid "2|0/0/1 0/0/1" "torchrun: a restart stays in its run"
run torchrun:inner@a:1 "1|1/1/2" "torchrun in a Slurm step: torchrun's"
run slurm:90.1 "1|0/-/2" "torchrun without an id in a Slurm step: Slurm's"
run slurm:4711.0 "3|0/0/3 1/1/3 2/2/3" "Slurm: ranks of a step are one run"
run slurm:4711.1 "3|0/0/3 1/1/3 2/2/3" "Slurm: the next step is another"
run mpi:1001 "2|0/0/2 1/1/2" "Open MPI: ranks of a job are one run"
run mpi:1002 "2|0/0/2 1/1/2" "Open MPI: another job is another"
run mpi:prterun-node1-77@1 "1|3/-/-" "PMIx: namespace and rank"
run mpi:kvs_77_0 "1|1/1/2" "PMI: job id and rank"
run mpi:abc "2|0/0/2 1/1/2" "Intel MPI: ranks of a job are one run"
run mpi:mv2 "1|1/0/2" "MVAPICH2: rank"
is "$(sed -n 's/^own|//p' "$work/runs")" "2|-/-/- 0/-/-" "WAVETAP_RUN goes before all launchers"
run "it's a \"run\" / ../; DROP é" "1|-/-/-" "WAVETAP_RUN: quotes, slashes, UTF-8"
is "$(grep -c '^two?lines' "$work/runs")|$(grep -c '^two?lines|' "$work/runs")" "2|1" "a line feed becomes ?, and stays another run"
is "$(grep -c '^latin-?~[0-9a-f]*|1|' "$work/runs")" 1 "what is not UTF-8 too"
is "$(grep '^0000' "$work/runs" | cut -d '|' -f 2 | sort | tr '\n' ' ')" "1 2 " "long ones that differ at the end are two"
is "$(grep '^0000' "$work/runs" | awk -F '|' 'length($1) > 255' | wc -l)" 0 "and are cut to what a key may have"

# ---- ranks that make no sense
rm -r "$data/runs"
n=0
while IFS='|' read -r variables want what; do
  n=$((n + 1))
  # shellcheck disable=SC2086 # a list of assignments
  (IFS=';' && ranked WAVETAP_RUN=bad-$n $variables)
  expected=$((expected + 1))
  echo "bad-$n|$want|$what" >>"$work/want"
done <<'LIST'
RANK=;SLURM_PROCID=2;SLURM_LOCALID=1;SLURM_NTASKS=4|2/1/4|empty: the next launcher's
RANK=-1;SLURM_PROCID=2;SLURM_LOCALID=1;SLURM_NTASKS=4|2/1/4|negative: the next launcher's
RANK=3x;PMI_RANK=1;PMI_SIZE=2|1/-/2|not a number: the next launcher's
RANK= 3|-/-/-|a blank: none
RANK=+3|-/-/-|a sign: none
RANK=99999999999999999999|-/-/-|too large: none
RANK=0x10|-/-/-|hexadecimal: none
RANK=5;WORLD_SIZE=4|5/-/-|a count that can't hold the rank is not one
RANK=1;LOCAL_RANK=one;WORLD_SIZE=2|1/-/2|a local rank that is none
WORLD_SIZE=8;LOCAL_RANK=1|-/-/-|a count without a rank
SLURM_PROCID=1;SLURM_NTASKS=2;OMPI_COMM_WORLD_RANK=0;OMPI_COMM_WORLD_SIZE=3|0/-/3|launchers are not mixed
LIST
settle
for file in "$data"/runs/*.db; do
  sqlite3 -batch "$file" "SELECT value, ifnull(rank, '-') || '/' || ifnull(local_rank, '-') || '/' || ifnull(world_size, '-')
    FROM process, meta WHERE key = 'run_key'"
done >"$work/runs"
while IFS='|' read -r key want what; do
  run "$key" "$want" "ranks: $what"
done <"$work/want"

# ---- no launcher: the topmost ancestor that preloads. It has to be there when the daemon looks,
# those between may be gone. (ls *.seg fails as soon as one of them goes in between.)
rm -r "$data/runs"
cat >"$work/stay.sh" <<'SCRIPT'
tries=0
while [ -n "$(find "$WAVETAP_SHM_DIR" -name '*.seg')" ] && [ "$tries" -lt 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
SCRIPT
cat >"$work/one.sh" <<'SCRIPT'
"$APP" --launches 3
sh -c '"$APP" --launches 3; true' &
sh -c 'sh -c "\"$APP\" --launches 3"; true'
env -i LD_PRELOAD="$LD_PRELOAD" LD_LIBRARY_PATH="$LD_LIBRARY_PATH" WAVETAP_DIR="$WAVETAP_DIR" \
  WAVETAP_SHM_DIR="$WAVETAP_SHM_DIR" WAVETAP_DAEMON="$WAVETAP_DAEMON" sh -c "'$APP' --launches 3; true"
env -u LD_PRELOAD "$APP" --launches 3
. "$STAY"
SCRIPT
APP=$app STAY=$work/stay.sh WAVETAP_RUN='' TORCHELASTIC_RUN_ID=none SLURM_JOB_ID=5 SLURM_STEP_ID='' PMIX_NAMESPACE='' \
  LD_PRELOAD=$library sh "$work/one.sh" >>"$work/out" 2>&1
APP=$app STAY=$work/stay.sh LD_PRELOAD=$library sh "$work/one.sh" >>"$work/out" 2>&1
settle
counts() {
  for file in "$data"/runs/*.db; do
    sqlite3 -batch "$file" "SELECT count(*), sum(launches_attempted) FROM loss"
  done | sort | tr '\n' ' '
}
is "$(counts)" "4|12 4|12 " "a script is a run: background, nested shells, env -i; what lost the preload is not seen"

# The run is settled once: a daemon that comes after one that was killed goes on with it, though
# the script that stood for the run is gone.
rm -r "$data/runs"
cat >"$work/leave.sh" <<'SCRIPT'
"$APP" --launches 2000 --rate 400 &
tries=0
until "$WAVETAP" status --json 2>/dev/null | grep -q '"state": *"live"' || [ "$tries" -ge 300 ]; do
  sleep 0.1
  tries=$((tries + 1))
done
SCRIPT
APP=$app WAVETAP=$wavetap LD_PRELOAD=$library sh "$work/leave.sh" >>"$work/out" 2>&1
"$wavetap" status --json >"$work/status.json"
daemon=$(sqlite3 -batch :memory: "SELECT json_extract(CAST(readfile('$work/status.json') AS TEXT), '\$.daemon.pid')")
kill -9 "$daemon"
tries=0
while [ -d "/proc/$daemon" ] && [ "$tries" -lt 300 ]; do # until then it holds the lock, and no other is started
  tries=$((tries + 1))
  sleep 0.1
done
LD_PRELOAD=$library "$app" --launches 3 >>"$work/out" 2>&1
settle
for file in "$data"/runs/*.db; do
  sqlite3 -batch "$file" "SELECT state, launches_attempted, launches_stored, launches_torn FROM loss"
done | sort >"$work/books"
is "$(cat "$work/books")" "finished|2000|2000|0
finished|3|3|0" "a daemon after a killed one goes on with the run, whoever is gone by then"

# Hydra tells no job id. The proxy that starts the ranks stands for the job, unless somebody above
# it preloads us.
rm -r "$data/runs"
cat >"$work/proxy.sh" <<'SCRIPT'
for rank in 0 1 2; do
  env PMI_RANK=$rank PMI_SIZE=3 MPI_LOCALRANKID=$rank LD_PRELOAD="$LIBRARY" sh -c '"$APP" --launches 3; true' &
done
wait
. "$STAY"
SCRIPT
APP=$app STAY=$work/stay.sh LIBRARY=$library sh "$work/proxy.sh" >>"$work/out" 2>&1
APP=$app STAY=$work/stay.sh LIBRARY=$library sh "$work/proxy.sh" >>"$work/out" 2>&1
settle
is "$(counts)" "3|9 3|9 " "Hydra: the ranks of one proxy are a run"
rm -r "$data/runs"
printf 'sh "%s/proxy.sh"; sh "%s/proxy.sh"; . "$STAY"\n' "$work" "$work" >"$work/two.sh"
APP=$app STAY=$work/stay.sh LIBRARY=$library LD_PRELOAD=$library sh "$work/two.sh" >>"$work/out" 2>&1
settle
is "$(counts)" "6|18 " "Hydra: a script that preloads makes its jobs one run"

# ---- wavetap run: a key of its own; a run within a run joins it, whatever it is called
rm -r "$data/runs"
for key in "" "odd
key  with 'quotes' " "$long-x"; do
  WAVETAP_RUN=$key "$wavetap" run -- sh -c "'$app' --launches 3; '$wavetap' run -q -- '$app' --launches 3" >>"$work/out" 2>"$work/err"
  ok "wavetap run finds its run: ${key%%
*}" grep -q "6 kernels" "$work/err"
done
settle
is "$(counts)" "2|6 2|6 2|6 " "wavetap run: both processes in one run"
check_books
is "$(ls "$shm")" "" "shared memory is clean"
done_testing
