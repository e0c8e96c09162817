# What Debian packages depend on for the libraries that halo and libhalo open themselves
# (cmake/libraries.cmake): CPack sees only what is linked. Run by cpack before it packs.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(folder ${CPACK_PACKAGE_DIRECTORY}/_CPack_Packages/libraries)
file(WRITE ${folder}/debian/control "Source: halo\n\nPackage: halo\nArchitecture: any\n")
function(depends_of libraries result)
  execute_process(COMMAND dpkg-shlibdeps -O --warnings=0 ${libraries}
                  WORKING_DIRECTORY ${folder} OUTPUT_VARIABLE depends
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "^shlibs:Depends=" "" depends "${depends}")
  string(REGEX REPLACE "(^|, )libc6[^,]*(, )?" "\\1" depends "${depends}") # of the program itself
  string(REGEX REPLACE ", $" "" depends "${depends}")
  set(${result} "${depends}" PARENT_SCOPE)
endfunction()
depends_of("${CPACK_HALO_LIBRARIES}" CPACK_DEBIAN_HALO_PACKAGE_DEPENDS)
# What masks and convolvers open; tests/library_symbols.sh looks whether it is all.
set(opened ${CPACK_HALO_LIBRARIES})
list(FILTER opened INCLUDE REGEX "/(sndfile|soxr|mysofa|sodium|yaml)[.]so$")
depends_of("${opened}" CPACK_DEBIAN_LIBHALO0_PACKAGE_DEPENDS)
