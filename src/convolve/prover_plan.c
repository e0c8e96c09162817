/* Which stretches of a sound are compared.
 *
 * A stretch of L frames costs transforms of about L + taps - 1, so that many short ones, which see
 * more of the sound, cost more than few long ones. */
#include "convolve/prover_state.h"

#include "base/realtime.h"

#include <math.h>

enum {
    SECONDS_LEAST = 10,
    LENGTH_LEAST = 4096, /* frames */
    COUNT_LEAST = 3,     /* the beginning, the end and a place between them */
    USUAL_RATE = 48000,
    UNKNOWN_PERIOD = 50, /* stretches: 2 % where the length is unknown */
};
static const double SHARE_LEAST = 0.01;
static const double AFFORDABLE = 0.08; /* of the sound's frames, transformed */
static const double REPEATED = 0.25;   /* or of the frames compared, before the stretches */

/* The same in each run. */
HALO_REALTIME static uint64_t random_place(uint64_t index, uint64_t places)
{
    uint64_t z = (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % places;
}

/* As many stretches as one may afford. */
static uint64_t count_for(double frames, double wanted, double taps)
{
    double before = fmax(AFFORDABLE * frames - wanted, REPEATED * wanted);
    return (uint64_t)fmax(COUNT_LEAST, fmin(before / taps, wanted / LENGTH_LEAST));
}

static struct prover_plan plan_unknown(size_t length, double seconds, bool live)
{
    uint64_t whole = (uint64_t)ceil(seconds / (double)length);
    return (struct prover_plan){
        .length = length,
        .count = UINT64_MAX,
        .whole = live ? UINT64_MAX : whole,
        .period = (double)UNKNOWN_PERIOD * (double)length,
        .frames = UINT64_MAX,
    };
}

struct prover_plan prover_plan_make(const struct prover_settings *settings)
{
    double rate = settings->rate ? settings->rate : USUAL_RATE, frames = (double)settings->frames;
    double seconds = SECONDS_LEAST * rate, wanted = fmax(seconds, ceil(SHARE_LEAST * frames));
    size_t length = settings->taps > LENGTH_LEAST ? settings->taps : LENGTH_LEAST;
    if (settings->live || settings->frames <= 0)
        return plan_unknown(length, seconds, settings->live);
    struct prover_plan plan = {.frames = (uint64_t)settings->frames};
    plan.count = count_for(frames, wanted, (double)settings->taps);
    plan.length = (size_t)ceil(wanted / (double)plan.count);
    plan.period = frames / (double)plan.count;
    if (wanted < frames && (double)plan.length < plan.period)
        return plan;
    plan.length = length < plan.frames ? length : (size_t)plan.frames;
    plan.whole = plan.count = (plan.frames + plan.length - 1) / plan.length;
    return plan;
}

HALO_REALTIME uint64_t prover_plan_start(const struct prover_plan *plan, uint64_t index)
{
    if (index < plan->whole)
        return index * plan->length;
    if (plan->count < UINT64_MAX && index == plan->count - 1)
        return plan->frames - plan->length;
    uint64_t start =
        plan->whole * plan->length + (uint64_t)((double)(index - plan->whole) * plan->period);
    if (index == 0)
        return start;
    return start + random_place(index, (uint64_t)plan->period - plan->length + 1);
}
