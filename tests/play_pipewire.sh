#!/bin/sh
# Plays a sound through a filter chain in a PipeWire of its own, whose sink nobody hears, and records
# what comes out. Run it by dbus-run-session.
#
#   play_pipewire.sh CHAIN.conf IN.wav OUT.wav FOLDER     FOLDER is empty, and private
set -u
chain=$1 in=$2 out=$3 folder=$4
name=$(basename "$chain" .conf)
export XDG_RUNTIME_DIR="$folder" XDG_CONFIG_HOME="$folder/config" XDG_STATE_HOME="$folder/state"
drop_ins="$XDG_CONFIG_HOME/pipewire/pipewire.conf.d"
mkdir -p "$drop_ins"
cp "$chain" "$drop_ins/"
# Long periods, which a busy machine keeps.
cat >"$drop_ins/sink.conf" <<'END'
context.properties = {
  default.clock.quantum = 8192 default.clock.min-quantum = 8192 default.clock.max-quantum = 8192
  vm.overrides = { default.clock.min-quantum = 8192 }
}
context.objects = [
  { factory = adapter
    args = {
      factory.name = support.null-audio-sink node.name = recorded media.class = Audio/Sink
      audio.position = [ FL FR ] priority.session = 3000 monitor.passthrough = true
    } }
]
END

# Up to ten seconds.
wait_for() {
    for _ in $(seq 100); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    echo "no success within ten seconds: $*" >&2
    cat "$folder"/*.log >&2
    stop 1
}
linked() { pw-link -l | grep -q "$1"; }
started=""
stop() {
    for process in $started; do kill "$process"; done
    wait
    exit "$1"
}

pipewire >"$folder/pipewire.log" 2>&1 & started="$!"
wait_for test -S "$folder/pipewire-0"
wireplumber >"$folder/wireplumber.log" 2>&1 & started="$! $started"
wait_for linked "halo_output.$name:output_FR"
pw-cat -r --target recorded -P '{ stream.capture.sink = true }' --rate 48000 --channels 2 \
    --format f32 "$out" >"$folder/record.log" 2>&1 & recorder=$!
wait_for linked pw-cat:input_FR
timeout 30 pw-cat -p --target "halo_input.$name" "$in" >"$folder/play.log" 2>&1
sleep 0.5
kill -INT "$recorder"
wait "$recorder"
stop 0
