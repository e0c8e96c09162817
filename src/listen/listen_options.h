/* The options of halo listen. */
#ifndef HALO_LISTEN_OPTIONS_H
#define HALO_LISTEN_OPTIONS_H

#include "listen/level_match.h"
#include "live/session/play_options.h"
#include "sound/region.h"

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

/* The region of the sound, at that rate; 0: its own. Errors: those of region_open; --layout. */
MUST_CHECK enum status listen_options_open_region(const struct listen_options *options,
                                                  uint32_t rate, struct region **region);

static inline bool listen_options_test(const struct listen_options *options)
{
    return options->abx > 0 || options->blind > 0;
}

/* halo listen to a sound file instead of a device. */
/* Write one pass of the region, or the requested seconds, with the script's switches at their exact
 * frames. Errors: those of sound, masks and file. */
MUST_CHECK enum status listen_to_file(const struct listen_options *options);

/* The switches of halo listen --script: "0:A 5s:B 8s:dry". */
enum { LISTEN_SCRIPT_MOST = 1000 };

struct listen_script {
    size_t count;
    bool has_dry; /* some switch is to the dry sound */
    struct script_switch {
        double seconds;
        size_t choice; /* from 0; as many as there are: the dry sound */
    } switches[LISTEN_SCRIPT_MOST];
};

/* For choices A, B, ... (or a, 1, ...) and dry; times ascend by `apart` seconds or more. Errors:
 * usage. */
MUST_CHECK enum status listen_script_parse(const char *text, size_t choices, double apart,
                                           struct listen_script *script);

#endif
