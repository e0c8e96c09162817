# libhalo, shared and static: the same objects, which export what halo/halo.h declares.
set(header ${PROJECT_SOURCE_DIR}/include/halo/halo.h)
file(STRINGS ${header} numbers REGEX "^#define HALO_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM numbers REPLACE ".* " "")
string(JOIN . numbers ${numbers})
if(NOT numbers STREQUAL PROJECT_VERSION)
  message(FATAL_ERROR "halo/halo.h is of ${numbers}, and the project of ${PROJECT_VERSION}")
endif()

add_library(halo_api OBJECT
  api/api_arrays.c
  api/api_call.c
  api/api_convolve.c
  api/api_convolver.c
  api/api_mask.c)
set_target_properties(halo_api PROPERTIES POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
target_include_directories(halo_api PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}
                           ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(halo_api PRIVATE HALO_BUILDS_LIBRARY)
target_link_libraries(halo_api PRIVATE halo_flags)
if(NOT HALO_WITH_CUDA)
  target_compile_definitions(halo_api PRIVATE HALO_NO_CUDA)
endif()

set(map ${CMAKE_CURRENT_SOURCE_DIR}/api/libhalo.map)
add_library(halo_shared SHARED $<TARGET_OBJECTS:halo_api>)
target_link_libraries(halo_shared PRIVATE halo_core halo_flags)
# As the plugins: libraries of the caller do not replace ours, and the GPU driver outlives a
# closed library.
target_link_options(halo_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,nodelete
                    -Wl,--as-needed -Wl,--gc-sections -Wl,--version-script=${map})
target_include_directories(halo_shared INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(halo_shared PROPERTIES
  OUTPUT_NAME halo EXPORT_NAME halo VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${map}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} LINKER_LANGUAGE C)

# One object of all that the library uses, in which only its own names are global: what it is made of
# cannot meet names of the program that it is linked into.
set(object ${PROJECT_BINARY_DIR}/libhalo.o)
set(archive ${PROJECT_BINARY_DIR}/libhalo.a)
set(with "")
if(HALO_WITH_CUDA) # no program is asked to have the CUDA Toolkit
  set(with $<TARGET_FILE:CUDA::cudart_static>)
endif()
add_custom_command(
  OUTPUT ${archive}
  COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -o ${object} $<TARGET_OBJECTS:halo_api>
          $<TARGET_FILE:halo_core> ${with}
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --keep-global-symbol=halo_* ${object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
  COMMAND ${CMAKE_AR} rcs ${archive} ${object}
  DEPENDS halo_api halo_core $<TARGET_OBJECTS:halo_api>
  COMMENT "Linking libhalo.a"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(halo_archive ALL DEPENDS ${archive})

# What the archive leaves to the program's link.
set(HALO_LIBRARY_PRIVATE "-ljansson -lm -ldl -lrt -pthread")
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/halo.pc.in ${PROJECT_BINARY_DIR}/halo.pc @ONLY)

include(CMakePackageConfigHelpers)
set(version ${PROJECT_BINARY_DIR}/haloConfigVersion.cmake)
write_basic_package_version_file(${version} COMPATIBILITY SameMajorVersion)
install(TARGETS halo_shared EXPORT halo LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        COMPONENT libhalo0 NAMELINK_COMPONENT libhalo-dev)
install(EXPORT halo FILE haloConfig.cmake NAMESPACE halo::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halo COMPONENT libhalo-dev)
install(FILES ${version} DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halo COMPONENT libhalo-dev)
install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libhalo-dev)
install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/halo COMPONENT libhalo-dev)
install(FILES ${PROJECT_BINARY_DIR}/halo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT libhalo-dev)
install(FILES ${PROJECT_SOURCE_DIR}/examples/convolve.c ${PROJECT_SOURCE_DIR}/examples/jack.c
        DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT libhalo-dev)

find_program(HALO_AWK awk REQUIRED)
mark_as_advanced(HALO_AWK)
set(manual ${PROJECT_BINARY_DIR}/man3)
set(manual_maker ${PROJECT_SOURCE_DIR}/cmake/library_manual.awk)
add_custom_command(
  OUTPUT ${manual}/libhalo.3
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${manual}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${manual}
  COMMAND ${HALO_AWK} -v folder=${manual} -v version=${PROJECT_VERSION} -f ${manual_maker} ${header}
  DEPENDS ${header} ${manual_maker}
  COMMENT "Making the manual pages of libhalo"
  VERBATIM)
add_custom_target(halo_manual ALL DEPENDS ${manual}/libhalo.3)
install(DIRECTORY ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT libhalo-dev)
