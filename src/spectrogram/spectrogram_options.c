#include "spectrogram/spectrogram_options.h"

#include "base/atomic_file.h"
#include "base/gnuplot.h"

#include <string.h>

#define SECONDS_MOST 1e9

enum {
    CHANNELS_MOST = 1 << 16,
    SIZE_LEAST = 16,
    SIZE_MOST = 1 << 18,
    RANGE_LEAST = 1,
    RANGE_MOST = 300,
    EXTENT_MOST = 10000,
};

const char *const spectrogram_window_names[] = {
    [WINDOW_KAISER] = "kaiser",     [WINDOW_HANN] = "hann",       [WINDOW_HAMMING] = "hamming",
    [WINDOW_BLACKMAN] = "blackman", [WINDOW_BLACKMAN + 1] = NULL,
};

static const char *const frequency_names[] = {"log", "linear", NULL};

static const struct option_row rows[] = {
    OPT_FILE("output", "FILE", struct spectrogram_options, file,
             "draw a .png, .svg or .pdf; else it goes to the terminal", .letter = 'o'),
    OPT_CHOICE("frequency", "AXIS", struct spectrogram_options, linear, frequency_names,
               "log (default, from 20 Hz) or linear (from 0 Hz)"),
    OPT_INTEGER("range", "DB", struct spectrogram_options, range, RANGE_LEAST, RANGE_MOST,
                "show that much below the loudest (default: 90)"),
    OPT_INTEGER("channel", "N", struct spectrogram_options, channel, 1, CHANNELS_MOST,
                "one channel, counted from 1 (default: all, their mean power)"),
    OPT_SECONDS("from", "TIME", struct spectrogram_options, from, 0, SECONDS_MOST,
                "begin there, such as 12s"),
    OPT_SECONDS("to", "TIME", struct spectrogram_options, to, 1e-6, SECONDS_MOST, "end there"),
    OPT_FRAMES("size", struct spectrogram_options, size, SIZE_LEAST, SIZE_MOST,
               "of a window (default: some 43 ms, 2048 at 48 kHz)"),
    OPT_FRAMES("hop", struct spectrogram_options, hop, 1, SIZE_MOST,
               "from window to window (default: a quarter of one)"),
    OPT_CHOICE("window", "NAME", struct spectrogram_options, window, spectrogram_window_names,
               "hann (default), hamming, blackman or kaiser (100 dB)"),
    OPT_INTEGER("width", "N", struct spectrogram_options, width, 1, EXTENT_MOST,
                "of the whole, in pixels; in the terminal in characters"),
    OPT_INTEGER("height", "N", struct spectrogram_options, height, 1, EXTENT_MOST,
                "of the whole, in the same units"),
    OPT_FLAG("allow-truncated", struct spectrogram_options, allow_truncated,
             "draw a truncated or damaged sound"),
    OPT_FLAG("force", struct spectrogram_options, force, "replace FILE if it exists",
             .letter = 'f'),
    OPT_NO_SYNC,
    OPT_FLAG("json", struct spectrogram_options, json,
             "print what was measured as one JSON object, and no picture\nbut FILE"),
    {0},
};

static const struct option_group groups[] = {{.heading = "options", .rows = rows}, {0}};

static const struct option_row arguments[] = {
    OPT_ARGUMENTS("SOUND", struct spectrogram_options, sounds, 1, .is_file = true),
    {0},
};

enum status spectrogram_options_check(const struct spectrogram_options *options)
{
    size_t streams = 0;
    for (size_t i = 0; i < options->sounds.count; i++)
        streams += strcmp(options->sounds.values[i], "-") == 0;
    if (streams > 1)
        return fail(CAUSE_USAGE, "standard input can be read once, not twice");
    if (options->sounds.count > SPECTROGRAM_FIGURE_MOST)
        return fail(CAUSE_USAGE, "that is more than %d sounds", SPECTROGRAM_FIGURE_MOST);
    return options->file ? gnuplot_check_file(options->file) : STATUS_OK;
}

const struct command command_spectrogram = {
    .name = "halo spectrogram",
    .summary = "draw the spectrograms of sounds",
    .usage =
        "usage: halo spectrogram SOUND... [options]\n\n"
        "Draw the spectrogram of a sound, or of several side by side on the same axes and the\n"
        "same scale, such as before and after. Levels are dBFS: a sine of full scale is at 0 dB.\n"
        "A point shows the loudest of what it stands for, so that in hours of sound no click is\n"
        "lost. SOUND may be - for standard input. Files are drawn by gnuplot.",
    .arguments = arguments,
    .groups = groups,
    .size = sizeof(struct spectrogram_options),
    .defaults = &(const struct spectrogram_options){.window = WINDOW_HANN, .range = 90},
    .run = spectrogram_run,
};
