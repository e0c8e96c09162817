/* Designs the filter that moves a quantiser's noise to frequencies at which the ear is less
 * sensitive, for any sampling rate.
 *
 * A filter of errors cannot lower the mean of its logarithmic response over all frequencies. If it
 * lowers the noise at one frequency, it raises it at another (Gerzon and Craven, "Optimal Noise
 * Shaping and Dither of Digital Signals", AES 87th Convention, 1989). The best response of few taps
 * has the least noise weighted by the ear. This is the linear prediction of a signal whose spectrum
 * is the weight: minimum-phase, by Levinson's recursion from the weight's autocorrelation. The
 * weight is the threshold of hearing; above 20 kHz it is zero. A constant is added to the weight to
 * limit the whole noise: the least constant that keeps the noise's power within NOISE_SHAPING_RISE
 * of white noise.
 *
 * The taps are rounded, so that they do not depend on the last bits of a processor's arithmetic.
 * Threads: any.
 */
#ifndef HALO_NOISE_SHAPING_H
#define HALO_NOISE_SHAPING_H

#include <stdint.h>

enum {
    NOISE_SHAPING_TAPS = 12,
    NOISE_SHAPING_RISE = 12, /* dB, the most */
};

/* taps[k] weighs the error k + 1 samples ago, which is subtracted from the sample. `rate`: any, in
 * Hz. All taps are 0 if no frequency is audible, or all are equally audible. */
void noise_shaping_design(uint32_t rate, double taps[static NOISE_SHAPING_TAPS]);

#endif
