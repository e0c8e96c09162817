/* Detects a tone that stays at the ceiling of the limiter. Feedback is such a tone, but a signal
 * generator also makes one.
 *
 * It examines the limiter's input, each channel by itself, in windows of about 43 ms that overlap
 * by half. The strongest spectral peak of a window (from 70 Hz) is a tone if it has ten times the
 * power of all the rest and no harmonics above -30 dB. A tone is at the ceiling if, for most of
 * half a second, its frequency is steady, its level is not more than 3 dB below the ceiling, it
 * does not decay, and samples exceed the ceiling. Two such tones together must last for most of a
 * second.
 * Feedback below loud speech is found when the speech pauses. If something else limits the loop,
 * such as a clipping microphone, harmonics hide it.
 *
 * Sources: T. van Waterschoot and M. Moonen, "Fifty years of acoustic feedback control: state
 * of the art and future challenges", Proc. IEEE 99(2), 2011, and "Comparative evaluation of howling
 * detection criteria in notch-filter-based howling suppression", J. Audio Eng. Soc. 58(11), 2010.
 * Criteria combined here: the peak over all else (PAPR and PNPR use the mean and the neighbours),
 * over its harmonics (PHPR) and over a threshold (PTPR, here the ceiling), and its persistence
 * (IPMP).
 *
 * Up to the first detection the result does not depend on the block length.
 * Threads: one. Real-time: all but create and destroy. */
#ifndef HALO_FEEDBACK_DETECTOR_H
#define HALO_FEEDBACK_DETECTOR_H

#include "base/status.h"

#include <stdint.h>

struct feedback_detector;

/* `ceiling`: linear ceiling of the limiter. Errors: memory. */
MUST_CHECK enum status feedback_detector_create(size_t channels, uint32_t rate, float ceiling,
                                                struct feedback_detector **detector);
void feedback_detector_destroy(struct feedback_detector *detector);

/* Returns true if a tone was found, and starts afresh. Each window that ends costs an FFT. */
bool feedback_detector_process(struct feedback_detector *detector, const float *const *planar,
                               size_t frames);
/* Starts afresh. `ceiling`: the ceiling from now on, linear. */
void feedback_detector_reset(struct feedback_detector *detector, float ceiling);

/* Frequency of the tone detected last, in Hz; 0 if there was none. */
double feedback_detector_frequency(const struct feedback_detector *detector);

#endif
