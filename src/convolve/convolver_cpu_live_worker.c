/* The workers of the CPU's live convolver, which do the long jobs in parallel with the step, and
 * pieces of its own work where they are shared.
 *
 * They poll for jobs, so that the step makes no system call: waking a thread costs the caller some
 * 10 us, more on a virtual machine. Jobs of their shortest partitions can be due one block after
 * they began, so their polls follow the beginnings.
 *
 * For pieces they are awake, and spin, when a block is expected. If it comes at another time the
 * step wakes one that sleeps, and that one the next.
 */
#include "convolve/convolver_cpu_live.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <math.h>
#include <sys/prctl.h>

enum {
    EARLIER = 64, /* fraction of a period by which each poll is earlier than the last */
    AGAIN = 16,   /* fraction of a period until the next poll if one found nothing */
    GONE = 64,    /* periods without work after which the stream counts as stopped */
    LOOKS = 64,   /* between two readings of the clock */
};

static const double UNIT_SLACK = 3;          /* of a unit's time over its estimate */
static const int64_t LONG_SLEEP = 100000000; /* ns, while no blocks come */

struct poll_timer poll_timer_start(int64_t period, int64_t now)
{
    return (struct poll_timer){.period = period, .look = now, .found = now};
}

int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now)
{
    int64_t period = clock->period;
    if (found) {
        clock->found = clock->look; /* not the time it woke, or polls would drift later */
        int64_t since = (now - clock->found) % period;
        return clock->look = now - since + period - period / EARLIER;
    }
    bool gone = now - clock->found > GONE * period; /* one poll per period, at a varying phase */
    return clock->look = now + (gone ? period : 0) + period / AGAIN;
}

/* A lane of a segment's job. */
struct lane_choice {
    size_t segment; /* segment_count: none */
    size_t lane;
};

/* Whether a unit ends before the next block, whose pieces are more urgent. */
static bool fits(const struct cpu_live_convolution *convolution, const struct segment *segment,
                 int64_t now)
{
    const struct live_share *share = &convolution->share;
    if (share->pieces == 1)
        return true;
    int64_t expected = atomic_load(&share->expected), margin = live_share_margin(share);
    /* A long one begins in the first half of a block, or it would never. */
    double unit =
        fmin(UNIT_SLACK * segment->transform_cost, 0.5 * (double)(share->period - 2 * margin));
    return now > expected + margin || now + (int64_t)unit < expected - margin;
}

/* Of the lanes that are not skipped, which are bits, the one whose job is due first; of several,
 * the next one from `first` on. */
static struct lane_choice most_urgent(const struct cpu_live_convolution *convolution, size_t first,
                                      const uint32_t skipped[PARTITION_SEGMENTS_MOST])
{
    struct lane_choice best = {.segment = convolution->plan.segment_count};
    uint64_t earliest = UINT64_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        if (!segment->helped)
            continue;
        for (size_t i = 0; i < segment->lane_count; i++) {
            size_t lane = (first + i) % segment->lane_count;
            uint64_t deadline = atomic_load(&segment->lanes[lane].deadline);
            if (skipped[s] >> lane & 1 || deadline >= earliest)
                continue;
            earliest = deadline;
            best = (struct lane_choice){s, lane};
        }
    }
    return best;
}

/* One unit; JOB_WAITS, too, if the step or another worker is at the lane. */
static enum job_progress try_unit(struct cpu_live_convolution *convolution,
                                  struct lane_choice choice)
{
    struct lane *lane = &convolution->segments[choice.segment].lanes[choice.lane];
    if (!job_try(lane))
        return JOB_WAITS;
    bool transforming = lane->job.input < lane->job.input_end;
    enum job_progress progress = job_run_unit(convolution, choice.segment, lane);
    job_release(lane);
    if (transforming && atomic_load(&convolution->segments[choice.segment].untransformed) == 0)
        futex_raise(&convolution->bell);
    return progress;
}

/* One unit of the most urgent job that can go on. */
static enum job_progress run_most_urgent(struct cpu_live_convolution *convolution, size_t first)
{
    uint32_t skipped[PARTITION_SEGMENTS_MOST] = {0};
    int64_t now = monotonic_ns();
    for (size_t s = 0; s < convolution->plan.segment_count; s++)
        skipped[s] = fits(convolution, &convolution->segments[s], now) ? 0 : UINT32_MAX;
    for (bool waiting = false;;) {
        struct lane_choice choice = most_urgent(convolution, first, skipped);
        if (choice.segment == convolution->plan.segment_count)
            return waiting ? JOB_WAITS : JOB_DONE;
        enum job_progress progress = try_unit(convolution, choice);
        if (progress == JOB_RAN)
            return progress;
        if (progress == JOB_WAITS) /* else the step has finished it */
            skipped[choice.segment] |= UINT32_C(1) << choice.lane;
        waiting |= progress == JOB_WAITS;
    }
}

/* Until the next block is near, it comes, or the bell rings. */
static void wait_for_block(struct cpu_live_convolution *convolution, uint32_t rung)
{
    const struct live_share *share = &convolution->share;
    int64_t now = monotonic_ns(), margin = live_share_margin(share);
    int64_t expected = atomic_load(&share->expected);
    if (now < expected - margin) {
        futex_wait(&convolution->bell, rung + 1, 0, expected - margin);
        return;
    }
    if (now >= expected + margin) {
        futex_wait(&convolution->bell, rung + 1, 0, now + LONG_SLEEP);
        return;
    }
    for (int i = 0; i < LOOKS && !futex_reached(&convolution->bell, rung + 1); i++)
        realtime_pause();
}

/* After a turn in which there was nothing to do, or nothing but to wait for other lanes, which ring
 * the bell. */
static void wait_for_jobs(struct cpu_live_convolution *convolution, uint32_t rung,
                          enum job_progress progress, bool found, struct poll_timer *clock)
{
    int64_t now = monotonic_ns(), look = now + clock->period / AGAIN;
    if (progress == JOB_DONE)
        look = poll_timer_next(clock, found, now);
    futex_wait(&convolution->bell, rung + 1, 0, look);
}

void *live_work(void *argument)
{
    struct live_worker *worker = argument;
    struct cpu_live_convolution *convolution = worker->convolution;
    realtime_flush_denormals();
    (void)prctl(PR_SET_TIMERSLACK, 1UL); /* else 50 us, without a real-time priority */
    struct poll_timer clock = poll_timer_start(convolution->worker_period, monotonic_ns());
    for (bool found = false; !atomic_load(&convolution->leave);) {
        uint32_t rung = atomic_load(&convolution->bell.value);
        if (live_share_help(worker))
            continue;
        enum job_progress progress = run_most_urgent(convolution, worker->first_lane);
        found = found || progress != JOB_DONE;
        if (progress == JOB_RAN)
            continue;
        if (convolution->share.pieces > 1)
            wait_for_block(convolution, rung);
        else
            wait_for_jobs(convolution, rung, progress, found, &clock);
        found = found && progress == JOB_WAITS;
    }
    return NULL;
}
