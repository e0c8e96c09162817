#include "convolve/file_gpus.h"

#include <stdio.h>

static struct backend_job job_of(const struct convolver_shape *shape, size_t columns)
{
    return (struct backend_job){.frames = (double)shape->frames,
                                .inputs = shape->inputs,
                                .outputs = shape->outputs,
                                .paths = shape->paths,
                                .columns = columns,
                                .taps = shape->taps,
                                .threads = workers_count(shape->workers)};
}

static void explain_one(const struct backend_gpus *gpus, size_t available, char why[CONVOLVER_WHY])
{
    bool files_last = gpus->files > gpus->shared;
    snprintf(
        why, CONVOLVER_WHY,
        "one GPU of %zu: %s%.2f s, what GPUs would share %.2f s, and each more takes %.2f s to "
        "begin and end, by estimates",
        available,
        files_last ? "reading and writing take longer than the convolution: "
                   : "another would save less than it takes: reading and writing ",
        gpus->files, gpus->shared, gpus->context);
}

size_t file_gpus_wanted(const struct convolver_shape *shape, size_t columns, size_t available,
                        const struct machine_speed *speed, char why[CONVOLVER_WHY])
{
    *why = '\0';
    if (available <= 1)
        return 1;
    if (shape->frames <= 0) {
        snprintf(why, CONVOLVER_WHY, "one GPU of %zu: the length of the sound is not known",
                 available);
        return 1;
    }
    const struct backend_job job = job_of(shape, columns);
    const struct backend_gpus gpus = backend_cost_gpus(&job, available, speed);
    if (gpus.count == 1)
        explain_one(&gpus, available, why);
    else
        snprintf(why, CONVOLVER_WHY,
                 "%zu GPUs of %zu: estimated %.2f s, where one alone would take %.2f s", gpus.count,
                 available, gpus.best, gpus.one);
    return gpus.count;
}
