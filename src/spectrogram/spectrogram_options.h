/* The options of halo spectrogram. */
#ifndef HALO_SPECTROGRAM_OPTIONS_H
#define HALO_SPECTROGRAM_OPTIONS_H

#include "base/program.h"
#include "signal/window.h"
#include "spectrogram/spectrogram_figure.h"

struct spectrogram_options {
    struct string_list sounds; /* "-": standard input */
    const char *file;          /* NULL: the terminal */
    size_t channel;            /* counted from 1; 0: all */
    double from, to;           /* seconds; to 0: the end */
    enum window window;
    size_t size, hop;     /* frames; 0: the default */
    size_t range;         /* dB */
    size_t width, height; /* pixels, or characters; 0: the default */
    bool linear;          /* the frequency axis is linear */
    bool allow_truncated;
    bool force;
    bool json;
};

extern const struct command command_spectrogram;

/* Checks which options go together. Errors: usage. */
MUST_CHECK enum status spectrogram_options_check(const struct spectrogram_options *options);

/* Runs halo spectrogram. `options` is a struct spectrogram_options (cmd_spectrogram.c). */
MUST_CHECK enum status spectrogram_run(void *options);

extern const char *const spectrogram_window_names[]; /* names of enum window, ended by NULL */

#endif
