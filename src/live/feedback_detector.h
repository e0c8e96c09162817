/* Tells run-away acoustic feedback, a howl, from speech, music and noise.
 *
 * It listens to what goes to the limiter, each channel by itself, in windows of about 43 ms
 * that overlap by half. The strongest spectral peak of a window (from 70 Hz on) is a tone where it
 * holds ten times the power of all the rest and has no harmonics above -30 dB. A howl is a tone
 * that stays at its frequency and
 * - grows by itself: without a step back, by 10 dB within a second, evenly in decibels, to less
 *   than 12 dB below the ceiling; or
 * - sits pinned: for most of half a second within 3 dB of the ceiling or above it, driving the
 *   sound over the ceiling, and not dying away; or for most of a second two such tones that
 *   share the ceiling.
 * A howl under loud speech is found when the speech pauses. A pure steady tone above the ceiling
 * is a howl too (a test tone, a whistle held still), and below it none. What limits the loop
 * before it comes here, such as a microphone that clips, adds harmonics: that howl is found
 * only while it grows.
 *
 * Sources: T. van Waterschoot and M. Moonen, "Fifty years of acoustic feedback control: state
 * of the art and future challenges", Proc. IEEE 99(2), 2011, and "Comparative evaluation of
 * howling detection criteria in notch-filter-based howling suppression", J. Audio Eng. Soc.
 * 58(11), 2010. Of their criteria these are used, all at once: the peak over all else (where
 * PAPR and PNPR take the mean and the neighbours), over its harmonics (PHPR) and over a
 * threshold (PTPR, here the ceiling), its persistence (IPMP) and the evenness of its slope
 * (IMSD).
 *
 * The same frames give the same answer, up to the first howl, whatever the length of the blocks.
 * Threads: one processes; any may ask for the frequency.
 */
#ifndef HALO_FEEDBACK_DETECTOR_H
#define HALO_FEEDBACK_DETECTOR_H

#include "base/status.h"

#include <stdint.h>

struct feedback_detector;

/* `ceiling`: the limiter's, linear. Errors: memory. */
MUST_CHECK enum status feedback_detector_create(size_t channels, uint32_t rate, float ceiling,
                                                struct feedback_detector **guard);
void feedback_detector_destroy(struct feedback_detector *guard);

/* Real-time. True where a howl was found in these frames; then what came before is forgotten,
 * as by a reset. A window that ends within the block costs a transform of it. */
bool feedback_detector_process(struct feedback_detector *guard, const float *const *planar,
                               size_t frames);
void feedback_detector_reset(struct feedback_detector *guard); /* real-time */

double
feedback_detector_frequency(const struct feedback_detector *guard); /* Hz of the last howl, or 0 */

#endif
