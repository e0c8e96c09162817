# Files that the program holds, as bytes in C.

# halo_embed(LIST FOLDER name...) makes embedded/LIST.c in the build folder: the array LIST, which
# base/embedded_file.h declares, of the files of FOLDER.
function(halo_embed list folder)
  set(arrays "")
  set(rows "")
  foreach(name ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${name})
    file(READ ${folder}/${name} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(MAKE_C_IDENTIFIER ${name} identifier)
    string(APPEND arrays "static const unsigned char ${identifier}[] = {${bytes}};\n")
    string(APPEND rows "    {\"${name}\", ${identifier}, sizeof ${identifier}},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded/${list}.c CONTENT [[
#include "base/embedded_file.h"

@arrays@
const struct embedded_file @list@[] = {
@rows@    {0}};
]] @ONLY)
endfunction()
