#!/bin/sh
# Each folder of src/ includes from itself and from folders before it, and a library is known
# where it should be and nowhere else.
#
#   layers.sh SRC "base signal ..."     the folders, lowest first
set -eu
cd "$1"
grep -rn '^ *# *include' --include='*.[ch]' . | awk -v layers="$2" '
    function wrong(words) {
        print "src/" file " " words > "/dev/stderr"
        failed = 1
    }
    BEGIN {
        count = split(layers, names, " ")
        for (i = 1; i <= count; i++)
            rank[names[i]] = i
        rank["main.c"] = count + 1
        only["fftw3.h"] = "^signal/fft"
        only["ebur128.h"] = "^signal/loudness"
        only["sodium.h"] = "^listen/"
        only["portaudio.h"] = "^live/device"
        only["lo/"] = "^live/osc"
        only["lilv/"] = "^plugin/plugin_lv2"
        only["ladspa.h"] = "^plugin/plugin_ladspa"
        only["cyaml/"] = "^chain/chain_schema"
        only["yaml.h"] = "^mask/mask_camilladsp"
        only["curses.h"] = "^view/view_screen"
    }
    {
        split($0, part, ":")
        file = substr(part[1], 3)
        split(file, from, "/")
        header = $0
        sub(/^[^"<]*["<]/, "", header)
        sub(/[">].*$/, "", header)
        split(header, to, "/")
        seen++
        if (!(from[1] in rank))
            wrong("lies in no layer of HALO_LAYERS")
        else if (/"/ && !(to[1] in rank))
            wrong("includes " header ", which is in no layer")
        else if (to[1] in rank && rank[to[1]] > rank[from[1]])
            wrong("includes " header " from above")
        for (name in only)
            if (index(header, name) == 1 && file !~ only[name])
                wrong("includes " header ", which is not its business")
    }
    END {
        if (seen < 1000)
            wrong("has " seen + 0 " includes: too few to be all")
        exit failed
    }'
