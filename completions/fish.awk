# fish completion, of what `halo list-options` prints.
BEGIN { FS = "\t" }

# Up to the first semicolon, within single quotes.
function text(line) {
    sub(/;.*/, "", line)
    gsub(/[\\']/, "\\\\&", line)
    return "'" line "'"
}

function add(command, line) {
    lines[++count] = "complete -c halo -n \"__halo_is '" command "'\" " line
}

$2 == "command" {
    parent = $1
    if (sub(/ [^ ]*$/, "", parent)) {
        names = names " '" $1 "'"
        add(parent, "-a " $5 " -d " text($9))
    }
}
# What a spec may begin with, its keys and what they choose from, once for all commands.
function spec(of) {
    return of in specs ? " -a '(__halo_spec " of ")'" : ""
}
function join(names) {
    gsub(/ /, " {$key}", names)
    return names
}
$2 == "key" || $2 == "made" {
    specs[$3] = 1
    if (($3, $5) in known)
        next
    known[$3, $5] = 1
    if ($2 == "made")
        made[$3] = made[$3] " '" $5 "'"
    else
        keys[$3] = keys[$3] " '" $5 "'"
    if ($2 == "made")
        own = own "        case '" $3 " " $5 "*'\n            set keys $keys " $7 "\n"
    else if ($8 != "")
        choices = choices "        case '" $3 " " $5 "'\n            set keys {$key}" \
            join($8) "\n"
}
$2 == "argument" && ($7 == "file" || $5 in specs) { add($1, ($7 == "file" ? "-F" : "-f") spec($5)) }
$2 == "option" {
    value = $7 == "" ? "" : $7 == "file" ? " -r -F" : " -x"
    if ($7 == "choice")
        value = value " -a " text($8)
    else if ($7 == "list")
        value = value " -a '(__fish_append , " $8 ")'"
    if ($7 == "file" || $7 == "any")
        value = value spec($5)
    add($1, "-l " $5 ($4 == "" ? "" : " -s " $4) value " -d " text($9))
}

END {
    print "# made of halo's options by completions/fish.awk"
    print "function __halo_is"
    print "    set -l command halo"
    print "    for word in (commandline -opc)[2..-1]"
    print "        switch \"$command $word\""
    print "            case" names
    print "                set command \"$command $word\""
    print "        end"
    print "    end"
    print "    test $command = $argv[1]"
    print "end"
    print "# hall.wav,gain=3 or lowpass:300,window=ha"
    print "function __halo_spec"
    print "    set -l token (string replace -r '^(--[a-z-]+=|-m)' '' -- (commandline -ct))"
    print "    set -l last (string replace -r '^.*,' '' -- $token)"
    print "    set -l before (string replace -r '[^,]*$' '' -- $token)"
    print "    set -l keys"
    print "    set -l made"
    print "    switch $argv[1]"
    for (of in specs)
        print "        case " of "\n            set keys" keys[of] "\n            set made" made[of]
    print "    end"
    print "    if test -z \"$before\""
    print "        string join \\n -- $made"
    print "        return"
    print "    end"
    print "    if string match -q '*=*' -- $last"
    print "        set -l key (string replace -r '=.*' = -- $last)"
    print "        set keys"
    print "        switch \"$argv[1] $key\""
    printf "%s", choices
    print "        end"
    print "    else"
    print "        switch \"$argv[1] $token\""
    printf "%s", own
    print "        end"
    print "    end"
    print "    for key in $keys"
    print "        echo $before$key"
    print "    end"
    print "end"
    print "complete -c halo -f"
    for (i = 1; i <= count; i++)
        print lines[i]
}
