/* The cost model of backend auto, and what renders tell it of a machine. */
#include "convolve/backend_cost.h"
#include "suite.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

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

/* Wall times in ms of `halo render` on an H200 and 16 processors, noise in memory, the median of
 * one to three (docs/measurements.md), and those of phases (struct backend_times). The default
 * figures are of that machine. */
static const struct row {
    double seconds;
    size_t inputs, outputs, columns, taps;
    double cpu, cuda;
    struct {
        double form, loop, read, write;
    } on_cpu;
    struct {
        double form, set_up, context, carry, compute, launch;
    } on_gpu;
} grid[] = {
    /* clang-format off */
    {30, 16, 16, 256, 240000, 650, 515, {161, 276, 37, 63}, {27, 13, 224, 31, 10, 1}},
    {30, 64, 64, 64, 480000, 891, 912, {210, 480, 213, 315}, {13, 33, 311, 56, 40, 1}},
    {10, 32, 32, 1024, 96000, 710, 568, {170, 243, 24, 48}, {40, 23, 202, 15, 6, 0}},
    {600, 2, 2, 2, 480000, 272, 517, {37, 199, 76, 115}, {1, 17, 231, 21, 12, 3}},
    {10, 1, 1, 1, 48000, 50, 374, {18, 3, 1, 1}, {0, 9, 222, 2, 0, 0}},
    {600, 2, 2, 2, 48000, 184, 495, {28, 130, 65, 117}, {1, 17, 233, 21, 10, 2}},
    {60, 2, 2, 2, 1024, 51, 372, {3, 13, 7, 12}, {0, 0, 209, 0, 0, 0}},
    {60, 2, 2, 2, 48000, 56, 383, {21, 14, 6, 10}, {1, 10, 205, 4, 1, 1}},
    {60, 2, 2, 2, 480000, 88, 376, {32, 24, 7, 11}, {1, 10, 209, 4, 2, 1}},
    {600, 2, 2, 2, 1024, 128, 472, {4, 100, 63, 100}, {0, 0, 220, 0, 0, 0}},
    {600, 2, 2, 2, 16384, 171, 503, {8, 123, 58, 108}, {0, 14, 227, 24, 10, 3}},
    {300, 1, 8, 8, 24000, 261, 575, {15, 204, 19, 203}, {1, 13, 222, 47, 5, 5}},
    {60, 1, 32, 32, 24000, 268, 592, {15, 195, 5, 193}, {1, 11, 206, 30, 4, 1}},
    {60, 8, 8, 8, 96000, 125, 398, {23, 59, 27, 45}, {1, 11, 210, 17, 2, 1}},
    {60, 16, 16, 16, 96000, 192, 464, {33, 124, 56, 94}, {1, 11, 213, 51, 4, 1}},
    {120, 16, 16, 16, 96000, 333, 539, {33, 247, 115, 189}, {2, 11, 203, 106, 8, 2}},
    {30, 32, 32, 32, 240000, 285, 557, {59, 140, 60, 101}, {4, 20, 212, 41, 9, 1}},
    {10, 64, 64, 64, 96000, 205, 569, {55, 86, 45, 72}, {3, 31, 224, 19, 4, 0}},
    {60, 8, 8, 64, 48000, 148, 414, {27, 73, 25, 40}, {3, 12, 232, 20, 3, 1}},
    {10, 8, 8, 64, 480000, 292, 401, {78, 75, 7, 13}, {14, 11, 204, 6, 3, 0}},
    {30, 16, 16, 256, 48000, 185, 435, {37, 97, 27, 45}, {5, 11, 204, 25, 4, 1}},
    {10, 16, 16, 256, 16384, 90, 411, {19, 29, 9, 12}, {3, 15, 228, 10, 1, 0}},
    {120, 4, 4, 16, 240000, 157, 408, {29, 86, 24, 35}, {2, 11, 206, 14, 4, 1}},
    {10, 4, 4, 16, 48000, 60, 346, {21, 7, 3, 3}, {1, 9, 222, 3, 0, 0}},
    {30, 2, 2, 4, 1000000, 119, 372, {47, 26, 4, 7}, {5, 9, 214, 4, 2, 0}},
    {120, 2, 2, 2, 2000000, 183, 403, {60, 74, 15, 28}, {4, 11, 228, 8, 6, 1}},
    {10, 24, 24, 576, 48000, 239, 461, {60, 68, 16, 23}, {15, 15, 222, 17, 3, 0}},
    {10, 64, 64, 64, 240000, 322, 599, {104, 122, 41, 87}, {7, 34, 224, 23, 8, 0}},
    {60, 32, 32, 32, 16384, 223, 579, {12, 173, 116, 171}, {1, 22, 201, 67, 7, 1}},
    {10, 128, 128, 128, 48000, 269, 634, {43, 149, 85, 143}, {3, 38, 198, 39, 6, 1}},
    {10, 1, 1, 1, 4096, 34, 324, {5, 2, 1, 1}, {0, 0, 206, 0, 0, 0}},
    {120, 8, 8, 64, 24000, 160, 474, {17, 116, 56, 75}, {1, 15, 211, 27, 4, 1}},
    {10, 16, 16, 256, 240000, 426, 460, {119, 111, 11, 26}, {26, 12, 231, 18, 5, 0}},
    /* clang-format on */
};
enum { ROWS = sizeof grid / sizeof *grid };

