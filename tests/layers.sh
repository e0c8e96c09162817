#!/bin/sh
# Each folder of src/, gpu/, lv2/ and clap/ includes only from itself and from lower layers, and each
# library's headers are included only where they belong.
#
#   layers.sh ROOT "base signal ..."     the folders, lowest first; gpu, lv2 and clap are of them
set -eu
cd "$1"
grep -rnE '^ *# *include' --include='*.[ch]' --include='*.cu' --include='*.cuh' src gpu lv2 clap |
    sed 's|^src/||' | awk -v layers="$2" '
    function wrong(text) {
        print file " " text > "/dev/stderr"
        failed = 1
    }
    BEGIN {
        count = split(layers, names, " ")
        for (i = 1; i <= count; i++)
            rank[names[i]] = i
        rank["main.c"] = count + 1
        # NAME_library.h is what halo calls of it (cmake/libraries.cmake).
        only["ebur128.h"] = only["signal/ebur128_library.h"] = "^signal/loudness"
        only["sodium.h"] = only["sound/sodium_library.h"] = "^listen/|^sound/metadata/metadata_flac"
        only["portaudio.h"] = only["live/device/portaudio_library.h"] = only["live/device/pulse_library.h"] = "^live/device/driver_portaudio"
        only["pipewire/"] = only["live/device/pipewire_library.h"] = "^live/device/driver_pipewire"
        only["spa/"] = "^live/device/driver_pipewire"
        only["jack/"] = only["live/device/jack_library.h"] = "^live/device/driver_jack"
        only["lo/"] = only["live/remote/lo_library.h"] = "^live/remote/osc"
        only["libwebsockets.h"] = only["web/websockets_library.h"] = "^web/"
        only["lilv/"] = only["plugin/lv2/lilv_library.h"] = "^plugin/lv2/"
        only["ladspa.h"] = "^plugin/ladspa/"
        only["yaml.h"] = only["import/yaml_library.h"] = "^import/mask_camilladsp|^chain/chain_file|^listen/panel/test_file"
        only["mysofa.h"] = only["import/mysofa_library.h"] = "^import/sofa_file"
        only["seccomp.h"] = only["plugin/isolation/seccomp_library.h"] = "^plugin/isolation/plugin_sandbox"
        only["curses.h"] = only["view/ncurses_library.h"] = only["view/terminfo_library.h"] = "^view/view_screen"
        only["cuda"] = "^gpu/"
        only["cufft"] = "^gpu/"
        only["gpu/"] = "^gpu/|^bench/(bench_kernels|kernel_bench|truth2d)"
        only["zlib.h"] = only["batch/zlib_library.h"] = "^batch/"
        only["halo/"] = "^api/"
        only["lv2/"] = "^plugin/lv2/|^lv2/"
    }
    {
        split($0, part, ":")
        file = part[1]
        split(file, from, "/")
        header = $0
        sub(/^[^"<]*["<]/, "", header)
        sub(/[">].*$/, "", header)
        # lv2/ and clap/ name their own headers without the folder; <lv2/...> is the library.
        layer = from[1]
        if (/"/ && header ~ "/") {
            split(header, to, "/")
            layer = to[1]
        }
        seen[from[1]]++
        if (!(from[1] in rank))
            wrong("is in no layer of HALO_LAYERS")
        else if (/"/ && header !~ "/" && from[1] != "lv2" && from[1] != "clap")
            wrong("includes " header " without its folder")
        else if (!(layer in rank))
            wrong("includes " header ", which is in no layer")
        else if (rank[layer] > rank[from[1]])
            wrong("includes " header " from a higher layer")
        for (name in only)
            if (index(header, name) == 1 && file !~ only[name])
                wrong("includes " header ", which belongs elsewhere")
    }
    END {
        file = "the tree"
        for (i = 1; i <= count; i++)
            if (!(names[i] in seen))
                wrong("has no includes in " names[i])
        exit failed
    }'
