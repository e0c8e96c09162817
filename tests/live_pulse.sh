#!/bin/sh
# Runs halo live on a PulseAudio of its own, whose sinks nobody hears, through ALSA's plugin.
#
#   live_pulse.sh FOLDER RATE HALO ARGUMENTS...     FOLDER is empty, and private
#
# $PCM is ALSA's definition of the default device. $PAUSE: the server stops for half a second, as on
# a machine that is too busy, that many seconds after the stream began; empty: it does not.
set -u
folder=$1 rate=$2
shift 2
export HOME="$folder" XDG_RUNTIME_DIR="$folder" PULSE_RUNTIME_PATH="$folder/pulse"
export PULSE_SERVER="unix:$folder/native" ALSA_CONFIG_PATH="$folder/asound.conf"
mkdir -p "$folder/pulse" && chmod 700 "$folder" "$folder/pulse"
printf 'pcm.default { %s }\nctl.default { type null }\n' "${PCM:-type pulse}" >"$ALSA_CONFIG_PATH"
pulseaudio -n --daemonize=no --exit-idle-time=-1 --disallow-exit --use-pid-file=no \
    --realtime=no --high-priority=no \
    -L "module-native-protocol-unix socket=$folder/native" \
    -L "module-null-sink sink_name=microphone rate=$rate format=float32le" \
    -L "module-null-sink sink_name=loudspeaker rate=$rate format=float32le" \
    >"$folder/pulse.log" 2>&1 &
server=$!
trap 'kill -CONT "$server" 2>/dev/null; kill "$server" 2>/dev/null; wait' EXIT
for _ in $(seq 600); do
    pactl info >/dev/null 2>&1 && break
    sleep 0.1
done
pactl set-default-sink loudspeaker && pactl set-default-source microphone.monitor ||
    { cat "$folder/pulse.log" >&2; exit 99; }
[ -n "${PAUSE:-}" ] || { timeout -s KILL 120 "$@"; exit; }

# What halo prints first says that the stream runs.
mkfifo "$folder/lines"
{
    IFS= read -r line && printf '%s\n' "$line"
    (sleep "$PAUSE"; kill -STOP "$server"; sleep 0.5; kill -CONT "$server") &
    cat
    wait
} <"$folder/lines" &
lines=$!
timeout -s KILL 120 "$@" >"$folder/lines"
code=$?
wait "$lines"
exit "$code"
