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
$2 == "argument" && $7 == "file" { add($1, "-F") }
$2 == "option" {
    value = $7 == "" ? "" : $7 == "file" ? " -r -F" : " -x"
    if ($7 == "choice")
        value = value " -a " text($8)
    else if ($7 == "list")
        value = value " -a '(__fish_append , " $8 ")'"
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
    print "complete -c halo -f"
    for (i = 1; i <= count; i++)
        print lines[i]
}