static struct backend_job job_in(const struct row *row)
{
    return (struct backend_job){.frames = 48000 * row->seconds,
                                .inputs = row->inputs,
                                .outputs = row->outputs,
                                .paths = row->columns,
                                .columns = row->columns,
                                .taps = row->taps,
                                .threads = 16};
}

static void check_choices(const struct machine_speed *speed)
{
    for (size_t i = 0; i < ROWS; i++) {
        const struct backend_job job = job_in(&grid[i]);
        double cpu = backend_cost_cpu(&job, speed), cuda = backend_cost_gpu(&job, speed);
        double taken = backend_cost_clearly_gpu(cpu, cuda) ? grid[i].cuda : grid[i].cpu;
        ck_assert_msg(taken <= 1.1 * fmin(grid[i].cpu, grid[i].cuda),
                      "row %zu takes %.0f of %.0f and %.0f ms, estimated %.3f and %.3f s", i + 1,
                      taken, grid[i].cpu, grid[i].cuda, cpu, cuda);
    }
}

START_TEST(the_choice_is_within_a_tenth_of_the_better)
{
    check_choices(&machine_speed_default);
}
END_TEST

static void learn_row(const struct row *row, struct machine_speed *speed)
{
    const struct backend_job job = job_in(row);
    const struct backend_times cpu = {.form = row->on_cpu.form / 1000,
                                      .loop = row->on_cpu.loop / 1000,
                                      .read = row->on_cpu.read / 1000,
                                      .write = row->on_cpu.write / 1000};
    const struct backend_times gpu = {.form = row->on_gpu.form / 1000,
                                      .set_up = row->on_gpu.set_up / 1000,
                                      .context = row->on_gpu.context / 1000,
                                      .carry = row->on_gpu.carry / 1000,
                                      .compute = row->on_gpu.compute / 1000,
                                      .launch = row->on_gpu.launch / 1000};
    backend_cost_learn(&job, false, &cpu, speed);
    backend_cost_learn(&job, true, &gpu, speed);
}

/* Of a machine that is nothing like the default, whatever it renders first. */
START_TEST(the_first_renders_teach_the_choice)
{
    for (size_t first = 0; first < ROWS; first++) {
        struct machine_speed speed = machine_speed_default;
        for (size_t f = 0; f < SPEED_FIGURES; f++)
            speed.value[f] *= f < SPEED_CONTEXT ? 0.2 : 5;
        for (size_t i = 0; i < ROWS; i++)
            learn_row(&grid[(first + i) % ROWS], &speed);
        check_choices(&speed);
    }
}
END_TEST

