# `cpack` in a build folder makes Debian packages (halo, libhalo0, libhalo-dev) and a tar of all,
# `cpack --config CPackSourceConfig.cmake` a tar of the sources.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_VENDOR "the halo authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "convolver for sound files, live sound and listening tests")
set(description "halo filters sound with masks (impulse responses) of any
length: rooms, equalisers, loudspeakers.")
set(CPACK_PACKAGE_DESCRIPTION "${description} It renders sound files, filters
a live input without added delay, compares masks by ear in blind tests,
and hosts LV2, LADSPA, CLAP and VST3 plugins in the same chain. It is an LV2
and a CLAP plugin itself.")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the halo authors <maintainers@halo.example>")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_debian.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/package_depends.cmake)
get_property(CPACK_HALO_LIBRARIES GLOBAL PROPERTY HALO_LIBRARIES_LINKED) # for that file
set(CPACK_VERBATIM_VARIABLES TRUE) # the patterns below have backslashes

# One package a component; see install() in cmake/libhalo.cmake.
set(CPACK_COMPONENTS_ALL halo libhalo0 libhalo-dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_HALO_PACKAGE_NAME halo)
set(CPACK_DEBIAN_HALO_PACKAGE_SECTION sound)
set(CPACK_DEBIAN_HALO_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_HALO_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_DEBIAN_LIBHALO0_PACKAGE_NAME libhalo0)
set(CPACK_DEBIAN_LIBHALO0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBHALO0_DESCRIPTION "${description}
This is its library: masks from files, specs or samples, sound convolved
block by block without latency or in buffers.")
set(CPACK_DEBIAN_LIBHALO0_PACKAGE_CONTROL_EXTRA
    "${PROJECT_BINARY_DIR}/debian/shlibs;${PROJECT_BINARY_DIR}/debian/triggers")
set(CPACK_DEBIAN_LIBHALO-DEV_PACKAGE_NAME libhalo-dev)
set(CPACK_DEBIAN_LIBHALO-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBHALO-DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_LIBHALO-DEV_PACKAGE_DEPENDS
    "libhalo0 (= ${PROJECT_VERSION}), libjansson-dev")
set(CPACK_DEBIAN_LIBHALO-DEV_DESCRIPTION "${description}
These are the header, the archive, the manual pages and examples of its
library.")
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs
     "libhalo ${PROJECT_VERSION_MAJOR} libhalo0 (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME halo-${PROJECT_VERSION})
set(CPACK_SOURCE_IGNORE_FILES /\\.git/ /\\.git$ ${PROJECT_SOURCE_DIR}/build)
include(CPack)
