/* The filter that moves the noise of a quantiser to where the ear is dull, at any sampling rate.
 *
 * No filter of errors lowers the mean of its logarithmic response over all frequencies: what it
 * takes from one it gives to another (Gerzon and Craven, "Optimal Noise Shaping and Dither of
 * Digital Signals", AES 87th Convention, 1989). The best response of few taps is the one with the
 * least noise as weighted by the ear, and this is the linear prediction of a signal whose spectrum
 * is the weight: minimum-phase, by Levinson's recursion from the weight's autocorrelation. The
 * weight is the threshold of hearing; above 20 kHz it is nothing. A constant added to the weight
 * limits the noise as a whole: the least that keeps its power within NOISE_SHAPING_RISE of white
 * noise.
 *
 * The taps are rounded, so that they do not depend on the last bits of a processor's arithmetic.
 * Threads: any.
 */
#ifndef HALO_NOISE_SHAPING_H
#define HALO_NOISE_SHAPING_H

#include <stdint.h>

enum {
    NOISE_SHAPING_TAPS = 12,
    NOISE_SHAPING_RISE = 12, /* dB at most */
};

/* taps[k] weighs the error of k + 1 samples ago, which is subtracted from the sample. The rate is
 * in Hz, and any; where no frequency is audible, or none more than others, all taps are 0. */
void noise_shaping_design(uint32_t rate, double taps[static NOISE_SHAPING_TAPS]);

#endif
