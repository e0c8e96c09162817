# `cpack` in a build folder makes a Debian package and a tar, `cpack --config
# CPackSourceConfig.cmake` a tar of the sources.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "the halo authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "convolver for sound files, live sound and listening tests")
set(CPACK_PACKAGE_DESCRIPTION "halo filters sound with masks (impulse responses) of any
length: rooms, equalisers, loudspeakers. It renders sound files, filters
a live input without added delay, compares masks by ear in blind tests,
and hosts LV2, LADSPA and CLAP plugins in the same chain. It is an LV2 and a
CLAP plugin itself.")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the halo authors <maintainers@halo.example>")
set(CPACK_DEBIAN_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_debian.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_depends.cmake)
get_property(CPACK_HALO_LIBRARIES GLOBAL PROPERTY HALO_LIBRARIES_LINKED) # for that file
set(CPACK_VERBATIM_VARIABLES TRUE) # the patterns below have backslashes
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME halo-${PROJECT_VERSION})
set(CPACK_SOURCE_IGNORE_FILES /\\.git/ /\\.git$ ${PROJECT_SOURCE_DIR}/build)
include(CPack)
