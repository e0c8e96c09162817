/* The options of halo listen. */
#ifndef HALO_LISTEN_OPTIONS_H
#define HALO_LISTEN_OPTIONS_H

#include "listen/level_match.h"
#include "live/play_options.h"

enum { LISTEN_CHOICES_MOST = 9 }; /* A to I, keys 1 to 9 */

struct listen_options {
    struct play_options play;
    struct string_list arguments;
    const char *sound; /* the first of them; NULL: the device's input */
    bool live_input;
    double from, to; /* seconds; `to` 0: the end */
    enum level_match_by by;
    bool align;
    const char *to_file; /* NULL: none; so are the others */
    const char *script;
    size_t abx;   /* trials; 0: no such test */
    size_t blind; /* trials; 0: no such test */
    bool feedback;
    const char *log;
    const char *resume; /* a log */
    const char *listener;
    bool verify;
};

extern const struct command command_listen;

/* The number of masks to choose from. */
size_t listen_options_choices(const struct listen_options *options);

static inline bool listen_options_test(const struct listen_options *options)
{
    return options->abx > 0 || options->blind > 0;
}

#endif
