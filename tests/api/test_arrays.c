/* libhalo on arrays in memory of the host, against plain sums in double precision. */
#include "allocations.h"
#include "library_rig.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const double SINGLE_BOUND = 1e-6;     /* -120 dB */
static const double DOUBLE_BOUND = 3.16e-14; /* -270 dB */

/* ---- arrays of any type ---- */

static size_t bytes_of(enum halo_sample sample)
{
    return sample == HALO_FLOAT64 ? 8 : sample == HALO_FLOAT32 ? 4 : 2;
}

/* The value of a half with `digits` binary digits after the point. */
static double half_value(uint16_t bits, int digits)
{
    int most = (1 << (15 - digits)) - 1, exponent = (bits & 0x7fff) >> digits;
    double digit = bits & ((1 << digits) - 1), one = 1 << digits;
    double value = exponent == most ? (digit > 0 ? NAN : INFINITY)
                   : exponent == 0  ? ldexp(digit / one, 2 - (most + 1) / 2)
                                    : ldexp(1 + digit / one, exponent - (most - 1) / 2);
    return bits & 0x8000 ? -value : value;
}

static double get(enum halo_sample sample, const void *array, ptrdiff_t at)
{
    if (sample == HALO_FLOAT64)
        return ((const double *)array)[at];
    if (sample == HALO_FLOAT32)
        return (double)((const float *)array)[at];
    return half_value(((const uint16_t *)array)[at], sample == HALO_FLOAT16 ? 10 : 7);
}

/* The distance of the numbers of a type around `value`. */
static double last_place(enum halo_sample sample, double value)
{
    int exponent;
    (void)frexp(value, &exponent);
    return sample == HALO_FLOAT16    ? ldexp(1, (exponent < -13 ? -13 : exponent) - 11)
           : sample == HALO_BFLOAT16 ? ldexp(1, exponent - 8)
                                     : 0;
}

static void free_samples(void *samples)
{
    free(samples);
}

/* Noise of magnitudes up to 1. */
static void *noise(enum halo_sample sample, uint64_t seed, size_t count)
{
    void *made = calloc(count + 1, bytes_of(sample));
    float *floats = calloc(count + 1, sizeof *floats);
    truth_noise(seed, floats, count);
    for (size_t i = 0; i < count; i++)
        if (sample == HALO_FLOAT64)
            ((double *)made)[i] = (double)floats[i] * (1 + 1e-9);
        else if (sample == HALO_FLOAT32)
            ((float *)made)[i] = floats[i];
        else /* the last 16 bits are as random as the rest */
            ((uint16_t *)made)[i] =
                (uint16_t)((sample == HALO_FLOAT16 ? 0x3400 : 0x3f00) + (int)(floats[i] * 0x80) +
                           (floats[i] < 0 ? 0x8080 : 0));
    free(floats);
    suite_release(free_samples, made);
    return made;
}

/* ---- what is expected ---- */

static double exact(const struct halo_arrays *arrays, const struct halo_arrays_options *options,
                    size_t j, size_t i)
{
    size_t n = arrays->first + i, taps = arrays->taps;
    double sum = 0;
    if (arrays->frames == 0)
        return 0;
    for (size_t k = n >= arrays->frames ? n - arrays->frames + 1 : 0; k < taps && k <= n; k++)
        sum +=
            get(options->sample, arrays->x, (ptrdiff_t)j * arrays->x_step + (ptrdiff_t)(n - k)) *
            get(options->sample, arrays->h,
                (ptrdiff_t)j * arrays->h_step + (ptrdiff_t)(options->correlate ? taps - 1 - k : k));
    return sum;
}

/* max|x| sum|h| */
static double bound_of(const struct halo_arrays *arrays, enum halo_sample sample, size_t j)
{
    double peak = 0, norm = 0;
    for (size_t i = 0; i < arrays->frames; i++)
        peak =
            fmax(peak, fabs(get(sample, arrays->x, (ptrdiff_t)j * arrays->x_step + (ptrdiff_t)i)));
    for (size_t k = 0; k < arrays->taps; k++)
        norm += fabs(get(sample, arrays->h, (ptrdiff_t)j * arrays->h_step + (ptrdiff_t)k));
    return peak * norm;
}

