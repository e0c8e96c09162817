/* libhalo: convolution of buffers, one and many. */
#include "library_rig.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>

static void check_buffers(const struct halo_mask *own, const struct mask *mask, size_t count,
                          size_t threads)
{
    enum { JOBS = 5, OUT_MOST = 60000 };
    static const size_t frames[JOBS] = {1, 0, 30000, 700, 7001};
    struct halo_job jobs[JOBS] = {{0}};
    struct block in[JOBS], out[JOBS];
    struct planes from[JOBS], to[JOBS];
    const struct halo_convolve_options options = {.size = sizeof options, .threads = threads};
    for (size_t j = 0; j < count; j++) {
        in[j] = stream_noise(j + 1, mask->inputs, frames[j] ? frames[j] : 1);
        out[j] = stream_noise(j + 9, mask->outputs, OUT_MOST);
        from[j] = planes_of(&in[j]);
        to[j] = planes_of(&out[j]);
        jobs[j] = (struct halo_job){from[j].samples, from[j].stride, frames[j],
                                    to[j].samples,   to[j].stride,   j == 3 ? 100 : OUT_MOST};
    }
    struct halo_error error;
    enum halo_status status = halo_convolve_many(own, jobs, count, &options, &error);
    ck_assert_msg(status == HALO_OK, "%s", error.text);
    for (size_t j = 0; j < count; j++) {
        planes_take(&to[j], &out[j]);
        double **truth = truth_render(mask, in[j].data, frames[j] ? frames[j] : 1);
        size_t all = frames[j] ? frames[j] + mask->taps - 1 - mask->origin : 0;
        double largest = 0, bound = mask_norm(mask);
        for (size_t c = 0; c < mask->outputs; c++)
            for (size_t i = 0; i < jobs[j].out_frames; i++) {
                float y = out[j].data[c][i];
                if (i < all)
                    largest = fmax(largest, fabs(y - truth[c][i + mask->origin]));
                else
                    ck_assert_msg(y == 0, "frame %zu of sound %zu is beyond its end", i, j);
            }
        ck_assert_msg(20 * log10(largest / bound) < LIBRARY_BOUND, "sound %zu: %.1f dB", j,
                      20 * log10(largest / bound));
        if (j == 3) /* what was not asked for is not touched */
            ck_assert(fabsf(out[j].data[0][100]) > 0);
        free(from[j].samples);
        free(to[j].samples);
    }
}

START_TEST(buffers_equal_truth)
{
    static const size_t taps[] = {1, 30, 2000, 20000};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t channels = 1; channels <= 3; channels += 2) {
            struct mask *mask = truth_noise_mask(t + 50, channels, taps[t]);
            struct halo_mask *own = library_mask(mask);
            check_buffers(own, mask, 1, 1);
            check_buffers(own, mask, 5, t % 3);
            halo_mask_destroy(own);
        }
}

/* Nothing of nothing, and silence of it. */
START_TEST(buffers_may_be_empty)
{
    struct halo_mask *mask;
    struct halo_error error;
    float out[] = {1, 2, 3}, in[] = {1};
    ck_assert_int_eq(halo_mask_load("lowpass:3000", LIBRARY_RATE, 1, &mask, &error), HALO_OK);
    ck_assert_int_eq(halo_convolve(mask, NULL, 0, 0, NULL, 0, 0, &error), HALO_OK);
    ck_assert_int_eq(halo_convolve(mask, in, 0, 1, NULL, 0, 0, &error), HALO_OK);
    ck_assert_int_eq(halo_convolve(mask, NULL, 0, 0, out, 0, 2, &error), HALO_OK);
    ck_assert(out[0] == 0 && out[1] == 0 && out[2] == 3);
    struct halo_convolver *convolver = library_convolver(mask, NULL);
    ck_assert_int_eq(halo_convolver_process(convolver, in, 0, out, 0, 0), HALO_OK);
    ck_assert(out[0] == 0 && out[2] == 3);
    halo_convolver_destroy(convolver);
    halo_mask_destroy(mask);
}

