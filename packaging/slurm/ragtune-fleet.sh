#!/bin/sh
# ragtune-fleet.sh -- tunes the ops of a config file on many machines: a Slurm array of shards, then one job that merges.
#
#     sh ragtune-fleet.sh FLEET.lua DIR N [sbatch options...]
#
# FLEET.lua is a config as `ragtune tune --config` takes it, DIR a folder that every node sees, N the number of array tasks.
# What stands behind N goes to sbatch for the tasks, such as --gres=gpu:1 --exclusive --time=2:00:00. Nodes should be of one
# kind: a time holds for the class of device that it was measured on.
#
# Task i of 1 .. N tunes the signatures of shard i/N into DIR/shard-i-of-N.db, which nobody else writes; its output is in
# DIR/shard-i-of-N.log. What it has stored stays, however it ends: after a failure or a time limit give the same command again,
# and it goes on from there. When all tasks have ended well, a last job merges their files into DIR/tuned.db, checks that, and
# lists it (DIR/merge.log); it can be copied to where RAGTUNE_SITE_DBS points.
#
# Without Slurm any launcher does the same, one process for each i:
#     ragtune tune --config FLEET.lua --shard i/N --db shard-i-of-N.db
#     ragtune db merge shard-*-of-N.db --db tuned.db
#
# RAGTUNE names the command where it is not in PATH; RAGTUNE_ARGS holds more words for tune. A budget is each task's own.
set -eu

fail() {
  echo "ragtune-fleet.sh: $1" >&2
  exit 2
}

# The batch shell becomes the command, so that the signal before a time limit ends its search in good order.
tune() {
  # shellcheck disable=SC2086
  exec "$ragtune" tune --config "$fleet" --shard "$SLURM_ARRAY_TASK_ID/$n" --db "$dir/shard-$SLURM_ARRAY_TASK_ID-of-$n.db" ${RAGTUNE_ARGS:-}
}

# Into a new file, which replaces the last one when it is whole.
merge() {
  work=$(mktemp -d "$dir/merge.XXXXXX")
  trap 'rm -f "$work"/new.db*; rmdir "$work"' EXIT
  "$ragtune" db merge "$dir"/shard-*-of-"$n".db --db "$work/new.db"
  "$ragtune" db check --db "$work/new.db"
  "$ragtune" db export "$dir/tuned.db" --db "$work/new.db"
  "$ragtune" db list --db "$dir/tuned.db"
}

submit() {
  case $n in *[!0-9]* | '' | 0*) fail "N is '$n'; it should be a whole number from 1 on" ;; esac
  [ -r "$fleet" ] || fail "$fleet cannot be read"
  mkdir -p "$dir"
  array=$(sbatch --parsable --array="1-$n" --signal=B:INT@60 --job-name=ragtune-tune --output="$dir/shard-%a-of-$n.log" "$@" \
    "$self" --task tune "$fleet" "$dir" "$n")
  sbatch --dependency="afterok:${array%%;*}" --job-name=ragtune-merge --output="$dir/merge.log" \
    "$self" --task merge "$fleet" "$dir" "$n"
}

ragtune=${RAGTUNE:-ragtune}
task=submit
if [ "${1:-}" = --task ]; then
  task=$2
  shift 2
fi
[ $# -ge 3 ] || fail "usage: sh ragtune-fleet.sh FLEET.lua DIR N [sbatch options...]"
self=$(realpath "$0") fleet=$(realpath "$1") dir=$(realpath -m "$2") n=$3
shift 3
"$task" "$@"
