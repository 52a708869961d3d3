#!/bin/sh
# check.sh COMMAND SCRIPT -- the Slurm script with an sbatch that runs each job at once: what is submitted, one task that fails
# and is repeated, the merge.
set -eu
command=$1 script=$2
home=$(mktemp -d "${TMPDIR:-/tmp}/ragtune-slurm-XXXXXX")
trap 'rm -rf "$home"' EXIT
unset RAGTUNE_DEVICE RAGTUNE_DB RAGTUNE_SITE_DBS RAGTUNE_MODE RAGTUNE_BUNDLE RAGTUNE_CPU RAGTUNE_TEMPLATES
export HOME="$home" XDG_DATA_HOME="$home" XDG_CACHE_HOME="$home" RAGTUNE="$command" RAGTUNE_LIBCUDA=/nonexistent/libcuda.so.1

fail() {
  echo "$1" >&2
  cat "$home"/out/*.log >&2 2>/dev/null || :
  exit 1
}

cat >"$home/sbatch" <<'END'
#!/bin/sh
# Runs what it is given, as an array where one is asked for; a task that FAILS names ends before it begins. Says its number.
echo "$*" >>"$HOME/submitted"
array= output=
while case $1 in --*) ;; *) false ;; esac; do
  case $1 in
  --array=1-*) array=${1#--array=1-} ;;
  --output=*) output=${1#--output=} ;;
  --dependency=afterok:42) [ ! -f "$HOME/failed" ] || exit 0 ;;
  esac
  shift
done
[ -x "$1" ] || exit 1
if [ -z "$array" ]; then
  "$@" >"$output" 2>&1
  exit
fi
rm -f "$HOME/failed"
for i in $(seq "$array"); do
  log=$(echo "$output" | sed "s/%a/$i/")
  if [ "${FAILS:-}" = "$i" ] || ! SLURM_ARRAY_TASK_ID=$i "$@" >"$log" 2>&1; then touch "$HOME/failed"; fi
done
echo "42;cluster"
END
chmod 755 "$home/sbatch"
PATH=$home:$PATH

echo "return { ops = { { n_in = 4, n_out = 8, groups = { 2, 3 } } }, rows = { 4, 8 }, device = 'cpu' }" >"$home/fleet.lua"
echo "return { group_tiles = false, row_gather = { fused = { 0 }, lanes = { 8 }, vectors = { 4 } } }" >"$home/space.lua"
export RAGTUNE_ARGS="--space $home/space.lua --quiet"

FAILS=2 sh "$script" "$home/fleet.lua" "$home/out" 3 --time=10 --gres=gpu:1 >"$home/said"
[ ! -f "$home/out/tuned.db" ] || fail "merged although a task failed"
sh "$script" "$home/fleet.lua" "$home/out" 3 --time=10 --gres=gpu:1 >"$home/said"
grep -q -- '--array=1-3 .*--time=10 --gres=gpu:1 ' "$home/submitted" || fail "options were lost: $(cat "$home/submitted")"
[ -f "$home/out/tuned.db" ] || fail "there is no tuned.db"
for i in 1 2 3; do [ -f "$home/out/shard-$i-of-3.db" ] || fail "shard $i left no file"; done
n=$("$command" db list --db "$home/out/tuned.db" | grep -c 'linear:4-8:g[23]:f32:none:b1:nk:i64|')
[ "$n" = 4 ] || fail "$n of 4 signatures are there"
ls -d "$home"/out/merge.?????? 2>/dev/null && fail "the merge left a folder"

for wrong in 0 x -1 ''; do
  if sh "$script" "$home/fleet.lua" "$home/out" "$wrong" 2>"$home/said"; then fail "N = '$wrong' was taken"; fi
  [ "$(wc -l <"$home/said")" = 1 ] || fail "not one line: $(cat "$home/said")"
done
if sh "$script" "$home/none.lua" "$home/out" 2 2>"$home/said"; then fail "a missing config was taken"; fi
echo "the Slurm script: 3 tasks, one repeated, 4 signatures merged"
