#!/bin/sh
# Each struct, enum and union of the program has a name of its own.
#   unique_names.sh SOURCE
set -eu
cd "$1"
find src gpu lv2 clap include -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | sort | xargs grep -HoE \
    '(^|[^a-z_])(struct|enum|union)( __align__\([0-9]*\))? +[A-Za-z_][A-Za-z0-9_]* *\{' |
    awk '
    {
        file = $0
        sub(/:.*/, "", file)
        name = $0
        sub(/ *\{.*/, "", name)
        sub(/.* /, "", name)
        seen++
        if (name in where) {
            print name " is defined in " where[name] " and in " file > "/dev/stderr"
            failed = 1
        }
        where[name] = file
    }
    END {
        if (seen < 300) {
            print seen + 0 " definitions: too few to be all" > "/dev/stderr"
            failed = 1
        }
        print seen " names"
        exit failed
    }'
