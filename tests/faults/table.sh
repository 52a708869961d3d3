#!/bin/sh
# table.sh -- the table "what was broken on purpose, how often, what happened", from what the tests print.
#
#   table.sh PROGRAM...    runs the programs (FAULTS=all in the environment: everything, many minutes)
#   table.sh --logs LOG... reads logs of them, those of `ctest -V` too
#
# A line of a test is fault<TAB>what was done<TAB>how often<TAB>what happened. Exit status: 1 where a program failed.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
if [ "${1:-}" = --logs ]; then
  shift
  cat "$@" >"$log"
else
  for program in "$@"; do
    "$program" >>"$log" 2>&1 || { echo "table.sh: $program failed" >&2; failed=1; }
  done
fi
echo '| what was broken on purpose | how often | what happened |'
echo '|---|---:|---|'
sed -n 's/^\([0-9]*: \)\{0,1\}fault\t\([^\t]*\)\t\([^\t]*\)\t\(.*\)$/| \2 | \3 | \4 |/p' "$log"
exit $failed
