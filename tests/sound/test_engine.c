/* The engine on memory ports: lengths, tails, latency, boundaries, several filters. */
#include "chain/chain.h"
#include "convolve/convolver.h"
#include "sound/engine.h"
#include "sound/gain.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <string.h>

static struct workers *workers;

static struct filter *chain_of(struct mask **masks, size_t count, size_t channels, size_t block)
{
    struct filter *chain, *filter;
    ck_assert_int_eq(chain_create(channels, block, &chain), STATUS_OK);
    for (size_t m = 0; m < count; m++) {
        struct convolver_settings settings = {
            .backend = "auto", .block = block, .workers = workers};
        ck_assert_int_eq(convolver_create(&settings, masks[m], &filter), STATUS_OK);
        ck_assert_int_eq(chain_append(chain, filter), STATUS_OK);
    }
    return chain;
}

static struct sink *run(struct filter *chain, const struct block *x,
                        const struct engine_run_settings *settings, struct engine_totals *totals)
{
    struct source *source;
    struct sink *sink;
    ck_assert_int_eq(source_open_memory(x, 48000, &source), STATUS_OK);
    ck_assert_int_eq(sink_open_memory(chain->outputs, &sink), STATUS_OK);
    ck_assert_int_eq(engine_run(chain, source, sink, settings, totals), STATUS_OK);
    ck_assert_uint_eq(totals->frames_out, sink_memory(sink)->frames);
    source_close(source);
    return sink;
}

/* Output frame i against frame i + shift of the truth. */
static void expect_truth(const struct block *out, double *const *truth, size_t shift, size_t known)
{
    for (size_t c = 0; c < out->channels; c++)
        for (size_t i = 0; i < out->frames; i++) {
            double expected = i + shift < known ? truth[c][i + shift] : 0;
            ck_assert_double_eq_tol((double)out->data[c][i], expected, 1e-4);
        }
}

START_TEST(tail_and_alignment)
{
    const size_t taps[] = {1, 2, 5, 100, 3000}, lengths[] = {0, 1, 63, 64, 65, 5000};
    const size_t blocks[] = {1, 64, 4096};
    workers_create(1, &workers) == STATUS_OK ? (void)0 : abort();
    for (size_t t = 0; t < 5; t++)
        for (size_t l = 0; l < 6; l++)
            for (size_t b = (t + l) % 3, all = b + 1; b < all; b++) /* they take turns */
                for (int centre = 0; centre < 2; centre++)
                    for (int full = 0; full < 2; full++) {
                        size_t n = lengths[l];
                        struct mask *mask = truth_noise_mask(t, 2, taps[t]);
                        mask_scale(mask, 1 / sqrt((double)taps[t]), NULL);
                        mask_align(mask, centre ? MASK_ALIGN_CENTRE : MASK_ALIGN_CAUSAL);
                        struct block x = stream_noise(l, 2, n);
                        double **truth = truth_render(mask, x.data, n);
                        struct filter *chain = chain_of(&mask, 1, 2, blocks[b]);
                        struct engine_run_settings settings = {.tail =
                                                                   full ? TAIL_FULL : TAIL_NONE};
                        struct engine_totals totals;
                        struct sink *sink = run(chain, &x, &settings, &totals);
                        ck_assert_uint_eq(totals.frames_in, n);
                        ck_assert_uint_eq(totals.frames_out, full ? n + taps[t] - 1 : n);
                        expect_truth(sink_memory(sink), truth, centre ? (taps[t] - 1) / 2 : 0,
                                     n ? n + taps[t] - 1 : 0);
                        sink_close(sink);
                        filter_destroy(chain);
                    }
    workers_destroy(workers);
}

START_TEST(tail_until_a_level)
{
    enum { N = 500, TAPS = 4000 };
    workers_create(1, &workers) == STATUS_OK ? (void)0 : abort();
    struct mask *mask;
    ck_assert_int_eq(mask_create("decay", 1, TAPS, &mask), STATUS_OK);
    for (size_t k = 0; k < TAPS; k++) /* 60 dB in 2000 taps */
        mask->coefficients[k] = (float)pow(10, -3.0 * (double)k / 2000);
    ck_assert_int_eq(mask_route(mask, 1, 0, 0), STATUS_OK);
    struct block x = stream_noise(1, 1, N);
    memset(x.data[0], 0, N * sizeof(float));
    x.data[0][N - 1] = 1;
    struct filter *chain = chain_of(&mask, 1, 1, 256);
    struct engine_run_settings settings = {.tail = TAIL_UNTIL, .until = 0.001};
    struct engine_totals totals;
    struct sink *sink = run(chain, &x, &settings, &totals);
    ck_assert_int_le(llabs((long long)totals.frames_out - (N + 2000)), 1);
    settings.until = 2; /* even the sound's end is below the level: no tail is added */
    filter_reset(chain);
    sink_close(sink);
    sink = run(chain, &x, &settings, &totals);
    ck_assert_uint_eq(totals.frames_out, N);
    sink_close(sink);
    filter_destroy(chain);
    mask_destroy(mask);
    workers_destroy(workers);
}

