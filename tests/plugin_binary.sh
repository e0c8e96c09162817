#!/bin/sh
# A module of a plugin carries what it uses, and no more.
#   plugin_binary.sh ENTRY MODULE
# ENTRY is the one symbol that it exports.
set -eu
for tool in nm readelf; do
    command -v $tool >/dev/null || { echo "skipped: $tool (binutils) is not installed"; exit 77; }
done
entry=$1
module=$2
failed=0

wrong() {
    echo "$module: $*" >&2
    failed=1
}

exported=$(nm -D --defined-only "$module" | awk '{ print $3 }' | tr '\n' ' ')
[ "$exported" = "$entry " ] || wrong "exports $exported"

# Of the GPU the live kernel alone: no kernels for files or spectrograms, and nothing that times
# them. Of the program none of its commands, devices, screens and hosted plugins.
symbols=$(mktemp)
trap 'rm -f "$symbols"' EXIT
nm --defined-only "$module" | awk '{ print $3 }' >"$symbols"
grep -qx effect_run "$symbols" || wrong "has no symbols to look at"
for foreign in kernel2d convolve2d kernel_register window_kernels kernel_tiled kernel_basic \
    kernel_cached fft_fused fft_pass double_pad pcm_unpack bench_ \
    device_ driver_ view_ live_session listen_ plugin_lv2 plugin_ladspa spectrogram_ chain_file; do
    found=$(grep -E "(^|[0-9])$foreign" "$symbols" | head -3 | tr '\n' ' ')
    [ -z "$found" ] || wrong "carries $found"
done
for library in lilv portaudio jack ncurses lo ebur128 sodium cufft stdc++; do
    ! readelf -d "$module" | grep -q "NEEDED.*lib$library[.w-]" || wrong "needs lib$library"
done

size=$(wc -c <"$module")
echo "$module: $size bytes"
[ "$size" -lt 6291456 ] || wrong "has $size bytes, and may have 6 MiB"
exit $failed
