/* The names most similar to a misspelt word, for messages. */
#ifndef HALO_SUGGEST_H
#define HALO_SUGGEST_H

#include <stddef.h>

enum { SUGGEST = 3, SUGGEST_TEXT = 512 };

struct suggest {
    const char *word;
    /* nearest names first; `name` is NULL if there are fewer */
    struct near_name {
        char *name; /* a copy */
        size_t distance;
    } best[SUGGEST];
    char text[SUGGEST_TEXT];
};

/* `word` must outlive `near`. */
void suggest_init(struct suggest *near, const char *word);
void suggest_free(struct suggest *near);

/* Offers a valid name. It is similar if it contains the word (in any case, three letters or more);
 * or the word's parts between dashes, in their order; or if at most a third of its letters differ.
 * Two exchanged letters count as one difference. A file extension that both have is ignored. */
void suggest_offer(struct suggest *near, const char *name);

/* Offers a name. The message has `shown` in place of the name. */
void suggest_offer_as(struct suggest *near, const char *name, const char *shown);

/* Offers the names of a list such as "taps, window", each followed by `ending`. */
void suggest_offer_list(struct suggest *near, const char *list, const char *ending);

/* Offers the files in the folder of `path`, a path that does not exist. `word` is its last part. */
void suggest_offer_files(struct suggest *near, const char *path);

/* The end of an error message: "", or "; did you mean amp or inv?". Valid until the next call. */
const char *suggest_text(struct suggest *near);

/* ---- in one call: writes suggest_text for `word` to `text` and returns `text` ---- */

const char *suggest_from(char text[SUGGEST_TEXT], const char *word, const char *const *names);
const char *suggest_from_list(char text[SUGGEST_TEXT], const char *word, const char *list,
                              const char *ending);

/* For a path that was not found: similar files, or "; there is no folder takes". */
const char *suggest_file(char text[SUGGEST_TEXT], const char *path);

/* For a path that cannot be written: "; there is no folder takes", or "". */
const char *suggest_folder(char text[SUGGEST_TEXT], const char *path);

#endif
