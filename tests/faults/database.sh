#!/bin/sh
# database.sh -- the table "fault, how often, what was lost, the command that repeats it" of the tuned database and the code cache, from
# what the tests print.
#
#   database.sh BUILD    runs the programs in BUILD/tests (FAULTS=all in the environment: many more rounds, some minutes)
#
# A line of a test is fault<TAB>what was done<TAB>how often<TAB>what happened. Each of them is checked by the test that prints it, so
# that what is in the table lost nothing. Exit status: 1 where a program failed.
set -u
build=${1:?the build folder}
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
failed=0
all=${FAULTS:+FAULTS=$FAULTS }

rows() { # NAME COMMAND...: the rows of one program; the command as a reader types it
  name=$1
  shift
  "$@" >"$log" 2>&1 || { echo "database.sh: $name failed" >&2; failed=1; }
  sed -n "s|^\([0-9]*: \)\{0,1\}fault\t\([^\t]*\)\t\([^\t]*\)\t\(.*\)\$|\| \2 \| \3 \| \4 \| nothing \| \`$all$name\` \||p" "$log"
}

echo '| fault | how often | what was done | lost | repeat it with |'
echo '|---|---:|---|---|---|'
for test in tunedb_test_share tunedb_test_claim faults_test_tuners faults_test_homes runtime_test_flight runtime_test_gc faults_test_files; do
  rows "build/tests/$test" "$build/tests/$test"
done
rows 'sh tests/faults/full_disk.sh build/ragtune' sh "$(dirname "$0")/full_disk.sh" "$build/ragtune"
exit $failed