START_TEST(masks_in_a_row_and_gain)
{
    enum { N = 3000, A = 50, B = 700 };
    workers_create(2, &workers) == STATUS_OK ? (void)0 : abort();
    struct mask *masks[] = {truth_noise_mask(1, 1, A), truth_noise_mask(2, 1, B)};
    mask_scale(masks[0], 0.1, NULL);
    mask_scale(masks[1], 0.1, NULL);
    struct block x = stream_noise(1, 1, N);
    double **first = truth_render(masks[0], x.data, N);
    static float between[N + A];
    for (size_t i = 0; i < N + A - 1; i++)
        between[i] = (float)first[0][i];
    float *rows[] = {between};
    double **truth = truth_render(masks[1], rows, N + A - 1);
    for (size_t i = 0; i < N + A + B - 2; i++)
        truth[0][i] *= 0.5;
    struct filter *chain = chain_of(masks, 2, 1, 512), *gain;
    ck_assert_int_eq(gain_create(1, 512, 0.5, &gain), STATUS_OK);
    ck_assert_int_eq(chain_append(chain, gain), STATUS_OK);
    struct engine_run_settings settings = {.tail = TAIL_FULL, .true_peak = true};
    struct engine_totals totals;
    struct sink *sink = run(chain, &x, &settings, &totals);
    ck_assert_uint_eq(totals.frames_out, N + A + B - 2);
    expect_truth(sink_memory(sink), truth, 0, N + A + B - 2);
    double peak = 0;
    for (size_t i = 0; i < N + A + B - 2; i++)
        peak = fmax(peak, fabs(truth[0][i]));
    ck_assert_double_eq_tol(totals.peak, peak, 1e-5);
    ck_assert_double_ge(totals.true_peak, totals.peak);
    sink_close(sink);
    filter_destroy(chain);
    workers_destroy(workers);
}

/* An impulse appears at the reported latency before the engine removes it. */
START_TEST(impulse_comes_out_at_latency)
{
    workers_create(1, &workers) == STATUS_OK ? (void)0 : abort();
    const size_t taps[] = {1, 31, 1001}, blocks[] = {1, 64, 4096};
    for (size_t t = 0; t < 3; t++)
        for (size_t b = 0; b < 3; b++) {
            struct mask *masks[2];
            for (size_t m = 0; m < 2; m++) {
                ck_assert_int_eq(mask_create("pulse", 1, taps[t], &masks[m]), STATUS_OK);
                mask_align(masks[m], MASK_ALIGN_CENTRE);
                masks[m]->coefficients[masks[m]->origin] = 1;
                ck_assert_int_eq(mask_route(masks[m], 1, 0, 0), STATUS_OK);
            }
            struct filter *chain = chain_of(masks, 2, 1, blocks[b]);
            float impulse = 1, *x[] = {&impulse};
            size_t frames = (size_t)chain->latency + 10;
            struct block out = stream_through(chain, x, 1, frames);
            ck_assert_uint_eq(chain->latency, taps[t] - 1);
            for (size_t i = 0; i < frames; i++)
                ck_assert_float_eq_tol(out.data[0][i], i == chain->latency ? 1.0f : 0.0f, 1e-6f);
            filter_destroy(chain);
            mask_destroy(masks[0]);
            mask_destroy(masks[1]);
        }
    workers_destroy(workers);
}

START_TEST(nan_is_refused)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct block x = stream_noise(1, 2, 5000);
        x.data[1][4321] = bad[i];
        struct filter *chain;
        struct source *source;
        struct sink *sink;
        struct engine_run_settings settings = {.tail = TAIL_FULL};
        struct engine_totals totals;
        ck_assert_int_eq(chain_create(2, 1024, &chain), STATUS_OK);
        ck_assert_int_eq(source_open_memory(&x, 48000, &source), STATUS_OK);
        ck_assert_int_eq(sink_open_memory(2, &sink), STATUS_OK);
        ck_assert_int_eq(engine_run(chain, source, sink, &settings, &totals), STATUS_FAILED);
        sink_close(sink);
        source_close(source);
        filter_destroy(chain);
    }
}
