/* The spectral filter against a truth in double precision, for any block; and separation by medians
 * on a mix of known parts. */
#include "allocations.h"
#include "convolve/spectral.h"
#include "signal/audio.h"
#include "spectral_truth.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, CHANNELS = 2 };

static double energy(const double *samples, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += samples[i] * samples[i];
    return sum;
}

/* ---- through the filter ---- */

/* n + tail frames, latency taken off, one block after the other; for block_free. */
static struct block render(struct filter *filter, const struct block *x)
{
    struct block in, out, result;
    size_t n = x->frames, total = n + (size_t)filter->tail, latency = (size_t)filter->latency;
    in = stream_block(x->channels, filter->block);
    out = stream_block(x->channels, filter->block);
    result = stream_block(x->channels, total);
    for (size_t at = 0; at < total + latency; at += filter->block) {
        for (size_t c = 0; c < x->channels; c++)
            for (size_t i = 0; i < filter->block; i++)
                in.data[c][i] = at + i < n ? x->data[c][at + i] : 0;
        filter_process(filter, (const float *const *)in.data, out.data);
        for (size_t c = 0; c < x->channels; c++)
            for (size_t i = 0; i < filter->block; i++)
                if (at + i >= latency && at + i - latency < total)
                    result.data[c][at + i - latency] = out.data[c][i];
    }
    return result;
}

static struct block noise(size_t frames, size_t quiet)
{
    struct block block = stream_block(CHANNELS, frames);
    for (size_t c = 0; c < CHANNELS; c++) {
        truth_noise(20 + c, block.data[c], frames);
        for (size_t i = 0; i < frames; i++)
            block.data[c][i] *= i < quiet ? 1e-3f : 0.5f;
    }
    return block;
}

static struct filter *create(const struct spectral_settings *settings)
{
    struct filter *filter;
    ck_assert_int_eq(spectral_create(settings, &filter), STATUS_OK);
    return filter;
}

/* The largest error over all channels, in dB of the truth's peak. */
static double error_db(const struct block *got, const struct block *x,
                       const struct spectral_truth *truth)
{
    double worst = 0, peak = 0;
    for (size_t c = 0; c < x->channels; c++) {
        double *y = spectral_truth_render(truth, x->data[c], x->frames, NULL);
        for (size_t i = 0; i < got->frames; i++) {
            worst = fmax(worst, fabs((double)got->data[c][i] - y[i]));
            peak = fmax(peak, fabs(y[i]));
        }
        free(y);
    }
    return 20 * log10(worst / peak);
}

/* ---- every setting, every block ---- */

struct way {
    size_t rows, columns; /* of a mask of noise */
    struct spectral_window_settings window;
    enum spectral_scale scale;
    enum spectral_mode mode;
    enum convolve2d_boundary boundary;
    bool end_known;
};

