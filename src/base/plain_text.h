/* Text as programs of Windows and DOS save it. Threads: any. Not real-time. */
#ifndef HALO_PLAIN_TEXT_H
#define HALO_PLAIN_TEXT_H

#include <stdio.h>

/* Where a file is text in UTF-16, known by its byte order mark, or ends with the Ctrl-Z of DOS,
 * replace its stream by one of the same text in UTF-8 without either. Any other file stays as it
 * is. The stream is at its start, before and after. Returns NULL, or why it failed: no room for the
 * copy, reading; then the stream stays. */
const char *plain_text_convert(FILE **stream);

#endif
