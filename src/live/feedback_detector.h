/* Detects feedback that is a tone, from the output alone, and distinguishes it from speech, music
 * and noise.
 *
 * It examines the limiter's input, each channel by itself, in windows of about 43 ms that overlap
 * by half. The strongest spectral peak of a window (from 70 Hz) is a tone if it has ten times the
 * power of all the rest and no harmonics above -30 dB. Feedback is a tone of steady frequency that
 * - grows: by 10 dB within a second, evenly in dB and never backwards, to less than 12 dB below
 *   the ceiling; or
 * - stays at the limit: for most of half a second within 3 dB of the ceiling or above it, driving
 *   samples over the ceiling, and not decaying; or, for most of a second, two such tones together.
 * Feedback below loud speech is found when the speech pauses. A pure steady tone above the ceiling
 * (a test tone, a steady whistle) looks alike (feedback_guard.h tests it); below it, it does not.
 * If something else limits the loop, such as a clipping microphone, harmonics hide the feedback
 * unless it still grows.
 *
 * Sources: T. van Waterschoot and M. Moonen, "Fifty years of acoustic feedback control: state
 * of the art and future challenges", Proc. IEEE 99(2), 2011, and "Comparative evaluation of
 * howling detection criteria in notch-filter-based howling suppression", J. Audio Eng. Soc.
 * 58(11), 2010. Criteria combined here: the peak over all else (PAPR and PNPR use the mean and the
 * neighbours), over its harmonics (PHPR) and over a threshold (PTPR, here the ceiling), its
 * persistence (IPMP) and the evenness of its slope (IMSD).
 *
 * Up to the first detection the result does not depend on the block length.
 * Threads: one processes; any may ask for the frequency.
 */
#ifndef HALO_FEEDBACK_DETECTOR_H
#define HALO_FEEDBACK_DETECTOR_H

#include "base/status.h"

#include <stdint.h>

struct feedback_detector;

enum feedback_kind {
    FEEDBACK_NONE,
    FEEDBACK_AT_CEILING, /* or a tone that is meant to be so loud */
    FEEDBACK_GROWING,
};

/* `ceiling`: of the limiter, linear. Errors: memory. */
MUST_CHECK enum status feedback_detector_create(size_t channels, uint32_t rate, float ceiling,
                                                struct feedback_detector **detector);
void feedback_detector_destroy(struct feedback_detector *detector);

/* Real-time. Not NONE: it was found in these frames, and the state was reset. Each window that ends
 * in the block costs an FFT. `fades_in`: a fade makes everything louder, so that growth up to here
 * says nothing. */
enum feedback_kind feedback_detector_process(struct feedback_detector *detector,
                                             const float *const *planar, size_t frames,
                                             bool fades_in);
void feedback_detector_reset(struct feedback_detector *detector); /* real-time */

/* Hz of the last feedback, or 0. */
double feedback_detector_frequency(const struct feedback_detector *detector);

#endif
