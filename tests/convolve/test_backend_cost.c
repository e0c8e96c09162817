/* What `auto` estimates: the choice on jobs that were measured, and how costs grow. */
#include "convolve/convolver_choice.h"
#include "suite.h"

#include <stdbool.h>

static struct backend_job job_of(double seconds, size_t channels, size_t taps, size_t threads)
{
    return (struct backend_job){.frames = 48000 * seconds,
                                .inputs = channels,
                                .outputs = channels,
                                .paths = channels,
                                .columns = channels,
                                .taps = taps,
                                .threads = threads};
}

/* ---- the choice ---- */

/* Wall times in ms of `halo render` beside an H200, noise in memory (docs/measurements.md); six of
 * the CPU's are later ones. */
static const struct row {
    double seconds;
    size_t inputs, outputs, columns, taps, threads;
    double cpu, cuda;
} grid[] = {
    /* clang-format off */
    {30, 16, 16, 256, 240000, 16, 499, 515},
    {30, 64, 64, 64, 480000, 16, 595, 912},
    {10, 32, 32, 1024, 96000, 16, 555, 568},
    {600, 2, 2, 2, 480000, 16, 272, 517},
    {10, 1, 1, 1, 48000, 16, 50, 374},
    {600, 2, 2, 2, 48000, 16, 184, 495},
    {60, 2, 2, 2, 1024, 16, 51, 372},
    {60, 2, 2, 2, 48000, 16, 56, 383},
    {60, 2, 2, 2, 480000, 16, 88, 376},
    {600, 2, 2, 2, 1024, 16, 128, 472},
    {600, 2, 2, 2, 16384, 16, 171, 503},
    {300, 1, 8, 8, 24000, 16, 261, 575},
    {60, 1, 32, 32, 24000, 16, 268, 592},
    {60, 8, 8, 8, 96000, 16, 125, 398},
    {60, 16, 16, 16, 96000, 16, 192, 464},
    {120, 16, 16, 16, 96000, 16, 333, 539},
    {30, 32, 32, 32, 240000, 16, 285, 557},
    {10, 64, 64, 64, 96000, 16, 205, 569},
    {60, 8, 8, 64, 48000, 16, 148, 414},
    {10, 8, 8, 64, 480000, 16, 237, 401},
    {30, 16, 16, 256, 48000, 16, 202, 435},
    {10, 16, 16, 256, 16384, 16, 90, 411},
    {120, 4, 4, 16, 240000, 16, 157, 408},
    {10, 4, 4, 16, 48000, 16, 60, 346},
    {30, 2, 2, 4, 1000000, 16, 119, 372},
    {120, 2, 2, 2, 2000000, 16, 183, 403},
    {10, 24, 24, 576, 48000, 16, 218, 461},
    {10, 64, 64, 64, 240000, 16, 322, 599},
    {60, 32, 32, 32, 16384, 16, 223, 579},
    {10, 128, 128, 128, 48000, 16, 269, 634},
    {10, 1, 1, 1, 4096, 16, 34, 324},
    {120, 8, 8, 64, 24000, 16, 160, 474},
    {10, 16, 16, 256, 240000, 16, 426, 460},
    {30, 16, 16, 256, 240000, 4, 1730, 580},
    {10, 32, 32, 1024, 96000, 4, 1370, 650},
    {600, 2, 2, 2, 480000, 4, 530, 500},
    {30, 16, 16, 256, 240000, 2, 2060, 670},
    {10, 32, 32, 1024, 96000, 2, 1500, 950},
    {10, 64, 64, 64, 240000, 2, 1120, 620},
    {60, 16, 16, 16, 96000, 2, 580, 540},
    {60, 8, 8, 64, 48000, 2, 360, 400},
    {30, 2, 2, 4, 1000000, 2, 200, 380},
    {60, 2, 2, 2, 48000, 2, 120, 380},
    /* clang-format on */
};
enum { ROWS = sizeof grid / sizeof *grid };

static bool takes_gpu(const struct row *row, double bandwidth)
{
    const struct backend_job job = {.frames = 48000 * row->seconds,
                                    .inputs = row->inputs,
                                    .outputs = row->outputs,
                                    .paths = row->columns,
                                    .columns = row->columns,
                                    .taps = row->taps,
                                    .threads = row->threads};
    return backend_cost_clearly_gpu(backend_cost_cpu(&job), backend_cost_gpu(&job, bandwidth));
}

