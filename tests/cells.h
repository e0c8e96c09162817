/* Checks of a convolver's backend against the truth, a cell of a grid each. Cells
 * fail the test that calls them. HALO_TEST_SHOW in the environment prints how far
 * each was from the truth. */
#ifndef HALO_TESTS_CELLS_H
#define HALO_TESTS_CELLS_H

#include "base/workers.h"
#include "convolve/convolver.h"
#include "sound/filter.h"
#include "stream.h"

#include <stdbool.h>

struct workers *cells_crew(size_t count);
/* `backend` may name a GPU's kernel or mode too, as in cuda/tiled or cuda/graph;
 * cpu/live: blocks are waited for.
 * `taps`: the longest mask to come, 0: this one. */
struct filter *cells_make(const char *backend, const struct mask *mask, size_t block, size_t taps,
                          struct workers *workers);
/* The first invariant's bounds; the one of the truth's peak only for noise. */
void cells_expect_within(const struct block *out, double *const *truth, const struct mask *mask,
                         const struct block *x, bool noise, const char *what);
/* Noise of `n` frames through noise masks, every path its own, with the full tail. */
void cells_check(const char *backend, size_t taps, size_t block, size_t channels, size_t n,
                 struct workers *workers);
/* The same for sounds of no frame up to three times mask and block. */
void cells_check_lengths(const char *backend, size_t taps, size_t block, size_t channels,
                         struct workers *workers);
/* a up to `at`, then a weighted with (i - at) / fade towards b. */
void cells_crossfade(double **a, double **b, size_t outputs, size_t frames, size_t at, size_t fade);
/* Likewise in any shape, as convolver.h has it. */
void cells_switched(double **a, double **b, size_t outputs, size_t frames, size_t at, size_t fade,
                    enum switch_shape shape);
/* Have the filter change to `mask` from frame `at` on. */
void cells_switch(struct filter *filter, const struct mask *mask, size_t at, size_t fade);
/* A change of mask at frame `at` (live: or where it began) against the two whole outputs
 * crossfaded. */
void cells_check_change(const char *backend, size_t taps_a, size_t taps_b, size_t block,
                        size_t channels, size_t at, size_t fade);

#endif
