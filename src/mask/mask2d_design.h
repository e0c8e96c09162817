/* Masks of two dimensions made of a line of words: gaussian2d:7x7,sigma=1.5. Sizes are rows (time)
 * x columns (frequency). A new kind is a function and a row of the table in mask2d_design.c.
 * Threads: any. */
#ifndef HALO_MASK2D_DESIGN_H
#define HALO_MASK2D_DESIGN_H

#include "mask/mask2d.h"

/* Whether `word` begins with a kind's name. */
bool mask2d_design_is_spec(const char *word);

/* words[0] is the spec; its own options are taken out of the others. Errors (usage). */
MUST_CHECK enum status mask2d_design_make(char **spec, struct mask2d **mask);

void mask2d_design_print_kinds(FILE *stream);

#endif
