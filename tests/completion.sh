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
expect_bash "halo bench render --ba" --ba --backend
expect_bash "halo live" "" "--watch --record"
expect_bash "halo render --gain" "" ""

command -v zsh >/dev/null && command -v fish >/dev/null || { echo "skipped: no zsh or fish"; exit 77; }

expect_fish() {
    offered=$(fish --no-config -c "source $folder/halo.fish; complete -C '$1'" | cut -f1 | tr '\n' ' ')
    [[ " $offered" == *" $2 "* ]] || { echo "fish, $1: '$offered', not $2" >&2; exit 1; }
}
export XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_CACHE_HOME=$work
expect_fish "halo re" render
expect_fish "halo mask " "convert make plot show"
expect_fish "halo render --edge w" wrap
expect_fish "halo bench render --ba" --backend
expect_fish "halo render ou" out.wav
expect_fish "halo mask plot --what impulse,st" impulse,step

# The completion system of zsh needs a terminal; a stand-in for its _arguments shows what it is
# handed.
expect_zsh() {
    offered=$(zsh -f -c "_arguments() { print -rl -- \"\$@\"; state=command line=(\${=rest}); }
        rest='$1' source $folder/halo.zsh")
    [[ $offered == *"$2"* ]] || { echo "zsh, halo $1: no $2" >&2; exit 1; }
}
expect_zsh "render" "*--edge=[samples beyond the ends of the sound\: zero (default), replicate, reflect or wrap]:EDGE:(zero replicate reflect wrap)"
expect_zsh "bench" 'tune\:"find the fastest'
expect_zsh "render" "*:argument:_files"
