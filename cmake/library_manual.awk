# Makes manual pages of a header of libhalo: one a function, and libhalo(3) of what comes first.
#
#   awk -v folder=man3 -v version=0.2.0 -f library_manual.awk halo.h
#
# A comment in front of a function or a struct describes it; a function without one shares that of
# the function before. Pages show the structs that a function takes.

function roff(text) {
    gsub(/\\/, "\\e", text)
    if (text ~ /^[.']/)
        text = "\\&" text
    return text
}

# A comment as paragraphs; what is indented is shown as it is.
function describe(text, page,    lines, count, i, shown) {
    gsub(/[ \n]Errors: /, "\n\nErrors: ", text)
    gsub(/[ \n]Threads: /, "\n\nThreads: ", text)
    count = split(text, lines, "\n")
    for (i = 1; i <= count; i++) {
        if ((lines[i] ~ /^  /) != shown) {
            shown = !shown
            print (shown ? ".PP\n.nf" : ".fi") > page
        }
        print (lines[i] == "" ? ".PP" : roff(lines[i])) > page
    }
    if (shown)
        print ".fi" > page
}

# Its first sentence, as the line of whatis.
function summary(text) {
    gsub(/\n/, " ", text)
    sub(/[.:] .*/, "", text)
    sub(/[.:]$/, "", text)
    gsub(/,? \([^)]*\)/, "", text)
    return tolower(substr(text, 1, 1)) substr(text, 2)
}

function begin_page(page, name, about) {
    print ".TH " toupper(name) " 3 \"\" \"halo " version "\" \"libhalo\"" > page
    print ".SH NAME\n" name " \\- " roff(about) "\n.SH SYNOPSIS\n.nf\n#include <halo/halo.h>" > page
}

# Code with its comments.
function show(code, page,    lines, count, i) {
    print "" > page
    count = split(code, lines, "\n")
    for (i = 1; i <= count; i++)
        print roff(lines[i]) > page
}

function function_page(    page, i) {
    name = code
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
    page = folder "/" name ".3"
    begin_page(page, name, summary(comment))
    for (i = 1; i <= type_count; i++)
        if (index(code, types[i] " ") && types[i] !~ /halo_(error|status)$/)
            show(bodies[i], page)
    show(code, page)
    print ".fi\n.SH DESCRIPTION" > page
    describe(comment, page)
    print ".SH SEE ALSO\n.BR libhalo (3)" > page
    close(page)
    names[++name_count] = name
    abouts[name_count] = summary(comment)
}

function overview(    page, i) {
    page = folder "/libhalo.3"
    begin_page(page, "libhalo", "convolves sound with masks, in buffers and block by block")
    for (i = 1; i <= type_count; i++)
        if (types[i] == "enum halo_status" || types[i] == "struct halo_error")
            show(bodies[i], page)
    print ".fi\n.SH DESCRIPTION" > page
    describe(first, page)
    print ".SH FUNCTIONS" > page
    for (i = 1; i <= name_count; i++)
        print ".TP\n.BR " names[i] " (3)\n" roff(abouts[i]) > page
    print ".SH SEE ALSO\n.BR halo (1),\n.BR pkg-config (1)" > page
}

/^\/\* ----/ { next }
/^\/\*/ { comment = raw = ""; within = 1 }
within {
    line = $0
    raw = raw line "\n"
    last = line ~ /\*\/$/
    gsub(/^\/\* ?|^ \* ?|^ \*$|^ \*\/$| ?\*\/$/, "", line)
    comment = comment (comment == "" ? "" : "\n") line
    within = !last
    if (last && first == "")
        first = comment
    next
}
/^HALO_API/ { code = ""; declares = 1 }
/^enum \{/ { raw = "" }
/^(struct|enum) [a-z_]+ \{/ { code = raw; sub(/\n$/, "", code); raw = ""; type = $1 " " $2; defines = 1 }
/^struct [a-z_]+;/ {
    types[++type_count] = $1 " " substr($2, 1, length($2) - 1)
    bodies[type_count] = raw $0
    raw = ""
}
declares || defines {
    line = $0
    sub(/^HALO_API /, "", line)
    code = code (code == "" ? "" : "\n") line
}
declares && /;$/ { declares = 0; function_page() }
defines && /^\};/ { defines = 0; types[++type_count] = type; bodies[type_count] = code }
END { overview() }
