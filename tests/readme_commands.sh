#!/bin/sh
# The first commands of README.md run as pasted in a checkout: all that begin with halo, or pipe into
# it, up to the first table.
#   readme_commands.sh SOURCE HALO
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$1/wav" "$1/filters" .
mkdir bin
ln -s "$2" bin/halo
printf '#!/bin/sh\ncat >played\n' >bin/aplay
chmod +x bin/aplay
PATH=$work/bin:$PATH
export PATH
sed '/^|/,$d' "$1/README.md" | grep -E '^    ([$] )?(halo|.*[|] halo) ' | grep -v ' IN OUT ' |
    sed 's/^    \([$] \)\{0,1\}//' >commands
[ "$(wc -l <commands)" -ge 6 ]
while read -r command; do
    echo "$command"
    sh -euc "$command" </dev/null
done <commands
for made in out.wav hall.flac more.wav two.wav played out/voice-hall.wav; do
    [ "$(wc -c <$made)" -gt 10000 ] || { echo "$made is not there" >&2; exit 1; }
done
