/* Streams for writing text to memory or a file. Finishing one tells whether all text was written,
 * which fclose() and open_memstream() may forget. */
#ifndef HALO_TEXT_STREAM_H
#define HALO_TEXT_STREAM_H

#include "base/status.h"

#include <stdio.h>

/* A stream into memory. After text_stream_finish, *text has *size bytes and a zero. The caller
 * frees *text, even after an error. NULL: no memory. */
FILE *text_stream_open(char **text, size_t *size);

/* Closes a stream. Returns 0, or an errno if any write failed. NULL, a stream that could not be
 * opened, is an error, too. */
MUST_CHECK int text_stream_finish(FILE *stream);

#endif
