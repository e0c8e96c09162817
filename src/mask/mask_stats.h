/* Statistics of a mask: delay, phase, gains, levels, silence, ends.
 *
 * Times are in frames from tap 0, levels linear unless in dB. Gains come from the spectrum of the
 * taps, padded with zeros to at least eight times their length (between two bins a gain is at most
 * 0.3 dB higher).
 *
 * Headroom is how much music must be attenuated so that it does not clip: typical music is modelled
 * as pink noise from 20 Hz to 20 kHz, mastered to full scale with a crest of 9 dB, and leaving with
 * the 12 dB of filtered noise. So its peaks rise by the gain for pink noise plus 3 dB, but never by
 * more than the sum of the magnitudes of the taps. Inputs of an output may be identical or
 * uncorrelated; the louder case is taken.
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_MASK_STATS_H
#define HALO_MASK_STATS_H

#include "base/status.h"
#include "mask/mask.h"

enum { MASK_STATS_LEVELS = 3 };
extern const int mask_stats_levels[MASK_STATS_LEVELS]; /* -60, -90, -120 dB of the peak */

enum mask_symmetry { MASK_ASYMMETRIC, MASK_SYMMETRIC, MASK_ANTISYMMETRIC };

struct mask_column_stats {
    bool silent;                    /* all zero: the following are zero too */
    size_t taps[MASK_STATS_LEVELS]; /* up to the last that comes up to that level */
    double peak;                    /* the largest tap, with its sign */
    size_t peak_at;
    double group_delay; /* averaged over frequencies by power: the centroid of the energy */
    enum mask_symmetry symmetry; /* of what is between the first and the last that is not zero */
    double middle;               /* of a symmetric or antisymmetric column */
    bool minimum_phase; /* apart from a delay: by Jensen's formula no zero is outside the circle */

    double dc;            /* the gain at 0 Hz, with its sign */
    double gain, gain_hz; /* the largest gain and where it is */
    double pink;          /* gain for pink noise */
    double energy;        /* sum of squares: the power gain for white noise */
    double magnitude;     /* sum of magnitudes, the L1 norm: the largest peak of any sound */
    double rms;

    size_t silence_before, silence_after; /* taps below -100 dB of the peak */
    size_t onset;      /* taps before the first that comes to -60 dB of the peak */
    size_t attack;     /* from there to the first that comes to -20 dB */
    double start, end; /* the largest within 1 ms of either end, as a share of the peak */
    double before_end; /* the same within the 9 ms before the last one */
};

struct mask_output_stats {
    double gain, gain_hz; /* the largest, of inputs that are alike */
    double pink;
    double magnitude;
    double headroom; /* dB, not negative */
};

struct mask_stats {
    size_t columns, outputs;
    size_t taps; /* of every column */
    uint32_t rate;
    double loudest, loudest_hz; /* the largest gain (dB) of a twelfth of an octave (response.h) */
    struct mask_column_stats *column;
    struct mask_output_stats *output;
};

/* The mask is routed and holds its coefficients; `rate` is its own. Errors: memory. */
MUST_CHECK enum status mask_stats_init(struct mask_stats *stats, const struct mask *mask,
                                       uint32_t rate);
void mask_stats_free(struct mask_stats *stats);

#endif
