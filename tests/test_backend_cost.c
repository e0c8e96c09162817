/* The cost model of backend auto: plain arithmetic, of which only the direction is tested. */
#include "convolve/backend_cost.h"
#include "suite.h"

#include <stdbool.h>

static struct backend_job job_of(double seconds, size_t channels, size_t taps, size_t threads)
{
    return (struct backend_job){.frames = 48000 * seconds,
                                .inputs = channels,
                                .outputs = channels,
                                .paths = channels,
                                .taps = taps,
                                .threads = threads};
}

static bool gpu_wins(struct backend_job job)
{
    return backend_cost_gpu(&job) < backend_cost_cpu(&job);
}

START_TEST(small_jobs_stay_on_the_cpu)
{
    ck_assert(!gpu_wins(job_of(1, 2, 480000, 1)));
    ck_assert(!gpu_wins(job_of(60, 2, 1024, 2)));
    ck_assert(!gpu_wins(job_of(600, 2, 1024, 16)));
}
END_TEST

START_TEST(large_jobs_go_to_the_gpu)
{
    ck_assert(gpu_wins(job_of(3600, 2, 480000, 2)));
    ck_assert(gpu_wins(job_of(600, 64, 96000, 16)));
    struct backend_job matrix = job_of(600, 16, 24000, 4);
    matrix.paths = 256;
    ck_assert(gpu_wins(matrix));
}
END_TEST

START_TEST(more_work_costs_more)
{
    struct backend_job job = job_of(600, 2, 1024, 4), longer = job, wider = job, fewer = job;
    longer.frames *= 2;
    wider.paths *= 2;
    fewer.threads = 1;
    ck_assert(backend_cost_cpu(&longer) > backend_cost_cpu(&job));
    ck_assert(backend_cost_cpu(&wider) > backend_cost_cpu(&job));
    ck_assert(backend_cost_cpu(&fewer) > backend_cost_cpu(&job));
    ck_assert(backend_cost_gpu(&longer) > backend_cost_gpu(&job));
    ck_assert(backend_cost_gpu(&wider) > backend_cost_gpu(&job));
}
END_TEST

static bool gpu_wins_picture(double seconds, size_t channels, size_t side, size_t threads)
{
    struct backend_picture picture = {.rows = 48000 * seconds / 512,
                                      .columns = 1025,
                                      .channels = channels,
                                      .taps = side * side,
                                      .threads = threads};
    return backend_cost_clearly_gpu(backend_cost_picture_cpu(&picture),
                                    backend_cost_picture_gpu(&picture));
}

/* As measured: docs/measurements.md. */
START_TEST(pictures_go_where_they_finish_first)
{
    ck_assert(!gpu_wins_picture(60, 2, 9, 16));
    ck_assert(!gpu_wins_picture(60, 2, 63, 16));
    ck_assert(gpu_wins_picture(60, 2, 127, 16));
    ck_assert(!gpu_wins_picture(600, 2, 31, 16));
    ck_assert(gpu_wins_picture(600, 2, 63, 16));
    ck_assert(!gpu_wins_picture(60, 16, 31, 16));
    ck_assert(gpu_wins_picture(600, 2, 31, 2));
    ck_assert(!gpu_wins_picture(0, 2, 127, 1)); /* the length is unknown */
}
END_TEST

SUITE_MAIN("backend_cost", small_jobs_stay_on_the_cpu, large_jobs_go_to_the_gpu,
           more_work_costs_more, pictures_go_where_they_finish_first)
