#!/bin/sh
# The examples in CONTRIBUTING.md do what they say: each block that begins with "```diff COMMAND"
# is applied to a copy of the sources, the program is built, and COMMAND run with it as `halo`.
#   toy_examples.sh SOURCE [LAUNCHER]     LAUNCHER: what compiles, such as ccache
#   toy_examples.sh SOURCE --apply        only whether each can be applied
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -v work="$work" '
    /^```diff / {
        count++
        print substr($0, 9) > (work "/" count ".command")
        inside = 1
        next
    }
    /^```/ { inside = 0 }
    inside { print > (work "/" count ".diff") }' "$1/CONTRIBUTING.md"
[ -f "$work/1.diff" ] || { echo "skipped: no examples yet"; exit 77; }

mkdir "$work/tree"
tar -C "$1" --exclude=./.git --exclude='./build*' -cf - . | tar -C "$work/tree" -xf -
cd "$work/tree"
if [ "${2:-}" = --apply ]; then
    for diff in "$work"/*.diff; do
        cat "${diff%.diff}.command"
        patch -p1 --fuzz=0 --dry-run <"$diff"
    done
    exit 0
fi
# Without optimisation: that takes a third of the time, but gcc then guesses at lengths of texts.
cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Debug -DHALO_CUDA=OFF -DBUILD_TESTING=OFF \
    -DHALO_WERROR=ON -DCMAKE_C_FLAGS=-Wno-format-truncation -DCMAKE_C_COMPILER_LAUNCHER="${2:-}" >"$work/log" || { cat "$work/log"; exit 1; }
PATH=$work/tree/build:$PATH
for diff in "$work"/*.diff; do
    command=$(cat "${diff%.diff}.command")
    echo "$command"
    patch -p1 --fuzz=0 --no-backup-if-mismatch <"$diff"
    cmake --build build --target halo >"$work/log" || { tail -n 40 "$work/log"; exit 1; }
    sh -euc "$command"
    patch -p1 -R --fuzz=0 --no-backup-if-mismatch <"$diff" >/dev/null
done
