# The libraries halo is made of: those it needs, and those it uses where they are.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(SNDFILE REQUIRED IMPORTED_TARGET sndfile>=1.0.31)
pkg_check_modules(FFTW REQUIRED IMPORTED_TARGET fftw3f)
pkg_check_modules(SOXR REQUIRED IMPORTED_TARGET soxr)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)

# libsndfile reads and writes MP3 from 1.1 on.
if(SNDFILE_VERSION VERSION_GREATER_EQUAL 1.1)
  set(HALO_SNDFILE_MP3 ON)
endif()

# Optional parts: AUTO takes what is there, ON demands it, OFF leaves it out.
# The program's own code for them is named by `source`; a part without it is out,
# whatever is installed, and says so.
set(HALO_PARTS "")
function(optional_part name found version source purpose)
  set(HALO_${name} AUTO CACHE STRING "${purpose}: AUTO, ON or OFF")
  set_property(CACHE HALO_${name} PROPERTY STRINGS AUTO ON OFF)
  if(HALO_${name} STREQUAL "OFF")
    set(text "no (switched off)")
  elseif(NOT EXISTS "${PROJECT_SOURCE_DIR}/${source}")
    set(text "no (halo ${PROJECT_VERSION} has no ${purpose} yet)")
  elseif(NOT found)
    set(text "no (not installed)")
  else()
    set(text "${version}")
    set(HALO_WITH_${name} ON PARENT_SCOPE)
  endif()
  if(HALO_${name} STREQUAL "ON" AND text MATCHES "^no ")
    message(FATAL_ERROR "HALO_${name}=ON, but ${name}: ${text}")
  endif()
  set(HALO_${name}_TEXT "${text}" PARENT_SCOPE)
  set(HALO_PARTS ${HALO_PARTS} ${name} PARENT_SCOPE)
endfunction()

find_package(CUDAToolkit 12 QUIET)
pkg_check_modules(PORTAUDIO QUIET IMPORTED_TARGET portaudio-2.0)
pkg_check_modules(LILV QUIET IMPORTED_TARGET lilv-0)

optional_part(CUDA "${CUDAToolkit_FOUND}"
              "${CUDAToolkit_VERSION}"
              gpu/convolver_cuda.c
              "GPU convolver")
optional_part(PORTAUDIO "${PORTAUDIO_FOUND}" "${PORTAUDIO_VERSION}" src/live.c "live sound")
optional_part(LV2 "${LILV_FOUND}" "${LILV_VERSION}" src/plugin_lv2.c "plugin host")

function(components_print)
  message(STATUS "")
  message(STATUS "halo ${PROJECT_VERSION}: what is in and what is out")
  message(STATUS "  libsndfile   ${SNDFILE_VERSION}")
  message(STATUS "  FFTW         ${FFTW_VERSION}")
  message(STATUS "  libsoxr      ${SOXR_VERSION}")
  message(STATUS "  jansson      ${JANSSON_VERSION}")
  message(STATUS "  libsodium    ${SODIUM_VERSION}")
  foreach(part ${HALO_PARTS})
    string(TOLOWER ${part} label)
    string(LENGTH "${label}" length)
    math(EXPR blanks "12 - ${length}")
    string(REPEAT " " ${blanks} space)
    message(STATUS "  ${label}${space} ${HALO_${part}_TEXT}")
  endforeach()
  if(NOT BUILD_TESTING)
    message(STATUS "  tests        no (switched off)")
  elseif(TARGET PkgConfig::CHECK)
    message(STATUS "  tests        yes (Check ${CHECK_VERSION})")
  else()
    message(STATUS "  tests        no (Check is not installed)")
  endif()
  message(STATUS "")
endfunction()
