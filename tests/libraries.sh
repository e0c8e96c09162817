#!/bin/sh
# Libraries are opened by the commands that need them alone, and what needs one that is missing says
# so in one line.
#   libraries.sh HALO SOURCES NAME=FILE...      the libraries, as in cmake/libraries.cmake
set -eu
halo=$1
sources=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
HOME=$folder
XDG_CACHE_HOME=$folder/cache
ASAN_OPTIONS=detect_leaks=0 # libraries that lack another leak what they had of it
export HOME XDG_CACHE_HOME ASAN_OPTIONS

wrong() {
    echo "$*" >&2
    failed=1
}

file_of() { # NAME: empty if halo is built without it
    for library in $libraries; do
        [ "${library%%=*}" != "$1" ] || echo "${library#*=}"
    done
}
libraries="$*"

# opens "NAME..." COMMAND...: these libraries and none of the others
opens() {
    wanted=$1
    shift
    LD_DEBUG=files LD_DEBUG_OUTPUT="$folder/opened" "$@" >"$folder/out" 2>&1 ||
        wrong "$*: $(cat "$folder/out")"
    for library in $libraries; do
        name=${library%%=*}
        is=no
        should=no
        ! grep -q "calling init: .*/${library#*=}" "$folder"/opened.* || is=yes
        for one in $wanted; do
            [ "$one" != "$name" ] || should=yes
        done
        [ $is = $should ] || wrong "$*: ${library#*=} is opened: $is, and not $should"
    done
    rm -f "$folder"/opened.*
}

# lacks NAME STATUS TEXT COMMAND...: with a broken file in the place of the library's
lacks() {
    name=$1 code=$2 text=$3
    shift 3
    file=$(file_of "$name")
    [ -n "$file" ] || return 0
    mkdir -p "$folder/broken/$name"
    : >"$folder/broken/$name/$file"
    status=0
    LD_LIBRARY_PATH=$folder/broken/$name "$@" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
    [ $status = "$code" ] || wrong "$* without $file: exit code $status: $(cat "$folder/err")"
    grep -q "^halo: cannot use $text: .*$file.*; install " "$folder/err" ||
        wrong "$* without $file: $(cat "$folder/err")"
    [ "$code" = 0 ] || [ "$(wc -l <"$folder/err")" = 1 ] ||
        wrong "$* without $file: more than one line: $(cat "$folder/err")"
}

sound=$sources/wav/voice.wav
mask=$sources/filters/small-room.wav
out=$folder/out.wav
"$halo" render -q "$sound" "$folder/16k.wav" --format pcm16 --gain -6

printf 'halo-chain: 1\nstages:\n  - gain: -6\n' >"$folder/chain.yml"
printf 'devices: {samplerate: 48000, capture: {channels: 1}, playback: {channels: 1}}\nfilters:\n  half: {type: Gain, parameters: {gain: -6}}\npipeline:\n  - {type: Filter, channels: [0], names: [half]}\n' >"$folder/dsp.yml"

opens "" "$halo" --version
opens "" "$halo" --help
opens "sndfile" "$halo" mask show "$mask"
opens "sndfile" "$halo" render -f --gain -6 "$sound" "$out"
opens "sndfile" "$halo" render -f --mask "$mask" "$sound" "$out"
opens "sndfile" "$halo" render -f --precision double --mask "$mask" "$sound" "$out"
opens "sndfile ebur128" "$halo" render -v -f --gain -6 "$sound" "$out"
opens "sndfile yaml" "$halo" render -f --chain "$folder/chain.yml" "$sound" "$out"
opens "sndfile yaml" "$halo" render -f --mask "$folder/dsp.yml" "$folder/16k.wav" "$out"
opens "sndfile" "$halo" live --device null:out="$out" --plain --seconds 0.2 --mask "$mask"
echo '{"tags": {"MYTAG": "a name that only ID3 can hold"}}' >"$folder/tags.json"
[ -z "$(file_of tags)" ] ||
    # TagLib itself needs zlib.
    opens "sndfile tags zlib" "$halo" render -f --gain -6 --metadata "$folder/tags.json" "$sound" "$out"
[ -z "$(file_of lo)" ] ||
    opens "lo sndfile" "$halo" live --osc 0 --device null:out="$out" --plain --seconds 0.2 --mask "$mask"

lacks sndfile 1 libsndfile "$halo" render -f --mask "$mask" "$sound" "$out"
lacks sndfile 1 libsndfile "$halo" mask show "$mask"
lacks yaml 1 libyaml "$halo" render -f --chain "$folder/chain.yml" "$sound" "$out"
lacks yaml 1 libyaml "$halo" render -f --mask "$folder/dsp.yml" "$folder/16k.wav" "$out"
lacks lo 1 liblo "$halo" live --osc 0 --device null --seconds 0.2
key='{"halo":"key","trials":{}}'
commitment=$(printf 'salt %s' "$key" | sha256sum | cut -d ' ' -f 1)
mkdir "$folder/page"
echo "halo_test({\"commitment\":\"$commitment\"})" >"$folder/page/test.js"
echo "${key%\}},\"salt\":\"salt\",\"commitment\":\"$commitment\"}" >"$folder/page.key"
lacks websockets 1 libwebsockets "$halo" listen "$folder/page" --serve
lacks lilv 1 lilv "$halo" render -f --lv2 urn:none "$sound" "$out"
lacks lilv 0 lilv env CLAP_PATH="$folder" LADSPA_PATH="$folder" "$halo" plugins list
for driver in jack=JACK pipewire=PipeWire portaudio=PortAudio; do
    lacks ${driver%=*} 1 ${driver#*=} "$halo" live --driver ${driver%=*}
    lacks ${driver%=*} 0 ${driver#*=} "$halo" devices
done
exit $failed
