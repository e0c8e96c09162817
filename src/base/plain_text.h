/* Text as programs of Windows and DOS save it. Threads: any. Not real-time. */
#ifndef HALO_PLAIN_TEXT_H
#define HALO_PLAIN_TEXT_H

#include "base/status.h"

#include <stdio.h>

/* Where a file is text in UTF-16, known by its byte order mark, or ends with the Ctrl-Z of DOS,
 * replace its stream by one of the same text in UTF-8 without either. Any other file stays as it
 * is. The stream is at its start, before and after. Returns why it failed: no room for the copy,
 * reading. Then the stream stays. */
struct flaw plain_text_convert(FILE **stream);

/* Bytes of the byte order mark of UTF-8 that a text begins with: 3, or 0. */
size_t plain_text_mark(const char *text);

/* The same of a stream, which is left behind it. */
void plain_text_skip_mark(FILE *stream);

#endif
