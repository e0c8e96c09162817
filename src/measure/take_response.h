/* From a take to impulse responses and what they say.
 *
 * Time zero of a response is, in this order: the arrival of what the reference recorded, that of
 * the mark at the first input, the latency that the device states, or the first direct sound. What
 * is played is divided out as the reference recorded it, or as the sweep was computed; calibration
 * files are divided out with it.
 *
 * With two clocks the first repeat and the last one tell the ratio of the clocks. Then the sweep is
 * computed as the input's clock sees it. So nothing is resampled. Threads: one. Not real-time. */
#ifndef HALO_TAKE_RESPONSE_H
#define HALO_TAKE_RESPONSE_H

#include "mask/mask.h"
#include "measure/take.h"
#include "sweep/measurement.h"

struct take_settings {
    const char *const *calibrations; /* files (response_file.h) */
    size_t calibration_count;
    double full_scale; /* dB SPL of full scale; NAN: unknown */
};

/* The response in a calibration file. Errors: its format; memory. */
MUST_CHECK enum status take_calibration_load(const char *file, uint32_t rate, struct mask **mask);

/* The mask has a column for each path, with all inputs of the first output first, at the input's
 * rate. Its direct sounds come at least a millisecond after tap 0: *zero is the tap of time zero.
 * Errors: an input that does not hear an output; a calibration file; memory. */
MUST_CHECK enum status take_responses(const struct take *take, const struct take_settings *settings,
                                      struct mask **mask, size_t *zero,
                                      struct measurement **measurement);

#endif
