# zsh completion, of what `halo list-options` prints.
BEGIN { FS = "\t" }

# Up to the first semicolon, within single quotes.
function text(line) {
    sub(/;.*/, "", line)
    gsub(/[]:[\\]/, "\\\\&", line)
    gsub(/'/, "'\\''", line)
    return line
}

function name(command) {
    gsub(/ /, "_", command)
    return "_" command
}

$2 == "command" {
    all[++commands] = $1
    files[$1] = " "
    parent = $1
    if (sub(/ [^ ]*$/, "", parent)) {
        own[parent] = own[parent] $5 "\\:\"" text($9) "\" "
        cases[parent] = cases[parent] "  " $5 ") " name($1) " ;;\n"
    }
}
$2 == "argument" && $7 == "file" { files[$1] = "_files" }
$2 == "option" {
    short = $7 == "" ? "" : "+"
    long = $7 == "" ? "" : "="
    spec = "[" text($9) "]"
    if ($7 != "")
        spec = spec ":" text($6) ":"
    if ($7 == "file")
        spec = spec "_files"
    else if ($7 == "choice")
        spec = spec "(" text($8) ")"
    else if ($7 == "list")
        spec = spec "_sequence compadd - " $8
    else if ($7 == "any")
        spec = spec " "
    options[$1] = options[$1] " \\\n    '*'" ($4 == "" ? "'--" $5 long : "{-" $4 short ",--" $5 long "}'") \
        spec "'"
}

END {
    print "#compdef halo\n# made of halo's options by completions/zsh.awk"
    for (i = 1; i <= commands; i++) {
        command = all[i]
        print name(command) "() {"
        print "  local curcontext=$curcontext state line\n  typeset -A opt_args"
        print "  _arguments -C" options[command] " \\"
        if (!(command in own)) {
            print "    '*:argument:" files[command] "'\n}"
            continue
        }
        print "    '1:command:((" own[command] "))' \\\n    '*::argument:->command'"
        print "  [[ $state == command ]] || return"
        print "  case $line[1] in\n" cases[command] "  esac\n}"
    }
    print "_halo \"$@\""
}
