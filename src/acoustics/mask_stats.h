/* Statistics of a mask: delay, phase, gains, levels, silence, ends.
 *
 * Times are in frames from tap 0. Levels are linear unless in dB. Gains come from the spectrum,
 * padded with zeros to eight times the length (between bins a gain is at most 0.3 dB higher).
 *
 * Headroom is the attenuation that keeps music from clipping. Music is modelled as pink noise from
 * 20 Hz to 20 kHz, mastered to full scale with a crest of 9 dB, and of 12 dB after filtering. So
 * peaks rise by the gain for pink noise plus 3 dB, but at most by the sum of magnitudes of the
 * taps. The inputs of an output may be identical or uncorrelated; the louder case counts.
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_MASK_STATS_H
#define HALO_MASK_STATS_H

#include "acoustics/room_acoustics.h"
#include "base/status.h"
#include "mask/mask.h"
#include "signal/audio.h"

enum { MASK_STATS_LEVELS = 3 };
extern const int mask_stats_levels[MASK_STATS_LEVELS]; /* -60, -90, -120 dB of the peak */

enum mask_symmetry { MASK_ASYMMETRIC, MASK_SYMMETRIC, MASK_ANTISYMMETRIC };

struct mask_column_stats {
    bool silent;                    /* all taps are zero, and so are the members below */
    size_t taps[MASK_STATS_LEVELS]; /* [level] taps up to the last one at that level */
    double peak;                    /* largest tap, with its sign */
    size_t peak_at;
    double group_delay; /* average over frequencies by power, which is the centroid of the energy */
    enum mask_symmetry symmetry; /* between the first and last nonzero tap */
    double middle;               /* middle of a symmetric or antisymmetric column */
    bool minimum_phase;          /* minimum phase by Jensen's formula; a delay may precede it */

    double dc;            /* gain at 0 Hz, with its sign */
    double gain, gain_hz; /* largest gain, and its frequency */
    double pink;          /* gain for pink noise */
    double energy;        /* sum of squares; the power gain for white noise */
    double magnitude;     /* sum of magnitudes (L1 norm); the largest peak of any sound */
    double rms;

    size_t silence_before, silence_after; /* taps below -100 dB of the peak */
    size_t onset;                         /* taps before the first at -60 dB of the peak */
    size_t attack;                        /* taps from there to the first at -20 dB */
    double start, end; /* largest tap within 1 ms of either end, as a part of the peak */
    double before_end; /* largest tap within the 9 ms before that last one, as a part of the peak */

    struct room_acoustics room; /* all NaN if silent */
};

struct mask_output_stats {
    double gain, gain_hz; /* largest gain for identical inputs, and its frequency */
    double pink;
    double magnitude;
    double headroom; /* dB, not negative */
};

struct mask_stats {
    size_t columns, outputs;
    size_t taps; /* taps of each column */
    uint32_t rate;
    double loudest, loudest_hz; /* largest gain (dB) of a twelfth of an octave, and where */
    struct mask_column_stats *column;
    struct mask_output_stats *output;
};

/* The mask is routed and has coefficients; `rate` is its own rate. Errors: memory. */
MUST_CHECK enum status mask_stats_init(struct mask_stats *stats, const struct mask *mask,
                                       uint32_t rate);
void mask_stats_free(struct mask_stats *stats);

/* ---- likely defects ----
 *
 * Each defect is one line, with the option that fixes it.
 *
 * They are judged from the statistics above, with thresholds that let good filters and rooms pass:
 *
 *   silent                 a silent channel (true stereo, of 4 channels, may have some)
 *   silence first          5 ms or more below -60 dB of the peak, then the onset within 10 ms; not
 *                          for linear phase
 *   silence at the end     more than half of the mask and a quarter of a second below -100 dB
 *                          (Both kinds of silence count only as far as no twelfth of an octave
 *                          from 10 Hz on changes by 0.2 dB, unless it is 100 dB below the loudest.)
 *   cut off                longer than 10 ms, not linear phase, above -60 dB of the peak in its
 *                          last ms, unless that is a separate echo
 *   loud                   a twelfth of an octave gains 9 dB, or music needs 6 dB of headroom
 *   quiet                  no twelfth of an octave reaches -20 dB
 *   inverted               the peak of every channel is negative, has a tenth of its energy, and is
 *                          within 0.1 ms of the first tap of -20 dB
 *   unlike channels        a channel differs from the others: its peak (clear as in `inverted`) has
 *                          another sign than most; it is 6 dB louder or quieter for pink noise than
 *                          the median; or it begins (-20 dB of its peak) 1 ms earlier or later.
 *                          Only channels from an input to the output of its number, without LFE
 *   clipped                three or more taps at the maximum in runs of two or more, not for linear
 *                          phase
 *   order                  of four channels the first two are the loudest, not first and last
 *   rate, channels         do not match the sound, if one is given
 */
enum { MASK_TROUBLES = 16 };

struct mask_trouble {
    char text[128];  /* such as "480 samples of silence first" */
    char remedy[64]; /* option such as "trim=480", or what happens: "resampled" */
};

/* *count: number of troubles, at most MASK_TROUBLES. Zeros in `sound`: unknown. Errors: memory. */
MUST_CHECK enum status mask_lint(const struct mask *mask, const struct mask_stats *stats,
                                 const struct stream_format *sound, struct mask_trouble *troubles,
                                 size_t *count);

/* Whether a mask of `columns` fits a sound of `channels` without further options. */
bool mask_lint_fits(size_t columns, size_t channels);

#endif
