/* The tempo of a chain as text: "120", or with a time signature "90,6/8" (4/4 by default).
 * Threads: the control thread. */
#ifndef HALO_CHAIN_TEMPO_H
#define HALO_CHAIN_TEMPO_H

#include "chain/stages.h"

#include <stdio.h>

enum { CHAIN_TEMPO_TEXT = 64 /* bytes, at most */ };

/* `what` is named by the error: it is none. */
MUST_CHECK enum status chain_tempo_parse(const char *what, const char *text,
                                         struct plugin_tempo *tempo);

/* What the chain file at `path` has: NULL is none. Errors: it is no tempo. */
MUST_CHECK enum status chain_tempo_take(const char *text, const char *path,
                                        struct stage_list *list);

/* The line of a chain file, for loaded stages that have a tempo. */
void chain_tempo_print(const struct stage_list *list, FILE *stream);

#endif
