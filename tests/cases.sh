#!/bin/sh
# cases.sh -- every folder of tests/cases: all variants of the CPU and the built-in kernel against y.npy, and y as `run` writes it.
#
#   cases.sh RAGTUNE CASES CACHE [WORD]    WORD: only cases whose name holds it
#
# Says what it finds in cmocka's words, which .ci/count adds up. Each op's whole space is compiled, so two cases run at a time,
# and CACHE keeps the code for the next run, of another build too.
set -u
ragtune=$1 cases=$2 cache=$3 word=${4-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ragtune-cases-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export HOME="$scratch" RAGTUNE_DEVICE=cpu RAGTUNE_CACHE="$cache" RAGTUNE_DB=:memory:
unset RAGTUNE_MODE RAGTUNE_TEMPLATES RAGTUNE_CC RAGTUNE_CPU RAGTUNE_THREADS XDG_DATA_HOME XDG_CACHE_HOME
mkdir -p "$cache" && chmod 700 "$cache" || exit 1

# numbers FILE TYPE: the elements of an .npy of version 1, one a line. Its header's length is the 16-bit number at byte 8.
numbers() {
  od -An -v -w"${2#f}" -t "$2" -j $((10 + $(od -An -t u2 -j 8 -N 2 "$1"))) "$1"
}

# y as `run` writes it: as many elements, and each as in y.npy -- the float nearest to it where every value of the case is exact, else
# within 1e-5 of the largest |y|: the verdicts above are the judges of accuracy, this one of files, strides and order.
compare() { # Y CASE
  numbers "$1" f4 >"$1.got" && numbers "$2/y.npy" f8 >"$1.want" || return 1
  exact=0
  head -1 "$2/problem.txt" | grep -qw 'exact=1' && exact=1
  paste "$1.got" "$1.want" | awk -v exact=$exact '
    function magnitude(v) { return v < 0 ? -v : v }
    { got[NR] = $1; want[NR] = $2; n = NF; if (magnitude($2) > most) most = magnitude($2) }
    n != 2 { print "y has another number of elements"; bad = 1; exit }
    END {
      if (bad) exit 1
      for (i = 1; i <= NR; i++) {
        bound = exact ? 1e-7 * magnitude(want[i]) : 1e-5 * most
        if (!(magnitude(got[i] - want[i]) <= bound)) { print "element " i - 1 " is " got[i] ", not " want[i]; exit 1 }
      }
    }'
}

verify_case() { # NAME
  "$ragtune" verify --case "$cases/$1" >"$scratch/$1.verify" 2>&1 || return 1
  grep -q '^right .* builtin$' "$scratch/$1.verify" || return 1
  tail -1 "$scratch/$1.verify" |
    awk '/^[0-9]+ variants: [0-9]+ right, 0 wrong, [0-9]+ infeasible, 0 compile errors$/ && $3 >= 10 { ok = 1 } END { exit !ok }'
}

run_case() { # NAME
  "$ragtune" run --case "$cases/$1" --y "$scratch/$1.npy" >"$scratch/$1.run" 2>&1 || return 1
  compare "$scratch/$1.npy" "$cases/$1" >>"$scratch/$1.run"
}

both() { # NAME: files NAME.verify.ok and NAME.run.ok say what went well
  verify_case "$1" && : >"$scratch/$1.verify.ok"
  run_case "$1" && : >"$scratch/$1.run.ok"
}

names='' n=0
for folder in "$cases"/*"$word"*/; do
  [ -f "$folder/problem.txt" ] && names="$names $(basename "$folder")" && n=$((n + 2))
done
[ "$n" -gt 0 ] || { echo "$cases holds no case" >&2; exit 1; }

echo "[==========] Running $n test(s)."
passed=0 failed='' second=''
for name in $names; do
  both "$name" &
  [ -n "$second" ] && wait && second='' || second=1
done
wait
for name in $names; do
  for part in verify run; do
    if [ -f "$scratch/$name.$part.ok" ]; then
      echo "[       OK ] case_${name}_$part"
      passed=$((passed + 1))
    else
      sed 's/^/    /' "$scratch/$name.$part" | grep -v '^    right ' || true
      echo "[  FAILED  ] case_${name}_$part"
      failed="$failed case_${name}_$part"
    fi
  done
done
echo "[==========] $n test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
