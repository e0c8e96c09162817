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
# What a spec may begin with, its keys and what they choose from, once for all commands.
$2 == "key" || $2 == "made" {
    specs[$3] = 1
    if (($3, $5) in known)
        next
    known[$3, $5] = 1
    if ($2 == "made") {
        made[$3] = made[$3] " " $5
        particular = particular "  '" $3 " " $5 "'*) keys+=(" $7 ") ;;\n"
    } else
        keys[$3] = keys[$3] " " $5
    if ($2 == "key" && $8 != "")
        choices = choices "  '" $3 " " $5 "') keys=(" $8 ") ;;\n"
}
function values(of, files) {
    return of in specs ? "_halo_spec " of " " files : files == "" ? " " : files
}
$2 == "argument" && ($7 == "file" || $5 in specs) {
    files[$1] = values($5, $7 == "file" ? "_files" : "")
}
$2 == "option" {
    short = $7 == "" ? "" : "+"
    long = $7 == "" ? "" : "="
    line = "[" text($9) "]"
    if ($7 != "")
        line = line ":" text($6) ":"
    if ($7 == "file" || $7 == "any")
        line = line values($5, $7 == "file" ? "_files" : "")
    else if ($7 == "choice")
        line = line "(" text($8) ")"
    else if ($7 == "list")
        line = line "_sequence compadd - " $8
    options[$1] = options[$1] " \\\n    '*'" ($4 == "" ? "'--" $5 long : "{-" $4 short ",--" $5 long "}'") \
        line "'"
}

END {
    print "#compdef halo\n# made of halo's options by completions/zsh.awk"
    print "# hall.wav,gain=3 or lowpass:300,window=ha"
    print "_halo_spec() {"
    print "  local of=$1 files=$2 spec=$PREFIX\n  local -a keys made"
    print "  case $of in"
    for (of in specs)
        print "  " of ") keys=(" keys[of] ") made=(" made[of] ") ;;"
    print "  esac"
    print "  if ! compset -P '*,'; then\n    compadd -S '' -a made\n    [[ -n $files ]] && $files"
    print "    return\n  fi"
    print "  local last=${spec##*,}"
    print "  if compset -P '*='; then"
    print "    case \"$of ${last%%=*}=\" in\n" choices "  *) return ;;\n  esac"
    print "    compadd -a keys\n    return\n  fi"
    print "  case \"$of $spec\" in\n" particular "  esac"
    print "  compadd -S '' -a keys\n}"
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
