/* The line of a failure, and where its parts begin. Threads: any; nothing is printed. */
#ifndef HALO_FAILURE_TEXT_H
#define HALO_FAILURE_TEXT_H

#include "base/status.h"

#include <stdarg.h>

/* What a reason begins with where memory ran out: ours, as fail_memory() says it; otherwise it is
 * the system's word. */
#define NO_MEMORY "not enough memory"

/* The line: `source` and ": ", unless that is NULL, then the text. Of one that is longer than
 * `size` both ends are kept. Returns the length of what precedes the text. */
size_t failure_compose(char *text, size_t size, const char *source, const char *format,
                       va_list arguments);

/* The line with its parts, as fail() makes it. */
void failure_make(struct failure *failure, enum status status, const char *source,
                  const char *format, va_list arguments);

/* The same one again, behind another source. */
void failure_repeat(const struct failure *from, enum status status, const char *source,
                    struct failure *to);

#endif
