#!/usr/bin/env bash
# What bash, zsh and fish offer behind a beginning of a command line.
#   completion.sh FOLDER_WITH_THE_SCRIPTS
set -euo pipefail
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
touch 'in put.wav' out.wav

compopt() { :; } # it works within a completion only
# shellcheck source=/dev/null
source "$folder/halo.bash"

# expect "WORDS LEADING UP TO THE LAST" LAST "WHAT IS OFFERED, IN PART"
expect_bash() {
    read -ra COMP_WORDS <<<"$1"
    COMP_WORDS+=("$2")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _halo
    offered="${COMPREPLY[*]}"
    [[ " $offered " == *" $3 "* ]] || { echo "bash, $1 '$2': '$offered', not $3" >&2; exit 1; }
}
expect_bash "halo" re render
expect_bash "halo mask" "" "show make plot convert"
expect_bash "halo render a b" --ed --edge
expect_bash "halo render --edge" re "replicate reflect"
expect_bash "halo render --edge =" w wrap
expect_bash "halo render --edge" = "zero replicate reflect wrap"
expect_bash "halo render" in "in put.wav"
expect_bash "halo render --chain" o out.wav
expect_bash "halo mask plot --what" impulse,st impulse,step
expect_bash "halo mask make -o" out out.wav
expect_bash "halo bench stream --ba" --ba --backend
expect_bash "halo live" "" "--watch --record"
expect_bash "halo render --gain" "" ""
expect_bash "halo render a -o" o out.wav
expect_bash "halo render --format" pcm "pcm16 pcm24 pcm32"
expect_bash "halo render --container" w "wav wave w64"
# Specs: files, kinds, keys and what they choose from. The shell splits words at = and :.
expect_bash "halo render a b --mask" in "in put.wav"
expect_bash "halo render a b -m" lowp lowpass:
expect_bash "halo render a b --mask" "hall.wav,ga" "hall.wav,gain="
expect_bash "halo render a b --mask" "hall.wav,gain=-6,inv" "hall.wav,gain=-6,invert"
expect_bash "halo render a b --mask hall.wav,gain =" "-6,inv" "-6,invert"
expect_bash "halo render a b --mask = hall.wav,phase =" min minimum
expect_bash "halo render a b --mask hall.wav,phase" = minimum
expect_bash "halo render a b --mask lowpass :" "300,ta" "300,taps="
expect_bash "halo live -m" "hall.wav,@m" "hall.wav,@mix="
expect_bash "halo render a b --gain" "3,a" "3,at="
expect_bash "halo render a b --spectral box2d : 3x3,window =" ha "hann hamming"
expect_bash "halo mask show" "hall.wav,ch" "hall.wav,channel= hall.wav,channels="
expect_bash "halo mask make" high highpass:
expect_bash "halo help mask" sh show
touch 'a,b.yml'
expect_bash "halo render --chain" "a,b" a,b.yml

command -v zsh >/dev/null && command -v fish >/dev/null || { echo "skipped: no zsh or fish"; exit 77; }

expect_fish() {
    offered=$(fish --no-config -c "source $folder/halo.fish; complete -C '$1'" | cut -f1 | tr '\n' ' ')
    [[ " $offered" == *" $2 "* ]] || { echo "fish, $1: '$offered', not $2" >&2; exit 1; }
}
export XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_CACHE_HOME=$work
expect_fish "halo re" render
expect_fish "halo mask " "convert make plot show"
expect_fish "halo render --edge w" wrap
expect_fish "halo bench stream --ba" --backend
expect_fish "halo render ou" out.wav
expect_fish "halo mask plot --what impulse,st" impulse,step
expect_fish "halo render a -o ou" out.wav
expect_fish "halo render a b --mask ou" out.wav
expect_fish "halo render a b -m lowp" lowpass:
expect_fish "halo render a b --mask hall.wav,ga" hall.wav,gain=
expect_fish "halo render a b --mask=hall.wav,ga" --mask=hall.wav,gain=
expect_fish "halo render a b --mask hall.wav,phase=m" hall.wav,phase=minimum
expect_fish "halo render a b --mask lowpass:300,ta" lowpass:300,taps=
expect_fish "halo render a b --gain 3,a" 3,at=
expect_fish "halo mask show hall.wav,inv" hall.wav,invert

# The completion system of zsh needs a terminal; a stand-in for its _arguments shows what it is
# handed.
expect_zsh() {
    offered=$(zsh -f -c "_arguments() { print -rl -- \"\$@\"; state=command line=(\${=rest}); }
        rest='$1' source $folder/halo.zsh")
    [[ $offered == *"$2"* ]] || { echo "zsh, halo $1: no $2" >&2; exit 1; }
}
expect_zsh "render" "*--edge=[samples beyond the ends of the sound\: zero (default), or replicate, reflect or wrap, which imply --tail none]:EDGE:(zero replicate reflect wrap)"
expect_zsh "bench" 'stream\:"time single blocks'
expect_zsh "render" "*:argument:_files"
expect_zsh "render" ":MASK:_halo_spec mask _files"
grep -qF "'*:argument:_halo_spec MASK _files'" "$folder/halo.zsh"

# Its functions for a word, in part: patterns remove what they match of the beginning.
expect_zsh_spec() {
    offered=$(zsh -f -c "
        PREFIX='$2'
        compset() { [[ \$PREFIX == \${~2}* ]] || return 1; PREFIX=\${PREFIX##\${~2}}; }
        compadd() { local -a all; all=(\${(P)@[-1]}); print -rl -- \${(M)all:#\$PREFIX*}; }
        _files() { print FILES; }
        _arguments() { :; }
        source $folder/halo.zsh
        _halo_spec $1 _files" | tr '\n' ' ')
    [[ " $offered" == *" $3 "* ]] || { echo "zsh, $1 $2: '$offered', not $3" >&2; exit 1; }
}
expect_zsh_spec mask lowp lowpass:
expect_zsh_spec mask ou FILES
expect_zsh_spec mask hall.wav,ga gain=
expect_zsh_spec mask hall.wav,gain=3,phase=m minimum
expect_zsh_spec mask lowpass:300,ta taps=
expect_zsh_spec gain 3,a at=