/* A GPU that is taken is the better one, to 15 %, and one that is twice as fast is taken. */
START_TEST(the_choice_fits_what_was_measured)
{
    size_t taken = 0;
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *row = &grid[i];
        bool gpu = takes_gpu(row, 0);
        ck_assert_msg(gpu ? row->cuda <= 1.15 * row->cpu : row->cuda > 0.5 * row->cpu,
                      "row %zu takes the %s: %.0f ms on the CPU, %.0f on the GPU", i + 1,
                      gpu ? "GPU" : "CPU", row->cpu, row->cuda);
        ck_assert(row->threads < 16 || gpu || row->cpu <= 1.15 * row->cuda);
        taken += gpu;
    }
    ck_assert_uint_gt(taken, 3);
}

/* A GPU of less bandwidth is taken for fewer jobs, one of hardly any for none. */
START_TEST(the_bandwidth_decides_too)
{
    size_t before = ROWS;
    for (double bandwidth = 4.9e12; bandwidth > 1e9; bandwidth /= 4) {
        size_t taken = 0;
        for (size_t i = 0; i < ROWS; i++)
            taken += takes_gpu(&grid[i], bandwidth);
        ck_assert_uint_le(taken, before);
        before = taken;
    }
    ck_assert_uint_eq(before, 0);
}

START_TEST(more_work_costs_more)
{
    for (size_t threads = 1; threads <= 64; threads *= 2) {
        struct backend_job job = job_of(600, 16, 24000, threads), longer = job, wider = job;
        struct backend_job fewer = job;
        longer.frames *= 2;
        wider.paths *= 16;
        wider.columns *= 16;
        fewer.threads = 2 * threads;
        ck_assert(backend_cost_cpu(&longer) > backend_cost_cpu(&job));
        ck_assert(backend_cost_cpu(&wider) > backend_cost_cpu(&job));
        ck_assert(backend_cost_gpu(&longer, 0) > backend_cost_gpu(&job, 0));
        ck_assert(backend_cost_gpu(&job, 1e12) > backend_cost_gpu(&job, 2e12));
        ck_assert(backend_cost_cpu(&fewer) <= 1.02 * backend_cost_cpu(&job));
    }
}

/* ---- pictures ---- */

static bool gpu_wins_picture(double seconds, size_t channels, size_t side, size_t threads)
{
    struct backend_picture picture = {.rows = 48000 * seconds / 512,
                                      .columns = 1025,
                                      .channels = channels,
                                      .taps = side * side,
                                      .threads = threads};
    return backend_cost_clearly_gpu(backend_cost_picture_cpu(&picture),
                                    backend_cost_picture_gpu(&picture, 0));
}

/* As measured: docs/measurements.md. */
START_TEST(pictures_go_where_they_finish_first)
{
    ck_assert(!gpu_wins_picture(60, 2, 9, 16));
    ck_assert(!gpu_wins_picture(60, 2, 63, 16));
    ck_assert(gpu_wins_picture(60, 2, 127, 4));
    ck_assert(!gpu_wins_picture(600, 2, 31, 16));
    ck_assert(gpu_wins_picture(600, 2, 63, 16));
    ck_assert(!gpu_wins_picture(60, 16, 31, 16));
    ck_assert(gpu_wins_picture(600, 2, 31, 2));
    ck_assert(!gpu_wins_picture(0, 2, 127, 1)); /* the length is unknown */
}

/* ---- many sounds of 10 s of 16 kHz through rooms of 0.6 s ---- */

static bool gpu_wins_batch(size_t jobs, size_t masks, size_t processors, bool compressed)
{
    const struct backend_job job = {160000, 1, 1, 1, 1, 9600, 1};
    struct backend_set set = {
        .jobs = (double)jobs, .processors = processors, .masks = (double)masks};
    backend_set_add_file(&set, 320000, compressed ? 320000 : 0);
    backend_set_add(&set, &job);
    ck_assert(backend_set_gpu(&set, 1e12) >= backend_set_gpu(&set, 0));
    return backend_cost_clearly_gpu(backend_set_cpu(&set), backend_set_gpu(&set, 0));
}

START_TEST(many_sounds)
{
    for (size_t processors = 1; processors <= 64; processors *= 2)
        for (int compressed = 0; compressed < 2; compressed++) {
            ck_assert(!gpu_wins_batch(8, 8, processors, compressed)); /* the context takes longer */
            ck_assert(processors > 8 || gpu_wins_batch(100000, 1000, processors, compressed));
        }
    /* As measured beside an H200: 16 processors are faster, whatever the number of masks. */
    ck_assert(!gpu_wins_batch(8000, 50, 16, false));
    ck_assert(!gpu_wins_batch(16000, 1000, 16, false));
    ck_assert(!gpu_wins_batch(1600, 1600, 16, false));
    ck_assert(!gpu_wins_batch(1600, 1600, 16, true));
}