static const struct way ways[] = {
    {3, 3, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_ZERO, true},
    {7, 5, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REPLICATE, true},
    {7, 5, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REFLECT, true},
    {7, 5, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REFLECT, false},
    {8, 2, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REFLECT, true},
    {8, 2, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REPLICATE, false},
    {2, 9, {SPECTRAL_SINE, 60, 30}, 0, SPECTRAL_GAIN, CONVOLVE2D_REFLECT, true},
    {5, 5, {SPECTRAL_HAMMING, 64, 16}, SPECTRAL_DB, 0, CONVOLVE2D_ZERO, true},
    {5, 5, {SPECTRAL_BLACKMAN, 96, 16}, SPECTRAL_DB, SPECTRAL_GAIN, CONVOLVE2D_REFLECT, true},
    {1, 1, {SPECTRAL_RECTANGLE, 50, 50}, 0, 0, CONVOLVE2D_ZERO, true},
    {90, 1, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REFLECT, true},
    {301, 1, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REFLECT, true}, /* more than the picture */
    {300, 3, {SPECTRAL_HANN, 64, 16}, 0, 0, CONVOLVE2D_REPLICATE, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* Nearly a mean, so that decibels stay in range. */
static struct mask2d *mask_of(const struct way *way)
{
    size_t count = way->rows * way->columns;
    float *taps = calloc(count, sizeof *taps);
    struct mask2d *mask;
    truth_noise(7, taps, count);
    for (size_t i = 0; i < count; i++)
        taps[i] = (1 + taps[i]) / (float)count;
    ck_assert_int_eq(mask2d_create("noise", way->rows, way->columns, taps, &mask), STATUS_OK);
    free(taps);
    return mask;
}

static void check_settings(const struct spectral_settings *base, const char *what, size_t which)
{
    enum { N = 2000 };
    const size_t blocks[] = {1, 7, 16, 60, 500, 4096};
    struct block x = noise(N, N / 2);
    struct spectral_settings settings = *base;
    settings.channels = CHANNELS;
    settings.end = base->end ? N : 0;
    settings.backend = "cpu";
    double *window = spectral_truth_window(&settings.window);
    struct spectral_truth truth = {&settings, settings.mask, window};
    double most = -120 + 20 * log10(fmax(settings.separation.power / 3, 1)); /* cells are floats */
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        settings.block = blocks[b];
        struct filter *filter = create(&settings);
        ck_assert_uint_eq(filter->tail, settings.window.size - 1);
        struct block got = render(filter, &x);
        double db = error_db(&got, &x, &truth);
        ck_assert_msg(db < most, "%s %zu, blocks of %zu: %g dB", what, which, blocks[b], db);
        filter_reset(filter);
        struct block again = render(filter, &x);
        for (size_t c = 0; c < CHANNELS; c++)
            ck_assert_mem_eq(got.data[c], again.data[c], got.frames * sizeof(float));
        filter_destroy(filter);
    }
    free(window);
}

static void check_way(const struct way *way)
{
    struct mask2d *mask = mask_of(way);
    const struct spectral_settings settings = {.window = way->window,
                                               .scale = way->scale,
                                               .mode = way->mode,
                                               .boundary = way->boundary,
                                               .mask = mask,
                                               .end = way->end_known};
    check_settings(&settings, "way", (size_t)(way - ways));
    mask2d_destroy(mask);
}

START_TEST(every_way_and_block_agrees_with_the_truth)
{
    for (size_t w = 0; w < WAYS; w++)
        check_way(&ways[w]);
}

START_TEST(medians_agree_with_the_truth)
{
    static const struct {
        struct separation separation;
        enum convolve2d_boundary boundary;
        bool end_known;
    } cases[] = {
        {{7, 5, SEPARATION_HARMONIC, 2, 1}, CONVOLVE2D_REFLECT, true},
        {{7, 5, SEPARATION_PERCUSSIVE, 2, 1}, CONVOLVE2D_REFLECT, false},
        {{7, 9, SEPARATION_RESIDUAL, 2, 1.5}, CONVOLVE2D_REPLICATE, true},
        {{9, 3, SEPARATION_HARMONIC, 1, 2}, CONVOLVE2D_ZERO, true},
        {{1, 11, SEPARATION_PERCUSSIVE, 1.5, 3}, CONVOLVE2D_ZERO, false},
        {{11, 1, SEPARATION_RESIDUAL, 3, 2}, CONVOLVE2D_REFLECT, true},
        {{301, 99, SEPARATION_PERCUSSIVE, 2, 1}, CONVOLVE2D_REFLECT, true}, /* more than there is */
        {{301, 3, SEPARATION_HARMONIC, 2, 1}, CONVOLVE2D_REPLICATE, true},
        /* Powers of quotients, and of margins, that a float or a double does not hold. */
        {{7, 5, SEPARATION_HARMONIC, 0.1, 1000}, CONVOLVE2D_REFLECT, true},
        {{7, 5, SEPARATION_HARMONIC, 100, 1.4}, CONVOLVE2D_REFLECT, true},
        {{7, 5, SEPARATION_HARMONIC, 100, 20}, CONVOLVE2D_REFLECT, true},
        {{7, 5, SEPARATION_PERCUSSIVE, 100, 20}, CONVOLVE2D_REFLECT, true},
        {{7, 5, SEPARATION_RESIDUAL, 100, 1000}, CONVOLVE2D_REFLECT, true},
        {{7, 5, SEPARATION_RESIDUAL, 1000, 1000}, CONVOLVE2D_REFLECT, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct spectral_settings settings = {.window = {SPECTRAL_HANN, 64, 16},
                                                   .mode = SPECTRAL_SEPARATE,
                                                   .boundary = cases[i].boundary,
                                                   .separation = cases[i].separation,
                                                   .end = cases[i].end_known};
        check_settings(&settings, "medians", i);
    }
}

/* A step's batch of rows is bounded: a block with more rows, distributed to threads. */
START_TEST(long_blocks_and_threads_make_no_difference)
{
    enum { N = 40000 };
    struct workers *workers;
    struct mask2d *mask = spectral_truth_mean(5, 3);
    struct block x = noise(N, 0);
    struct spectral_settings settings = {.channels = CHANNELS,
                                         .block = 100,
                                         .window = {SPECTRAL_HANN, 64, 16},
                                         .mask = mask,
                                         .backend = "cpu"};
    struct filter *filter = create(&settings);
    struct block got = render(filter, &x);
    filter_destroy(filter);
    ck_assert_int_eq(workers_create(3, &workers), STATUS_OK);
    settings.workers = workers;
    settings.block = 30000; /* 1875 rows */
    filter = create(&settings);
    struct block long_one = render(filter, &x);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < got.frames; i++)
            ck_assert_float_eq_tol(got.data[c][i], long_one.data[c][i], 3e-7f);
    filter_destroy(filter);
    workers_destroy(workers);
    mask2d_destroy(mask);
}

/* ---- reconstruction ---- */

static double loss_db(const struct spectral_settings *settings, const struct block *x)
{
    struct filter *filter = create(settings);
    struct block got = render(filter, x);
    double worst = 0, peak = 0;
    for (size_t c = 0; c < x->channels; c++)
        for (size_t i = 0; i < got.frames; i++) {
            double was = i < x->frames ? (double)x->data[c][i] : 0;
            worst = fmax(worst, fabs((double)got.data[c][i] - was));
            peak = fmax(peak, fabs(was));
        }
    filter_destroy(filter);
    return 20 * log10(worst / peak);
}

/* Noise; and a sine with sudden start and end, with silence and sounds below the floor. */
START_TEST(identity_gives_the_sound_back)
{
    static const struct spectral_window_settings windows[] = {
        {SPECTRAL_HANN, 2048, 512},     {SPECTRAL_HANN, 4096, 512},  {SPECTRAL_HAMMING, 1024, 256},
        {SPECTRAL_BLACKMAN, 2048, 256}, {SPECTRAL_SINE, 1000, 500},  {SPECTRAL_SINE, 2048, 512},
        {SPECTRAL_RECTANGLE, 512, 256}, {SPECTRAL_RECTANGLE, 16, 1}, {SPECTRAL_HANN, 1536, 512},
    };
    struct mask2d *mask = spectral_truth_mean(1, 1);
    struct block sounds[2] = {noise(9000, 4000), noise(9000, 0)};
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < 9000; i++)
            sounds[1].data[c][i] = (i >= 3000 && i < 6000 ? 0.5f
                                    : i < 7000            ? 0
                                                          : 1e-7f) *
                                   sinf((float)i / 7);
    for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
        for (int scale = SPECTRAL_LINEAR; scale <= SPECTRAL_DB; scale++)
            for (size_t s = 0; s < 2; s++) {
                const struct spectral_settings settings = {.channels = CHANNELS,
                                                           .block = 300,
                                                           .window = windows[w],
                                                           .scale = (enum spectral_scale)scale,
                                                           .mask = mask,
                                                           .backend = "cpu"};
                double db = loss_db(&settings, &sounds[s]);
                ck_assert_msg(db < -120, "window %zu, scale %d, sound %zu: %g dB", w, scale, s, db);
            }
    mask2d_destroy(mask);
}

