/* The files of the page of a listening test, from the folder page/ (cmake/embed.cmake). */
#ifndef HALO_PAGE_FILES_H
#define HALO_PAGE_FILES_H

#include <stddef.h>

struct page_file {
    const char *name; /* NULL: the end of the list */
    const unsigned char *text;
    size_t size;
};
extern const struct page_file page_files[];

#endif
