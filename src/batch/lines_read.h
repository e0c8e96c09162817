/* Reads lists of jobs and manifests line by line. They may be plain or compressed by gzip, under
 * any name, and may begin with a byte order mark of UTF-8. Threads: one at a time. */
#ifndef HALO_LINES_READ_H
#define HALO_LINES_READ_H

#include "base/status.h"

struct lines_read;

enum { LINES_READ_MOST = 1 << 22 }; /* bytes of a line */

/* "-": standard input. Errors: no such file; memory; the file is compressed and zlib is missing. */
MUST_CHECK enum status lines_read_open(const char *path, struct lines_read **lines);
void lines_read_close(struct lines_read *lines);

/* The next line without its end, valid until the next call; NULL at the end. Errors: a line that is
 * too long or holds a zero byte, damaged data. */
MUST_CHECK enum status lines_read_next(struct lines_read *lines, char **line);

/* The number of the line that was read last, from 1. */
size_t lines_read_number(const struct lines_read *lines);

#endif
