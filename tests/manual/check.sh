#!/bin/bash
# check.sh RAGTUNE MANUAL -- the man page and the completions in the folder MANUAL: every option of every verb that --help lists, every
# variable that `ragtune env` lists; and each file is what its reader takes. Reports in cmocka's words.
set -u
ragtune=$1 manual=$2
passed=0 failed=0 skipped=0
home=$(mktemp -d)
trap 'rm -r "$home"' EXIT
export HOME=$home XDG_CONFIG_HOME=$home XDG_DATA_HOME=$home XDG_CACHE_HOME=$home
say() { # STATUS NAME
  if [ "$1" = 0 ]; then echo "[       OK ] $2"; passed=$((passed + 1)); else echo "[  FAILED  ] $2"; failed=$((failed + 1)); fi
}
skip() { # NAME WHY
  echo "$2"
  echo "[  SKIPPED ] $1"
  skipped=$((skipped + 1))
}

verbs=$("$ragtune" --help | sed -n 's/^  ragtune \[\{0,1\}\([a-z]*\).*/\1/p')
options_of() { "$ragtune" "$1" --help | sed -nE 's/^  (--[a-z0-9-]+|-[a-z])( .*|$)/\1/p'; }

# Of the man page the part about a verb, with what holds for every verb that takes an op, as text without roff's marks.
section_of() {
  awk -v verb="$1" '/^\.SH / { inside = /^\.SH THE OP/ } /^\.SS / { inside = $2 == verb } inside' "$manual/ragtune.1" |
    sed -e 's/\\f[BIR]//g' -e 's/\\-/-/g'
}

# missing FINDER -- "verb option" for all of --help that FINDER VERB (a list, one a line) lacks
missing() {
  for verb in $verbs; do
    "$1" "$verb" | sort -u >"$home/found"
    options_of "$verb" | sort -u | comm -23 - "$home/found" | sed "s/^/$1 lacks: $verb /"
  done
}
in_page() { section_of "$1" | awk '{ print $1 }' | grep -E '^-'; }
in_bash() {
  bash --norc -c 'source "$1"; COMP_WORDS=(ragtune "$2" -); COMP_CWORD=2; _ragtune; printf "%s\n" "${COMPREPLY[@]}"' - "$manual/ragtune.bash" "$1"
}
in_zsh() { awk -v verb="$1" '$0 ~ "^  " verb "\\)$" { inside = 1; next } /^    ;;/ { inside = 0 } inside' "$manual/_ragtune" | sed -nE "s/^ *'(-[a-z0-9-]+)\[.*/\1/p"; }
in_fish() {
  grep -E "^complete -c ragtune -n '([^']* )?__fish_seen_subcommand_from [^']*'" "$manual/ragtune.fish" |
    awk -v verb="$1" '
      { split($0, part, "\047"); says = part[2]; negated = says ~ /^not /
        if (negated ? verb == "tune" : says == "__fish_seen_subcommand_from " verb) print }' |
    sed -nE "s/.*' -l ([a-z0-9-]+) .*/--\1/p; s/.*' -s ([a-z]) .*/-\1/p; s/.*' -l ([a-z0-9-]+)$/--\1/p"
}

[ "$(echo "$verbs" | grep -c .)" -ge 8 ] && [ "$(options_of tune | grep -c .)" -gt 20 ]
say $? manual_help_is_understood
for kind in page bash zsh fish; do
  missing in_$kind >"$home/missing"
  cat "$home/missing"
  [ ! -s "$home/missing" ]
  say $? manual_${kind}_has_every_option
done

"$ragtune" env --json | tr -d '\n' | tr '{' '\n' | sed -nE 's/.*"section": "environment", *"name": "([A-Z_0-9]+)".*/\1/p' | sort >"$home/variables"
sed -nE 's/^\.B ([A-Z_0-9]+)$/\1/p' "$manual/ragtune.1" | sort >"$home/found"
[ "$(wc -l <"$home/variables")" -gt 10 ] && comm -23 "$home/variables" "$home/found" >"$home/missing" && cat "$home/missing" && [ ! -s "$home/missing" ]
say $? manual_page_has_every_variable

wanted='NAME SYNOPSIS DESCRIPTION VERBS EXIT ENVIRONMENT FILES EXAMPLES'
for section in $wanted; do grep -q "^\.SH $section" "$manual/ragtune.1" || echo "no section $section"; done >"$home/missing"
cat "$home/missing"
[ ! -s "$home/missing" ]
say $? manual_page_has_its_sections

if command -v mandoc >/dev/null; then
  mandoc -T lint "$manual/ragtune.1" | tee "$home/lint"
  [ ! -s "$home/lint" ]
  say $? manual_page_passes_lint
else
  skip manual_page_passes_lint 'mandoc is not installed'
fi
if command -v groff >/dev/null; then
  groff -man -ww -z -Tascii "$manual/ragtune.1" >"$home/lint" 2>&1
  cat "$home/lint"
  [ ! -s "$home/lint" ]
  say $? manual_page_passes_groff
fi

bash -n "$manual/ragtune.bash"
say $? manual_bash_is_bash
complete_bash() {
  bash --norc -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ragtune; echo "${COMPREPLY[*]}"' - "$manual/ragtune.bash" "$@"
}
: >"$home/a-file"
[ "$(complete_bash ragtune run --dtype b)" = bf16 ] && [ "$(complete_bash ragtune ver)" = verify ] &&
  [ "$(complete_bash ragtune db re)" = rebuild ] && [ "$(complete_bash ragtune db me)" = merge ] && [ "$(complete_bash ragtune --device = cu)" = 'cuda cuda:0' ] &&
  [ "$(cd "$home" && complete_bash ragtune show -o a-)" = a-file ] && [ -z "$(complete_bash ragtune run --groups '')" ]
say $? manual_bash_completes

if command -v zsh >/dev/null; then
  zsh -n "$manual/_ragtune"
  say $? manual_zsh_is_zsh
else
  skip manual_zsh_is_zsh 'zsh is not installed'
fi
if command -v fish >/dev/null; then
  fish --no-execute "$manual/ragtune.fish"
  say $? manual_fish_is_fish
  complete_fish() { fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$manual/ragtune.fish" "$1" | cut -f1 | sort | tr '\n' ' '; }
  [ "$(complete_fish 'ragtune run --dtype ')" = 'bf16 f16 f32 ' ] && [ "$(complete_fish 'ragtune ver')" = 'verify ' ] &&
    [ "$(complete_fish 'ragtune db ')" = 'ban check export gc import list merge misses pin rebuild ' ] && [ "$(complete_fish 'ragtune compile --targ')" = '--target ' ]
  say $? manual_fish_completes
else
  skip manual_fish_is_fish 'fish is not installed'
  skip manual_fish_completes 'fish is not installed'
fi

echo "[  PASSED  ] $passed test(s)."
[ $skipped = 0 ] || echo "[  SKIPPED ] $skipped test(s), listed above"
[ $failed = 0 ] || echo "[  FAILED  ] $failed test(s), listed above"
[ $failed = 0 ]
