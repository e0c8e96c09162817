# What Debian wants of a package beside what is installed anywhere: run by cpack on the files that
# are about to be packed.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(share ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
file(RENAME ${share}/doc/halo/LICENSE ${share}/doc/halo/copyright)
file(APPEND ${share}/doc/halo/copyright "
On Debian systems the texts of these licences are /usr/share/common-licenses/GPL-2 and
/usr/share/common-licenses/LGPL-2.1.
")
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${share}/doc/halo/changelog "halo (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${now}
")
execute_process(COMMAND gzip -9nf ${share}/doc/halo/changelog ${share}/man/man1/halo.1
                COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE files LIST_DIRECTORIES FALSE ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/*
     ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/lib/*)
file(CHMOD ${files} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
