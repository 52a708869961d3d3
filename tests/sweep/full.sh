#!/bin/sh
# full.sh -- the full sweep, by night: every variant of the named ops, in each storage type, on each target. Two shards at once.
#
#   full.sh RAGTUNE_SWEEP STATE SUMMARY [SECONDS]
#
# STATE.1 and STATE.2 know what was tried: the next night goes on from there, and what a changed template makes is tried anew. The
# outcome goes into SUMMARY (tests/sweep/last_full.txt), whatever it is: how far it got, and what is wrong.
# SECONDS (28,800 by default) bound it. Exit status: 0 all that was tried is right.
set -u
sweep=$1 state=$2 summary=$3 seconds=${4-28800}
here=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/sweep-full-XXXXXX") || exit 1
trap 'rm -r "$scratch"' EXIT
# what is swept, as it is now
tree=$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo 'no git')
[ -z "$(git -C "$here" status --porcelain -- templates generator runtime tests/ptxsim tests/sweep 2>/dev/null)" ] || tree="$tree, with changes"
"$sweep" full "$state.1" --shard 1/2 --budget "$seconds" --ragged 1 >"$scratch/1" 2>&1 &
"$sweep" full "$state.2" --shard 2/2 --budget "$seconds" --ragged 1 >"$scratch/2" 2>&1
status=$?
wait $! || status=1

{
  echo "full sweep: every variant of the named ops (tests/sweep/named_ops.h) in f32, f16 and bf16 on sm_80, sm_90 and sm_120, on ptxsim"
  echo "date      $(date -u +%Y-%m-%d)"
  echo "tree      $tree"
  echo "machine   $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1), $(nproc) cores"
  echo "command   sh tests/sweep/full.sh build/tests/sweep/ragtune_sweep STATE tests/sweep/last_full.txt $seconds"
  cat "$scratch/1" "$scratch/2" | awk '
    /^full shard / { for (i = 1; i <= NF; i++) { if ($i ~ /^rows,/) rows += $(i-1); if ($i ~ /^tried,/) tried += $(i-1);
                     if ($i ~ /^right,/) right += $(i-1); if ($i ~ /^failed,/) failed += $(i-1) } }
    END { printf "outcome   %d rows: %d tried so far, %d right, %d failed; %d not tried yet\n", rows, tried, right, failed, rows - tried }'
  echo
  cat "$scratch/1" "$scratch/2"
} >"$summary"
grep '^outcome' "$summary"
exit $status
