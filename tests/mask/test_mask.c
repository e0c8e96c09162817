/* Masks: readers, routing, resampling. */
#include "import/mask_load.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum status load_text(const char *text, struct mask **mask)
{
    char path[] = "/tmp/halo-mask-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    FILE *file = fdopen(fd, "wb");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    enum status status = mask_load_with(path, &(struct mask_load_options){0}, mask);
    unlink(path);
    return status;
}

START_TEST(text_columns)
{
    struct mask *mask;
    ck_assert_int_eq(load_text("\xEF\xBB\xBF# two channels\r\nrate: 48000\r\n1 2\r\n\r\n"
                               " -0.5\t4e-1 # the last\r\n",
                               &mask),
                     STATUS_OK);
    ck_assert_uint_eq(mask->columns, 2);
    ck_assert_uint_eq(mask->taps, 2);
    ck_assert_uint_eq(mask->rate, 48000);
    ck_assert_double_eq(mask_column(mask, 0)[1], -0.5);
    ck_assert_double_eq(mask_column(mask, 1)[1], 0.4);
    mask_destroy(mask);
}

START_TEST(text_refused)
{
    static const char *const texts[] = {
        "1 2\n3\n",
        "1\nabc\n",
        "0,5,1\n",
        "1\nnan\n",
        "inf\n",
        "# nothing\n",
        "rate: 0\n1\n",
        "rate: -5\n1\n",
        "rate: 44100.5\n1\n",
        "1e400\n",
        "rate: 1\nrate: 2\n1\n",
        "\n\n",
        "hello world\n",
        "1 2 3 x\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mask *mask;
        ck_assert_msg(load_text(texts[i], &mask) == STATUS_FAILED, "%s", texts[i]);
    }
}

START_TEST(zero_bytes_are_refused)
{
    static const char text[] = "1\n0.5\0 0.25\n2\n";
    char path[] = "/tmp/halo-mask-XXXXXX";
    struct mask *mask;
    FILE *file = fdopen(mkstemp(path), "wb");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 2000; i++) /* beyond the bytes that are checked for text */
        fputs("1\n", file);
    fwrite(text, 1, sizeof text - 1, file);
    fclose(file);
    ck_assert_int_eq(mask_load_with(path, &(struct mask_load_options){0}, &mask), STATUS_FAILED);
    unlink(path);
}

static struct mask *columns_of(size_t columns)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", columns, 3, &mask), STATUS_OK);
    truth_noise_taps(1, mask->coefficients, columns * 3);
    return mask;
}

static void expect_paths(size_t columns, size_t channels, enum mask_order order, enum mask_map map,
                         const char *expected)
{
    struct mask *mask = columns_of(columns);
    ck_assert_int_eq(mask_route(mask, channels, order, map), STATUS_OK);
    char paths[256] = "";
    for (size_t p = 0; p < mask->path_count; p++)
        snprintf(paths + strlen(paths), sizeof paths - strlen(paths), "%zu>%zu:%zu ",
                 mask->paths[p].input, mask->paths[p].output, mask->paths[p].column);
    ck_assert_str_eq(paths, expected);
    mask_destroy(mask);
}

START_TEST(routes)
{
    expect_paths(1, 3, 0, 0, "0>0:0 1>1:0 2>2:0 ");
    expect_paths(3, 3, 0, 0, "0>0:0 1>1:1 2>2:2 ");
    expect_paths(4, 2, MASK_ORDER_LL_LR_RL_RR, 0, "0>0:0 0>1:1 1>0:2 1>1:3 ");
    expect_paths(4, 2, MASK_ORDER_LL_RR_LR_RL, 0, "0>0:0 0>1:2 1>0:3 1>1:1 ");
    expect_paths(4, 1, MASK_ORDER_LL_LR_RL_RR, 0, "0>0:0 0>1:1 0>0:2 0>1:3 ");
    expect_paths(4, 1, 0, MASK_MAP_SPLIT, "0>0:0 0>1:1 0>2:2 0>3:3 ");
    expect_paths(2, 1, 0, 0, "0>0:0 0>1:1 ");
    expect_paths(4, 4, 0, 0, "0>0:0 1>1:1 2>2:2 3>3:3 ");
    expect_paths(6, 3, 0, MASK_MAP_MATRIX, "0>0:0 0>1:1 1>0:2 1>1:3 2>0:4 2>1:5 ");
    expect_paths(6, 2, 0, MASK_MAP_MATRIX, "0>0:0 0>1:1 0>2:2 1>0:3 1>1:4 1>2:5 ");
    expect_paths(3, 3, 0, MASK_MAP_MATRIX, "0>0:0 1>0:1 2>0:2 ");
    expect_paths(4, 1, 0, MASK_MAP_MATRIX, "0>0:0 0>1:1 0>2:2 0>3:3 ");
    expect_paths(4, 4, 0, MASK_MAP_MATRIX, "0>0:0 1>0:1 2>0:2 3>0:3 ");
    expect_paths(1, 1, 0, MASK_MAP_MATRIX, "0>0:0 ");
    expect_paths(4, 2, MASK_ORDER_LL_RR_LR_RL, MASK_MAP_MATRIX, "0>0:0 0>1:2 1>0:3 1>1:1 ");
}

