#!/bin/sh
# check.sh CMAKE BUILD SOURCE CC CXX FLAGS -- installs BUILD into a prefix, moves it, and builds and runs somebody else's project with what
# is there: by CMake and by pkg-config, shared and static, C and C++. Then what was installed: its symbols, paths, parts. FLAGS: of a
# sanitized build. Reports in cmocka's words.
set -u
cmake=$1 build=$2 source=$3 cc=$4 cxx=$5 flags=$6
passed=0 failed=0
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
say() { # STATUS NAME
  if [ "$1" = 0 ]; then echo "[       OK ] $2"; passed=$((passed + 1)); else echo "[  FAILED  ] $2"; failed=$((failed + 1)); fi
}
export HOME="$scratch/home" ASAN_OPTIONS="${ASAN_OPTIONS:-}"
mkdir "$HOME"
unset XDG_DATA_HOME XDG_CACHE_HOME RAGTUNE_DB RAGTUNE_CACHE RAGTUNE_MODE RAGTUNE_CC RAGTUNE_CPU RAGTUNE_DEVICE RAGTUNE_THREADS
unset RAGTUNE_TEMPLATES RAGTUNE_BUNDLE RAGTUNE_WORKER CMAKE_PREFIX_PATH PKG_CONFIG_PATH LD_LIBRARY_PATH

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" 2>&1 || tail -n 5 "$scratch/log"
mv "$scratch/first" "$scratch/prefix" # what is installed can be moved
prefix=$scratch/prefix
lib=$(find "$prefix" -name libragtune.a -exec dirname {} \;)
for file in bin/ragtune libexec/ragtune/ragtune-worker include/ragtune.h share/man/man1/ragtune.1 share/bash-completion/completions/ragtune \
  share/zsh/site-functions/_ragtune share/fish/vendor_completions.d/ragtune.fish; do
  [ -f "$prefix/$file" ] || echo "missing: $file"
done >"$scratch/missing"
for file in libragtune.a libragtune.so pkgconfig/ragtune.pc cmake/ragtune/ragtuneConfig.cmake \
  cmake/ragtune/ragtuneConfigVersion.cmake cmake/ragtune/ragtuneTargets.cmake; do
  [ -f "$lib/$file" ] || echo "missing: $file"
done >>"$scratch/missing"
cat "$scratch/missing"
[ ! -s "$scratch/missing" ]
say $? consumer_everything_is_installed

DESTDIR="$scratch/stage" "$cmake" --install "$build" --prefix /opt/ragtune >"$scratch/log" 2>&1 && [ -x "$scratch/stage/opt/ragtune/bin/ragtune" ]
say $? consumer_destdir_is_honoured

# works NAME PROGRAM: it prints what the README says
works() {
  "$2" >"$scratch/out" 2>"$scratch/err" && diff "$source/tests/example/expected.txt" "$scratch/out"
  status=$?
  cat "$scratch/err"
  say $status "$1"
}

example=$source/tests/example/three_mlps.c
"$cmake" -S "$source/tests/consumer" -B "$scratch/by-cmake" -DSOURCE="$example" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_CXX_COMPILER="$cxx" "-DCMAKE_C_FLAGS=$flags" "-DCMAKE_CXX_FLAGS=$flags" >"$scratch/log" 2>&1 &&
  "$cmake" --build "$scratch/by-cmake" >>"$scratch/log" 2>&1 || tail -n 20 "$scratch/log"
for program in c_ragtune cpp_ragtune c_shared cpp_shared c_static cpp_static; do works consumer_cmake_$program "$scratch/by-cmake/$program"; done

mkdir "$scratch/by-pkg-config"
PKG_CONFIG_PATH="$lib/pkgconfig" make -f "$source/tests/consumer/Makefile" SOURCE="$example" OUT="$scratch/by-pkg-config" CC="$cc" CXX="$cxx" \
  FLAGS="$flags" >"$scratch/log" 2>&1 || tail -n 20 "$scratch/log"
for program in c_static cpp_static; do works consumer_pkg_config_$program "$scratch/by-pkg-config/$program"; done
for program in c_shared cpp_shared; do
  LD_LIBRARY_PATH="$lib"
  export LD_LIBRARY_PATH
  works consumer_pkg_config_$program "$scratch/by-pkg-config/$program"
  unset LD_LIBRARY_PATH
done

# shared means shared: only those programs ask the loader for the library, and by its versioned name
needs() { readelf -d "$1" | grep -q 'NEEDED.*\[libragtune\.so\.0\]'; }
needs "$scratch/by-cmake/c_shared" && needs "$scratch/by-pkg-config/c_shared" && ! needs "$scratch/by-cmake/c_static" &&
  ! needs "$scratch/by-pkg-config/c_static" && readelf -d "$lib/libragtune.so" | grep -q 'SONAME.*\[libragtune\.so\.0\]'
say $? consumer_shared_and_static_are_what_they_say

# What the shared library exports is what the header declares, no more, no less.
sed -nE 's/^RGT_API [^(]*[ *](rgt_[a-z0-9_]+)\(.*/\1/p' "$prefix/include/ragtune.h" | sort -u >"$scratch/declared"
nm -D --defined-only "$lib/libragtune.so" | awk '{ print $NF }' | grep -v '^__odr_asan' | sort -u >"$scratch/exported"
[ "$(wc -l <"$scratch/declared")" -gt 30 ] && diff "$scratch/declared" "$scratch/exported"
say $? consumer_exports_are_the_header_s

# Folders of the machine that built it; those of an install of its own stand in no file either. A sanitizer names sources by
# their paths, in code that nobody installs.
if [ -z "$flags" ]; then
  grep -rlF -e "$source" -e "$build" -e "$scratch" "$prefix" >"$scratch/found"
  cat "$scratch/found"
  [ ! -s "$scratch/found" ]
  say $? consumer_no_path_of_the_build
fi

"$prefix/bin/ragtune" run --case "$source/tests/cases/question_mlp" --device cpu --y "$scratch/y.npy" >"$scratch/out" 2>&1 && [ -s "$scratch/y.npy" ] ||
  { cat "$scratch/out"; false; }
say $? consumer_the_command_runs

# Tuning in the tree that was moved finds its worker there: no other one is near, and none is named.
tune() { "$prefix/bin/ragtune" tune --in 4 --out 4 --groups 2 --rows 8 --device cpu --space "$scratch/space.lua" --quiet >"$scratch/out" 2>&1; }
echo 'return { row_gather = { fused = 0, lanes = 4 }, group_tiles = false }' >"$scratch/space.lua"
tune || { cat "$scratch/out"; false; }
say $? consumer_the_worker_is_found
mv "$prefix/libexec/ragtune/ragtune-worker" "$prefix/libexec/ragtune/away"
rm -r "$HOME/.local"
tune
[ $? = 3 ] && grep -q "no worker to run candidates in: .*$prefix/bin/../libexec/ragtune/ragtune-worker" "$scratch/out" || { cat "$scratch/out"; false; }
say $? consumer_a_missing_worker_is_named

echo "[  PASSED  ] $passed test(s)."
[ $failed = 0 ] || echo "[  FAILED  ] $failed test(s), listed above"
[ $failed = 0 ]
