# What Debian wants of its packages beside what is installed anywhere: run by cpack on the files that
# are about to be packed, a folder a component.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
file(READ ${root}/halo/usr/share/doc/halo/LICENSE licence)
file(REMOVE ${root}/halo/usr/share/doc/halo/LICENSE)
foreach(package ${CPACK_COMPONENTS_ALL})
  set(share ${root}/${package}/usr/share)
  file(WRITE ${share}/doc/${package}/copyright "${licence}
On Debian systems the texts of these licences are /usr/share/common-licenses/GPL-2 and
/usr/share/common-licenses/LGPL-2.1.
")
  file(WRITE ${share}/doc/${package}/changelog "halo (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${now}
")
  file(GLOB pages ${share}/man/man*/*)
  execute_process(COMMAND gzip -9nf ${share}/doc/${package}/changelog ${pages}
                  COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB_RECURSE files LIST_DIRECTORIES FALSE ${root}/${package}/usr/share/*
       ${root}/${package}/usr/lib/* ${root}/${package}/usr/include/*)
  foreach(file ${files})
    if(NOT IS_SYMLINK ${file})
      file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    endif()
  endforeach()
endforeach()
set(dev ${root}/libhalo-dev/usr/share/doc)
file(RENAME ${dev}/halo/examples ${dev}/libhalo-dev/examples)
file(REMOVE_RECURSE ${dev}/halo)
