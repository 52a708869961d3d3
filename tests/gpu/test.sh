#!/bin/sh
# test.sh -- pack and check, run here: on tests/ptxsim in place of a GPU, without NVRTC where check runs, so that all it compiles
# must have come along; without a driver; without PyTorch.
#
#   test.sh ROOT BUILD
#
# Speaks cmocka's words, which .ci/count adds up.
set -u
root=$1 build=$2 here=$1/tests/gpu
scratch=$(mktemp -d "${TMPDIR:-/tmp}/rgt-gpu-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export PYTHONDONTWRITEBYTECODE=1 TMPDIR="$scratch"
sim=$build/tests/ptxsim/libcuda.so.1

passed=0 failed=''
expect() { # NAME COMMAND...
  name=$1
  shift
  if "$@" >"$scratch/said" 2>&1; then
    echo "[       OK ] $name"
    passed=$((passed + 1))
  else
    echo "[  FAILED  ] $name"
    sed 's/^/    /' "$scratch/said" "$scratch/out" 2>/dev/null | tail -40
    failed="$failed $name"
  fi
}

exits() { # STATUS COMMAND...
  want=$1
  shift
  "$@" >"$scratch/out" 2>&1
  [ $? -eq "$want" ]
}
has() { grep -q -- "$1" "$scratch/results/results.jsonl" || { echo "no line has $1"; return 1; }; }
check() { env RAGTUNE_LIBNVRTC=none "$@" "$scratch/pack/check" --quick --out "$scratch/results"; }
no_driver() { exits 3 check RAGTUNE_LIBCUDA=/no/libcuda.so.1 && grep -q 'no CUDA driver: /no/libcuda.so.1' "$scratch/out" && [ "$(wc -l <"$scratch/out")" = 1 ]; }
no_gpu() { exits 3 check RAGTUNE_LIBCUDA="$sim" PTXSIM_DEVICES=0 && grep -q 'no GPU\|finds no GPU' "$scratch/out"; }
no_pack() { exits 3 "$here/check" "$scratch" && grep -q 'no folder that tests/gpu/pack made' "$scratch/out"; }
runs() { exits 0 check RAGTUNE_LIBCUDA="$sim" PTXSIM_CHECKS=none && grep -q '^three_mlps ' "$scratch/out" && grep -q '^few_rows ' "$scratch/out"; }
every_family() {
  has '"step": "verify".*"status": 0' || return 1
  for spec in "$root"/templates/cuda/*.lua; do
    has "\"step\": \"verify\".*\"families\":.*\"$(basename "$spec" .lua)\": {\"right\": [0-9]*}" || return 1
  done
}
measured() { has '"step": "peak".*"mma_flop_per_s": [1-9]' && has '"step": "measure", .*"few_rows".*"wrong": 0' && has '"step": "measure", .*"three_mlps".*"exact": true.*"wrong": 0.*"same_bytes"'; }
correlates() { has '"step": "rank_correlation".*three_mlps.*"rho": [-0-9]'; }
damaged() {
  mkdir "$scratch/bad" && cp -R "$scratch/pack/." "$scratch/bad/" && printf 'x' >"$scratch/bad/packed.tar.xz"
  exits 3 env RAGTUNE_LIBNVRTC=none RAGTUNE_LIBCUDA="$sim" "$scratch/bad/check" --quick --out "$scratch/results2" && grep -q 'damaged' "$scratch/out"
}

# relu turned round in everything compiled (its name as long as before): verify must say so.
planted() {
  mkdir "$scratch/planted" && cp -R "$scratch/pack/." "$scratch/planted/" && python3 - "$scratch/planted/packed.tar.xz" <<'EOF' || return 1
import io, sys, tarfile
with tarfile.open(sys.argv[1]) as tar:
    entries = [(m, tar.extractfile(m).read()) for m in tar]
changed = 0
with tarfile.open(sys.argv[1], "w:xz") as tar:
    for member, data in entries:
        new = data.replace(b"setp.lt.f32", b"setp.gt.f32")
        changed += new != data
        tar.addfile(member, io.BytesIO(new))
sys.exit(changed == 0)
EOF
  exits 1 env RAGTUNE_LIBNVRTC=none RAGTUNE_LIBCUDA="$sim" "$scratch/planted/check" --quick --verify-only --out "$scratch/results2" &&
    grep -q 'row_gather .*wrong' "$scratch/out"
}

python3 "$here/test_steps.py" || exit 1
python3 "$here/peers.py" --cpu || exit 1
exits 0 "$here/pack" "$scratch/pack" --build "$build" --quick --simulate 120
case $? in
0) ;;
*)
  if grep -q 'NVRTC was not found' "$scratch/out"; then
    echo "skipped: NVRTC was not found"
    echo "[  SKIPPED ] 1 test(s), listed below:"
    echo "[  SKIPPED ] gpu_check"
    exit 0
  fi
  cat "$scratch/out"
  exit 1
  ;;
esac
echo "[==========] Running 9 test(s)."
expect no_driver no_driver
expect no_gpu no_gpu
expect no_pack no_pack
expect damaged damaged
expect planted_wrong_code_is_found planted
expect runs runs
expect every_family_was_verified every_family
expect both_shapes_were_measured measured
expect modelled_and_measured_order_compared correlates
echo "[==========] 9 test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
