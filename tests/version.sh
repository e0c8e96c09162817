#!/bin/sh
# `halo --version` names the commit it was built from, and whether the tree differed from it.
#   version.sh HALO SOURCE
set -eu
commit=$(git -C "$2" rev-parse --short=10 HEAD 2>/dev/null) || { echo "no checkout"; exit 77; }
git -C "$2" diff --quiet HEAD || commit=$commit-dirty
first=$("$1" --version | head -n 1)
echo "$first" | grep -Eq "^halo [0-9]+\.[0-9]+\.[0-9]+, commit $commit( |$)" ||
    { echo "not of commit $commit: $first" >&2; exit 1; }
