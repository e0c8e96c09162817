# bash completion, of what `halo list-options` prints.
BEGIN { FS = "\t" }

$2 == "command" {
    all[++commands] = $1
    parent = $1
    if (sub(/ [^ ]*$/, "", parent))
        wanted[parent] = wanted[parent] " " $5
}
$2 == "argument" && ($7 == "file" || $5 in made) { wanted[$1] = $7 == "file" ? "@file" : "@none"; argument[$1] = $5 }
$2 == "option" {
    options[$1] = options[$1] " --" $5 ($4 == "" ? "" : " -" $4)
    if ($7 == "")
        next
    value = $7 == "file" ? "@file" : $7 == "any" ? "@none" : "'" $8 "'"
    values[$1] = values[$1] "        " ($4 == "" ? "" : "-" $4 " | ") "--" $5 ") values=" value " of=" $5 \
        ($7 == "list" ? " list=1" : "") " ;;\n"
}
# Specs are the same in all commands.
$2 == "key" && !(($3, $5) in known) {
    known[$3, $5] = 1
    keys[$3] = keys[$3] " " $5
    if ($8 != "")
        choices = choices "        '" $3 " " $5 "') values='" $8 "' ;;\n"
}
$2 == "made" && !(($3, $5) in known) {
    known[$3, $5] = 1
    made[$3] = made[$3] " " $5
    own = own "        '" $3 " " $5 "'*) keys+=' " $7 "' ;;\n"
}

END {
    print "# bash completion of halo, made of its options by completions/bash.awk"
    # hall.wav,gain=3 or lowpass:300,window=ha: the keys of a spec, and what they choose from.
    print "_halo_spec()"
    print "{"
    print "    local spec=$1 of=$2 last=${1##*,} keys= made="
    print "    case $of in"
    for (of in keys)
        print "    '" of "') keys='" substr(keys[of], 2) "' made='" substr(made[of], 2) "' ;;"
    for (of in made)
        if (!(of in keys))
            print "    '" of "') made='" substr(made[of], 2) "' ;;"
    print "    esac"
    print "    [[ $keys || $made ]] || return 0"
    print "    prefix=${spec%\"$last\"}"
    print "    if [[ $spec != *,* ]]; then"
    print "        [[ ! $made ]] || values=$made"
    print "    elif [[ $last == *=* ]]; then"
    print "        prefix+=${last%%=*}="
    print "        case \"$of ${last%%=*}=\" in\n" choices "        *) values=@none ;;\n        esac"
    print "    else"
    print "        case \"$of $spec\" in\n" own "        esac"
    print "        values=$keys"
    print "    fi"
    print "}"
    print "_halo()"
    print "{"
    # Words are split at = and : by COMP_WORDBREAKS; here they are whole again.
    print "    local typed=${COMP_WORDS[COMP_CWORD]} current= before= glued= words=() word"
    print "    local command=halo options= wanted= argument= values= list= of= prefix= strip is_file="
    print "    for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do"
    print "        if [[ ${#words[@]} -gt 0 && ( $glued || $word == [=:] ) ]]; then"
    print "            words[${#words[@]}-1]+=$word"
    print "        else"
    print "            words+=(\"$word\")"
    print "        fi"
    print "        glued="
    print "        [[ $word == [=:] ]] && glued=1"
    print "    done"
    print "    [[ $typed == [=:] ]] && typed="
    print "    current=${words[${#words[@]}-1]}"
    print "    [[ ${#words[@]} -gt 1 ]] && before=${words[${#words[@]}-2]}"
    print "    if [[ $current == --*=* ]]; then"
    print "        before=${current%%=*}"
    print "        current=${current#*=}"
    print "    fi"
    print "    strip=${current%\"$typed\"}"
    print "    for word in \"${words[@]:1:${#words[@]}-2}\"; do"
    printf "        case \"$command $word\" in\n        "
    for (i = 2; i <= commands; i++)
        printf "%s'%s'", i == 2 ? "" : " | ", all[i]
    print ")\n            command+=\" $word\" ;;\n        esac\n    done"
    print "    case $command in"
    for (i = 1; i <= commands; i++) {
        print "    '" all[i] "')"
        print "        options='" substr(options[all[i]], 2) "'"
        print "        wanted='" wanted[all[i]] "' argument='" argument[all[i]] "'"
        print "        case $before in\n" values[all[i]] "        esac\n        ;;"
    }
    print "    esac"
    print "    if [[ ! $values ]]; then"
    print "        values=$wanted of=$argument"
    print "        [[ $current == -* || ! $wanted ]] && values=$options"
    print "    fi"
    print "    [[ $values == @file ]] && is_file=1"
    print "    [[ $values == @file || $values == @none ]] && _halo_spec \"$current\" \"$of\""
    print "    COMPREPLY=()"
    print "    if [[ $values == @file || ( $is_file && $current != *,* ) ]]; then"
    print "        compopt -o filenames 2>/dev/null"
    print "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
    print "    fi"
    print "    if [[ $values != @none && $values != @file ]]; then"
    print "        [[ $list && $current == *,* ]] && prefix=${current%,*},"
    print "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <("
    print "            compgen -P \"$prefix\" -W \"$values\" -- \"${current#\"$prefix\"}\")"
    print "    fi"
    print "    COMPREPLY=(\"${COMPREPLY[@]#\"$strip\"}\")"
    print "    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[=:] ]] || compopt -o nospace 2>/dev/null"
    print "}"
    print "complete -F _halo halo"
}
