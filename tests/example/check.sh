#!/bin/sh
# check.sh PROGRAM SOURCE_DIR -- the README's example: it is the file that is built here, and prints what the README says.
# Reports in cmocka's words, so that it is counted with the rest.
set -u
home=$(mktemp -d)
trap 'rm -r "$home"' EXIT
failed=0
say() { if [ "$1" = 0 ]; then echo "[       OK ] $2"; else echo "[  FAILED  ] $2"; failed=$((failed + 1)); fi; }

HOME=$home XDG_DATA_HOME='' XDG_CACHE_HOME='' "$1" >"$home/out"
say $? example_runs
diff "$2/tests/example/expected.txt" "$home/out"
say $? example_prints_the_right_values
# The README holds the program between ```c and ```; nothing in it may differ.
awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$2/README.md" >"$home/readme.c"
diff "$2/tests/example/three_mlps.c" "$home/readme.c"
say $? example_is_the_readme_s
echo "[  PASSED  ] $((3 - failed)) test(s)."
[ $failed = 0 ] || echo "[  FAILED  ] $failed test(s), listed above"
exit $failed
