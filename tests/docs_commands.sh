#!/bin/sh
# Runs the commands of README.md and docs/cookbook.md as pasted in a checkout: each indented line that
# begins with halo, or pipes into halo. Of lines marked "# live" only the options of halo live are
# checked, without a device.
#   docs_commands.sh SOURCE HALO
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
ln -s "$2" bin/halo
printf '#!/bin/sh\ncat >played\n' >bin/aplay
chmod +x bin/aplay
PATH=$work/bin:$PATH
XDG_CONFIG_HOME=$work/config
export PATH XDG_CONFIG_HOME

# What the recipes expect to be there.
prepare() {
    ln -s "$1/wav" "$1/filters" .
    printf 'Filter Settings file\n\nRoom EQ V5.31\n\n%s\n%s\n' \
        'Filter  1: ON  PK       Fc    42.0 Hz  Gain  -8.0 dB  Q  5.00' \
        'Filter  2: ON  PK       Fc    87.5 Hz  Gain  -5.5 dB  Q  4.10' >room.txt
    printf 'Preamp: -6.1 dB\n%s\n%s\n' 'Filter 1: ON LSC Fc 105 Hz Gain 5.5 dB Q 0.70' \
        'Filter 2: ON PK Fc 2800 Hz Gain -3.2 dB Q 1.41' >phones.txt
    ln -s /usr/share/libmysofa/default.sofa kemar.sofa
    awk 'BEGIN { srand(5); for (n = 0; n < 64; n++) { for (c = 0; c < 14; c++)
        printf "%s%.6f", c ? " " : "", (rand() - 0.5) * exp(-n / 9); print "" } }' >hesuvi.txt
    halo mask convert hesuvi.txt,rate=48000 hesuvi.wav
    awk 'BEGIN { for (n = 0; n < 4800; n++) { for (c = 0; c < 6; c++)
        printf "%s%d", c ? " " : "", (n == 100 * c); print "" } }' >film.txt
    halo mask convert film.txt,rate=48000 film.wav
    halo correct room --measured filters/small-room.wav --force >/dev/null
    printf "%s\n" filters/small-room.wav filters/hall.wav filters/plate.wav >rooms.txt
}

# The commands of a text, a line each, with the marks of live ones.
commands_of() {
    sed -e ':again' -e '/\\$/{N;s/ *\\\n */ /;b again' -e '}' "$1" |
        grep -E '^    ([$] )?(halo|.*[|] halo) ' | grep -vE ' IN OUT |halo live  ' | sed 's/^    \([$] \)\{0,1\}//'
}

run() {
    case $1 in
    *'# live'*--send* | *--send*'# live'*) ;;
    'halo live'*'# live'*) sh -euc "${1%%# live*} --check" </dev/null ;;
    *'# live'*) ;;
    *) sh -euc "$1" </dev/null ;;
    esac
}

for text in README.md docs/cookbook.md; do
    mkdir -p "$work/$text"
    cd "$work/$text"
    prepare "$1"
    commands_of "$1/$text" >commands
    [ "$(wc -l <commands)" -ge 6 ]
    while read -r command; do
        echo "$command"
        run "$command"
    done <commands
done
cd "$work"
for made in README.md/out.wav README.md/out/voice.wav docs/cookbook.md/played docs/cookbook.md/episode.mp3 docs/cookbook.md/room.png \
    docs/cookbook.md/far/voice.flac docs/cookbook.md/again.wav docs/cookbook.md/ab.wav; do
    [ "$(wc -c <$made)" -gt 10000 ] || { echo "$made is not there" >&2; exit 1; }
done
