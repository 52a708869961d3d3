#!/bin/sh
# tune.sh -- the main command on ptxsim: it tunes, stores under a device class of its own, and answers from the database the second
# time; the CPU's winners stay apart.
#
#   tune.sh RAGTUNE LIBCUDA
set -u
ragtune=$1 libcuda=$2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ptxsim-tune-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export RAGTUNE_CACHE="$scratch/cache" RAGTUNE_DB="$scratch/tuned.db" RAGTUNE_LIBCUDA="$libcuda" XDG_DATA_HOME="$scratch"
unset RAGTUNE_MODE RAGTUNE_TEMPLATES RAGTUNE_DEVICE PTXSIM_CHECKS PTXSIM_SEED PTXSIM_REPORT PTXSIM_DEVICES PTXSIM_PROFILE
export PTXSIM_LOG="$scratch/log"
export RAGTUNE_RUN_LIMIT_S=300 RAGTUNE_COMPILE_LIMIT_S=300 # the sanitizers' builds on a busy machine

tune() { # FILE OPTION...
  out=$1
  shift
  "$ragtune" --in 10 --hidden 20 --groups 3 --rows 8,64 --budget 600 "$@" >"$scratch/$out" 2>"$scratch/$out.err"
}

failed='' passed=0
expect() { # NAME COMMAND...
  name=$1
  shift
  if "$@"; then
    echo "[       OK ] $name"
    passed=$((passed + 1))
  else
    echo "[  FAILED  ] $name"
    failed="$failed $name"
  fi
}

tune first --device cuda
status=$?
if grep -q 'NVRTC, the CUDA run-time compiler, was not found' "$scratch/first.err"; then
  echo "skipped: NVRTC was not found"
  echo "[  SKIPPED ] 1 test(s), listed below:"
  echo "[  SKIPPED ] ptxsim_tune"
  exit 0
fi
expect tunes test "$status" -eq 0
expect names_the_device grep -q '^device *cuda:ptxsim-sm_90' "$scratch/first"
expect has_winners_for_both_buckets test "$(grep -cE '^ +(8|64) .* [a-z0-9_]+:[a-z]' "$scratch/first")" -eq 2
expect stores grep -q '^stored in ' "$scratch/first"
expect none_wrong grep -qE '^tried [0-9]+: .* 0 wrong, 0 crashed, 0 timed out' "$scratch/first"
tune second --device cuda
expect hits_without_trials sh -c "! grep -q '^tried ' '$scratch/second'"
# winners FILE -- rows and winner of each bucket
winners() { sed -nE 's/^ +(8|64) .* ([a-z0-9_]+:[a-z][^ ]*).*/\1 \2/p' "$scratch/$1"; }
winners first >"$scratch/a"
winners second >"$scratch/b"
expect same_winners sh -c "[ -s '$scratch/a' ] && cmp -s '$scratch/a' '$scratch/b'"
expect why_knows_it sh -c "'$ragtune' why --in 10 --hidden 20 --groups 3 --rows 64 --device cuda | grep -qE '[a-z0-9_]+:[a-z]'"
expect another_profile_is_another_device sh -c "PTXSIM_PROFILE=sm_80 '$ragtune' why --in 10 --hidden 20 --groups 3 --rows 64 --device cuda |
  grep -q 'sm_80'"
expect nothing_reported test ! -s "$scratch/log"

if [ -n "$failed" ]; then
  sed 's/^/    /' "$scratch/first" "$scratch/first.err" "$scratch/second"
  [ -f "$scratch/log" ] && head -20 "$scratch/log"
fi
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
