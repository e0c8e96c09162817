# The man page, of what `halo list-options` prints (first) and of docs/halo.1.in. In the latter
#
#   .\" options of: halo render
#   .\" in full: edge
#   What lies beyond the sound's ends...
#   .\" end of options
#
# becomes the options of a command, each described as in its --help or, where the page has it, in
# full, and only named where it has been described before. To describe an option that the command does not have is an error.
function fail(text) {
    print FILENAME ": " text > "/dev/stderr"
    failed = 1
    exit 1
}

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    return text
}

function bold(option) {
    return "\\fB\\-\\-" escape(name[option]) "\\fP"
}

function head(option) {
    return ".TP\n" (letter[option] == "" ? "" : "\\fB\\-" letter[option] "\\fP, ") bold(option) \
        (argument[option] == "" ? "" : (argument[option] ~ /^\[/ ? "" : " ") "\\fI" escape(argument[option]) "\\fP")
}

# A sentence; names of values stay as they are.
function sentence(option,    first) {
    match(help[option], /^[^ ,:(]*/)
    first = substr(help[option], 1, RLENGTH)
    if (first !~ /[0-9]/ && index(" " choices[option] " ", " " first " ") == 0)
        first = toupper(substr(first, 1, 1)) substr(first, 2)
    return escape(first substr(help[option], RLENGTH + 1)) (help[option] ~ /\.$/ ? "" : ".")
}

# "--a, --b and --c are as above."
function refer(many, last, is_first) {
    if (last != "")
        print (is_first ? "" : ".PP\n") many (many == "" ? "" : " and ") last (many == "" ? " is" : " are") " as above."
}

function list(command,    i, option, title, known, many, last, printed) {
    title = "options"
    for (i = 1; i <= count[command]; i++) {
        option = command SUBSEP i
        known = name[option] SUBSEP argument[option] SUBSEP help[option]
        if (known in listed && !(name[option] in full)) {
            if (name[option] == "help")
                continue
            if (last != "")
                many = many (many == "" ? "" : ", ") last
            last = bold(option)
            continue
        }
        listed[known] = 1
        if (heading[option] != title)
            print (printed ? ".PP\n" : "") ".I " (title = heading[option])
        printed = 1
        print head(option)
        printf "%s", name[option] in full ? full[name[option]] : sentence(option) "\n"
        delete full[name[option]]
    }
    refer(many, last, !printed)
    for (option in full)
        fail(command " has no option --" option)
}

NR == FNR {
    split($0, field, "\t")
    if (field[2] != "option")
        next
    option = field[1] SUBSEP (++count[field[1]])
    heading[option] = field[3]
    letter[option] = field[4]
    name[option] = field[5]
    argument[option] = field[6]
    choices[option] = field[8]
    help[option] = field[9]
    next
}

sub(/^\.\\" options of: /, "") {
    command = $0
    if (!(command in count))
        fail("there is no command '" command "'")
    next
}
sub(/^\.\\" in full: /, "") {
    described = $0
    next
}
/^\.\\" end of options/ {
    list(command)
    command = described = ""
    next
}
command != "" {
    full[described] = full[described] $0 "\n"
    next
}
{ print }

END {
    if (!failed && command != "")
        fail("the options of " command " have no end")
}
