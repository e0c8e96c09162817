/* Finds feedback of any spectrum: a loop from the output to the input that holds the output at its
 * ceiling.
 *
 * Three suspicions lead to a test. A pure tone has been at the ceiling for half a second
 * (feedback_detector.h); or the output exceeded the ceiling in four windows with sound within the
 * last second of it, and the input repeats what the output was before, with one delay in a share of
 * all frequencies (delay_finder.h); or it exceeded the ceiling in all windows of half a second: a
 * short loop repeats what its source says just now. None is proof: a generator makes tones, and
 * music repeats itself. So the guard adds noise to the output, 18 dB below the ceiling, for half a
 * second at most, and looks for it in the input: noise that was drawn just now can come from
 * nowhere else. For a tone that is enough. Otherwise the loop may be one that holds, with a loud
 * source, and the guard makes the output silent for half a second and the loop's delay. In a loop
 * that runs away the input collapses, and nothing comes back by itself; or, where a source goes on,
 * the input loses so much of its power that the loop's gain, which is that share and what the
 * limiter took away, is above 1. A source that alone is above the ceiling hides that, until it
 * ends. Where a test finds no feedback the guard waits before the next one, longer each time,
 * unless the input begins to follow the output more closely than before the last test. A tone that
 * grew evenly to the ceiling is feedback without a test.
 *
 * Delays of up to 1.2 s are found. Each half window of about 43 ms costs two FFTs, and more while
 * the output is at the ceiling. Threads: one; any may ask for the frequency. Real-time: all but
 * create and destroy.
 */
#ifndef HALO_FEEDBACK_GUARD_H
#define HALO_FEEDBACK_GUARD_H

#include "base/status.h"

#include <stdint.h>

struct feedback_guard;

/* `ceiling`: of the limiter, linear. Errors: memory. */
MUST_CHECK enum status feedback_guard_create(size_t inputs, size_t outputs, uint32_t rate,
                                             float ceiling, struct feedback_guard **guard);
void feedback_guard_destroy(struct feedback_guard *guard);

/* A block of the output, before the limiter. True: there is feedback; the state was reset.
 * `fades_in`: a tone that grows in this block is no sign of it. */
bool feedback_guard_process(struct feedback_guard *guard, const float *const *out, size_t frames,
                            bool fades_in);

/* The same block after the limiter, as it will be played, and its input. A test changes it. */
void feedback_guard_play(struct feedback_guard *guard, const float *const *in, float *const *out,
                         size_t frames);

/* Hz of the last feedback; 0: it was no tone. */
double feedback_guard_frequency(const struct feedback_guard *guard);

#endif
