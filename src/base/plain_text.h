/* Text files in the forms that Windows and DOS programs write. Threads: any. Not real-time. */
#ifndef HALO_PLAIN_TEXT_H
#define HALO_PLAIN_TEXT_H

#include "base/status.h"

#include <stdio.h>

/* Converts a text file that is in UTF-16, which shows by its byte order mark, or that ends with the
 * Ctrl-Z of DOS. Replaces its stream by one with the same text in UTF-8, without mark and Ctrl-Z.
 * Other files stay as they are. The stream is at its start, before and after. Returns why it
 * failed: no room for the copy, reading. The stream then stays. */
struct flaw plain_text_convert(FILE **stream);

/* The length of a UTF-8 byte order mark at the start of a text: 3, or 0 if there is none. */
size_t plain_text_mark(const char *text);

/* Skips a UTF-8 byte order mark at the start of a stream. */
void plain_text_skip_mark(FILE *stream);

#endif
