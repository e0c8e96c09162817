# bash completion, of what `halo list-options` prints.
BEGIN { FS = "\t" }

$2 == "command" {
    all[++commands] = $1
    parent = $1
    if (sub(/ [^ ]*$/, "", parent))
        wanted[parent] = wanted[parent] " " $5
}
$2 == "argument" && $7 == "file" { wanted[$1] = "@file" }
$2 == "option" {
    options[$1] = options[$1] " --" $5
    if ($7 == "")
        next
    value = $7 == "file" ? "@file" : $7 == "any" ? "@none" : "'" $8 "'"
    values[$1] = values[$1] "        " ($4 == "" ? "" : "-" $4 " | ") "--" $5 ") values=" value \
        ($7 == "list" ? " list=1" : "") " ;;\n"
}

END {
    print "# bash completion of halo, made of its options by completions/bash.awk"
    print "_halo()"
    print "{"
    print "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}"
    print "    local command=halo options= wanted= values= list= prefix= word"
    print "    [[ $current == = ]] && current="
    print "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}"
    print "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do"
    printf "        case \"$command $word\" in\n        "
    for (i = 2; i <= commands; i++)
        printf "%s'%s'", i == 2 ? "" : " | ", all[i]
    print ")\n            command+=\" $word\" ;;\n        esac\n    done"
    print "    case $command in"
    for (i = 1; i <= commands; i++) {
        print "    '" all[i] "')"
        print "        options='" substr(options[all[i]], 2) "'"
        print "        wanted='" wanted[all[i]] "'"
        print "        case $before in\n" values[all[i]] "        esac\n        ;;"
    }
    print "    esac"
    print "    if [[ ! $values ]]; then"
    print "        values=$wanted"
    print "        [[ $current == -* || ! $wanted ]] && values=$options"
    print "    fi"
    print "    if [[ $values == @file ]]; then"
    print "        compopt -o filenames 2>/dev/null"
    print "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
    print "    elif [[ $values != @none ]]; then"
    print "        [[ $list && $current == *,* ]] && prefix=${current%,*},"
    print "        mapfile -t COMPREPLY < <("
    print "            compgen -P \"$prefix\" -W \"$values\" -- \"${current#\"$prefix\"}\")"
    print "    fi"
    print "}"
    print "complete -F _halo halo"
}
