/* A matrix of impulse responses from every input to every output, for reading configurations. All
 * are silent at first. They change in the order of the signal flow:
 *
 *   add      adds a response in parallel to a path
 *   filter   puts a filter in series with an output
 *   mix      makes outputs sums of the previous outputs
 *
 * Responses are stored from their first tap to their last, so a delay takes no memory. Inputs,
 * outputs and frames count from 0. Gains are linear. Errors: memory; too many taps, at the current
 * line of `config`. */
#ifndef HALO_MASK_MATRIX_H
#define HALO_MASK_MATRIX_H

#include "import/mask_config.h"
#include "signal/recursive.h"

enum {
    MATRIX_CHANNELS_MOST = 128,
    MATRIX_TAPS_MOST = 1 << 24, /* taps of a response with its delay: 5.8 minutes at 48 kHz */
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    MATRIX_RING_MOST = 1 << 12,
#else
    MATRIX_RING_MOST = 1 << 22, /* taps of one recursive filter: 87 seconds at 48 kHz */
#endif
};

struct mask_matrix;

MUST_CHECK enum status mask_matrix_create(const struct mask_config *config, size_t inputs,
                                          size_t outputs, struct mask_matrix **matrix);
void mask_matrix_destroy(struct mask_matrix *matrix);

size_t mask_matrix_inputs(const struct mask_matrix *matrix);
size_t mask_matrix_outputs(const struct mask_matrix *matrix);

/* Counts work that the caller has done for the matrix. Errors: the sum of all work is too large. */
MUST_CHECK enum status mask_matrix_work(struct mask_matrix *matrix, uint64_t taps);

/* Keeps only the first inputs and outputs. */
MUST_CHECK enum status mask_matrix_crop(struct mask_matrix *matrix, size_t inputs, size_t outputs);

/* Connects each input to the output of the same number. */
MUST_CHECK enum status mask_matrix_connect(struct mask_matrix *matrix);

MUST_CHECK enum status mask_matrix_add(struct mask_matrix *matrix, size_t input, size_t output,
                                       double gain, uint64_t delay, const double *taps,
                                       size_t count);

/* Adds taps that are not copied. They must stay valid as long as the matrix. */
MUST_CHECK enum status mask_matrix_lend(struct mask_matrix *matrix, size_t input, size_t output,
                                        double gain, uint64_t delay, const double *taps,
                                        size_t count);
MUST_CHECK enum status mask_matrix_filter(struct mask_matrix *matrix, size_t output, double gain,
                                          uint64_t delay, const double *taps, size_t count);

/* Adds the response of another path to a path. */
MUST_CHECK enum status mask_matrix_copy(struct mask_matrix *matrix, size_t input, size_t output,
                                        size_t from_input, size_t from_output);

/* Filters an output with one tap: gain and delay. */
MUST_CHECK enum status mask_matrix_gain(struct mask_matrix *matrix, size_t output, double gain,
                                        uint64_t delay);

/* Filters selected outputs recursively. Errors: unstable, or rings over MATRIX_RING_MOST taps. */
MUST_CHECK enum status mask_matrix_recursive_where(struct mask_matrix *matrix,
                                                   const bool *is_selected,
                                                   const struct recursive *filter);

/* Apply recursive sections in series: to each output that is selected, or to one output. */
MUST_CHECK enum status mask_matrix_biquads_where(struct mask_matrix *matrix,
                                                 const bool *is_selected,
                                                 const struct biquad *biquads, size_t count);
MUST_CHECK enum status mask_matrix_biquads(struct mask_matrix *matrix, size_t output,
                                           const struct biquad *biquads, size_t count);

/* Replaces the outputs by sums of the old ones, weighted by gains[new * old outputs + old]. */
MUST_CHECK enum status mask_matrix_mix(struct mask_matrix *matrix, size_t outputs,
                                       const double *gains);

/* Adds a scaled output of `from`, which has the same number of inputs. */
MUST_CHECK enum status mask_matrix_add_output(struct mask_matrix *matrix, size_t output,
                                              const struct mask_matrix *from, size_t from_output,
                                              double gain);

bool mask_matrix_is_silent(const struct mask_matrix *matrix);

/* Makes a mask with its own paths and the configuration's name and rate. Each response that is not
 * silent has a column, which equal responses share. Errors: memory; all responses are silent. */
MUST_CHECK enum status mask_matrix_to_mask(const struct mask_matrix *matrix, struct mask **mask);

/* The response of the only input and output, as a mask for any number of channels. */
MUST_CHECK enum status mask_matrix_to_column(const struct mask_matrix *matrix, struct mask **mask);

#endif
