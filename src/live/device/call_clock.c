#include "live/device/call_clock.h"

#include "base/realtime.h"

#include <math.h>
#include <string.h>

static const double MEMORY = 120e9;       /* ns of calls that the line may cover */
static const double DEVIATION = 0.01;     /* relative deviation of a clock from nominal, at most */
static const double LATENESS_LEAST = 0.1; /* frames: lower bound of the mean lateness */
static const double DOUBT = 5e-4;  /* relative slope error at which calls and prior weigh alike */
static const double SPREAD = 20;   /* error of the line in mean latenesses, times number of calls */
static const double EVIDENCE = 38; /* in mean latenesses; above it, a change is not chance */
static const double EARLY_LEAST = 0.25; /* frames by which a call may be early, besides EARLY */
static const double EARLY = 40; /* a call may be early by EARLY mean latenesses / number of calls */
static const double LATENESS_CALLS = 128; /* calls that the mean lateness is averaged over */
static const double LATENESS_PRIOR = 8;   /* calls that the initial mean lateness counts for */
enum { MISSED_LEAST = 6, DOUBTED = 32 };

HALO_REALTIME static void forget(struct call_clock *clock)
{
    clock->prior = clock->slope;
    clock->calls = clock->stretches = clock->filled = 0;
    clock->stretch = 1;
    clock->level_count = clock->level_calls = 0;
}

HALO_REALTIME void call_clock_init(struct call_clock *clock, double rate, size_t period)
{
    *clock = (struct call_clock){.nominal = 1e9 / rate, .slope = 1e9 / rate};
    clock->lateness = clock->nominal * (double)period / 4;
    forget(clock);
}

HALO_REALTIME void call_clock_restart(struct call_clock *clock)
{
    forget(clock);
}

HALO_REALTIME size_t call_clock_calls(const struct call_clock *clock)
{
    return clock->calls;
}

HALO_REALTIME double call_clock_slope(const struct call_clock *clock)
{
    return clock->slope;
}

HALO_REALTIME int64_t call_clock_time(const struct call_clock *clock, uint64_t frames)
{
    return clock->begun + llround(clock->offset + clock->slope * (double)frames);
}

HALO_REALTIME double call_clock_frames(const struct call_clock *clock, int64_t time)
{
    return ((double)(time - clock->begun) - clock->offset) / clock->slope;
}

/* ---- the stretches ---- */

HALO_REALTIME static double above(struct call_clock_point point, double slope)
{
    return point.time - slope * point.frames;
}

/* Merges the stretches in pairs. If they already cover MEMORY, drops the oldest one instead. */
HALO_REALTIME static void make_room(struct call_clock *clock)
{
    struct call_clock_point *lowest = clock->lowest;
    if (lowest[CALL_CLOCK_STRETCHES - 1].time - lowest[0].time >= MEMORY) {
        memmove(lowest, lowest + 1, (CALL_CLOCK_STRETCHES - 1) * sizeof *lowest);
        clock->stretches--;
        return;
    }
    for (size_t i = 0; i < CALL_CLOCK_STRETCHES / 2; i++) {
        bool second = above(lowest[2 * i + 1], clock->slope) < above(lowest[2 * i], clock->slope);
        lowest[i] = lowest[2 * i + second];
    }
    clock->stretches /= 2;
    clock->stretch *= 2;
}

HALO_REALTIME static void add_point(struct call_clock *clock, struct call_clock_point point)
{
    if (clock->filled == clock->stretch)
        clock->filled = 0;
    if (clock->filled == 0 && clock->stretches == CALL_CLOCK_STRETCHES)
        make_room(clock);
    if (clock->filled == 0)
        clock->lowest[clock->stretches++] = point;
    struct call_clock_point *last = &clock->lowest[clock->stretches - 1];
    if (above(point, clock->slope) < above(*last, clock->slope))
        *last = point;
    clock->filled++;
    clock->calls++;
}

