/* A stream that does not seek, as a virtual file of libsndfile. The first bytes are kept and
 * seekable, for parsing headers. Positions count from stream_io_begin.
 */
#ifndef HALO_STREAM_IO_H
#define HALO_STREAM_IO_H

#include <sndfile.h>
#include <stdint.h>
#include <stdio.h>

enum { STREAM_HEAD = 1 << 16 };

struct stream_io {
    FILE *stream; /* not owned */
    int64_t position;
    int64_t consumed; /* bytes read from the stream */
    unsigned char head[STREAM_HEAD];
};

void stream_io_begin(struct stream_io *io, FILE *stream);
/* Bytes that the caller has read before; they are read again first. */
void stream_io_unread(struct stream_io *io, const void *bytes, size_t count);
extern SF_VIRTUAL_IO stream_io_functions; /* user data: struct stream_io */

/* For writing: forward only. */
struct stream_output {
    int fd; /* not owned */
    int64_t position;
};
extern SF_VIRTUAL_IO stream_output_functions; /* user data: struct stream_output */

#endif
