/* The options of halo listen. */
#ifndef HALO_LISTEN_OPTIONS_H
#define HALO_LISTEN_OPTIONS_H

#include "listen/level_match.h"
#include "live/session/play_options.h"
#include "sound/region.h"

enum { LISTEN_CHOICES_MOST = 9 }; /* choices A to I, keys 1 to 9 */

struct listen_options {
    struct play_options play;
    struct string_list arguments;
    const char *sound;  /* the first argument; NULL: the device's input */
    size_t sound_count; /* sounds to choose from: all arguments; 0: masks are chosen */
    bool live_input;
    double from, to; /* seconds; `to` 0: to the end */
    enum level_match_by by;
    bool align;
    const char *to_file; /* file to write, instead of playing; NULL: none */
    const char *script;  /* switches of the file; NULL: none */
    size_t abx;          /* number of trials; 0: no ABX test */
    size_t blind;        /* number of trials; 0: no blind ranking */
    size_t prefer;       /* number of trials of each pair; 0: no preference test */
    bool feedback;
    const char *log;      /* path of the test's log; NULL: none */
    const char *resume;   /* path of the log of a test to go on with; NULL: none */
    const char *listener; /* name of the listener; NULL: none */
    bool verify;
    bool collect;
    const char *csv;          /* table of collected trials to write; NULL: none */
    const char *collect_plot; /* drawing of collected ratings to write; NULL: none */
    const char *page_folder;  /* folder of the page to write of a test file; NULL: none */
    bool serve;               /* serve the page in the folder that is the argument */
    const char *web;          /* address of the web server; NULL: SERVE_ADDRESS */
    const char *tls_certificate;
    const char *tls_key;
    bool web_insecure;
};

extern const struct command command_listen;

/* Number of masks or sounds to choose from. */
size_t listen_options_choices(const struct listen_options *options);

/* Opens the region of the sound, at `rate`; 0: the sound's own. Errors: those of region_open;
 * --layout. */
MUST_CHECK enum status listen_options_open_region(const struct listen_options *options,
                                                  uint32_t rate, struct region **region);

static inline bool listen_options_test(const struct listen_options *options)
{
    return options->abx > 0 || options->blind > 0 || options->prefer > 0;
}

/* Whether letters do not stand for fixed choices: nothing may show names or plots beside them. */
static inline bool listen_options_hides(const struct listen_options *options)
{
    return options->blind > 0 || options->prefer > 0;
}

/* Number of trials of the test. */
size_t listen_options_trials(const struct listen_options *options);

/* Whether the command is about tests in a browser: a test file, --export or --serve. */
bool listen_panel_is_asked(const struct listen_options *options);

/* Writes the page of a test file, serves a page, or runs a test file: its page is served on this
 * machine until the answers come, which are saved with their key and reported. Errors: usage, those
 * of export_page, serve_run and collect_report; a signal. */
MUST_CHECK enum status listen_panel_run(const struct listen_options *options);

/* Listens to a file instead of a device. Writes one pass of the region, or the requested seconds,
 * with the script's switches at their exact frames. Errors: those of sound, masks and file. */
MUST_CHECK enum status listen_to_file(const struct listen_options *options);

/* The switches of halo listen --script: "0:A 5s:B 8s:dry". */
enum { LISTEN_SCRIPT_MOST = 1000 };

struct listen_script {
    size_t count;
    bool has_dry; /* some switch is to the dry sound */
    struct script_switch {
        double seconds;
        size_t choice; /* from 0; the number of masks stands for the dry sound */
    } switches[LISTEN_SCRIPT_MOST];
};

/* Parses a script for choices A, B, ... (or a, 1, ...) and dry. Times must ascend by `apart`
 * seconds or more. Errors: usage. */
MUST_CHECK enum status listen_script_parse(const char *text, size_t choices, double apart,
                                           struct listen_script *script);

#endif
