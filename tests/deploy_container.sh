#!/bin/sh
# The Containerfile, which no test can build: what it copies and names is there, its lines are those of a
# shell, and the packages of the build are those of scripts/setup and stand nowhere else.
#
#   deploy_container.sh SOURCE
set -eu
cd "$1"
file=deploy/Containerfile
fail() { echo "$file: $*" >&2; exit 1; }

grep -q '^RUN /halo/scripts/setup build\( \|$\)' $file || fail "scripts/setup does not install what the build needs"
for package in $(sed -n 's/^build="\(.*\)"$/\1/p' scripts/setup); do
    ! grep "apt-get install" $file | grep -qF -- " $package " || fail "$package stands in scripts/setup already"
done
for from in $(sed -n 's/^COPY \(.*\) [^ ]*$/\1/p' $file); do
    [ -e "$from" ] || fail "there is no $from to copy"
done
presets=$(cmake --list-presets | grep -o '"[a-z]*"')
for preset in $(grep -o 'PRESET=[a-z]*' $file | cut -d= -f2 | sort -u); do
    echo "$presets" | grep -qxF "\"$preset\"" || fail "there is no preset $preset"
done
# Each RUN, without its --mount, as one line of a shell.
sed -e ':more' -e '/\\$/{N;s/\\\n *//;b more' -e '}' $file | sed -n 's/^RUN \(--[^ ]* *\)*//p' |
    while read -r line; do sh -n -c "$line" || fail "not a line of a shell: $line"; done
# Stages are named before they are copied or mounted from, and the arguments of the heads are set.
for stage in $(grep -o 'from=[a-z]*' $file | cut -d= -f2); do
    grep -q "^FROM .* AS $stage\$" $file || fail "there is no stage $stage"
done
for argument in $(sed -n 's/^FROM \$\([A-Z]*\).*/\1/p' $file); do
    grep -q "^ARG $argument=." $file || fail "$argument is not set"
done
# A build folder of this tree would be taken along.
grep -qx '/*build\*/*' .dockerignore || fail ".dockerignore lets build folders through"