/* ---- the line ---- */

HALO_REALTIME static double slope_between(struct call_clock_point a, struct call_clock_point b)
{
    return (b.time - a.time) / (b.frames - a.frames);
}

/* Slope of that edge of the lower convex hull which lies below the middle of the calls. */
HALO_REALTIME static double hull_slope(const struct call_clock *clock)
{
    struct call_clock_point hull[CALL_CLOCK_STRETCHES];
    size_t count = 0, edge = 1;
    double middle = 0;
    for (size_t i = 0; i < clock->stretches; i++) {
        struct call_clock_point point = clock->lowest[i];
        middle += point.frames / (double)clock->stretches;
        while (count > 1 && slope_between(hull[count - 2], hull[count - 1]) >=
                                slope_between(hull[count - 1], point))
            count--;
        hull[count++] = point;
    }
    while (edge + 1 < count && hull[edge].frames < middle)
        edge++;
    return slope_between(hull[edge - 1], hull[edge]);
}

/* Slope by the calls and the prior. The fewer the calls, the more the prior counts. */
HALO_REALTIME static double weighed_slope(const struct call_clock *clock)
{
    if (clock->stretches < 2)
        return clock->prior;
    double lasted = clock->lowest[clock->stretches - 1].time - clock->lowest[0].time;
    double doubt = SPREAD * clock->lateness / ((double)clock->calls * lasted);
    double weight = 1 / (1 + doubt * doubt / (DOUBT * DOUBT));
    double slope = clock->prior + weight * (hull_slope(clock) - clock->prior);
    return fmin(clock->nominal * (1 + DEVIATION), fmax(clock->nominal * (1 - DEVIATION), slope));
}

HALO_REALTIME static void fit(struct call_clock *clock)
{
    clock->slope = weighed_slope(clock);
    clock->offset = INFINITY;
    for (size_t i = 0; i < clock->stretches; i++)
        clock->offset = fmin(clock->offset, above(clock->lowest[i], clock->slope));
}

/* ---- changes ---- */

/* Each level is a lower bound for its calls and all later ones. So a late call becomes a new level
 * on top, and an early call replaces the levels above it. */
HALO_REALTIME static void add_level(struct call_clock *clock, double late, double time)
{
    struct call_clock_level *levels = clock->levels, added = {late, time, time, 1};
    while (clock->level_count > 0 && levels[clock->level_count - 1].late >= late) {
        added.calls += levels[--clock->level_count].calls;
        added.from = levels[clock->level_count].from;
    }
    if (clock->level_count == CALL_CLOCK_LEVELS) {
        levels[1].late = levels[0].late;
        levels[1].calls += levels[0].calls;
        levels[1].from = levels[0].from;
        levels[1].to = levels[0].to;
        levels[0].calls = 0;
    } else if (++clock->level_calls > CALL_CLOCK_RECENT) {
        levels[0].calls--;
        clock->level_calls--;
    }
    if (clock->level_count > 0 && levels[0].calls == 0)
        memmove(levels, levels + 1, --clock->level_count * sizeof *levels);
    levels[clock->level_count++] = added;
}

/* A change of the clock, found in the lateness of the calls after it. */
struct change {
    size_t calls;    /* calls since the change */
    double evidence; /* area below the lateness of these calls, in calls times ns */
    double rise;     /* relative change of the clock's slope */
};

/* Tests whether the device lost time: after some call, none has come near the line. Calls that were
 * held up come all at once, so lateness counts at most half the time since that call. */
HALO_REALTIME static struct change find_step(const struct call_clock *clock, double time)
{
    struct change step = {0};
    size_t calls = 0;
    for (size_t i = clock->level_count; i-- > 0;) {
        const struct call_clock_level *level = &clock->levels[i];
        calls += level->calls;
        double area = fmin(level->late, (time - level->from) / 2) * (double)calls;
        if (calls >= MISSED_LEAST && area > step.evidence)
            step = (struct change){calls, area, 0};
    }
    return step;
}

