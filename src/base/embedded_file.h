/* Files that the program holds, made from folders by cmake/embed.cmake. */
#ifndef HALO_EMBEDDED_FILE_H
#define HALO_EMBEDDED_FILE_H

#include <stddef.h>

struct embedded_file {
    const char *name; /* NULL: the end of the list */
    const unsigned char *bytes;
    size_t size;
};

/* Of the pages of listening tests, and of halo live. */
extern const struct embedded_file page_files[], live_page_files[];

#endif
