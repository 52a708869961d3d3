#!/bin/sh
# command.sh -- the command `ragtune` with a failing file operation or a failing allocation, by a preloaded shim: it ends by itself with
# 0, or with 1 to 3 and one line on stderr, and the same command without a fault answers as before.
#
#   command.sh RAGTUNE SHIM.so CASE
#
# Each verb is tried at FAULTS_STEPS (8) places of either kind, spread over all of them; FAULTS=all tries every one.
set -u
ragtune=$1 shim=$2 case=$3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ragtune-command-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
# NVRTC, where there is one, aborts when it gets no memory while it is loaded: that is not ours to try.
export HOME="$scratch/home" RAGTUNE_DEVICE=cpu RAGTUNE_LIBNVRTC=/nowhere RAGTUNE_LIBCUDA=/nowhere
unset RAGTUNE_MODE RAGTUNE_TEMPLATES RAGTUNE_CC RAGTUNE_CPU RAGTUNE_THREADS RAGTUNE_DB RAGTUNE_CACHE XDG_DATA_HOME XDG_CACHE_HOME
mkdir "$HOME"
printf 'return { row_gather = { lanes = 8, vectors = 4 }, group_tiles = false }\n' >"$HOME/space.lua"
op='--in 4 --out 3 --groups 2'
db="$HOME/.local/share/ragtune/tuned.db"
"$ragtune" $op --rows 8 --space "$HOME/space.lua" --quiet >/dev/null 2>"$scratch/err" || { cat "$scratch/err"; exit 1; }
"$ragtune" run --case "$case" --y "$HOME/y.npy" >/dev/null 2>"$scratch/err" || { cat "$scratch/err"; exit 1; }
cp "$HOME/y.npy" "$scratch/right.npy"

command_of() {
  case $1 in
  tune) echo "$op --rows 8 --space $HOME/space.lua --quiet" ;;
  tune_json) echo "$op --rows 8 --space $HOME/space.lua --quiet --json" ;;
  run) echo "run --case $case --y $HOME/y.npy" ;;
  why) echo "why $op --rows 8 --json" ;;
  show) echo "show $op -o $HOME/shown.c" ;;
  list) echo "db list --json" ;;
  check) echo "db check" ;;
  esac
}

failed=0
bad() {
  echo "$1"
  sed 's/^/    /' "$scratch/err" "$scratch/out" | head -n 20
  failed=$((failed + 1))
}

# One try; sets `status`. Words: NAME=VALUE for the environment.
attempt() { # VERB PLACE VARIABLE...
  verb=$1 place=$2
  shift 2
  rm -f "$HOME/y.npy"
  # shellcheck disable=SC2046
  timeout 60 env LD_PRELOAD="$shim" "$@" "$ragtune" $(command_of "$verb") >"$scratch/out" 2>"$scratch/err"
  status=$?
  if [ "$status" -gt 3 ]; then
    bad "$verb, $place: exit $status"
  elif [ "$status" -ne 0 ] && ! grep -q '^ragtune: ' "$scratch/err"; then
    bad "$verb, $place: exit $status without a word"
  elif [ "$verb" = run ] && [ -e "$HOME/y.npy" ] && ! cmp -s "$HOME/y.npy" "$scratch/right.npy"; then
    bad "$verb, $place: another y"
  elif [ "$verb" = run ] && [ "$status" = 0 ] && [ ! -e "$HOME/y.npy" ]; then
    bad "$verb, $place: exit 0 and no y"
  fi
}

# How many there are: the first place from which on nothing fails any more is sought by doubling and halving.
sweep() { # VERB KIND MOST VARIABLE...: tries places 0 .. MOST - 1 in `steps` steps
  verb=$1 kind=$2 most=$3
  shift 3
  step=$((most / steps))
  [ "$step" -gt 0 ] && [ "${FAULTS:-}" != all ] || step=1
  n=0 tried=0 refused=0
  while [ "$n" -lt "$most" ]; do
    case $kind in
    memory) attempt "$verb" "allocation $n" "$@" "FAULT_MALLOC=$n" ;;
    *) attempt "$verb" "operation $n, $kind" "$@" "FAULT_PREFIX=$HOME" "FAULT_ERROR=$kind" "FAULT_AT=$n" ;;
    esac
    tried=$((tried + 1))
    [ "$status" = 0 ] || refused=$((refused + 1))
    n=$((n + step))
  done
  all_tried=$((all_tried + tried)) all_refused=$((all_refused + refused))
}

sound() {
  "$ragtune" $op --rows 8 --space "$HOME/space.lua" --quiet >"$scratch/out" 2>"$scratch/err" || bad "$1: tune afterwards"
  grep -q row_gather "$scratch/out" || bad "$1: no winner afterwards"
  "$ragtune" db check >"$scratch/out" 2>"$scratch/err" || bad "$1: the database afterwards"
  [ -z "$(find "$HOME" -name '*.corrupt-*')" ] || bad "$1: a file was moved aside"
}

steps=${FAULTS_STEPS:-8}
echo '[==========] Running 1 test(s).'
for kind in EIO ENOSPC EMFILE memory; do
  all_tried=0 all_refused=0
  for verb in tune tune_json run why show list check; do
    most=120
    [ $kind = memory ] && most=6000
    sweep $verb $kind $most FAULT_ON=0
    sweep $verb $kind $most FAULT_ON=1
  done
  sound "$kind"
  [ "$all_refused" -gt 0 ] || bad "$kind: nothing failed: is the shim loaded?"
  printf 'fault\tthe command, seven verbs: %s, alone and with all after it\t%d\t%d ended with 1 to 3 and a line, %d with 0; none crashed or hung\n' \
    "$([ $kind = memory ] && echo 'a failed allocation' || echo "a file operation fails with $kind")" "$all_tried" "$all_refused" \
    $((all_tried - all_refused))
done
if [ "$failed" = 0 ]; then
  echo '[       OK ] command'
  echo '[  PASSED  ] 1 test(s).'
  exit 0
fi
echo '[  FAILED  ] command'
echo '[  FAILED  ] 1 test(s), listed below:'
echo '[  FAILED  ] command'
exit 1
