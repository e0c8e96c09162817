/* A command's options: one table makes the parser and the --help text. */
#ifndef HALO_OPTIONS_H
#define HALO_OPTIONS_H

#include "base/status.h"

#include <stdio.h>

struct option_row {
    const char *name;     /* without the dashes; NULL: what is not an option */
    char letter;          /* short form, or 0 */
    const char *argument; /* NULL: takes none */
    const char *help;     /* lines separated by \n */
    /* Called in the order given. A status other than STATUS_OK ends the parsing. */
    enum status (*take)(void *context, const struct option_row *row, const char *value);
};

/* The last of `rows` has no name and takes positional arguments, or has no `take`: then
 * there are none. `command` is for
 * messages: "halo render". Errors (usage): unknown or ambiguous options, a missing
 * or unwanted value. */
MUST_CHECK enum status options_parse(int argc, char **argv, const char *command,
                                     const struct option_row *rows, void *context);

/* Print `count` rows, or all up to the last where there are fewer. */
void options_print(FILE *stream, const struct option_row *rows, size_t count);

/* The value of an option among `names` (NULL-terminated); usage error otherwise. */
MUST_CHECK enum status options_choose(const char *option, const char *value,
                                      const char *const *names, size_t *index);

enum { OPTIONS_LIST_MOST = 64 };

struct number_list {
    size_t count;
    size_t values[OPTIONS_LIST_MOST];
};

/* Seconds, with or without a fraction or a unit (20ms, 1.5s), from `least` to `most`. Usage errors
 * otherwise. */
MUST_CHECK enum status options_parse_seconds(const char *option, const char *text, double least,
                                             double most, double *seconds);

/* A number of decibels, with or without the unit dB; `what` names it. Usage errors otherwise. */
MUST_CHECK enum status options_parse_db(const char *text, const char *what, double *db);

/* Whole numbers from `least` to `most`, also as powers such as 2^28: one, or a list
 * separated by commas; or names, whose indices are listed. Usage errors otherwise. */
MUST_CHECK enum status options_parse_number(const char *option, const char *text, size_t least,
                                            size_t most, size_t *value);
MUST_CHECK enum status options_parse_list(const char *option, const char *text, size_t least,
                                          size_t most, struct number_list *list);
MUST_CHECK enum status options_choose_list(const char *option, const char *text,
                                           const char *const *names, struct number_list *list);

#endif
