/* The names most similar to a misspelt word, for messages. */
#ifndef HALO_SUGGEST_H
#define HALO_SUGGEST_H

#include <stddef.h>

enum { SUGGEST = 3, SUGGEST_TEXT = 512 };

struct suggest {
    const char *word;
    struct near_name {
        char *name; /* a copy */
        size_t distance;
    } best[SUGGEST]; /* the nearest first; NULL if fewer */
    char text[SUGGEST_TEXT];
};

/* `word` must outlive it. */
void suggest_init(struct suggest *near, const char *word);
void suggest_free(struct suggest *near);

/* Offer a valid name. It is similar if it contains the word (case-insensitive, three letters or
 * more) or at most a third of its letters differ (Levenshtein distance). */
void suggest_offer(struct suggest *near, const char *name);

/* The end of an error message: "; did you mean amp or inv?", or "". Valid until the next call. */
const char *suggest_text(struct suggest *near);

#endif