/* Compares `most` outputs, or all, with the first and the last ones among them. */
static void expect(const struct halo_arrays *arrays, const struct halo_arrays_options *options,
                   size_t most, const char *what)
{
    enum halo_sample sample = options->sample;
    size_t out = arrays->out_frames, step = out > most ? out / most : 1;
    for (size_t j = 0; j < arrays->count; j++) {
        double allowed =
            bound_of(arrays, sample, j) * (sample == HALO_FLOAT64 ? DOUBLE_BOUND : SINGLE_BOUND);
        for (size_t at = 0; at < out;
             at += at + step < out || at + 1 == out ? step : out - 1 - at) {
            double truth = exact(arrays, options, j, at);
            double is = get(sample, arrays->y, (ptrdiff_t)j * arrays->y_step + (ptrdiff_t)at);
            double error = fabs(is - truth), place = last_place(sample, truth);
            ck_assert_msg(
                error <= allowed + place,
                "%s: type %d, %zu frames, %zu taps%s, y[%zu] of %zu + %zu in array %zu is "
                "%.9g, not %.9g",
                what, (int)sample, arrays->frames, arrays->taps,
                options->correlate ? " backwards" : "", at, arrays->first, out, j, is, truth);
        }
    }
}

static void convolve(const struct halo_arrays *arrays, size_t groups,
                     const struct halo_arrays_options *options)
{
    struct halo_error error;
    enum halo_status status = halo_arrays_convolve(arrays, groups, options, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    ck_assert_str_eq(error.text, "");
}

/* ---- any lengths, steps and types ---- */

static uint64_t next(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static size_t random_length(uint64_t *state)
{
    static const size_t lengths[] = {0, 1, 3, 30, 64, 120, 500, 1000, 3000, 9000};
    return lengths[next(state, 10)] + next(state, 5);
}

/* Arrays that lie forwards or backwards in memory, with gaps between them; or one for all. */
static ptrdiff_t random_step(uint64_t *state, size_t length)
{
    ptrdiff_t step = (ptrdiff_t)(length + next(state, 3));
    return next(state, 2) ? step : -step;
}

static const void *first_of(const void *all, ptrdiff_t step, size_t count, size_t bytes)
{
    return (const char *)all + (step < 0 ? (size_t)-step * (count - 1) * bytes : 0);
}

static struct halo_arrays random_group(uint64_t *state, enum halo_sample sample)
{
    struct halo_arrays group = {.size = sizeof group, .count = next(state, 5)};
    size_t count = group.count + 1, bytes = bytes_of(sample), seed = next(state, 1 << 20);
    group.frames = random_length(state);
    group.taps = random_length(state);
    size_t all = group.frames + group.taps;
    group.first = next(state, 2) ? next(state, all + 2) : 0;
    group.out_frames = next(state, 3) ? next(state, all + 9) : all ? all - 1 : 0;
    group.x_step = next(state, 3) ? random_step(state, group.frames) : 0;
    group.h_step = next(state, 3) ? random_step(state, group.taps) : 0;
    group.y_step = random_step(state, group.out_frames);
    group.x = first_of(noise(sample, seed, (group.frames + 3) * count), group.x_step, count, bytes);
    group.h =
        first_of(noise(sample, seed + 1, (group.taps + 3) * count), group.h_step, count, bytes);
    void *y = noise(sample, seed + 2, (group.out_frames + 3) * count);
    memset(y, 0xff, (group.out_frames + 3) * count * bytes); /* NaN */
    group.y = (void *)(uintptr_t)first_of(y, group.y_step, count, bytes);
    return group;
}

/* What lies between the outputs is not touched. */
static void expect_gaps(const struct halo_arrays *group, enum halo_sample sample)
{
    size_t step = (size_t)(group->y_step < 0 ? -group->y_step : group->y_step);
    for (size_t j = 0; j < group->count; j++)
        for (size_t i = group->out_frames; i < step; i++)
            ck_assert(isnan(get(sample, group->y, (ptrdiff_t)j * group->y_step + (ptrdiff_t)i)));
}

START_TEST(any_lengths_steps_and_types)
{
    enum { TRIALS = 200, GROUPS_MOST = 4 };
    uint64_t state = 1;
    for (size_t trial = 0; trial < TRIALS; trial++) {
        struct halo_arrays groups[GROUPS_MOST];
        size_t count = next(&state, GROUPS_MOST + 1);
        const struct halo_arrays_options options = {.size = sizeof options,
                                                    .sample = (enum halo_sample)(trial % 4),
                                                    .correlate = next(&state, 2),
                                                    .threads = next(&state, 4)};
        for (size_t g = 0; g < count; g++)
            groups[g] = random_group(&state, options.sample);
        convolve(groups, count, &options);
        for (size_t g = 0; g < count; g++) {
            expect(&groups[g], &options, 40, "random");
            expect_gaps(&groups[g], options.sample);
        }
    }
}

/* Lengths for transforms of every size, partitions and both roles, as a whole and in parts. */
START_TEST(long_arrays)
{
    static const size_t cases[][4] = {{480000, 4800, 0, 484799},  {480000, 48000, 0, 527999},
                                      {70000, 150000, 0, 219999}, {150000, 150000, 149000, 2000},
                                      {600000, 20, 5, 600000},    {400001, 400001, 400000, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t sample = 0; sample < 4; sample++) {
            struct halo_arrays_options options = {.size = sizeof options, .correlate = c % 2};
            options.sample = (enum halo_sample)sample;
            struct halo_arrays arrays = {.size = sizeof arrays, .count = 1};
            arrays.frames = cases[c][0];
            arrays.taps = cases[c][1];
            arrays.first = cases[c][2];
            arrays.out_frames = cases[c][3];
            arrays.x = noise(options.sample, 1, arrays.frames);
            arrays.h = noise(options.sample, 2, arrays.taps);
            arrays.y = noise(options.sample, 3, arrays.out_frames);
            convolve(&arrays, 1, &options);
            expect(&arrays, &options, 60, "long");
        }
}

/* ---- precision ---- */

/* Constants, low sounds and clicks: the sums come near the bound, or a few samples decide. */
static void fill_hard(size_t kind, size_t count, float *samples)
{
    for (size_t i = 0; i < count; i++)
        samples[i] = kind == 0   ? 1
                     : kind == 1 ? 1 - 1e-3f * (float)(i % 7)
                     : kind == 2 ? (float)sin((double)i / 250)
                     : kind == 3 ? (i == count / 3)
                     : kind == 4 ? (i == 0) + 0.1f * (i == count - 1)
                                 : 0.7f + 0.3f * samples[i];
}

START_TEST(single_precision_keeps_its_bound)
{
    enum { KINDS = 6 };
    static const size_t lengths[][2] = {{1000, 200}, {100000, 4800}, {120000, 120000}};
    for (size_t c = 0; c < sizeof lengths / sizeof *lengths * KINDS * KINDS; c++) {
        const size_t *length = lengths[c / KINDS / KINDS];
        struct halo_arrays_options options = {.size = sizeof options};
        float *x = noise(HALO_FLOAT32, 1, length[0]), *h = noise(HALO_FLOAT32, 2, length[1]);
        struct halo_arrays arrays = {.size = sizeof arrays, .count = 1};
        fill_hard(c % KINDS, length[0], x);
        fill_hard(c / KINDS % KINDS, length[1], h);
        arrays.x = x;
        arrays.h = h;
        arrays.frames = length[0];
        arrays.taps = length[1];
        arrays.out_frames = length[0] + length[1] - 1;
        arrays.y = noise(HALO_FLOAT32, 3, arrays.out_frames);
        convolve(&arrays, 1, &options);
        expect(&arrays, &options, 150, "hard");
    }
}

/* One tap of 1 gives each half back, and NaN for NaN. */
START_TEST(every_half_comes_back)
{
    enum { HALVES = 1 << 16 };
    static uint16_t x[HALVES], y[HALVES];
    for (enum halo_sample sample = HALO_FLOAT16; sample <= HALO_BFLOAT16; sample++) {
        const uint16_t one = sample == HALO_FLOAT16 ? 0x3c00 : 0x3f80;
        const struct halo_arrays_options options = {.size = sizeof options, .sample = sample};
        /* each alone: 0 by an infinity is NaN */
        const struct halo_arrays arrays = {.size = sizeof arrays,
                                           .x = x,
                                           .frames = 1,
                                           .x_step = 1,
                                           .h = &one,
                                           .taps = 1,
                                           .y = y,
                                           .out_frames = 1,
                                           .y_step = 1,
                                           .count = HALVES};
        for (size_t i = 0; i < HALVES; i++)
            x[i] = (uint16_t)i;
        convolve(&arrays, 1, &options);
        for (size_t i = 0; i < HALVES; i++)
            if (isnan(get(sample, x, (ptrdiff_t)i)))
                ck_assert(isnan(get(sample, y, (ptrdiff_t)i)));
            else /* zeros lose their sign in sums */
                ck_assert_msg(get(sample, x, (ptrdiff_t)i) == get(sample, y, (ptrdiff_t)i),
                              "%zx became %x", i, y[i]);
    }
}

/* Sums of two taps lie between halves, at ties, and beyond the largest one. */
START_TEST(halves_are_rounded_to_the_nearest)
{
    static const struct {
        double x[2]; /* x[0] + x[1] is the sum, and both are halves */
        uint16_t half, bfloat;
    } cases[] = {{{1, 0x1p-11}, 0x3c00, 0x3f80},         {{1 + 0x1p-7, 0x1p-11}, 0x3c08, 0x3f81},
                 {{1 + 0x1p-7, 0x1p-8}, 0x3c0c, 0x3f82}, {{1, 0x1p-8}, 0x3c04, 0x3f80},
                 {{-1, -0x1p-8}, 0xbc04, 0xbf80},        {{32768, 32768}, 0x7c00, 0x4780},
                 {{0x1p-14, 0x1p-15}, 0x0600, 0x38c0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (enum halo_sample sample = HALO_FLOAT16; sample <= HALO_BFLOAT16; sample++) {
            uint16_t h[2], x[2], y;
            int digits = sample == HALO_FLOAT16 ? 10 : 7;
            for (size_t i = 0; i < 2; i++)
                for (uint32_t bits = 0; bits < 1 << 16; bits++)
                    if (half_value((uint16_t)bits, digits) == cases[c].x[i])
                        x[i] = (uint16_t)bits;
            h[0] = h[1] = sample == HALO_FLOAT16 ? 0x3c00 : 0x3f80;
            const struct halo_arrays_options options = {.size = sizeof options, .sample = sample};
            const struct halo_arrays arrays = {.size = sizeof arrays,
                                               .x = x,
                                               .frames = 2,
                                               .h = h,
                                               .taps = 2,
                                               .y = &y,
                                               .first = 1,
                                               .out_frames = 1,
                                               .count = 1};
            convolve(&arrays, 1, &options);
            ck_assert_msg(y == (sample == HALO_FLOAT16 ? cases[c].half : cases[c].bfloat),
                          "%g + %g became %x in type %d", cases[c].x[0], cases[c].x[1], y,
                          (int)sample);
        }
}

/* ---- threads and processes ---- */

static struct halo_arrays full(size_t count, size_t frames, size_t taps)
{
    struct halo_arrays arrays = {.size = sizeof arrays, .count = count, .frames = frames};
    arrays.taps = taps;
    arrays.out_frames = frames + taps - 1;
    arrays.x_step = (ptrdiff_t)frames;
    arrays.y_step = (ptrdiff_t)arrays.out_frames;
    arrays.x = noise(HALO_FLOAT32, 1, count * frames);
    arrays.h = noise(HALO_FLOAT32, 2, taps);
    arrays.y = noise(HALO_FLOAT32, 3, count * arrays.out_frames);
    return arrays;
}

START_TEST(threads_do_not_change_a_bit)
{
    static const size_t cases[][3] = {{1, 300000, 90000}, {3, 60000, 60}, {9, 50000, 3000}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct halo_arrays arrays = full(cases[c][0], cases[c][1], cases[c][2]), other = arrays;
        size_t samples = arrays.count * arrays.out_frames;
        struct halo_arrays_options options = {.size = sizeof options, .threads = 1};
        convolve(&arrays, 1, &options);
        other.y = noise(HALO_FLOAT32, 4, samples);
        for (options.threads = 2; options.threads < 9; options.threads += 3) {
            convolve(&other, 1, &options);
            ck_assert_mem_eq(arrays.y, other.y, samples * sizeof(float));
        }
    }
}

static atomic_bool is_over;

static void *convolve_until_over(void *argument)
{
    struct halo_arrays arrays = *(const struct halo_arrays *)argument;
    const struct halo_arrays_options options = {.size = sizeof options, .threads = 2};
    arrays.y = malloc(arrays.out_frames * sizeof(float));
    for (size_t taps = 1; !is_over; taps = taps * 2 % 65535 + 1) { /* transforms of all sizes */
        arrays.frames = arrays.taps = taps;
        ck_assert_int_eq(halo_arrays_convolve(&arrays, 1, &options, NULL), HALO_OK);
    }
    free(arrays.y);
    return NULL;
}

/* A child is made at any moment of other threads' calls, and convolves with threads of its own. */
START_TEST(a_forked_child_convolves)
{
    enum { CHILDREN = 50 };
    pthread_t thread;
    struct halo_arrays arrays = full(1, 65536, 65536);
    const struct halo_arrays_options options = {.size = sizeof options, .threads = 3};
    is_over = false;
    ck_assert_int_eq(pthread_create(&thread, NULL, convolve_until_over, &arrays), 0);
    for (size_t i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct halo_arrays own = full(2, 9000, 500 + i * 100);
            _exit(halo_arrays_convolve(&own, 1, &options, NULL) == HALO_OK ? 0 : 1);
        }
        int status;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    is_over = true;
    pthread_join(thread, NULL);
}

/* ---- what is refused ---- */

static void refuse(const struct halo_arrays *arrays, const struct halo_arrays_options *options,
                   enum halo_status expected, const char *text)
{
    struct halo_error error;
    size_t bytes = 1;
    library_refused(halo_arrays_convolve(arrays, 1, options, &error), &error, expected, text, NULL);
    library_refused(halo_arrays_scratch(arrays, 1, options, &bytes, &error), &error, expected, text,
                    NULL);
}

START_TEST(wrong_arguments_are_refused)
{
    struct halo_arrays arrays = full(2, 100, 10), wrong = arrays;
    const struct halo_arrays_options options = {.size = sizeof options};
    struct halo_arrays_options odd = options;
    size_t bytes = 1;
    ck_assert_int_eq(halo_arrays_scratch(&arrays, 1, &options, &bytes, NULL), HALO_OK);
    ck_assert_uint_eq(bytes, 0);
    refuse(NULL, &options, HALO_USAGE, "arrays is NULL");
    wrong.size = 0;
    refuse(&wrong, &options, HALO_USAGE, "has no size");
    wrong = arrays;
    wrong.x = NULL;
    refuse(&wrong, &options, HALO_USAGE, "group 0: x is NULL");
    wrong = arrays;
    wrong.h = (const char *)arrays.h + 2;
    refuse(&wrong, &options, HALO_USAGE, "group 0: h is not aligned");
    wrong = arrays;
    wrong.y_step = 0;
    refuse(&wrong, &options, HALO_USAGE, "group 0: y_step is less than its 109 samples");
    wrong = arrays;
    wrong.taps = SIZE_MAX;
    refuse(&wrong, &options, HALO_USAGE, "group 0: h has too many samples");
    odd.threads = 5000;
    refuse(&arrays, &odd, HALO_USAGE, "cannot convolve on 5000 threads");
    odd = options;
    odd.sample = (enum halo_sample)9;
    refuse(&arrays, &odd, HALO_USAGE, "type 9");
#ifdef HALO_NO_CUDA
    odd = options;
    odd.on_device = true;
    refuse(&arrays, &odd, HALO_NO_GPU, "has no CUDA");
#endif
}

/* The call with its n-th allocation failing; returns whether that came. */
static bool lives_without(size_t number, const struct halo_arrays *arrays)
{
    const struct halo_arrays_options options = {.size = sizeof options, .threads = 1};
    struct halo_error error = {HALO_OK, ""};
    allocations_fail("libhalo.so", number);
    enum halo_status status = halo_arrays_convolve(arrays, 1, &options, &error);
    bool failed = allocations_failed();
    ck_assert_msg(status == (failed ? HALO_NO_MEMORY : HALO_OK), "allocation %zu: %d %s", number,
                  (int)status, error.text);
    return failed;
}

START_TEST(each_allocation_may_fail)
{
    struct halo_arrays arrays = full(3, 5000, 3333);
    size_t number = 1;
    if (!allocations_are_counted())
        return;
    while (lives_without(number, &arrays))
        number++;
    ck_assert_uint_gt(number, 8);
}
