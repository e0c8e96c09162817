#include "lab_timer.h"

#include "gpu.h"
#include "signal/median.h"

#include <stdlib.h>

enum { WARM_UPS = 2 };

#define TRY(call, what)                                                                            \
    do {                                                                                           \
        cudaError_t try_error = (call);                                                            \
        if (try_error != cudaSuccess)                                                              \
            return gpu_failed(try_error, what);                                                    \
    } while (0)

enum status lab_timer_init(struct lab_timer *timer, size_t repeats)
{
    *timer = (struct lab_timer){.repeats = repeats, .times = calloc(repeats, sizeof(double))};
    if (!timer->times)
        return fail_memory("the laboratory");
    TRY(cudaEventCreate(&timer->begin), "make an event");
    TRY(cudaEventCreate(&timer->end), "make an event");
    return STATUS_OK;
}

void lab_timer_free(struct lab_timer *timer)
{
    if (timer->begin)
        cudaEventDestroy(timer->begin);
    if (timer->end)
        cudaEventDestroy(timer->end);
    free(timer->times);
}

size_t lab_timer_sets(size_t bytes, size_t cache)
{
    size_t sets = LAB_CACHE_FACTOR * cache / (2 * bytes) + 2;
    return sets < LAB_SETS_MOST ? sets : LAB_SETS_MOST;
}

enum status lab_timer_run(struct lab_timer *timer, size_t sets,
                          cudaError_t (*run)(void *context, size_t set), void *context,
                          double *seconds)
{
    for (size_t r = 0; r < WARM_UPS + timer->repeats; r++) {
        float milliseconds;
        TRY(cudaEventRecord(timer->begin, NULL), "record an event");
        TRY(run(context, r % sets), "run a kernel");
        TRY(cudaEventRecord(timer->end, NULL), "record an event");
        TRY(cudaEventSynchronize(timer->end), "run a kernel");
        TRY(cudaEventElapsedTime(&milliseconds, timer->begin, timer->end), "tell the time");
        if (r >= WARM_UPS)
            timer->times[r - WARM_UPS] = 1e-3 * (double)milliseconds;
    }
    *seconds = median_of(timer->times, timer->repeats);
    return STATUS_OK;
}