START_TEST(silence_stays_silence)
{
    struct mask2d *mask = spectral_truth_mean(9, 9);
    struct block x = noise(3000, 0);
    block_silence(&x, 0, 3000);
    for (int scale = SPECTRAL_LINEAR; scale <= SPECTRAL_DB; scale++) {
        const struct spectral_settings settings = {.channels = CHANNELS,
                                                   .block = 300,
                                                   .window = {SPECTRAL_HANN, 2048, 512},
                                                   .scale = (enum spectral_scale)scale,
                                                   .mask = mask,
                                                   .backend = "cpu"};
        struct filter *filter = create(&settings);
        struct block got = render(filter, &x);
        for (size_t i = 0; i < got.frames; i++)
            ck_assert_float_eq(got.data[0][i], 0);
        filter_destroy(filter);
    }
    mask2d_destroy(mask);
}

/* No later than necessary: a hop less than the window where blocks are multiples of a hop. */
START_TEST(latency_is_as_reported)
{
    static const struct {
        size_t block, rows;
        uint64_t latency;
    } cases[] = {{512, 1, 1536}, {1024, 1, 1536}, {256, 1, 1792}, {1, 1, 2047},
                 {480, 1, 2016}, {512, 3, 2048},  {512, 4, 2560}, {512, 17, 5632}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mask2d *mask = spectral_truth_mean(cases[i].rows, 1);
        const struct spectral_settings settings = {.channels = 1,
                                                   .block = cases[i].block,
                                                   .window = {SPECTRAL_HANN, 2048, 512},
                                                   .mask = mask,
                                                   .backend = "cpu"};
        struct filter *filter = create(&settings);
        ck_assert_uint_eq(filter->latency, cases[i].latency);
        filter_destroy(filter);
        mask2d_destroy(mask);
    }
}

