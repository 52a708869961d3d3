#!/bin/sh
# fetch-nvrtc.sh -- puts NVRTC, the CUDA run-time compiler, where RagTune finds it, on a machine without the CUDA toolkit.
#
#   tools/fetch-nvrtc.sh [--force]
#
# Downloads the wheel nvidia-cuda-nvrtc (about 60 MB) from the Python package index and keeps its two libraries in
# ${XDG_CACHE_HOME:-$HOME/.cache}/ragtune/nvrtc. Does nothing where NVRTC is found already; --force fetches all the same.
# Prints one line. Exit status: 0 done or present, 2 usage, 3 could not be downloaded or written.
set -u

package='nvidia-cuda-nvrtc>=13,<14'
place="${XDG_CACHE_HOME:-${HOME:?fetch-nvrtc: neither XDG_CACHE_HOME nor HOME is set}/.cache}/ragtune/nvrtc"

say() { printf 'fetch-nvrtc: %s\n' "$1"; }
fail() {
  printf 'fetch-nvrtc: %s\n' "$1" >&2
  exit 3
}

# The first NVRTC that RagTune would find, in its order.
present() {
  if [ -n "${RAGTUNE_LIBNVRTC:-}" ]; then
    [ -e "$RAGTUNE_LIBNVRTC" ] && printf '%s\n' "$RAGTUNE_LIBNVRTC"
    return
  fi
  by_loader=$({ ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null | sed -n 's/^[[:space:]]*libnvrtc\.so.* => //p' | head -n 1)
  for file in "$by_loader" /usr/local/cuda*/lib64/libnvrtc.so* /usr/lib/*-linux-gnu/libnvrtc.so* "$place"/libnvrtc.so*; do
    if [ -n "$file" ] && [ -e "$file" ]; then
      printf '%s\n' "$file"
      return
    fi
  done
}

force=0
case "$#:${1:-}" in
0:) ;;
1:--force) force=1 ;;
*)
  echo 'usage: tools/fetch-nvrtc.sh [--force]' >&2
  exit 2
  ;;
esac

found=$(present)
if [ -n "$found" ] && [ "$force" = 0 ]; then
  say "present already: $found"
  exit 0
fi
command -v python3 >/dev/null || fail 'python3 is needed to download and unpack the wheel'
mkdir -p "$(dirname "$place")" || fail "cannot make $(dirname "$place")"
work=$(mktemp -d "$place.XXXXXX") || fail "cannot write beside $place" # same file system: the last step is a rename
trap 'rm -rf "$work"' EXIT
trap 'exit 3' HUP INT TERM

python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$work" "$package" \
  >"$work/log" 2>&1 || fail "could not download $package with pip (offline?): $(grep -v '^$' "$work/log" | tail -n 1)"
python3 -m zipfile -e "$work"/*.whl "$work/wheel" >"$work/log" 2>&1 || fail 'the wheel could not be unpacked'
mkdir "$work/new" || fail "cannot write in $work"
find "$work/wheel" -name 'libnvrtc*.so*' ! -name '*.alt.so*' -exec mv {} "$work/new/" \;
for need in libnvrtc.so libnvrtc-builtins.so; do
  [ -n "$(find "$work/new" -name "$need*")" ] || fail "the wheel holds no $need"
done
chmod 755 "$work/new" "$work"/new/*
rm -rf "$place"
mv "$work/new" "$place" || fail "cannot write $place"
say "put $(basename "$work"/*.whl) into $place"
