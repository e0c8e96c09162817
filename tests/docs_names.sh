#!/bin/sh
# The source files and the functions that the documents name are in the tree, and no words of the
# manual page run together; quoted messages exist.
#   docs_names.sh SOURCE
set -eu
cd "$1"
failed=0
list=$(mktemp)
missing=$(mktemp)
trap 'rm -f "$list" "$missing"' EXIT
files=$(find . -path './build*' -prune -o -type f -print)
for name in $(cat README.md docs/*.md | grep -oE '[A-Za-z0-9_/.-]+\.(cuh?|[ch]|sh|py|awk|cmake)\b' |
    sort -u); do
    case $name in
    _* | ..._* | *NAME* | ladspa.h) continue ;; # ends of names, any name, not ours
    esac
    echo "$files" | grep -q "/$name\$" || { echo "there is no $name" >&2; failed=1; }
done
# Names with an underscore, between backquotes; a suite is named by its file.
words=$(find src gpu clap lv2 python tests bench include cmake scripts examples CMakeLists.txt \
    \( -name '*.md' -o -name '*.svg' \) -prune -o -type f -print | sed 's|.*/||; s|[.].*||'
    find src gpu clap lv2 python tests bench include cmake scripts examples CMakeLists.txt -type f \
        -exec grep -hoE '\b[a-z][a-z0-9]*(_[a-z0-9]+)+\b' {} +)
echo "$words" | sort -u >"$list"
grep -ohE '`[^`]*`' README.md docs/*.md | grep -oE '\b[a-z][a-z0-9]*(_[a-z0-9]+)+\b' | sort -u |
    grep -vxE 'xtc_config|probe_halo' | comm -23 - "$list" >"$missing"
sed 's/.*/there is no &, which a document names/' "$missing" >&2
! [ -s "$missing" ] || failed=1
# Messages that docs/troubleshooting.md quotes are the program's; ... stands for what varies.
grep -oE '"[^"]+"' docs/troubleshooting.md | tr -d '"' | sed 's/ *[+]*[.][.][.] */\n/g' | sort -u >"$list"
while read -r quoted; do
    [ -z "$quoted" ] || grep -rqF -- "$quoted" src ||
        { echo "no message has '$quoted', which docs/troubleshooting.md quotes" >&2; failed=1; }
done <"$list"
# A macro that alternates fonts joins its arguments: a sentence behind it loses its blanks.
sed -E 's/"[^"]*"/q/g' docs/halo.1.in | grep -nE '^\.(BR|RB|BI|IB|IR|RI) .*[.](\\fP)? [A-Z]' >&2 &&
    failed=1
exit $failed
