/* The names most like a word that is none of them, for messages. */
#ifndef HALO_SUGGEST_H
#define HALO_SUGGEST_H

#include <stddef.h>

enum { SUGGEST = 3, SUGGEST_TEXT = 512 };

struct suggest {
    const char *word;
    struct near_name {
        char *name; /* a copy */
        size_t distance;
    } best[SUGGEST]; /* the nearest first; NULL where there are fewer */
    char text[SUGGEST_TEXT];
};

/* `word` outlives it. */
void suggest_init(struct suggest *near, const char *word);
void suggest_free(struct suggest *near);

/* One of the right names. It is like the word if it has it within, case aside and three letters
 * long or more, or differs in no more than a third of its letters (Levenshtein's distance). */
void suggest_offer(struct suggest *near, const char *name);

/* What to put behind a refusal: "; did you mean amp or inv?", or "". Valid until the next call. */
const char *suggest_text(struct suggest *near);

#endif
