/* The files of the page of halo live, from the folder page/ (cmake/embed.cmake). */
#ifndef HALO_LIVE_PAGE_FILES_H
#define HALO_LIVE_PAGE_FILES_H

#include "web/web_server.h"

extern const struct web_file live_page_files[];

#endif