/* Slope of the steepest line from the end of level `from` that lies below all later levels. */
HALO_REALTIME static double rise_from(const struct call_clock *clock, size_t from)
{
    const struct call_clock_level *levels = clock->levels;
    double rise = INFINITY;
    for (size_t i = from + 1; i < clock->level_count; i++)
        rise = fmin(rise, levels[i].late / (levels[i].to - levels[from].to));
    return rise;
}

/* Tests whether the clock has become slower: calls come ever later. */
HALO_REALTIME static struct change find_ramp(const struct call_clock *clock, double time)
{
    struct change ramp = {0};
    size_t calls = 0;
    for (size_t i = clock->level_count; i-- > 1;) {
        calls += clock->levels[i].calls;
        double rise = rise_from(clock, i - 1);
        double area = rise * (time - clock->levels[i - 1].to) / 2 * (double)calls;
        if (calls >= MISSED_LEAST && area > ramp.evidence && rise < 2 * DEVIATION)
            ramp = (struct change){calls, area, rise};
    }
    return ramp;
}

HALO_REALTIME static struct change find_change(const struct call_clock *clock, double time)
{
    struct change step = find_step(clock, time), ramp = find_ramp(clock, time);
    return ramp.evidence > step.evidence ? ramp : step;
}

/* Upper bound of the evidence that find_change can return. */
HALO_REALTIME static double levels_area(const struct call_clock *clock)
{
    double area = 0;
    for (size_t i = 0; i < clock->level_count; i++)
        area += clock->levels[i].late * (double)clock->levels[i].calls;
    return area;
}

HALO_REALTIME static void start_again(struct call_clock *clock, size_t calls, double rise)
{
    size_t most = clock->seen < CALL_CLOCK_RECENT ? clock->seen : CALL_CLOCK_RECENT;
    clock->slope *= 1 + rise;
    forget(clock);
    for (size_t back = calls < most ? calls : most; back > 0; back--)
        add_point(clock, clock->recent[(clock->seen - back) % CALL_CLOCK_RECENT]);
}

HALO_REALTIME void call_clock_doubt(struct call_clock *clock)
{
    if (clock->seen == 0)
        return;
    double time = clock->recent[(clock->seen - 1) % CALL_CLOCK_RECENT].time;
    struct change change = find_change(clock, time);
    start_again(clock, change.calls > 0 ? change.calls : DOUBTED, change.rise);
    fit(clock);
}

HALO_REALTIME static void follow_change(struct call_clock *clock, double time)
{
    double least = EVIDENCE * clock->lateness;
    struct change change = {0};
    if (levels_area(clock) > least)
        change = find_change(clock, time);
    if (change.evidence > least)
        start_again(clock, change.calls, change.rise);
}

HALO_REALTIME void call_clock_add(struct call_clock *clock, uint64_t frames, int64_t time)
{
    if (clock->seen == 0)
        clock->begun = time;
    const struct call_clock_point point = {(double)frames, (double)(time - clock->begun)};
    clock->recent[clock->seen++ % CALL_CLOCK_RECENT] = point;
    if (clock->calls == 0)
        clock->offset = above(point, clock->slope);
    double late = above(point, clock->slope) - clock->offset;
    bool is_early =
        -late > EARLY_LEAST * clock->nominal +
                    EARLY * clock->lateness / (double)(1 + clock->stretches * clock->stretch);
    late = fmax(0, late);
    clock->lateness += (fmin(late, 4 * clock->lateness) - clock->lateness) /
                       fmin(LATENESS_CALLS, LATENESS_PRIOR + (double)clock->seen);
    clock->lateness = fmax(clock->lateness, LATENESS_LEAST * clock->nominal);
    add_point(clock, point);
    add_level(clock, late, point.time);
    if (is_early)
        start_again(clock, 2, 0);
    else
        follow_change(clock, point.time);
    fit(clock);
}
