# Files that the program holds, as bytes in C.

# halo_embed(LIST STRUCT HEADER FOLDER name...) makes embedded/LIST.c in the build folder: the array
# LIST of the struct {name, bytes, size} that HEADER declares, for the files of FOLDER.
function(halo_embed list struct header folder)
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
#include "@header@"

@arrays@
const struct @struct@ @list@[] = {
@rows@    {0}};
]] @ONLY)
endfunction()
