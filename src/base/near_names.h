/* The names most like a word that is none of them, for messages. */
#ifndef HALO_NEAR_NAMES_H
#define HALO_NEAR_NAMES_H

#include <stddef.h>

enum { NEAR_NAMES = 3, NEAR_NAMES_TEXT = 512 };

struct near_names {
    const char *word;
    struct near_name {
        char *name; /* a copy */
        size_t distance;
    } best[NEAR_NAMES]; /* the nearest first; NULL where there are fewer */
    char text[NEAR_NAMES_TEXT];
};

/* `word` outlives it. */
void near_names_init(struct near_names *near, const char *word);
void near_names_free(struct near_names *near);

/* One of the right names. It is like the word if it has it within, case aside and three letters
 * long or more, or differs in no more than a third of its letters (Levenshtein's distance). */
void near_names_offer(struct near_names *near, const char *name);

/* What to put behind a refusal: "; did you mean amp or inv?", or "". Valid until the next call. */
const char *near_names_text(struct near_names *near);

#endif
