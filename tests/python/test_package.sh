#!/bin/sh
# A wheel's files, laid out as pip does: the package finds its own library and program.
#   test_package.sh SOURCE BUILD CMAKE
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1/python/halo_audio" "$work"
"$3" --install "$2" --component python --prefix "$work" >/dev/null
cd "$work"
unset HALO_LIBRARY
PYTHONPATH=$work "$1/tests/with_numpy.sh" -c 'import halo_audio, halo_audio._library, halo_audio._render
assert halo_audio._library.library._name.endswith("halo_audio/libhalo.so"), halo_audio._library.library._name
assert halo_audio._render.program().endswith("halo_audio/halo"), halo_audio._render.program()
assert halo_audio.convolve([1, 2], [1, 1]).round(9).tolist() == [1, 3, 2]
print(halo_audio.__version__)'
