#!/bin/sh
# arrows.sh -- which part includes what: the arrows between the parts go one way.
#
#   arrows.sh ROOT               checks the tree at ROOT; 0: every arrow is right, 1: the wrong ones are named, one a line
#   arrows.sh --self-test ROOT   plants one violation after another in a copy of the tree; each must be found
#
# base <- generator, tunedb <- runtime <- cli. generator and tunedb know neither each other nor runtime; the CLI knows ragtune.h alone.
# manual (a tool of the build) knows the tables of options and of environment variables.
set -u
PARTS="runtime/base generator tunedb runtime runtime/cli manual"

# The C library and the kernel's own headers, by name: a library that is not listed is not included by accident.
LIBC='<(assert|ctype|cpuid|dirent|elf|errno|fcntl|float|getopt|glob|inttypes|libgen|limits|link|locale|math|poll|pthread|sched|signal|spawn|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|termios|time|unistd|wchar|sys/(file|ioctl|mman|random|resource|socket|stat|statfs|statvfs|time|types|vfs|wait))\.h>'

# sources PART -- its C files: those of the folder itself, not of the folders below it
sources() { find "$1" -maxdepth 1 -name '*.[ch]' | sort; }

# includes PART -- what its #include lines name: "FILE:LINE <x.h>" or "FILE:LINE "x.h"", one a line
includes() {
  grep -HnE '^[[:space:]]*#[[:space:]]*include' $(sources "$1") |
    sed -E 's/^([^:]+:[0-9]+):[[:space:]]*#[[:space:]]*include[[:space:]]*(<[^>]*>|"[^"]*"|.*).*/\1 \2/'
}

# check PART ALLOWED -- every include of the part's files must match the expression ALLOWED as a whole
check() { includes "$1" | grep -vE "^[^ ]+ ($2)\$" | sed "s|^\([^ ]*\) |\1: $1 may not include |"; }

# only PART EXPRESSION WHAT -- lines that match stand in files of this part alone
only() {
  for part in $PARTS; do
    [ "$part" = "$1" ] || grep -HnE "$2" $(sources "$part") | sed -E "s|^([^:]+:[0-9]+):.*|\1: only $1 may have $3|"
  done
}

# cli_own -- a bare name in quotes is one of the CLI's own headers
cli_own() {
  includes runtime/cli | sed -nE 's/^([^ ]+) "([^"\/]+)"$/\1 \2/p' | while read -r where name; do
    [ "$name" = ragtune.h ] || [ -f "runtime/cli/$name" ] || echo "$where: runtime/cli may not include \"$name\""
  done
}

check_tree() {
  cd "$1" || exit 2
  for part in $PARTS; do
    if [ "$(sources "$part" 2>/dev/null | grep -c .)" -lt 5 ]; then
      echo "$1: not the root of the tree: fewer than 5 C files in $part"
      return
    fi
  done
  base='"runtime/base/[a-z0-9_]+\.h"|"runtime/ragtune\.h"'
  check runtime/base "$base|$LIBC|<sha2\.h>"
  check generator "\"generator/[a-z0-9_]+\.h\"|$base|\"templates/lib/kargs\.h\"|$LIBC|<(lua|lualib|lauxlib)\.h>"
  check tunedb "\"tunedb/[a-z0-9_]+\.h\"|$base|$LIBC|<sqlite3\.h>"
  check runtime "\"(runtime|generator)/[a-z0-9_]+\.h\"|\"runtime/base/[a-z0-9_]+\.h\"|\"tunedb/tunedb(_local)?\.h\"|\"templates/[a-z0-9_/]+\.h\"|$LIBC|<dlfcn\.h>"
  check runtime/cli "\"[a-z0-9_]+\.h\"|\"runtime/ragtune\.h\"|\"runtime/cli/[a-z0-9_]+\.h\"|$LIBC|<jansson\.h>"
  check manual "\"manual/[a-z]+\.h\"|\"runtime/cli/option_table\.h\"|\"runtime/base/environment\.h\"|$LIBC"
  cli_own
  only generator 'include[[:space:]]*[<"](lua|lualib|lauxlib)\.h' "Lua's headers"
  only tunedb 'include[[:space:]]*[<"]sqlite3\.h' "SQLite's header"
  only runtime/cli 'include[[:space:]]*[<"]jansson\.h' "Jansson's header"
  only runtime '(^|[^A-Za-z0-9_])dlm?open[[:space:]]*\(' dlopen
  only runtime 'include[[:space:]]*[<"]dlfcn\.h' "dlfcn.h"
}

