/* Whether an input follows what was played, or what would have been played without a limiter.
 *
 * A loop returns what was played. If the limiter acts, that differs from what it was given, and the
 * input follows the one and not the other. A source that repeats itself knows nothing of the
 * limiter: what it gives now resembles what the limiter was given. Where the limiter's gain is
 * constant both are alike, and nothing can be said.
 *
 * For a delay, windows of the input are predicted by a transfer function in each frequency, by
 * least squares over some half a second; of each window the energy counts alike, so that a growing
 * sound tells as much as a loud one. Threads: one. Real-time: all but create and destroy.
 */
#ifndef HALO_OUTPUT_FOLLOWER_H
#define HALO_OUTPUT_FOLLOWER_H

#include "base/status.h"

struct output_follower;

struct followed {
    double played; /* share of the input's energy that what was played leaves unexplained, 0 to 1 */
    double unlimited; /* the same, of what the limiter was given */
    double windows;   /* that count */
};

/* `window`: frames, a power of two. Errors: memory. */
MUST_CHECK enum status output_follower_create(size_t window, struct output_follower **follower);
void output_follower_destroy(struct output_follower *follower);
void output_follower_reset(struct output_follower *follower);

/* The next window of the input, and of the others one delay before; half a window further than the
 * last. Costs three FFTs. */
struct followed output_follower_write(struct output_follower *follower, const float *input,
                                      const float *played, const float *unlimited);

#endif
