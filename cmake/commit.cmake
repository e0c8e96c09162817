# Writes HEADER: the commit that the checkout SOURCE is at, or none where it is not one. A header
# that says so already is left alone, so that nothing is compiled again.
set(commit "")
execute_process(COMMAND git -C ${SOURCE} rev-parse --show-prefix RESULT_VARIABLE failed
                OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT failed AND prefix STREQUAL "") # and not a folder in some other checkout
  execute_process(COMMAND git -C ${SOURCE} describe --always --exclude * --abbrev=10 --dirty
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(commit)
  string(PREPEND commit ", commit ")
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT [[
/* Which commit this build is of, as `halo --version` says it; made with every build. */
#ifndef HALO_COMMIT_H
#define HALO_COMMIT_H

#define HALO_COMMIT "@commit@"

#endif
]] @ONLY)
