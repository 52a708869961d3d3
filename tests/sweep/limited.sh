#!/bin/sh
# limited.sh -- too few compiles for a covering array: the pairs that are left out are named, and that is a failure.
#
#   limited.sh RAGTUNE_SWEEP
set -u
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sweep-limited-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
"$1" array "$scratch/rows" --family row_gather --limit 80 >"$scratch/out" 2>&1
status=$?
if [ $status -eq 1 ] && grep -q '^not covered: [a-z_]*=.* with ' "$scratch/out" && [ "$(grep -vc '^#' "$scratch/rows")" -gt 40 ]; then
  echo '[  PASSED  ] 1 test(s).'
  exit 0
fi
sed 's/^/    /' "$scratch/out"
printf '[  FAILED  ] 1 test(s), listed below:\n[  FAILED  ] sweep_array_limited\n'
exit 1
