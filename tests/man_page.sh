#!/bin/sh
# The man page and --help name the same options with the same arguments.
#   man_page.sh HALO MAN_PAGE
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$1" live --help >/dev/null 2>&1 || { echo "skipped: built without live sound"; exit 77; }

# "--name ARG" for each option, one per line.
{ "$1" --help; "$1" render --help; "$1" live --help; "$1" listen --help; "$1" devices --help
    for what in show plot make convert; do "$1" mask $what --help; done
    "$1" plugins list --help; "$1" plugins info --help; "$1" chain check --help; "$1" spectrogram --help; } |
    sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z0-9-]*\)\( [A-Z0-9:]*\)\{0,1\}\( .*\)\{0,1\}$/\2\3/p' |
    sed 's/ *$//' | sort -u >"$work/help"
# .BI \-\-name " ARG" ...   .B \-\-name   .BR \-n ", " \-\-name
sed -n 's/\\-/-/g
    s/^\.BI \(--[a-z0-9-]*\) " \([A-Z0-9:]*\)".*/\1 \2/p
    s/^\.B \(--[a-z-]*\)$/\1/p
    s/^\.BR -[a-zA-Z] ", " \(--[a-z-]*\)$/\1/p' "$2" | sort -u >"$work/man"

test "$(wc -l <"$work/help")" -ge 10
diff "$work/help" "$work/man"
echo "$(wc -l <"$work/man") options agree"