START_TEST(routes_refused)
{
    static const struct {
        size_t columns, channels;
        enum mask_map map;
    } cases[] = {
        {2, 3, 0},
        {3, 2, 0},
        {4, 3, 0},
        {2, 6, 0},
        {4, 2, MASK_MAP_SPLIT},
        {5, 3, MASK_MAP_MATRIX},
        {1, 2, MASK_MAP_MATRIX},
        {2, 4, MASK_MAP_MATRIX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mask *mask = columns_of(cases[i].columns);
        ck_assert_int_eq(mask_route(mask, cases[i].channels, 0, cases[i].map), STATUS_USAGE);
        mask_destroy(mask);
    }
}

START_TEST(selects_and_scales)
{
    struct mask *mask = columns_of(3);
    double second = mask_column(mask, 1)[2];
    ck_assert_int_eq(mask_select(mask, 4), STATUS_USAGE);
    ck_assert_int_eq(mask_select(mask, 2), STATUS_OK);
    mask_scale(mask, -2, NULL);
    ck_assert_uint_eq(mask->columns, 1);
    ck_assert_double_eq(mask_column(mask, 0)[2], -2 * second);
    mask_destroy(mask);
}

/* The response at `hertz`, with time zero at the origin. */
static void response(const struct mask *mask, double hertz, double *re, double *im)
{
    *re = *im = 0;
    for (size_t k = 0; k < mask->taps; k++) {
        double angle = -2 * acos(-1.0) * hertz * ((double)k - (double)mask->origin) / mask->rate;
        *re += (double)mask->coefficients[k] * cos(angle);
        *im += (double)mask->coefficients[k] * sin(angle);
    }
}

static void expect_same_response(uint32_t from, uint32_t to, enum mask_align align, size_t taps)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", 1, taps, &mask), STATUS_OK);
    truth_noise_taps(from + to, mask->coefficients, taps);
    mask->rate = from;
    mask_align(mask, align);
    double limit = 0.45 * (from < to ? from : to), re[9], im[9], norm = 0;
    for (size_t k = 0; k < taps; k++)
        norm += fabs((double)mask->coefficients[k]);
    for (int i = 0; i < 9; i++)
        response(mask, limit * i / 9, &re[i], &im[i]);
    ck_assert_int_eq(mask_resample(mask, to, NULL), STATUS_OK);
    ck_assert_uint_eq(mask->rate, to);
    for (int i = 0; i < 9; i++) {
        double now_re, now_im;
        response(mask, limit * i / 9, &now_re, &now_im);
        double error = hypot(now_re - re[i], now_im - im[i]) / norm;
        /* The resampler's pass-band ripple is 0.0001 dB. */
        ck_assert_msg(error < 2e-5, "%u to %u Hz, %zu taps, %.0f Hz: error %g", from, to, taps,
                      limit * i / 9, error);
    }
    mask_destroy(mask);
}

/* It had 124 taps before time zero afterwards. */
START_TEST(gains_are_not_resampled)
{
    for (size_t taps = 1; taps < 4; taps++) {
        struct mask *mask;
        ck_assert_int_eq(mask_create("m", 2, taps, &mask), STATUS_OK);
        mask->rate = 44100;
        mask->origin = (taps - 1) / 2;
        mask_column(mask, 0)[mask->origin] = 0.5;
        mask_column(mask, 1)[mask->origin] = -2;
        ck_assert_int_eq(mask_resample(mask, 48000, NULL), STATUS_OK);
        ck_assert_uint_eq(mask->rate, 48000);
        ck_assert_uint_eq(mask->taps, taps);
        ck_assert_uint_eq(mask->origin, (taps - 1) / 2);
        ck_assert_double_eq(mask_column(mask, 0)[mask->origin], 0.5);
        ck_assert_double_eq(mask_column(mask, 1)[mask->origin], -2);
        mask_column(mask, 1)[taps - 1] += 0.25; /* a gain no longer, unless it is the only tap */
        ck_assert_int_eq(mask_resample(mask, 44100, NULL), STATUS_OK);
        ck_assert(taps == 1 ? mask->taps == 1 : mask->taps > taps);
        mask_destroy(mask);
    }
}

START_TEST(resampling_keeps_the_response)
{
    static const uint32_t rates[] = {8000, 44100, 48000, 96000, 192000, 47999};
    for (size_t a = 0; a < sizeof rates / sizeof *rates; a++)
        for (size_t b = 0; b < sizeof rates / sizeof *rates; b++)
            if (a != b) {
                expect_same_response(rates[a], rates[b], MASK_ALIGN_CAUSAL, 1);
                expect_same_response(rates[a], rates[b], MASK_ALIGN_CAUSAL, 500);
                expect_same_response(rates[a], rates[b], MASK_ALIGN_CENTRE, 101);
            }
}

START_TEST(too_large_is_refused)
{
    struct mask *mask;
    ck_assert_int_eq(mask_create("m", 2, UINT64_C(1) << 40, &mask), STATUS_FAILED);
    ck_assert_int_eq(mask_create("m", 0, 10, &mask), STATUS_FAILED);
}