/* Figures from one that makes the GPU never pay to one that makes it always pay. */
START_TEST(the_choice_follows_the_figures)
{
    struct machine_speed slow = machine_speed_default, fast = machine_speed_default;
    slow.value[SPEED_CONTEXT] = 50;
    fast.value[SPEED_CONTEXT] = fast.value[SPEED_SET_UP] = fast.value[SPEED_UPLOAD] = 0;
    fast.value[SPEED_STEP] *= 10;
    for (size_t i = 0; i < ROWS; i++) {
        const struct backend_job job = job_of(grid[i].seconds, grid[i].outputs, grid[i].taps, 4);
        ck_assert(backend_cost_gpu(&job, &slow) > backend_cost_cpu(&job, &slow));
        ck_assert(backend_cost_gpu(&job, &fast) < backend_cost_cpu(&job, &fast));
    }
}
END_TEST

START_TEST(more_work_costs_more)
{
    const struct machine_speed *speed = &machine_speed_default;
    for (size_t threads = 1; threads <= 64; threads *= 2) {
        struct backend_job job = job_of(600, 16, 24000, threads), longer = job, wider = job;
        longer.frames *= 2;
        wider.paths *= 16;
        wider.columns *= 16;
        ck_assert(backend_cost_cpu(&longer, speed) > backend_cost_cpu(&job, speed));
        ck_assert(backend_cost_cpu(&wider, speed) > backend_cost_cpu(&job, speed));
        ck_assert(backend_cost_gpu(&longer, speed) > backend_cost_gpu(&job, speed));
        /* Reading a larger mask takes longer on both, and the context is made beside it. */
        struct machine_speed ready = *speed;
        ready.value[SPEED_CONTEXT] = 0;
        ck_assert(backend_cost_gpu(&wider, &ready) > backend_cost_gpu(&job, &ready));
        struct backend_job fewer = job;
        fewer.threads = 2 * threads;
        ck_assert(backend_cost_cpu(&fewer, speed) <= 1.02 * backend_cost_cpu(&job, speed));
    }
}
END_TEST

START_TEST(a_slower_machine_costs_more)
{
    const struct backend_job job = job_of(120, 16, 96000, 4);
    const struct machine_speed *usual = &machine_speed_default;
    for (size_t f = 0; f < SPEED_FIGURES; f++) {
        struct machine_speed slower = *usual;
        slower.value[f] *= 1000; /* beyond reading and writing, beside which it goes on */
        double cpu = backend_cost_cpu(&job, &slower) - backend_cost_cpu(&job, usual);
        double gpu = backend_cost_gpu(&job, &slower) - backend_cost_gpu(&job, usual);
        ck_assert_msg(cpu >= 0 && gpu >= 0 && cpu + gpu > 0, "figure %zu", f);
    }
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
                                    backend_cost_picture_gpu(&picture, &machine_speed_default));
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

/* ---- measurements ---- */

/* Times that a machine takes whose step is three times as slow are understood as that. */
START_TEST(renders_measure_the_machine)
{
    for (size_t threads = 1; threads <= 16; threads *= 2) {
        const struct backend_job job = job_of(60, 16, 96000, threads);
        struct machine_speed there = machine_speed_default, learnt = {0};
        double usual = backend_cost_cpu(&job, &there);
        there.value[SPEED_STEP] *= 3;
        there.value[SPEED_READ] = there.value[SPEED_WRITE] = 1e-11;
        double loop = backend_cost_cpu(&job, &there);
        there.value[SPEED_FORM] = 1e-11;
        loop = backend_cost_cpu(&job, &there);
        const struct backend_times times = {.loop = loop};
        backend_cost_learn(&job, false, &times, &learnt);
        ck_assert(loop > usual / 2);
        ck_assert_uint_eq(learnt.measured[SPEED_STEP], 1);
        ck_assert_double_ge(learnt.value[SPEED_STEP], 0.9 * there.value[SPEED_STEP]);
        ck_assert_double_le(learnt.value[SPEED_STEP], 1.2 * there.value[SPEED_STEP]);
    }
}
END_TEST

