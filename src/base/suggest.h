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
 * more), or its parts between dashes in their order, or if at most a third of its letters
 * differ (without the extension that both have); two that are exchanged count as one. */
void suggest_offer(struct suggest *near, const char *name);

/* The same, but the message has `shown` in the place of the name. */
void suggest_offer_as(struct suggest *near, const char *name, const char *shown);

/* Offer the names of a list such as "taps, window", each with `ending`. */
void suggest_offer_list(struct suggest *near, const char *list, const char *ending);

/* Offer the files of the folder of `path`, which is not there; `word` is its last part. */
void suggest_offer_files(struct suggest *near, const char *path);

/* The end of an error message: "; did you mean amp or inv?", or "". Valid until the next call. */
const char *suggest_text(struct suggest *near);

/* ---- at once: suggest_text for `word`, copied to `text`, which is returned ---- */

const char *suggest_from(char text[SUGGEST_TEXT], const char *word, const char *const *names);
const char *suggest_from_list(char text[SUGGEST_TEXT], const char *word, const char *list,
                              const char *ending);

/* For a path that was not found: files near by, or "; there is no folder takes". */
const char *suggest_file(char text[SUGGEST_TEXT], const char *path);

/* For a path that cannot be written: "; there is no folder takes", or "". */
const char *suggest_folder(char text[SUGGEST_TEXT], const char *path);

#endif
