#!/bin/sh
# cuda_crashes.sh -- variants that crash and hang on a CUDA device (ptxsim): each costs its child, the search ends well and says
# which, and the next search knows.
#
#   cuda_crashes.sh RAGTUNE LIBCUDA ROOT
#
# Speaks cmocka's words, which .ci/count adds up.
set -u
ragtune=$1 libcuda=$2 root=$3
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rgt-crashes-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export RAGTUNE_CACHE="$scratch/cache" RAGTUNE_DB="$scratch/tuned.db" RAGTUNE_LIBCUDA="$libcuda" RAGTUNE_RUN_LIMIT_S=3
export XDG_DATA_HOME="$scratch" RAGTUNE_TEMPLATES="$scratch/t" PTXSIM_LOG="$scratch/log"
unset RAGTUNE_MODE RAGTUNE_DEVICE RAGTUNE_WORKER PTXSIM_CHECKS PTXSIM_SEED PTXSIM_REPORT PTXSIM_DEVICES PTXSIM_PROFILE
mkdir "$scratch/t" && cp -R "$root/templates/cuda" "$root/templates/lib" "$scratch/t/" &&
  cp "$root"/tests/fixtures/cuda_crashes/bad.* "$scratch/t/cuda/" || exit 1
cat >"$scratch/space.lua" <<'EOF'
return { row_gather = { threads = 128, lanes = { 1, 8 }, chunk = 1, outputs = 1, fused_rows = 0, in_registers = 0 } }
EOF
op="--in 10 --hidden 20 --groups 3 --device cuda"

passed=0 failed=''
expect() { # NAME COMMAND...
  name=$1
  shift
  if "$@"; then
    echo "[       OK ] $name"
    passed=$((passed + 1))
  else
    echo "[  FAILED  ] $name"
    sed 's/^/    /' "$scratch/out" "$scratch/err" 2>/dev/null | tail -30
    failed="$failed $name"
  fi
}

tune() { "$ragtune" $op --rows 8 --budget 120 --space "$scratch/space.lua" "$@" >"$scratch/out" 2>"$scratch/err"; }
says() { grep -qF -- "$1" "$scratch/out" "$scratch/err"; }
found() { tune && says 'tried 6: 2 right, 0 infeasible, 0 compile errors, 1 wrong, 2 crashed, 1 timed out' && says ' row_gather:'; }
# verdict VARIANT WORDS... -- what verify says of one variant, its exit status 1
verdict() {
  variant=$1
  shift
  "$ragtune" verify $op --variant "$variant" >"$scratch/out" 2>"$scratch/err" && return 1
  [ $? -eq 1 ] || return 1
  for word in "$@"; do says "$word" || return 1; done
}

"$ragtune" show $op --emit ptx >"$scratch/out" 2>"$scratch/err"
if says 'NVRTC, the CUDA run-time compiler, was not found'; then
  echo "skipped: NVRTC was not found"
  echo "[  SKIPPED ] 1 test(s), listed below:"
  echo "[  SKIPPED ] cuda_crashes"
  exit 0
fi
echo "[==========] Running 5 test(s)."
expect the_search_ends_well found
expect out_of_bounds verdict bad:how=1 crashed CUDA_ERROR_ILLEGAL_ADDRESS
expect trap verdict bad:how=2 crashed CUDA_ERROR_LAUNCH_FAILED
expect hang verdict bad:how=3 'timed out'
expect no_result verdict bad:how=4 wrong 'never written'
echo "[==========] 5 test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
