/* Measures libzita-convolver (used by jconvolver) with the stream bench: the same masks, blocks,
 * pace and check. For bench/stream_peers.
 *
 *     stream_zita PACE BLOCK CHANNELS TAPS BLOCKS SECONDS     PACE: paced, back-to-back
 *
 * Zita has its default options, no latency, and real-time priority if that is granted.
 * Prints the bench's JSON and, on standard error, how many blocks lack a late partition. At pace
 * `paced`, zita does not wait for late partitions.
 */
#include <stdatomic.h> /* before `extern "C"`, as it has templates */
#include <zita-convolver.h>

extern "C" {
#include "base/realtime.h"
#include "base/stop.h"
#include "bench/stream_report.h"
}

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

namespace
{

struct zita {
    struct filter filter; /* the first member, as filter.h requires */
    Convproc convproc;
    bool paced;
    size_t handed; /* blocks processed so far */
};

/* Blocks with a late partition since the first paced block, including the warm-up. */
size_t late_blocks;

void process(struct filter *filter, const float *const *in, float *const *out)
{
    auto *zita = reinterpret_cast<struct zita *>(filter);
    size_t bytes = filter->block * sizeof **in;
    /* the first blocks are not paced, so wait for all partitions */
    bool wait = !zita->paced || zita->handed++ < STREAM_FIRST_BLOCKS;
    for (size_t c = 0; c < filter->inputs; c++)
        memcpy(zita->convproc.inpdata((uint32_t)c), in[c], bytes);
    late_blocks += (zita->convproc.process(wait) & Convproc::FL_LATE) != 0;
    for (size_t c = 0; c < filter->outputs; c++)
        memcpy(out[c], zita->convproc.outdata((uint32_t)c), bytes);
    if (zita->convproc.state() != Convproc::ST_PROC)
        filter->failure = "zita stopped: too many partitions in a row came late";
}

void reset(struct filter *filter)
{
    filter->failure = "the bench resets no filter";
}

void destroy(struct filter *filter)
{
    delete reinterpret_cast<struct zita *>(filter); /* also ends its threads */
}

const struct filter_kind kind = {"zita-convolver", process, nullptr, reset, destroy};

/* Whether real-time priority is granted. If it is refused to zita's threads, zita continues without
 * a message. */
bool realtime_is_granted()
{
    int policy;
    struct sched_param before, wanted = {};
    wanted.sched_priority = REALTIME_PRIORITY;
    if (pthread_getschedparam(pthread_self(), &policy, &before) != 0 ||
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted) != 0)
        return false;
    pthread_setschedparam(pthread_self(), policy, &before);
    return true;
}

/* Configures zita without latency: the smallest partition is a block. */
int configure(Convproc *convproc, size_t block, const struct mask *mask, bool paced)
{
    auto channels = (uint32_t)mask->columns, taps = (uint32_t)mask->taps;
    int error = convproc->configure(channels, channels, taps, (uint32_t)block, (uint32_t)block,
                                    Convproc::MAXPART, 0);
    float *rounded = mask_round(mask);
    if (!rounded)
        return Converror::MEM_ALLOC;
    for (uint32_t c = 0; c < channels && error == 0; c++)
        error = convproc->impdata_create(c, c, 1, rounded + c * taps, 0, (int32_t)taps);
    free(rounded);
    bool realtime = paced && realtime_is_granted();
    if (error == 0)
        error = convproc->start_process(realtime ? REALTIME_PRIORITY : 0,
                                        realtime ? SCHED_FIFO : SCHED_OTHER);
    /* If a thread of zita does not run yet, its partitions are computed too early, with wrong
     * results. start_process does not wait for the threads, and zita cannot be asked. So sleep. */
    const struct timespec start = {0, 200000000};
    nanosleep(&start, nullptr);
    return error;
}

enum status make(const struct stream_cell *cell, const struct mask *mask, struct workers *,
                 struct filter **filter)
{
    auto *zita = new struct zita();
    zita->paced = cell->pace != STREAM_BACK_TO_BACK;
    zita->filter.kind = &kind;
    zita->filter.inputs = zita->filter.outputs = cell->channels;
    zita->filter.block = cell->block;
    zita->filter.tail = cell->taps - 1;
    *filter = &zita->filter; /* the bench destroys it, even if this function fails */
    int error = configure(&zita->convproc, cell->block, mask, zita->paced);
    if (error != 0)
        return fail(CAUSE_OTHER, "zita refuses %zu channels, %zu taps, blocks of %zu (error %d)",
                    cell->channels, cell->taps, cell->block, error);
    return STATUS_OK;
}

enum status print(const struct stream_row *row)
{
    struct stream_report *report;
    enum status status = stream_report_create(BENCH_JSON, &report);
    if (status == STATUS_OK)
        status = stream_report_take(report, row);
    if (status == STATUS_OK)
        status = stream_report_finish(report);
    stream_report_destroy(report);
    return status;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 7)
        return fail(CAUSE_USAGE, "stream_zita PACE BLOCK CHANNELS TAPS BLOCKS SECONDS");
    struct stream_cell cell = {};
    cell.backend = "zita";
    cell.make = make;
    cell.pace = strcmp(argv[1], "paced") == 0 ? STREAM_PACED : STREAM_BACK_TO_BACK;
    cell.rate = 48000;
    cell.block = strtoul(argv[2], nullptr, 10);
    cell.channels = strtoul(argv[3], nullptr, 10);
    cell.taps = strtoul(argv[4], nullptr, 10);
    cell.threads = 1; /* halo's workers are not used: zita has threads of its own */
    cell.blocks = strtoul(argv[5], nullptr, 10);
    cell.seconds = strtod(argv[6], nullptr);
    cell.warm_up = 0.5;
    struct stream_row row;
    stop_watch();
    enum status status = stream_bench_measure(&cell, &row);
    note("%zu blocks went without a partition that came late", late_blocks);
    return status == STATUS_OK ? print(&row) : status;
}
