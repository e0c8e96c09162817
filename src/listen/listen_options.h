/* The words of halo listen. */
#ifndef HALO_LISTEN_OPTIONS_H
#define HALO_LISTEN_OPTIONS_H

#include "listen/level_match.h"
#include "live/play_options.h"

enum { LISTEN_CHOICES_MOST = 9 }; /* A to I, keys 1 to 9 */

struct listen_options {
    struct play_options play;
    const char *sound; /* NULL: the device's input */
    bool live_input;
    double from, to; /* seconds; `to` 0: the end */
    enum level_match_by by;
    bool align;
    const char *to_file; /* or NULL, likewise the others */
    const char *script;
    size_t abx;   /* trials; 0: no such test */
    size_t blind; /* likewise */
    bool feedback;
    const char *log;
    const char *verify;
};

extern const struct command command_listen;

/* What goes together. Errors: usage. */
MUST_CHECK enum status listen_options_check(struct listen_options *options);

/* halo listen, with a struct listen_options (cmd_listen.c). */
MUST_CHECK enum status listen_run(void *options);

/* What there is to choose from; without a mask 0. */
size_t listen_options_choices(const struct listen_options *options);

static inline bool listen_options_test(const struct listen_options *options)
{
    return options->abx > 0 || options->blind > 0;
}

#endif
