/* Finds feedback of any spectrum: a loop from the output to the input that holds the output at its
 * ceiling. Mutes it, and tries again. Adds nothing to a sound.
 *
 * Music repeats itself, and a generator's tone is as steady as a howl. What was heard and played
 * tells a loop from them in two cases:
 * - The limiter acts, and the input follows what was played more closely than what would have been
 *   played without fade and limiter, with one delay (delay_finder.h).
 * - A tone is at the ceiling (feedback_detector.h), and in the input it came there at a constant
 *   rate in dB, as a loop's does and notes do not.
 * In all others the sound stays as it is. docs/measurements.md has what that misses.
 *
 * A mute is a test: after the loop's delay a loop's input collapses, and stays so. As soon as the
 * input is as loud again as before the mute, there is no loop, the output is back, and the guard
 * rests for half a minute, later for longer. Otherwise it is silent for two seconds, then tried at
 * a ceiling that is 20 dB lower. If the loop shows again, or the output is at that ceiling for the
 * last second of the try, it is muted again, and silent for twice the time.
 *
 * Delays of up to 1.2 s are found. Each half window of about 43 ms costs a few FFTs, and more while
 * the output is at the ceiling. Threads: one; any may ask for the frequency. Real-time: all but
 * create and destroy.
 */
#ifndef HALO_FEEDBACK_GUARD_H
#define HALO_FEEDBACK_GUARD_H

#include "base/status.h"

#include <stdint.h>

/* The ceiling of a try, over the full one. */
#define FEEDBACK_QUIET 0.1f

struct feedback_guard;

/* From the next block on. */
enum feedback_act {
    FEEDBACK_NOTHING,
    FEEDBACK_MUTE,
    FEEDBACK_TRY,    /* fade in, at a low ceiling */
    FEEDBACK_RESUME, /* the full ceiling; fade in where it is muted */
};

/* `ceiling`: of the limiter, linear. Errors: memory. */
MUST_CHECK enum status feedback_guard_create(size_t inputs, size_t outputs, uint32_t rate,
                                             float ceiling, struct feedback_guard **guard);
void feedback_guard_destroy(struct feedback_guard *guard);

/* A block of the input, and of the output before it is faded and limited. */
void feedback_guard_begin(struct feedback_guard *guard, const float *const *in,
                          const float *const *out, size_t frames);

/* The same block of the output, faded, before the limiter. */
void feedback_guard_observe(struct feedback_guard *guard, const float *const *out, size_t frames);

/* The same block of the output as it is played. */
enum feedback_act feedback_guard_play(struct feedback_guard *guard, const float *const *out,
                                      size_t frames);

/* Someone else mutes or unmutes: the full ceiling again, and no try. */
void feedback_guard_restart(struct feedback_guard *guard);

/* Hz of the last feedback; 0: it was no tone. */
double feedback_guard_frequency(const struct feedback_guard *guard);

#endif