START_TEST(windows_that_do_not_give_the_sound_back_are_refused)
{
    static const struct {
        struct spectral_window_settings window;
        const char *expected;
    } cases[] = {
        {{SPECTRAL_HANN, 2048, 700}, "hops that do: 512, 256, 128, 64, ..."},
        {{SPECTRAL_HANN, 2048, 1024}, "hop=1024 does not reconstruct the sound with window=hann"},
        {{SPECTRAL_BLACKMAN, 2048, 512}, "hops that do: 256,"},
        {{SPECTRAL_SINE, 2048, 1025}, "hops that do: 1024,"},
        {{SPECTRAL_RECTANGLE, 20, 3}, "hops that do: 20, 10, 5, 4, ..."},
        {{SPECTRAL_HANN, 2047, 512}, "size= must be an even number"},
        {{SPECTRAL_HANN, 8, 2}, "size= must be an even number"},
        {{SPECTRAL_HANN, 64, 65}, "hop= must be from 1 to size=64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[512] = "";
        double sum;
        log_capture(message, sizeof message);
        enum status status = spectral_window_check(&cases[i].window, &sum);
        log_capture(NULL, 0);
        ck_assert_int_eq(status, STATUS_USAGE);
        ck_assert_msg(strstr(message, cases[i].expected) != NULL, "%zu: %s", i, message);
    }
}

/* 1018 is twice a prime. */
START_TEST(any_even_size_is_taken_live)
{
    struct mask2d *mask = spectral_truth_mean(3, 3);
    struct spectral_settings settings = {.channels = 1,
                                         .block = 64,
                                         .window = {SPECTRAL_RECTANGLE, 1018, 509},
                                         .mask = mask,
                                         .backend = "cpu",
                                         .live = true};
    struct filter *filter = NULL;
    ck_assert_int_eq(spectral_create(&settings, &filter), STATUS_OK);
    filter_destroy(filter);
    mask2d_destroy(mask);
}

/* ---- the step ---- */

START_TEST(steps_allocate_nothing)
{
    if (!allocations_are_counted())
        return;
    struct mask2d *mask = spectral_truth_mean(5, 5);
    struct block x = noise(4096, 0), y = noise(4096, 0);
    for (int mode = SPECTRAL_MAGNITUDE; mode <= SPECTRAL_SEPARATE; mode++)
        for (size_t block = 64; block <= 4096; block *= 4) {
            const struct spectral_settings settings = {
                .channels = CHANNELS,
                .block = block,
                .window = {SPECTRAL_HANN, 2048, 512},
                .scale = mode == SPECTRAL_GAIN ? SPECTRAL_DB : SPECTRAL_LINEAR,
                .mode = (enum spectral_mode)mode,
                .mask = mask,
                .separation = {.rows = 5, .columns = 31, .power = 1.5, .margin = 1},
                .boundary = CONVOLVE2D_REFLECT,
                .backend = "cpu",
                .live = true};
            struct filter *filter = create(&settings);
            size_t before = allocations_of_all();
            for (size_t step = 0; step < 3 * 4096 / block + 3; step++)
                filter_process(filter, (const float *const *)x.data, y.data);
            ck_assert_uint_eq(allocations_of_all(), before);
            filter_destroy(filter);
        }
    mask2d_destroy(mask);
}

/* ---- separating strings from drums ---- */

enum { MIX = 2 * RATE };

/* Three notes with decaying overtones. */
static void add_chord(float *to)
{
    static const double notes[] = {220, 277.18, 329.63};
    for (size_t i = 0; i < MIX; i++)
        for (size_t n = 0; n < 3; n++)
            for (int overtone = 1; overtone <= 8; overtone++)
                to[i] += (float)(0.12 / overtone *
                                 sin(2 * M_PI * notes[n] * overtone * (double)i / RATE + overtone));
}

/* Bursts of decaying noise, four per second, with a click between. */
static void add_drums(float *to)
{
    static float hiss[MIX];
    truth_noise(30, hiss, MIX);
    for (size_t i = 0; i < MIX; i++) {
        double since = (double)(i % (RATE / 4)) / RATE;
        to[i] += 0.8f * hiss[i] * (float)exp(-since / 0.03);
        if (i % (RATE / 4) == RATE / 8)
            to[i] += 0.9f;
    }
}

/* The gain of a part of the mix, in dB of its energy. */
static double kept_db(const struct spectral_truth *truth, const float *mix, const float *part)
{
    double *is = spectral_truth_render(truth, mix, MIX, part), sum = 0;
    for (size_t i = 0; i < MIX; i++)
        sum += (double)part[i] * (double)part[i];
    double db = 10 * log10(energy(is, MIX) / sum);
    free(is);
    return db;
}

START_TEST(drums_and_strings_are_separated)
{
    static float chord[MIX], drums[MIX];
    struct block mix = stream_block(1, MIX);
    add_chord(chord);
    add_drums(drums);
    for (size_t i = 0; i < MIX; i++)
        mix.data[0][i] = chord[i] + drums[i];
    for (int part = SEPARATION_HARMONIC; part <= SEPARATION_PERCUSSIVE; part++) {
        struct spectral_settings settings = {
            .channels = 1,
            .block = 1000,
            .window = {SPECTRAL_HANN, 2048, 512},
            .mode = SPECTRAL_SEPARATE,
            .separation = {17, 31, (enum separation_part)part, 2, 1},
            .boundary = CONVOLVE2D_REFLECT,
            .end = MIX,
            .backend = "cpu"};
        double *window = spectral_truth_window(&settings.window);
        struct spectral_truth truth = {&settings, NULL, window};
        struct filter *filter = create(&settings);
        struct block got = render(filter, &mix);
        /* The filter's output is the truth's output, which is a sum of two parts. */
        ck_assert_double_lt(error_db(&got, &mix, &truth), -120);
        bool harmonic = part == SEPARATION_HARMONIC;
        double kept = kept_db(&truth, mix.data[0], harmonic ? chord : drums);
        double other = kept_db(&truth, mix.data[0], harmonic ? drums : chord);
        printf("%s: its own part %.1f dB, the other %.1f dB\n",
               harmonic ? "harmonic" : "percussive", kept, other);
        ck_assert_double_gt(kept, -2);
        ck_assert_double_lt(other, -12);
        filter_destroy(filter);
        free(window);
    }
}
