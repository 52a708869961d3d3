#!/bin/sh
# cases.sh -- every folder of tests/cases on ptxsim: CUDA variants of its op against the reference, with every check on.
#
#   cases.sh RAGTUNE LIBCUDA CASES CACHE PROFILE [WORD]    WORD: only cases whose name holds it
#
# A sample of 16 of each op's space in f32; tests/sweep covers the spaces. Speaks cmocka's words, which .ci/count adds up. CACHE
# keeps compiled code for the next run.
set -u
ragtune=$1 libcuda=$2 cases=$3 cache=$4 profile=$5 word=${6-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ptxsim-cases-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export RAGTUNE_CACHE="$cache" RAGTUNE_DB=:memory: RAGTUNE_LIBCUDA="$libcuda" PTXSIM_PROFILE="$profile" XDG_DATA_HOME="$scratch"
unset RAGTUNE_MODE RAGTUNE_TEMPLATES RAGTUNE_DEVICE PTXSIM_CHECKS PTXSIM_SEED PTXSIM_REPORT PTXSIM_DEVICES
export RAGTUNE_RUN_LIMIT_S=300 RAGTUNE_COMPILE_LIMIT_S=300 # the sanitizers' builds on a busy machine
mkdir -p "$cache" && chmod 700 "$cache" || exit 1

# Right are all variants that are feasible, and ptxsim has nothing to report.
verify_order() { # NAME ORDER
  PTXSIM_LOG="$scratch/$1.log" "$ragtune" verify --device cuda --sample 16 --order "$2" --case "$cases/$1" >"$scratch/$1.out" 2>&1 ||
    return 1
  [ ! -s "$scratch/$1.log" ] || return 1
  tail -1 "$scratch/$1.out" |
    awk '/^[0-9]+ variants: [0-9]+ right, 0 wrong, [0-9]+ infeasible, 0 compile errors/ && $3 >= 3 { ok = 1 } END { exit !ok }'
}

# One case comes in every order; each has a y that is added to and rows that share their x.
verify_case() { # NAME
  verify_order "$1" raw || return 1
  case $1 in masked_anywhere) verify_order "$1" sorted && verify_order "$1" offsets ;; esac
}

names='' n=0
for folder in "$cases"/*"$word"*/; do
  [ -f "$folder/problem.txt" ] && names="$names $(basename "$folder")" && n=$((n + 1))
done
[ "$n" -gt 0 ] || { echo "$cases holds no case" >&2; exit 1; }

echo "[==========] Running $n test(s)."
passed=0 failed=''
for name in $names; do
  if verify_case "$name"; then
    echo "[       OK ] ${profile}_$name: $(tail -1 "$scratch/$name.out")"
    passed=$((passed + 1))
  elif grep -q 'NVRTC, the CUDA run-time compiler, was not found' "$scratch/$name.out"; then
    echo "skipped: NVRTC was not found"
    echo "[  SKIPPED ] 1 test(s), listed below:"
    echo "[  SKIPPED ] ptxsim_cases"
    exit 0
  else
    grep -v '^right ' "$scratch/$name.out" | sed 's/^/    /' | tail -20
    [ -f "$scratch/$name.log" ] && head -20 "$scratch/$name.log"
    echo "[  FAILED  ] ${profile}_$name"
    failed="$failed ${profile}_$name"
  fi
done
echo "[==========] $n test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
