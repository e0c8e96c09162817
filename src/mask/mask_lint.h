/* Likely defects of a mask, each in one line with the option that fixes it.
 *
 * Judged from mask_stats.h, with thresholds that let good filters and rooms pass:
 *
 *   silent                 a silent channel (true stereo, of 4 channels, may have some)
 *   silence first          5 ms or more below -60 dB of the peak, then the onset within 10 ms; not
 *                          for linear phase
 *   silence at the end     more than half of the mask and a quarter of a second below -100 dB; of
 *                          both, as much as a twelfth of an octave from 10 Hz on does not miss: by
 *                          less than 0.2 dB, or 100 dB below the loudest
 *   cut off                longer than 10 ms, not linear phase, above -60 dB of the peak in its
 *                          last ms, unless that is a separate echo
 *   loud                   a twelfth of an octave gains 9 dB, or music needs 6 dB of headroom
 *   quiet                  no twelfth of an octave reaches -20 dB
 *   inverted               the peak of every channel is negative, has a tenth of its energy, and is
 *                          within 0.1 ms of the first tap of -20 dB
 *   unlike channels        one whose clear peak, as above, has another sign than most have, that is
 *                          6 dB louder or quieter for pink noise than the middle one, or that
 *                          begins (-20 dB of its peak) 1 ms earlier or later; of channels that go
 *                          from an input to the output of its number, but for an LFE
 *   clipped                three or more taps at the maximum in runs of two or more, not for linear
 *                          phase
 *   order                  of four channels the first two are the loudest, not first and last
 *   rate, channels         do not match the sound, if one is given
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_MASK_LINT_H
#define HALO_MASK_LINT_H

#include "mask/mask.h"
#include "mask/mask_stats.h"
#include "signal/audio.h"

enum { MASK_TROUBLES = 16 };

struct mask_trouble {
    char text[128];  /* "480 samples of silence first" */
    char remedy[64]; /* "trim=480", or what happens without it: "resampled" */
};

/* The number of troubles, at most MASK_TROUBLES. Fields of `sound` that are 0 are unknown. Errors:
 * memory. */
MUST_CHECK enum status mask_lint(const struct mask *mask, const struct mask_stats *stats,
                                 const struct stream_format *sound, struct mask_trouble *troubles,
                                 size_t *count);

/* Whether a mask of `columns` fits a sound of `channels` without further options. */
bool mask_lint_fits(size_t columns, size_t channels);

#endif
