#!/bin/sh
# cases.sh -- every folder of tests/cases in every storage type: the CPU's variants and the built-in kernel against the case,
# and y as `run` writes it.
#
#   cases.sh RAGTUNE CASES CACHE [WORD]    WORD: only cases whose name holds it
#
# Says what it finds in cmocka's words, which .ci/count adds up. Each op's whole space is compiled in f32; in 16 bits that of
# question_mlp (nk) and question_linear (kn), and a seeded sample elsewhere. Two run at a time, and CACHE keeps the code for the
# next run, of another build too.
set -u
ragtune=$1 cases=$2 cache=$3 word=${4-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ragtune-cases-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export HOME="$scratch" RAGTUNE_DEVICE=cpu RAGTUNE_CACHE="$cache" RAGTUNE_DB=:memory:
unset RAGTUNE_MODE RAGTUNE_TEMPLATES RAGTUNE_CC RAGTUNE_CPU RAGTUNE_THREADS XDG_DATA_HOME XDG_CACHE_HOME
mkdir -p "$cache" && chmod 700 "$cache" || exit 1

# numbers FILE TYPE: the elements of an .npy of version 1, one a line. Its header's length is the 16-bit number at byte 8.
numbers() {
  case $2 in f4 | f8) type=$2 ;; *) type=u2 ;; esac
  od -An -v -w"${type#[fu]}" -t "$type" -j $((10 + $(od -An -t u2 -j 8 -N 2 "$1"))) "$1"
}

# y as `run` writes it: as many elements, and each as in y.npy, rounded to the type where every value of the case is exact. Else
# within 1e-5 of the largest |y|, or the type's rounding 16 times, since the inputs are rounded too: the verdicts are the judges
# of accuracy, this one of files, strides and order.
compare() { # Y CASE TYPE
  numbers "$1" "$3" >"$1.got" && numbers "$2/y.npy" f8 >"$1.want" || return 1
  exact=0
  head -1 "$2/problem.txt" | grep -qw 'exact=1' && exact=1
  paste "$1.got" "$1.want" | awk -v exact=$exact -v type="$3" '
    function magnitude(v) { return v < 0 ? -v : v }
    function value(bits,    n_fraction, bias, sign, exponent, fraction) { # of a 16-bit type; NaN and Inf give what no y is
      if (type == "f4") return bits
      n_fraction = type == "f16" ? 10 : 7
      bias = type == "f16" ? 15 : 127
      sign = bits >= 32768 ? -1 : 1
      bits %= 32768
      exponent = int(bits / 2 ^ n_fraction)
      fraction = bits % 2 ^ n_fraction
      if (exponent == 2 * bias + 1) return 1e99
      return sign * (exponent ? fraction + 2 ^ n_fraction : fraction) * 2 ^ ((exponent ? exponent : 1) - bias - n_fraction)
    }
    BEGIN { u = type == "f4" ? 2 ^ -24 : type == "f16" ? 2 ^ -11 : 2 ^ -8 }
    { got[NR] = value($1); want[NR] = $2; n = NF; if (magnitude($2) > most) most = magnitude($2) }
    n != 2 { print "y has another number of elements"; bad = 1; exit }
    END {
      if (bad) exit 1
      for (i = 1; i <= NR; i++) {
        bound = exact ? u * magnitude(want[i]) : (type == "f4" ? 1e-5 : 16 * u) * most
        if (!(magnitude(got[i] - want[i]) <= bound)) { print "element " i - 1 " is " got[i] ", not " want[i]; exit 1 }
      }
    }'
}

verify_case() { # NAME TYPE
  least=10 sample=
  case $2,$1 in f32,* | *,question_mlp | *,question_linear) ;; *) least=4 sample="--sample 4 --seed $(echo "$2$1" | cksum | cut -d' ' -f1)" ;; esac
  "$ragtune" verify --case "$cases/$1" --dtype "$2" $sample >"$scratch/$1.$2.verify" 2>&1 || return 1
  grep -q '^right .* builtin$' "$scratch/$1.$2.verify" || return 1
  tail -1 "$scratch/$1.$2.verify" | awk -v least=$least '
    /^[0-9]+ variants: [0-9]+ right, 0 wrong, [0-9]+ infeasible, 0 compile errors$/ && $3 >= least { ok = 1 }
    END { exit !ok }'
}

run_case() { # NAME TYPE
  y=$scratch/$1.$2.npy
  "$ragtune" run --case "$cases/$1" --dtype "$2" --y "$y" >"$scratch/$1.$2.run" 2>&1 || return 1
  case $2 in f32) type=f4 ;; *) type=$2 ;; esac
  compare "$y" "$cases/$1" $type >>"$scratch/$1.$2.run"
}

both() { # NAME TYPE: files NAME.TYPE.verify.ok and NAME.TYPE.run.ok say what went well
  verify_case "$1" "$2" && : >"$scratch/$1.$2.verify.ok"
  run_case "$1" "$2" && : >"$scratch/$1.$2.run.ok"
}

names='' n=0
for folder in "$cases"/*"$word"*/; do
  [ -f "$folder/problem.txt" ] && names="$names $(basename "$folder")" && n=$((n + 6))
done
[ "$n" -gt 0 ] || { echo "$cases holds no case" >&2; exit 1; }

echo "[==========] Running $n test(s)."
passed=0 failed='' second=''
for type in f32 f16 bf16; do
  for name in $names; do
    both "$name" $type &
    [ -n "$second" ] && wait && second='' || second=1
  done
done
wait
for name in $names; do
  for part in f32.verify f32.run f16.verify f16.run bf16.verify bf16.run; do
    test=case_${name}_$(echo $part | tr . _)
    if [ -f "$scratch/$name.$part.ok" ]; then
      echo "[       OK ] $test"
      passed=$((passed + 1))
    else
      sed 's/^/    /' "$scratch/$name.$part" | grep -v '^    right ' || true
      echo "[  FAILED  ] $test"
      failed="$failed $test"
    fi
  done
done
echo "[==========] $n test(s) run."
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
