/* Compares a convolver's backend with the truth, one cell of a grid at a time. A failing cell
 * fails the calling test. With HALO_TEST_SHOW in the environment each cell prints its error. */
#ifndef HALO_TESTS_CELLS_H
#define HALO_TESTS_CELLS_H

#include "base/workers.h"
#include "convolve/convolver.h"
#include "sound/filter.h"
#include "stream.h"

#include <stdbool.h>

struct workers *cells_crew(size_t count);
/* `backend` may also name a GPU's kernel or mode, as in cuda/tiled or cuda/graph; cpu/live waits
 * for each block. `taps`: the longest mask that will follow, 0: this one. */
struct filter *cells_make(const char *backend, const struct mask *mask, size_t block, size_t taps,
                          struct workers *workers);
/* Checks the error bounds; the one relative to the truth's peak only for noise. */
void cells_expect_within(const struct block *out, double *const *truth, const struct mask *mask,
                         const struct block *x, bool noise, const char *what);
/* Noise of `n` frames through noise masks, a different one for every path, with the full tail. */
void cells_check(const char *backend, size_t taps, size_t block, size_t channels, size_t n,
                 struct workers *workers);
/* The same for sounds of 0 frames up to three times mask and block. */
void cells_check_lengths(const char *backend, size_t taps, size_t block, size_t channels,
                         struct workers *workers);
/* Sounds whose output comes near max|x| sum|h| all the time, through masks that add them up in
 * phase: of one sign, for a carrier of its signs, or of few large taps among tiny ones. */
enum cells_near { NEAR_DC, NEAR_BASS, NEAR_LOW, NEAR_SQUARE, NEAR_CARRIER, NEAR_LOST, CELLS_NEAR };
void cells_check_near(const char *backend, enum cells_near signal, size_t taps, size_t block,
                      struct workers *workers);
/* a up to frame `at`, then a crossfade to b of weight (i - at) / fade. */
void cells_crossfade(double **a, double **b, size_t outputs, size_t frames, size_t at, size_t fade);
/* The same for any fade shape of convolver.h. */
void cells_switched(double **a, double **b, size_t outputs, size_t frames, size_t at, size_t fade,
                    enum switch_shape shape);
/* Starts the change to `mask` at frame `at`. */
void cells_switch(struct filter *filter, const struct mask *mask, size_t at, size_t fade);
/* A change of mask at frame `at` (live: at the frame where it began) against the crossfade of
 * the two complete outputs. */
void cells_check_change(const char *backend, size_t taps_a, size_t taps_b, size_t block,
                        size_t channels, size_t at, size_t fade);

#endif
