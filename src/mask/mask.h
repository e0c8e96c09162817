/* A mask: impulse responses (columns) and paths. A path leads from an input through a column to an
 * output. Paths may share columns; at an output they add up.
 *
 * True convolution: along a path y[i] = sum over k of x[i - k] h[k], k = 0..taps-1, where h is the
 * column. Textbook kernels slide the mask unflipped and centred, y[i] = sum over j of x[i - taps/2
 * + j] m[j]. This is the same with h[k] = m[taps-1-k] and time zero at tap `origin` = (taps-1)/2:
 * y[i] = sum over k of x[i + origin - k] h[k]. Causal masks have origin 0.
 *
 * Coefficients are kept in double precision, as read or designed. Convolvers in single precision
 * round them. So do functions that write masks, unless they are asked for double. Units:
 * coefficients are linear, rate in Hz. Immutable once routed. Threads: created on one thread, then
 * read by many.
 */
#ifndef HALO_MASK_H
#define HALO_MASK_H

#include "base/status.h"
#include "signal/audio.h"

#include <stdint.h>

enum { MASK_RATE_MOST = 10000000, MASK_CHANNELS_MOST = 256 };

/* How the output is scaled. INPUT: the written output has the input's power. KALDI: the whole
 * convolution has it, including what lies before time zero and after the end of the sound. */
enum mask_output_level { MASK_LEVEL_OWN, MASK_LEVEL_INPUT, MASK_LEVEL_KALDI };

struct eq_bands;
struct workers;

struct mask_path {
    size_t input;
    size_t output;
    size_t column;
};

struct mask {
    char *name;       /* the user's name for it */
    const char *kind; /* kind of file, as its reader calls it; NULL: not a file */
    int sound_format; /* libsndfile's format of a sound file; else 0 */
    uint32_t rate;    /* 0: unknown, taken as the sound's rate */
    size_t columns;
    size_t taps;          /* taps of each column */
    size_t origin;        /* tap at time zero */
    double *coefficients; /* column after column, `taps` taps each */

    size_t inputs, outputs; /* empty until mask_route, as are path_count and paths */
    size_t path_count;
    struct mask_path *paths;
    struct channel_layout layout; /* layout of the columns */
    bool has_own_paths;           /* the paths are from its file or stated by the user, and fixed */
    struct mask_share *share;     /* see mask_share.h; NULL: the mask has one owner */
    enum mask_output_level level; /* how the output is scaled when all of it is there */
    double level_gain;            /* factor that is applied after `level`; 0: no level */
    double dry, wet; /* factors of the input and of the mask, for mask_mix; dry 0: nothing to mix */
    struct eq_bands *bands; /* bands of which the taps are the exact response, owned; NULL: none */
    char *contents;         /* lines on the whole file, if the mask is a part of it; or NULL */
    char *measured; /* text of the measurement that gave the columns (measurement.h), or NULL */
};

enum mask_order { MASK_ORDER_LL_LR_RL_RR, MASK_ORDER_LL_RR_LR_RL, MASK_ORDER_HESUVI };
/* AUTO: by the numbers of columns and channels. SPLIT: a mono sound goes through every column.
 * MATRIX: a column for every input and output, with all outputs of the first input first. */
enum mask_map { MASK_MAP_AUTO, MASK_MAP_SPLIT, MASK_MAP_MATRIX };
/* OWN: unchanged, which is tap 0 except in designs (design.h). */
enum mask_align { MASK_ALIGN_OWN, MASK_ALIGN_CAUSAL, MASK_ALIGN_CENTRE };

/* The most taps of all columns that this machine can hold, with spectra and histories. */
uint64_t mask_taps_most(void);

/* Creates a mask with zeroed columns. Errors: memory, or more than this machine has. */
MUST_CHECK enum status mask_create(const char *name, size_t columns, uint64_t taps,
                                   struct mask **mask);
/* Creates a mask with undefined coefficients, for many threads to fill. Errors: as mask_create. */
MUST_CHECK enum status mask_create_unset(const char *name, size_t columns, uint64_t taps,
                                         struct mask **mask);
/* Creates a routed mask that passes `count` of the inputs: output n gets input first + n modulo
 * `count`. Errors: memory. */
MUST_CHECK enum status mask_create_passing(const char *name, size_t inputs, size_t first,
                                           size_t count, size_t outputs, struct mask **mask);
/* Frees a mask. A shared mask is given back instead. */
void mask_destroy(struct mask *mask);

double *mask_column(const struct mask *mask, size_t column);

/* The workers for a job on all taps of the mask. NULL: they are not worth it. */
struct workers *mask_workers(struct workers *workers, const struct mask *mask);

/* All coefficients, rounded to single precision. The caller frees them. NULL: no memory. */
float *mask_round(const struct mask *mask);

/* The column between the input and the output of `path`; NULL: no path joins them. */
const double *mask_path_column(const struct mask *mask, struct mask_path path);

/* The largest sum |h| over the paths to an output. */
double mask_norm(const struct mask *mask);

/* Keeps one column, counted from 1. Errors: no such column, the mask has its own paths. */
MUST_CHECK enum status mask_select(struct mask *mask, size_t column);
void mask_scale(struct mask *mask, double gain, struct workers *workers);
void mask_align(struct mask *mask, enum mask_align align); /* sets `origin` */

/* Puts zeros before the taps and moves time zero along. The sound is the same. Errors: memory. */
MUST_CHECK enum status mask_pad(struct mask *mask, size_t frames);

/* Frees the coefficients of a prepared mask, a third of its memory; other members stay. A shared
 * mask keeps them. Workers share the work; NULL: none. */
void mask_discard_coefficients(struct mask *mask, struct workers *workers);

/* Resamples the columns and keeps the response. The rates are known. Errors: memory. */
MUST_CHECK enum status mask_resample(struct mask *mask, uint32_t rate, struct workers *workers);

/* Sets the paths for `channels` channels, unless the mask has its own. Own paths that filter all
 * channels equally are repeated for all, with a note. Errors: the numbers do not match. */
MUST_CHECK enum status mask_route(struct mask *mask, size_t channels, enum mask_order order,
                                  enum mask_map map);

/* Gives a routed mask more outputs, to match another mask. A single output plays on both of the
 * first pair. Several outputs stay the first ones; the others are silent. Errors: memory. */
MUST_CHECK enum status mask_widen(struct mask *mask, size_t outputs);

/* Scales a routed mask by `wet` and adds `dry` times the input, at time zero. Output n gets input n
 * modulo the number of inputs. `dry` is 0 afterwards. Errors: memory. */
MUST_CHECK enum status mask_mix(struct mask *mask);

/* Whether the mask's columns are the four paths of stereo. enum mask_order says which is which. */
bool mask_is_true_stereo(const struct mask *mask, size_t channels, enum mask_map map);

/* ---- minimum phase ----
 *
 * Writes `count` taps to `result`, which may be `taps`. The sign is that of the largest tap.
 * Silence stays unchanged. *error (or NULL): the largest difference of the magnitudes, as a part of
 * the largest magnitude. Errors: memory.
 */
MUST_CHECK enum status minimum_phase(const double *taps, size_t count, double *result,
                                     double *error);

/* Converts every column. Time zero becomes tap 0. Errors: memory. */
MUST_CHECK enum status mask_minimum_phase(struct mask *mask);

#endif
