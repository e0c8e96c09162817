#!/bin/sh
# The program and its plugins are hardened as CMakeLists.txt says.
#   hardened.sh OBJECT PROGRAM [MODULE...]
# OBJECT is one of the program's own object files: marks of x86 end where one file of the C library
# has none.
set -eu
command -v readelf >/dev/null || { echo "skipped: readelf (binutils) is not installed"; exit 77; }
object=$1
program=$2
shift
failed=0

# wants FILE WHAT COMMAND...
wants() {
    file=$1 what=$2
    shift 2
    "$@" || { echo "$file: no $what" >&2; failed=1; }
}

has() { # FILE OPTION EXPRESSION
    readelf "$2" -W "$1" | grep -qE "$3"
}

for file in "$@"; do
    wants "$file" "checked copies (FORTIFY_SOURCE)" has "$file" --dyn-syms '__(mem|str|v?s?n?printf|v?fprintf)[a-z]*_chk'
    wants "$file" "stack protector" has "$file" --dyn-syms '__stack_chk_fail'
    wants "$file" "read-only relocations" has "$file" -l 'GNU_RELRO'
    wants "$file" "binding at the start" has "$file" -d 'BIND_NOW|Flags:.* NOW'
    wants "$file" "stack without code" has "$file" -l 'GNU_STACK .* RW +0x'
    wants "$file" "position independence" has "$file" -h 'Type: +DYN'
done
wants "$program" "mark of a position independent program" has "$program" -d 'FLAGS_1.* PIE'
case $(uname -m) in
x86_64) wants "$object" "control-flow protection" has "$object" -n 'IBT, SHSTK' ;;
esac
exit $failed
