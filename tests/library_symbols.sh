#!/bin/sh
# libhalo exports what its header declares, and nothing else, and has a manual page for each; it
# carries no part of the program.
#   library_symbols.sh HEADER SHARED STATIC MANUAL
set -eu
for tool in nm readelf; do
    command -v $tool >/dev/null || { echo "skipped: $tool (binutils) is not installed"; exit 77; }
done
header=$1
shared=$2
static=$3
manual=$4
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

wrong() {
    echo "$*" >&2
    failed=1
}

same() { # FILE WHAT
    cmp -s "$work/declared" "$work/$1" || wrong "$2 does not export what $header declares:
$(diff "$work/declared" "$work/$1" || true)"
}

sed -n 's/^HALO_API .*\b\(halo_[a-z_]*\)(.*/\1/p; /^HALO_API [^(]*$/{n;s/^\(halo_[a-z_]*\)(.*/\1/p;}' \
    "$header" | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -eq "$(grep -c '^HALO_API ' "$header")" ] || wrong "$header cannot be read"
nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort >"$work/shared"
same shared "$shared"
nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' | sort >"$work/static"
same static "$static"

ls "$manual" | sed -n 's/^\(halo_.*\)\.3$/\1/p' | sort >"$work/manual"
same manual "$manual"
for page in "$manual"/*.3; do
    sed -n '/^.SH NAME/{n;p;}' "$page" | grep -qE '^[a-z_]+ \\- [a-z].+' || wrong "$page has no summary"
    sed -n '/^.SH DESCRIPTION/{n;p;}' "$page" | grep -q . || wrong "$page has no description"
    tr '\n' ' ' <"$page" | grep -qE 'Threads: |, (as|like) halo_|therwise (as|like) halo_|DESCRIPTION libhalo:' ||
        wrong "$page does not say which threads may call it"
    grep -q "^\.BR $(basename "$page" .3) (3)" "$manual/libhalo.3" ||
        [ "$page" = "$manual/libhalo.3" ] || wrong "libhalo(3) does not name $page"
    if command -v man >/dev/null; then
        said=$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || wrong "$page: $said"
    fi
done

# What every program that uses the library loads.
for library in sndfile soxr lilv portaudio jack ncurses lo ebur128 sodium cufft stdc++; do
    ! readelf -d "$shared" | grep -q "NEEDED.*lib$library[.w-]" || wrong "$shared needs lib$library"
done
nm --defined-only "$shared" | awk '{ print $3 }' >"$work/all"
grep -qx halo_mask_load "$work/all" || wrong "$shared has no symbols to look at"
for foreign in device_driver device_choose driver_ view_ live_session listen_ plugin_lv2 plugin_ladspa spectrogram_ \
    chain_file render_ batch_run; do
    found=$(grep -E "^$foreign" "$work/all" | head -3 | tr '\n' ' ')
    [ -z "$found" ] || wrong "$shared carries $found"
done
# What it opens itself is what its package depends on.
packaged=$(sed -n 's/.*INCLUDE REGEX "\/(\(.*\))\[.\]so\$".*/\1/p' "$(dirname "$0")/../cmake/package_depends.cmake")
nm "$shared" | sed -n 's/.* [dD] \([a-z_]*\)_library$/\1/p' | sort >"$work/opened"
[ -s "$work/opened" ] && [ -n "$packaged" ] || wrong "there is no list of what $shared opens"
! grep -vxE "$packaged" "$work/opened" || wrong "these are missing in cmake/package_depends.cmake"
readelf -d "$shared" | grep -q 'SONAME.*\[libhalo\.so\.[0-9]*\]' || wrong "$shared has no versioned name"
exit $failed
