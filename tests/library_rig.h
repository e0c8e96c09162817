/* What tests of libhalo share. Errors fail the test. */
#ifndef HALO_TESTS_LIBRARY_RIG_H
#define HALO_TESTS_LIBRARY_RIG_H

#include "mask/mask.h"
#include "stream.h"
#include <halo/halo.h>

enum { LIBRARY_RATE = 48000, LIBRARY_BOUND = -130 /* dB */ };

/* The same mask for the library. */
struct halo_mask *library_mask(const struct mask *mask);

/* `options`: NULL, or those of halo_convolver_create. */
struct halo_convolver *library_convolver(const struct halo_mask *mask,
                                         const struct halo_convolver_options *options);

/* Frames [from, from + count) in calls of `block` frames (0: of lengths by `seed`), with the output
 * in the place of the input if that is asked for. */
void library_run(struct halo_convolver *convolver, const struct block *in, struct block *out,
                 size_t from, size_t count, size_t block, bool in_place, uint64_t seed);

/* `out` is `mask` applied to `in`; or the truth itself, for masks with the largest norm `norm` and
 * an input of full scale. */
void library_expect(const struct block *out, double *const *truth, const struct mask *mask,
                    const struct block *in, const char *what);
void library_expect_faded(const struct block *out, double *const *truth, double norm,
                          const char *what);

/* A call that was refused for this reason, with one line, and made nothing. */
void library_refused(enum halo_status status, const struct halo_error *error,
                     enum halo_status expected, const char *text, const void *made_anyway);

/* Samples as the library takes them; free(planes.samples). */
struct planes {
    float *samples;
    size_t stride;
};
struct planes planes_of(const struct block *block);
void planes_take(const struct planes *planes, struct block *block);

#endif