/* Enough for every thread to take whole sounds, one of which is not finite. */
START_TEST(many_buffers_at_once)
{
    enum { SOUNDS = 50, SPOILT = 17 };
    struct mask *mask = truth_noise_mask(8, 2, 900);
    struct halo_mask *own = library_mask(mask);
    for (size_t threads = 1; threads <= 4; threads++) {
        struct halo_job jobs[SOUNDS];
        struct block in[SOUNDS], out[SOUNDS];
        struct planes from[SOUNDS], to[SOUNDS];
        for (size_t j = 0; j < SOUNDS; j++) {
            size_t frames = 1 + j * j * 7 % 5000;
            in[j] = stream_noise(j, 2, frames);
            out[j] = stream_noise(j, 2, frames + 899);
            from[j] = planes_of(&in[j]);
            to[j] = planes_of(&out[j]);
            jobs[j] = (struct halo_job){from[j].samples, from[j].stride, frames,
                                        to[j].samples,   to[j].stride,   frames + 899};
        }
        from[SPOILT].samples[0] = NAN;
        struct halo_error error;
        const struct halo_convolve_options options = {.size = sizeof options, .threads = threads};
        enum halo_status status = halo_convolve_many(own, jobs, SOUNDS, &options, &error);
        ck_assert_msg(status == HALO_OK, "%s", error.text);
        for (size_t j = 0; j < SOUNDS; j++) {
            char what[64];
            snprintf(what, sizeof what, "sound %zu, %zu threads", j, threads);
            planes_take(&to[j], &out[j]);
            double **truth = truth_render(mask, in[j].data, in[j].frames);
            if (j == SPOILT)
                ck_assert(!isfinite(out[j].data[0][0]));
            else
                library_expect(&out[j], truth, mask, &in[j], what);
            free(from[j].samples);
            free(to[j].samples);
        }
    }
    halo_mask_destroy(own);
}

/* A symmetric filter has its time zero in the middle. */
START_TEST(time_zero_is_the_origin)
{
    struct halo_mask *mask;
    struct halo_error error;
    struct halo_mask_info info = {.size = sizeof info};
    float in[300] = {[100] = 1}, out[300];
    ck_assert_int_eq(halo_mask_load("lowpass:3000,taps=101", LIBRARY_RATE, 1, &mask, &error),
                     HALO_OK);
    halo_mask_describe(mask, &info);
    ck_assert_uint_eq(info.taps, 101);
    ck_assert_uint_eq(info.origin, 50);
    ck_assert_uint_eq(info.rate, LIBRARY_RATE);
    ck_assert_uint_eq(info.inputs + info.outputs + info.columns + info.paths, 4);
    ck_assert_int_eq(halo_convolve(mask, in, 0, 300, out, 0, 300, &error), HALO_OK);
    for (size_t i = 0; i < 50; i++) {
        ck_assert_float_eq_tol(out[100 - i], out[100 + i], 1e-7f);
        ck_assert_float_lt(fabsf(out[101 + i]), out[100]);
    }
    struct halo_convolver *convolver = library_convolver(mask, NULL);
    float later[300];
    ck_assert_int_eq(halo_convolver_process(convolver, in, 0, later, 0, 300), HALO_OK);
    for (size_t i = 0; i < 250; i++)
        ck_assert_float_eq_tol(later[i + 50], out[i], 1e-7f);
    halo_convolver_destroy(convolver);
    halo_mask_destroy(mask);
}

/* As few sounds as all threads share, and as many as each takes whole ones. */
START_TEST(threads_change_no_sample)
{
    enum { SOUNDS = 7, FRAMES = 90000 };
    static const size_t taps[] = {2, 40, 3000, 70000};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
        struct mask *mask = truth_noise_mask(t, 2, taps[t]);
        struct halo_mask *own = library_mask(mask);
        struct block in = stream_noise(t, 2, FRAMES), out = stream_noise(t, 2, 2 * FRAMES);
        struct planes from = planes_of(&in), first[SOUNDS], to[SOUNDS];
        struct halo_job jobs[SOUNDS];
        for (size_t threads = 1; threads <= 9; threads++) {
            const struct halo_convolve_options options = {.size = sizeof options,
                                                          .threads = threads};
            struct halo_error error;
            for (size_t j = 0; j < SOUNDS; j++) {
                to[j] = planes_of(&out);
                jobs[j] = (struct halo_job){from.samples,  from.stride,  FRAMES - 999 * j,
                                            to[j].samples, to[j].stride, 2 * FRAMES};
            }
            ck_assert_int_eq(halo_convolve_many(own, jobs, SOUNDS, &options, &error), HALO_OK);
            for (size_t j = 0; j < SOUNDS && threads > 1; j++) {
                for (size_t c = 0; c < 2; c++)
                    ck_assert_msg(memcmp(to[j].samples + c * to[j].stride,
                                         first[j].samples + c * first[j].stride,
                                         2 * FRAMES * sizeof(float)) == 0,
                                  "sound %zu, %zu taps, %zu threads", j, taps[t], threads);
                free(to[j].samples);
            }
            if (threads == 1)
                memcpy(first, to, sizeof first);
        }
        for (size_t j = 0; j < SOUNDS; j++)
            free(first[j].samples);
        free(from.samples);
        halo_mask_destroy(own);
    }
}
