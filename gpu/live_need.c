#include "gpu/live_need.h"

#include "gpu/block_plan.h"

static const double MEMORY_SHARE = 0.97; /* of a device's: the rest is the driver's */
static const double BUSY_SHARE = 0.7;    /* of a period: blocks differ */
static const double READS = 3;           /* times as long as reading alone */

enum {
    POINT = 8,   /* bytes of a bin */
    SAMPLE = 4,  /* bytes */
    SLOTS = 2,   /* masks that are heard at once */
    RESULTS = 2, /* jobs whose results are kept */
};

static size_t share_of(size_t count, size_t shares)
{
    return (count + shares - 1) / shares;
}

struct live_need live_need_for(const struct live_job *job, size_t shares,
                               const struct live_device *device)
{
    struct live_ladder ladder = live_ladder_for(job->block, job->taps, LIVE_BINS_MOST);
    bool is_diagonal = job->paths <= job->outputs && job->inputs == job->outputs;
    double inputs = (double)(is_diagonal ? share_of(job->inputs, shares) : job->inputs);
    double outputs = (double)share_of(job->outputs, shares);
    double paths = (double)share_of(job->paths, shares);
    double columns =
        (double)(job->columns < job->outputs ? job->columns : share_of(job->columns, shares));
    double bytes = inputs * ladder.window * (double)job->block * SAMPLE, read = 0;
    for (size_t l = 0; l < ladder.count; l++) {
        const struct live_level *level = &ladder.levels[l];
        double bins = (double)level->bins * POINT;
        bytes += columns * (double)job->masks * level->partitions * bins;
        bytes += inputs * level->depth * bins + SLOTS * outputs * bins;
        bytes += SLOTS * RESULTS * outputs * (double)level->size * SAMPLE;
        read += (paths + inputs) * level->partitions * bins / level->period;
    }
    return (struct live_need){.bytes = bytes, .seconds = READS * read / device->bandwidth};
}

static bool suits(const struct live_job *job, size_t shares, const struct live_device *device)
{
    struct live_need need = live_need_for(job, shares, device);
    return need.bytes <= MEMORY_SHARE * device->bytes && need.seconds <= BUSY_SHARE * job->period;
}

size_t live_devices_needed(const struct live_job *job, const struct live_device *devices,
                           size_t count, struct live_need *first)
{
    *first = live_need_for(job, 1, &devices[0]);
    for (size_t shares = 1; shares < count; shares++) {
        size_t suited = 0;
        while (suited < shares && suits(job, shares, &devices[suited]))
            suited++;
        if (suited == shares)
            return shares;
    }
    return count;
}

/* Masks that follow are for its own shares as well. */
bool live_spare_suits(const struct live_job *job, const struct live_need *need, size_t shares,
                      double free)
{
    double later = job->masks > 1 ? (double)shares : 0;
    return (1 + later) * need->bytes <= MEMORY_SHARE * free &&
           (double)(shares + 1) * need->seconds <= BUSY_SHARE * job->period;
}
