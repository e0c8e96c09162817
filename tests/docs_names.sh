#!/bin/sh
# The source files that the documents name are in the tree.
#   docs_names.sh SOURCE
set -eu
cd "$1"
failed=0
files=$(find . -path './build*' -prune -o -type f -print)
for name in $(cat README.md docs/*.md | grep -oE '[A-Za-z0-9_/.-]+\.(cuh?|[ch]|sh|py|awk|cmake)\b' |
    sort -u); do
    case $name in
    _* | ..._* | *NAME* | ladspa.h) continue ;; # ends of names, any name, not ours
    esac
    echo "$files" | grep -q "/$name\$" || { echo "there is no $name" >&2; failed=1; }
done
exit $failed