START_TEST(times_of_a_gpu_are_learnt)
{
    const struct backend_job job = job_of(60, 16, 96000, 16);
    struct machine_speed once = {0}, twice = {0};
    struct backend_times times = {.context = 0.4, .carry = 0.2, .compute = 0.1, .launch = 0.02};
    backend_cost_learn(&job, true, &times, &once);
    times.carry *= 2;
    backend_cost_learn(&job, true, &times, &twice);
    ck_assert_double_eq_tol(once.value[SPEED_CONTEXT], 0.4, 1e-9);
    ck_assert_double_eq_tol(twice.value[SPEED_CARRY], 2 * once.value[SPEED_CARRY], 1e-15);
    ck_assert_uint_eq(once.measured[SPEED_STEP], 0);
    struct machine_speed nothing = {0};
    backend_cost_learn(&job, true, &(const struct backend_times){.carry = 1e-4}, &nothing);
    ck_assert(!machine_speed_is_measured(&nothing)); /* too short to tell */
}
END_TEST

/* Sounds of 10 s of 16 kHz through rooms of 0.6 s. */
static struct backend_set_times many(size_t jobs, size_t masks, size_t processors, bool compressed)
{
    const struct backend_job job = {160000, 1, 1, 1, 1, 9600, 1};
    struct backend_set set = {
        .jobs = (double)jobs, .processors = processors, .devices = 1, .masks = (double)masks};
    backend_set_add_file(&set, 160000, 160000, compressed ? 320000 : 0, &machine_speed_default);
    backend_set_add(&set, &job, &machine_speed_default);
    return backend_set_cost(&set, &machine_speed_default);
}

START_TEST(many_sounds)
{
    for (size_t processors = 1; processors <= 64; processors *= 2)
        for (int compressed = 0; compressed < 2; compressed++) {
            struct backend_set_times few = many(8, 8, processors, compressed);
            struct backend_set_times all = many(100000, 1000, processors, compressed);
            ck_assert(few.cpu < few.gpu); /* the context takes longer */
            ck_assert(processors > 8 || backend_cost_clearly_gpu(all.cpu, all.gpu));
            ck_assert(all.gpu > all.files && all.cpu > all.files);
        }
    /* FLAC and 16 processors: decoding and encoding are most of it. */
    struct backend_set_times flac = many(100000, 50, 16, true);
    ck_assert(flac.files > 0.5 * flac.gpu);
    /* As measured beside an H200: 16 processors are faster, whatever the number of masks. */
    struct backend_set_times few = many(8000, 50, 16, false), own = many(1600, 1600, 16, false);
    struct backend_set_times more = many(16000, 1000, 16, false);
    ck_assert(!backend_cost_clearly_gpu(few.cpu, few.gpu));
    ck_assert(!backend_cost_clearly_gpu(more.cpu, more.gpu));
    ck_assert(!backend_cost_clearly_gpu(own.cpu, own.gpu));
    own = many(1600, 1600, 16, true);
    ck_assert(!backend_cost_clearly_gpu(own.cpu, own.gpu));
}
END_TEST

SUITE_MAIN("backend_cost", the_choice_is_within_a_tenth_of_the_better,
           the_first_renders_teach_the_choice, the_choice_follows_the_figures, more_work_costs_more,
           a_slower_machine_costs_more, pictures_go_where_they_finish_first,
           renders_measure_the_machine, times_of_a_gpu_are_learnt, many_sounds)
