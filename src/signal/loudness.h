/* How loud a region is: EBU R128 (ITU-R BS.1770-4), by libebur128, plain RMS, and true peak.
 *
 * Figures are in LUFS and dBFS; silence is -infinity. Full scale is -1..1: a sine of full
 * scale has -3.01 dBFS RMS. Up to six channels are, by their number, mono, stereo, with
 * centre, quadraphonic, 5.0 and 5.1, as the standard weighs them (surround 1.5 dB more, the
 * fourth of six is the bass channel and left out); of seven or more each weighs alike.
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

/* Of all that was added, gated: regions below -70 LUFS and 10 LU below the rest do not count.
 * The standard's blocks are 400 ms long. A shorter sound has none: it is measured whole,
 * with the standard's weighting and without the gates. */
double loudness_integrated(const struct loudness *meter);

/* Of all samples of all channels, unweighted, in dBFS. */
double loudness_rms(const struct loudness *meter);

/* The highest value a sound reaches between its samples: oversampled 4 times, from 96 kHz on
 * twice; from 192 kHz on the samples' own. Errors: memory. */
struct true_peak;
MUST_CHECK enum status true_peak_create(uint32_t rate, size_t channels, struct true_peak **meter);
void true_peak_destroy(struct true_peak *meter);
void true_peak_add(struct true_peak *meter, const float *const *planar, size_t frames);

/* The peak so far, linear; ends the measurement. */
double true_peak_finish(struct true_peak *meter);

#endif
