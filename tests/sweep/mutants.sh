#!/bin/sh
# mutants.sh -- the sweep can fail: bugs are planted in a copy of the templates, one at a time, and each must be reported.
#
#   mutants.sh RAGTUNE_SWEEP SOURCE ROWS [WORD]    WORD: only those whose name holds it
#
# mutants.txt lists them. One whose expression changes nothing is a failure too: its line must follow the templates. Speaks
# cmocka's words, which .ci/count adds up.
set -u
sweep=$1 source=$2 rows=$3 word=${4-}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sweep-mutants-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
export RAGTUNE_CACHE="$scratch/cache"
mkdir -m 700 "$scratch/cache"

plant() { # FILES EXPRESSION: a copy of the templates with the bug; 1: the expression changes nothing
  rm -rf "$scratch/templates"
  cp -r "$source/templates" "$scratch/templates" || return 1
  for copy in "$scratch/templates"/$1; do sed -E -i "$2" "$copy"; done
  ! diff -qr "$source/templates" "$scratch/templates" >"$scratch/diff"
}

# A row of the family on each target in turn, until one is reported.
reported() { # FAMILY
  RAGTUNE_TEMPLATES="$scratch/templates" "$sweep" run "$rows" --family "$1" --stop >"$scratch/out" 2>&1
  [ $? -eq 1 ] && grep -qE '^(wrong|reported|crashed|timed out): ' "$scratch/out"
}

passed=0 failed=''
grep -v '^#' "$source/tests/sweep/mutants.txt" | grep "^[^|]*$word" >"$scratch/list"
echo "[==========] Running $(wc -l <"$scratch/list") test(s)."
while IFS='|' read -r name family file expression; do
  name=$(echo "$name" | tr -d ' ') family=$(echo "$family" | tr -d ' ') file=$(echo "$file" | tr -d ' ')
  expression=${expression# }
  why=
  plant "$file" "$expression" || why="its expression changes nothing in templates/$file"
  [ -n "$why" ] || reported "$family" || why='nothing is reported'
  if grep -q '^skipped: ' "$scratch/out" 2>/dev/null; then
    grep '^skipped: ' "$scratch/out"
    printf '[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] sweep_mutants\n'
    exit 0
  fi
  if [ -z "$why" ]; then
    echo "[       OK ] mutant_$name: $(grep -m 1 -E '^(wrong|reported|crashed|timed out): ' "$scratch/out" | cut -c 1-160)"
    passed=$((passed + 1))
  else
    echo "[  FAILED  ] mutant_$name: $why"
    [ -f "$scratch/out" ] && tail -5 "$scratch/out" | sed 's/^/    /'
    failed="$failed mutant_$name"
  fi
done <"$scratch/list"
echo "[  PASSED  ] $passed test(s)."
[ -z "$failed" ] && exit 0
echo "[  FAILED  ] $(echo "$failed" | wc -w) test(s), listed below:"
for name in $failed; do echo "[  FAILED  ] $name"; done
exit 1
