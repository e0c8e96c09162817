/* The words of halo spectrogram. */
#ifndef HALO_SPECTROGRAM_OPTIONS_H
#define HALO_SPECTROGRAM_OPTIONS_H

#include "base/status.h"
#include "signal/window.h"
#include "spectrogram/spectrogram_figure.h"

struct spectrogram_options {
    size_t count;
    const char *sounds[SPECTROGRAM_FIGURE_MOST]; /* "-": standard input */
    const char *file;                           /* NULL: the terminal */
    size_t channel;                             /* counted from 1; 0: all */
    double from, to;                            /* seconds; to 0: the end */
    enum window window;
    size_t size, hop;     /* frames; 0: as usual */
    size_t range;         /* dB */
    size_t width, height; /* pixels, or characters; 0: as usual */
    bool linear;          /* frequencies */
    bool allow_truncated;
    bool force;
    bool json;
    bool help;
};

/* Usage errors. Without `help` there is a sound at least. */
MUST_CHECK enum status spectrogram_options_parse(int argc, char **argv,
                                                 struct spectrogram_options *options);
void spectrogram_options_help(void);

extern const char *const spectrogram_window_names[]; /* of enum window, and NULL */

#endif
