/* A matrix of impulse responses from every input to every output, for reading configurations. All
 * are silent at first and change in the order of the signal flow:
 *
 *   add      a response in parallel to a path
 *   filter   an output in series with a filter
 *   mix      outputs become sums of the previous outputs
 *
 * Responses are stored from their first tap to their last, so that a delay takes no memory. Inputs,
 * outputs and frames count from 0; gains are linear. Errors: memory; too many taps, at the current
 * line of `config`.
 */
#ifndef HALO_MASK_MATRIX_H
#define HALO_MASK_MATRIX_H

#include "import/mask_config.h"
#include "signal/recursive.h"

enum {
    MATRIX_CHANNELS_MOST = 128,
    MATRIX_TAPS_MOST = 1 << 24, /* of a response with its delay: 5.8 minutes at 48 kHz */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    MATRIX_RING_MOST = 1 << 12,
#else
    MATRIX_RING_MOST = 1 << 22, /* of one filter: 87 seconds at 48 kHz */
#endif
};

struct mask_matrix;

MUST_CHECK enum status mask_matrix_create(const struct mask_config *config, size_t inputs,
                                          size_t outputs, struct mask_matrix **matrix);
void mask_matrix_destroy(struct mask_matrix *matrix);

size_t mask_matrix_inputs(const struct mask_matrix *matrix);
size_t mask_matrix_outputs(const struct mask_matrix *matrix);

/* Count work that was done for it elsewhere. Errors: it is too much, all together. */
MUST_CHECK enum status mask_matrix_work(struct mask_matrix *matrix, uint64_t taps);

/* Keep the first inputs and outputs. */
MUST_CHECK enum status mask_matrix_crop(struct mask_matrix *matrix, size_t inputs, size_t outputs);

/* Connect each input to the output of the same number. */
MUST_CHECK enum status mask_matrix_connect(struct mask_matrix *matrix);

MUST_CHECK enum status mask_matrix_add(struct mask_matrix *matrix, size_t input, size_t output,
                                       double gain, uint64_t delay, const double *taps,
                                       size_t count);

/* Add taps that stay where they are as long as the matrix lives: they are not copied. */
MUST_CHECK enum status mask_matrix_lend(struct mask_matrix *matrix, size_t input, size_t output,
                                        double gain, uint64_t delay, const double *taps,
                                        size_t count);
MUST_CHECK enum status mask_matrix_filter(struct mask_matrix *matrix, size_t output, double gain,
                                          uint64_t delay, const double *taps, size_t count);

/* Add the response of another path. */
MUST_CHECK enum status mask_matrix_copy(struct mask_matrix *matrix, size_t input, size_t output,
                                        size_t from_input, size_t from_output);

/* Filter with one tap: gain and delay. */
MUST_CHECK enum status mask_matrix_gain(struct mask_matrix *matrix, size_t output, double gain,
                                        uint64_t delay);

/* Filter the selected of all outputs with a recursive filter. Errors: it is not stable, or rings
 * for more than MATRIX_RING_MOST taps. */
MUST_CHECK enum status mask_matrix_recursive_where(struct mask_matrix *matrix,
                                                   const bool *is_selected,
                                                   const struct recursive *filter);

/* Filter the selected of all outputs, or one output, with recursive sections in series. */
MUST_CHECK enum status mask_matrix_biquads_where(struct mask_matrix *matrix,
                                                 const bool *is_selected,
                                                 const struct biquad *biquads, size_t count);
MUST_CHECK enum status mask_matrix_biquads(struct mask_matrix *matrix, size_t output,
                                           const struct biquad *biquads, size_t count);

/* Replace the outputs by sums of the old ones, weighted by gains[new * old outputs + old]. */
MUST_CHECK enum status mask_matrix_mix(struct mask_matrix *matrix, size_t outputs,
                                       const double *gains);

/* Add an output of `from`, which has as many inputs, scaled. */
MUST_CHECK enum status mask_matrix_add_output(struct mask_matrix *matrix, size_t output,
                                              const struct mask_matrix *from, size_t from_output,
                                              double gain);

bool mask_matrix_is_silent(const struct mask_matrix *matrix);

/* A mask with its own paths, of the configuration's name and rate: a column for every response that
 * is not silent, shared by equal ones. Errors: memory; all are silent. */
MUST_CHECK enum status mask_matrix_to_mask(const struct mask_matrix *matrix, struct mask **mask);

/* The response of one input and output, as a mask for sound of any number of channels. */
MUST_CHECK enum status mask_matrix_to_column(const struct mask_matrix *matrix, struct mask **mask);

#endif
