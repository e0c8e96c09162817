/* Finds feedback of any spectrum: a loop from the output to the input that holds the output at its
 * ceiling. Mutes the output, and tries again later. The guard adds nothing to the sound.
 *
 * Music repeats itself, and a generator's tone is as steady as a howl. The guard compares what was
 * heard with what was played. It finds a loop in two cases:
 * - The limiter acts, and the input follows the played sound, with one delay (delay_finder.h). The
 *   input follows it more closely than the sound before fade and limiter.
 * - A tone is at the ceiling (feedback_detector.h), and its level in the input rose at a constant
 *   rate in dB. A loop's tone rises so; a note does not.
 * In all other cases the sound stays as it is. docs/measurements.md lists what the guard misses.
 *
 * A mute is a test: if there is a loop, the input collapses after the loop's delay and stays low.
 * If the input becomes as loud as before the mute, there is no loop. Then the output returns and
 * the guard rests for half a minute, and longer each further time. If there is a loop, the output
 * is silent for two seconds. Then the guard tries it at a ceiling that is 20 dB lower. If the loop
 * shows again, or the output is at the low ceiling in the last second of the try, the output is
 * muted for twice the time.
 *
 * Delays of up to 1.2 s are found. Each half window of about 43 ms costs a few FFTs, and more while
 * the output is at the ceiling. Threads: one; feedback_guard_frequency may be called on any.
 * Real-time: all but create and destroy. */
#ifndef HALO_FEEDBACK_GUARD_H
#define HALO_FEEDBACK_GUARD_H

#include "base/status.h"

#include <stdint.h>

/* Ceiling of a try, as a share of the full ceiling. */
#define FEEDBACK_QUIET 0.1f

struct feedback_guard;

/* What the caller does from the next block on. */
enum feedback_act {
    FEEDBACK_NOTHING,
    FEEDBACK_MUTE,
    FEEDBACK_TRY,    /* fade in, at a low ceiling */
    FEEDBACK_RESUME, /* return to the full ceiling; fade in if muted */
};

/* `ceiling`: linear ceiling of the limiter. Errors: memory. */
MUST_CHECK enum status feedback_guard_create(size_t inputs, size_t outputs, uint32_t rate,
                                             float ceiling, struct feedback_guard **guard);
void feedback_guard_destroy(struct feedback_guard *guard);

/* Step 1 of a block: takes its input, and its output before fade and limiter. */
void feedback_guard_begin(struct feedback_guard *guard, const float *const *in,
                          const float *const *out, size_t frames);

/* Step 2 of a block: takes its output after the fade, before the limiter. */
void feedback_guard_observe(struct feedback_guard *guard, const float *const *out, size_t frames);

/* Step 3 of a block: takes its output as it is played. */
enum feedback_act feedback_guard_play(struct feedback_guard *guard, const float *const *out,
                                      size_t frames);

/* Call this when somebody else mutes or unmutes. A try ends, and the full ceiling applies again. */
void feedback_guard_restart(struct feedback_guard *guard);

/* Sets the full ceiling of the limiter, linear. A mute or a try goes on. */
void feedback_guard_set_ceiling(struct feedback_guard *guard, float ceiling);

/* Frequency of the last feedback in Hz; 0 if the feedback was no tone. */
double feedback_guard_frequency(const struct feedback_guard *guard);

#endif
