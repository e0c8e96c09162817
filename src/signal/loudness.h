/* Loudness by EBU R128 (ITU-R BS.1770-4), plain RMS, and true peak; uses libebur128.
 *
 * Units are LUFS and dBFS; silence is -infinity. Full scale is -1..1: a full-scale sine has -3.01
 * dBFS RMS. Up to six channels count as mono, stereo, stereo with centre, quadraphonic, 5.0 and
 * 5.1. They are weighted as in the standard (surround +1.5 dB, LFE ignored). More than six channels
 * have equal weight.
 * Threads: one. Not real-time.
 */
#ifndef HALO_LOUDNESS_H
#define HALO_LOUDNESS_H

#include "base/status.h"

#include <stdint.h>

struct loudness;

/* Errors: memory, or a rate that cannot be measured (16 Hz to 2.8 MHz can). */
MUST_CHECK enum status loudness_create(uint32_t rate, size_t channels, struct loudness **meter);
void loudness_destroy(struct loudness *meter);

/* Errors: memory. */
MUST_CHECK enum status loudness_add(struct loudness *meter, const float *const *planar,
                                    size_t frames);
MUST_CHECK enum status loudness_add_in_double(struct loudness *meter, const double *const *planar,
                                              size_t frames);

/* The gated loudness: blocks below -70 LUFS, or 10 LU below the rest, are ignored. A sound shorter
 * than the standard's blocks of 400 ms is measured as a whole, weighted but not gated. */
double loudness_integrated(const struct loudness *meter);

/* The integrated loudness if the sound were louder by `gain_db`. It is not the sum of both: with
 * another gain, other blocks are below -70 LUFS. */
double loudness_integrated_with(const struct loudness *meter, double gain_db);

/* The gain in dB for `target` LUFS or just below, in steps of 0.01 dB. Not finite: silence. */
double loudness_gain_to(const struct loudness *meter, double target);

/* RMS over all channels, unweighted, in dBFS. */
double loudness_rms(const struct loudness *meter);

/* True peak, with 4 times oversampling at any rate. Errors: memory. */
struct true_peak;
MUST_CHECK enum status true_peak_create(size_t channels, struct true_peak **meter);
void true_peak_destroy(struct true_peak *meter);
void true_peak_add(struct true_peak *meter, const float *const *planar, size_t frames);
void true_peak_add_in_double(struct true_peak *meter, const double *const *planar, size_t frames);

/* The peak, linear. Ends the measurement. */
double true_peak_finish(struct true_peak *meter);

#endif