# ---- self-test -------------------------------------------------------------------------------------------------------------------

# plant FILE LINE MESSAGE -- adds the line to the copy's file; the check must name the file and say MESSAGE; then takes it away again
plant() {
  cp "$copy/$1" "$copy/kept"
  printf '%s\n' "$2" >>"$copy/$1"
  found=$(check_tree "$copy")
  mv "$copy/kept" "$copy/$1"
  case $found in
  "$1:"*"$3"*) ;;
  *)
    echo "self-test: \"$2\" in $1 was not found; the check said: ${found:-nothing}"
    failed=1
    ;;
  esac
}

self_test() {
  copy=$(mktemp -d) || exit 2
  trap 'rm -rf "$copy"' EXIT
  failed=0
  for part in $PARTS; do
    mkdir -p "$copy/$part"
    cp "$1/$part"/*.[ch] "$copy/$part/"
  done
  before=$(check_tree "$copy")
  if [ -n "$before" ]; then
    echo "$before"
    exit 1
  fi
  plant runtime/base/alloc.c '#include "generator/op.h"' 'runtime/base may not include'
  plant runtime/base/alloc.c '#include "runtime/device.h"' 'runtime/base may not include'
  plant generator/op.c '#include "tunedb/tunedb.h"' 'generator may not include'
  plant generator/op.c '#include "runtime/device.h"' 'generator may not include'
  plant generator/op.h '  #  include  <sqlite3.h>' 'generator may not include <sqlite3.h>'
  plant generator/op.c '#include "op.h"' 'generator may not include "op.h"'
  plant tunedb/open.c '#include "generator/op.h"' 'tunedb may not include'
  plant tunedb/open.c '#include "runtime/cli/cli.h"' 'tunedb may not include'
  plant tunedb/open.c '#include <lua.h>' 'tunedb may not include <lua.h>'
  plant runtime/tune.c '#include <lua.h>' 'runtime may not include <lua.h>'
  plant runtime/tune.c '#include <sqlite3.h>' 'runtime may not include <sqlite3.h>'
  plant runtime/tune.c '#include "runtime/cli/cli.h"' 'runtime may not include'
  plant runtime/tune.c '#include "tunedb/handle.h"' 'runtime may not include'
  plant runtime/tune.c '#include <cuda.h>' 'runtime may not include <cuda.h>'
  plant runtime/tune.c '#include HEADER' 'runtime may not include HEADER'
  plant runtime/cli/main.c '#include "runtime/context.h"' 'runtime/cli may not include'
  plant runtime/cli/main.c '#include "runtime/base/file.h"' 'runtime/cli may not include'
  plant runtime/cli/main.c '#include "context.h"' 'runtime/cli may not include "context.h"'
  plant runtime/cli/main.c '#include "../context.h"' 'runtime/cli may not include'
  plant manual/page.c '#include "runtime/context.h"' 'manual may not include'
  plant runtime/cli/main.c '#include "manual/manual.h"' 'runtime/cli may not include'
  plant generator/op.c '#include <dlfcn.h>' 'generator may not include <dlfcn.h>'
  plant tunedb/open.c 'static void *f(void) { return dlopen ("x", 1); }' 'only runtime may have dlopen'
  plant runtime/cli/main.c 'void *g = dlmopen(0, "x", 1);' 'only runtime may have dlopen'
  # what is right stays unmentioned
  printf '%s\n' '#include "runtime/ragtune.h"' '#include <sys/stat.h>' '/* dlopen is what runtime does */' >>"$copy/tunedb/open.c"
  after=$(check_tree "$copy")
  if [ -n "$after" ]; then
    echo "self-test: right lines were found wrong: $after"
    failed=1
  fi
  case $(check_tree "$copy/generator" 2>&1) in *"not the root"*) ;; *)
    echo "self-test: an empty tree passed"
    failed=1
    ;;
  esac
  exit $failed
}

case ${1-} in
--self-test) self_test "${2:?the root of the tree}" ;;
*)
  wrong=$(check_tree "${1:?the root of the tree}")
  if [ -n "$wrong" ]; then
    printf '%s\n' "$wrong"
    exit 1
  fi
  ;;
esac
