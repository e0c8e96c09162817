/* Streams that text is written to, in memory or a file, and whose end tells whether all of it is
 * there: fclose() forgets that an earlier write failed, and open_memstream() that memory ran out.
 */
#ifndef HALO_TEXT_STREAM_H
#define HALO_TEXT_STREAM_H

#include "base/status.h"

#include <stdio.h>

/* A stream into memory: once it is finished, *text holds *size bytes and a zero; it is the caller's
 * to free, also after an error. NULL: memory. */
FILE *text_stream_open(char **text, size_t *size);

/* Close a stream. Returns 0 or an errno, also if anything before could not be written, or if it is
 * NULL, since it could not be opened. */
MUST_CHECK int text_stream_finish(FILE *stream);

#endif
