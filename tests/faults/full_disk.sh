#!/bin/sh
# full_disk.sh -- the command on a file system that is really full: a tmpfs of so many kilobytes holds HOME, with the database and the
# code cache. Whatever the size, tuning ends with 0 or 3 and one line that says why, what was stored stays sound, and with room made
# the same command stores its result. Needs root for the mount, in a mount namespace of its own; else skipped.
#
#   full_disk.sh RAGTUNE
set -u
ragtune=$1

say_skipped() {
  echo "$1"
  echo '[  SKIPPED ] full_disk'
  echo '[  SKIPPED ] 1 test(s), listed below:'
  echo '[  SKIPPED ] full_disk'
  exit 0
}
if [ "${2:-}" != inside ]; then
  [ "$(id -u)" = 0 ] || say_skipped 'a small file system is mounted by root only'
  unshare -m true 2>/dev/null || say_skipped 'no mount namespace can be had here'
  exec unshare -m sh "$0" "$ragtune" inside
fi

place=$(mktemp -d "${TMPDIR:-/tmp}/ragtune-full-XXXXXX") || exit 1
trap 'umount "$place" 2>/dev/null; rmdir "$place"' EXIT
mount -t tmpfs -o size=1m none "$place" 2>/dev/null || { rmdir "$place"; trap - EXIT; say_skipped 'mounting is not allowed here'; }
umount "$place"
unset RAGTUNE_MODE RAGTUNE_TEMPLATES RAGTUNE_CC RAGTUNE_CPU RAGTUNE_THREADS RAGTUNE_DB RAGTUNE_CACHE XDG_DATA_HOME XDG_CACHE_HOME

printf 'return { row_gather = { lanes = { 4, 8 }, vectors = 4 }, group_tiles = false }\n' >"$place.lua"
tune() { "$ragtune" --in 4 --out 3 --groups 2 --rows 8 --device cpu --space "$place.lua" --quiet >"$place.out" 2>"$place.err"; }
bad() {
  echo "at $size KiB: $1"
  sed 's/^/    /' "$place.out" "$place.err"
  failed=$((failed + 1))
}

echo '[==========] Running 1 test(s).'
failed=0 tried=0 full=0
export HOME="$place"
for size in 0 16 48 96 128 200 384; do
  mount -t tmpfs -o "size=1m,mode=0700" none "$place" || { bad 'no mount'; break; }
  # filled but for so much: what a user meets is a disk that others filled
  dd if=/dev/zero of="$place/others" bs=1024 count=$((1024 - size)) 2>/dev/null
  tried=$((tried + 1))
  tune
  status=$?
  case $status in
  0) ;;
  3)
    full=$((full + 1))
    [ "$(grep -c '^ragtune: ' "$place.err")" -ge 1 ] || bad 'exit 3 without a word'
    ;;
  *) bad "exit $status" ;;
  esac
  rm "$place/others"
  "$ragtune" db check --db "$place/.local/share/ragtune/tuned.db" >"$place.out" 2>"$place.err" ||
    [ ! -s "$place/.local/share/ragtune/tuned.db" ] || bad 'the database is hurt'
  tune || bad "with room made: exit $?"
  "$ragtune" db list --db "$place/.local/share/ragtune/tuned.db" >"$place.out" 2>"$place.err" || bad 'nothing can be listed afterwards'
  grep -q row_gather "$place.out" || bad 'nothing is stored afterwards'
  [ -z "$(find "$place" -name '*.corrupt-*')" ] || bad 'a file was moved aside'
  umount "$place"
done
rm -f "$place.lua" "$place.out" "$place.err"
[ "$full" -gt 0 ] || { echo 'the disk was never full'; failed=1; }
if [ "$failed" = 0 ]; then
  printf 'fault\ta full disk under HOME, ragtune tune\t%d\t%d times exit 3 in words, %d times there was room enough; with room made always stored\n' \
    "$tried" "$full" $((tried - full))
  echo '[       OK ] full_disk'
  echo '[  PASSED  ] 1 test(s).'
  exit 0
fi
echo '[  FAILED  ] full_disk'
echo '[  FAILED  ] 1 test(s), listed below:'
echo '[  FAILED  ] full_disk'
exit 1
