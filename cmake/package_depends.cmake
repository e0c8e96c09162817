# What a Debian package depends on for the libraries that halo opens itself (cmake/libraries.cmake):
# CPack sees only what is linked. Run by cpack before it packs.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(folder ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/libraries)
file(WRITE ${folder}/debian/control "Source: halo\n\nPackage: halo\nArchitecture: any\n")
execute_process(COMMAND dpkg-shlibdeps -O --warnings=0 ${CPACK_HALO_LIBRARIES}
                WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE depends
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "^shlibs:Depends=" "" depends "${depends}")
string(REGEX REPLACE "(^|, )libc6[^,]*(, )?" "\\1" depends "${depends}") # of the program itself
string(REGEX REPLACE ", $" "" CPACK_DEBIAN_PACKAGE_DEPENDS "${depends}")
