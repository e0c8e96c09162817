/* What halo spectrogram tells of its pictures, as one JSON object. */
#ifndef HALO_SPECTROGRAM_REPORT_H
#define HALO_SPECTROGRAM_REPORT_H

#include "base/status.h"
#include "signal/audio.h"
#include "spectrogram/spectrogram_options.h"
#include "spectrogram/spectrogram_figure.h"

struct spectrogram_report {
    struct spectrogram_report_sound {
        struct stream_format format;
        uint64_t frames;  /* that the picture shows */
        size_t size, hop; /* frames */
    } sounds[SPECTROGRAM_FIGURE_MOST];
};

/* On standard output. */
MUST_CHECK enum status spectrogram_report_print(const struct spectrogram_options *options,
                                                const struct spectrogram_figure *figure,
                                                const struct spectrogram_report *report);

#endif
