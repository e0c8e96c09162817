#include "sweep/sweep.h"

#include <math.h>

/* The start needs no fade, since it is a sine's. Any fade there would leave less sound below `from`,
 * and a longer one at the end less above `to`; noise would grow by as much. */
static const double FADED = 8; /* cycles */

enum status sweep_init(struct sweep *sweep, double seconds, double from, double to, uint32_t rate)
{
    if (!(from > 0 && from < to && to <= rate / 2.0))
        return fail(CAUSE_USAGE,
                    "a sweep rises, from above 0 Hz to at most half the rate of %u Hz, but not "
                    "from %g to %g Hz",
                    rate, from, to);
    double cycles = round(from * seconds / log(to / from));
    if (!(cycles >= 1))
        return fail(CAUSE_USAGE, "a sweep from %g to %g Hz takes at least %.3g s, not %g", from, to,
                    log(to / from) / from, seconds);
    *sweep = (struct sweep){.rate = rate, .from = from, .to = to, .span = cycles / from};
    sweep->seconds = sweep->span * log(to / from);
    sweep->frames = sweep_frames(sweep, 1);
    return STATUS_OK;
}

size_t sweep_frames(const struct sweep *sweep, double stretch)
{
    return (size_t)ceil(sweep->seconds * sweep->rate * stretch);
}

void sweep_fill(const struct sweep *sweep, double stretch, double *samples)
{
    double step = 1 / (sweep->rate * stretch), fade = FADED / sweep->to;
    for (size_t i = 0, frames = sweep_frames(sweep, stretch); i < frames; i++) {
        double time = (double)i * step;
        double end = fmin(1, (sweep->seconds - time) / fade);
        samples[i] = sin(2 * M_PI * sweep->from * sweep->span * expm1(time / sweep->span)) *
                     (0.5 - 0.5 * cos(M_PI * end));
    }
}

double sweep_advance(const struct sweep *sweep, size_t harmonic)
{
    return sweep->span * log((double)harmonic);
}

double sweep_usual_end(uint32_t rate)
{
    return fmin(22000, 0.45 * rate);
}
