/* A mask: impulse responses (columns) and paths, from an input through a column to an output. Paths
 * may share columns; at an output they add up.
 *
 * True convolution: along a path y[i] = sum over k of x[i - k] h[k], k = 0..taps-1, h being the
 * column. Textbook kernels slide the mask unflipped and centred, y[i] = sum over j of x[i - taps/2
 * + j] m[j]; that is the same with h[k] = m[taps-1-k] and time zero at tap `origin` = (taps-1)/2:
 * y[i] = sum over k of x[i + origin - k] h[k]. Causal masks have origin 0.
 *
 * Coefficients are kept in double precision, as read or designed; convolvers in single precision
 * round them, and so do the functions that write masks, unless they are asked for double.
 * Units: coefficients are linear, rate in Hz. Immutable once routed. Threads: created on one
 * thread, then read by many.
 */
#ifndef HALO_MASK_H
#define HALO_MASK_H

#include "base/status.h"
#include "signal/audio.h"

#include <stdint.h>

enum { MASK_RATE_MOST = 10000000, MASK_CHANNELS_MOST = 256 };

/* INPUT: what is written has the power of what comes in. KALDI: the whole convolution has it, with
 * what lies before time zero and after the end of the sound. */
enum mask_output_level { MASK_LEVEL_OWN, MASK_LEVEL_INPUT, MASK_LEVEL_KALDI };

struct workers;

struct mask_path {
    size_t input;
    size_t output;
    size_t column;
};

struct mask {
    char *name;       /* what the user called it */
    const char *kind; /* of file, as its reader calls it; NULL: none */
    int sound_format; /* libsndfile's, of a sound file; else 0 */
    uint32_t rate;    /* 0: unknown, taken as that of the sound */
    size_t columns;
    size_t taps;          /* of every column */
    size_t origin;        /* the tap at time zero */
    double *coefficients; /* column after column, `taps` each */

    size_t inputs, outputs; /* these and the following are empty until mask_route */
    size_t path_count;
    struct mask_path *paths;
    struct channel_layout layout; /* of the columns */
    bool has_own_paths;           /* from its file or stated by the user: fixed */
    struct mask_share *share; /* with others that use it; NULL: it has one owner (mask_share.h) */
    enum mask_output_level level; /* how what it makes is scaled, once all of it is there, */
    double level_gain;            /* and then by that; 0: no level */
    double dry, wet; /* factors of its input and of itself: mask_mix; dry 0: nothing to mix */
    char *contents;  /* lines about all that its file holds, if it is a part of it; or NULL */
};

enum mask_order { MASK_ORDER_LL_LR_RL_RR, MASK_ORDER_LL_RR_LR_RL, MASK_ORDER_HESUVI };
/* AUTO: by the counts. SPLIT: a mono sound through every column. MATRIX: a column for every input
 * and output, all outputs of the first input first. */
enum mask_map { MASK_MAP_AUTO, MASK_MAP_SPLIT, MASK_MAP_MATRIX };
/* OWN: unchanged, which is tap 0 except for designs (design.h). */
enum mask_align { MASK_ALIGN_OWN, MASK_ALIGN_CAUSAL, MASK_ALIGN_CENTRE };

/* Taps of all columns that this machine's memory holds, with what is made of them. */
uint64_t mask_taps_most(void);

/* Zeroed columns. Errors: memory, or more than this machine has. */
MUST_CHECK enum status mask_create(const char *name, size_t columns, uint64_t taps,
                                   struct mask **mask);
/* Columns with any coefficients, for masks that many threads fill. Errors: as mask_create. */
MUST_CHECK enum status mask_create_unset(const char *name, size_t columns, uint64_t taps,
                                         struct mask **mask);
/* Frees a mask. A shared mask is given back instead. */
void mask_destroy(struct mask *mask);

double *mask_column(const struct mask *mask, size_t column);

/* The workers that are worth it for work on all taps. */
struct workers *mask_workers(struct workers *workers, const struct mask *mask);

/* All coefficients, rounded to single precision, for the caller to free; NULL: no memory. */
float *mask_round(const struct mask *mask);

/* The column between the input and the output of `path`; NULL: no path joins them. */
const double *mask_path_column(const struct mask *mask, struct mask_path path);

/* The largest sum |h| over the paths to one output. */
double mask_norm(const struct mask *mask);

/* Keep one column, counted from 1. Errors: no such column, the mask has its own paths. */
MUST_CHECK enum status mask_select(struct mask *mask, size_t column);
void mask_scale(struct mask *mask, double gain, struct workers *workers);
void mask_align(struct mask *mask, enum mask_align align); /* sets origin */

/* Prepend zeros and move time zero accordingly: the same sound. Errors: memory. */
MUST_CHECK enum status mask_pad(struct mask *mask, size_t frames);

/* Free the coefficients of a prepared mask, a third of its memory; the other fields stay. A shared
 * mask keeps them. workers: share it; NULL: none. */
void mask_discard_coefficients(struct mask *mask, struct workers *workers);

/* Resample the columns, keeping the frequency response (mask_resample.c). Both rates are known.
 * Errors: memory. */
MUST_CHECK enum status mask_resample(struct mask *mask, uint32_t rate, struct workers *workers);

/* Set the paths for a sound of `channels`, unless the mask has its own. Those that filter all
 * channels alike are repeated for as many, with a note. Errors: the counts do not match. */
MUST_CHECK enum status mask_route(struct mask *mask, size_t channels, enum mask_order order,
                                  enum mask_map map);

/* Give a routed mask more outputs, to stand beside another one: what makes one channel plays on
 * both of the first pair, more channels stay the first ones, and the rest is silent. Errors:
 * memory. */
MUST_CHECK enum status mask_widen(struct mask *mask, size_t outputs);

/* Scale a routed mask by `wet` and add `dry` of the input, at time zero: output n gets input n
 * modulo the number of inputs. `dry` is 0 then. Errors: memory. */
MUST_CHECK enum status mask_mix(struct mask *mask);

/* Whether the mask's columns are the four paths of stereo, which `order` tells apart. */
bool mask_is_true_stereo(const struct mask *mask, size_t channels, enum mask_map map);

/* ---- minimum phase ----
 *
 * Writes `count` taps to `result`, which may be `taps`. The sign is that of the largest tap;
 * silence is unchanged. *error (or NULL): the largest difference of the magnitudes, as a share of
 * the largest. Errors: memory. */
MUST_CHECK enum status minimum_phase(const double *taps, size_t count, double *result,
                                     double *error);

/* Convert every column; time zero becomes tap 0. Errors: memory. */
MUST_CHECK enum status mask_minimum_phase(struct mask *mask);

#endif
