/* How the GPU's transforms are planned: arithmetic, tested without a GPU. */
#include "gpu/fft_plan.h"
#include "suite.h"

static void check_plan(size_t taps, size_t frames, size_t fused_most, size_t fft)
{
    struct fft_plan plan = fft_plan_choose(taps, frames, fused_most, fft);
    ck_assert_msg((plan.fft & (plan.fft - 1)) == 0 && plan.fft >= FFT_FUSED_LEAST &&
                      plan.fft <= FFT_MOST && (fft == 0 || plan.fft == fft),
                  "%zu taps, %zu frames: transforms of %zu", taps, frames, plan.fft);
    ck_assert_uint_eq(plan.history_frames + plan.hop, plan.fft);
    ck_assert_uint_ge(plan.history_frames, taps - 1); /* no output sees the wrapped end */
    ck_assert_uint_ge(plan.hop, 1);
    ck_assert_uint_ge(plan.pairs * 2 * plan.hop, frames);
    ck_assert_uint_lt((plan.pairs - 1) * 2 * plan.hop, frames);
    ck_assert(plan.fused == (plan.fft <= fused_most));
    ck_assert_uint_ge(plan.batch, 1);
    ck_assert_uint_le(plan.batch, plan.pairs);
    if (!plan.fused && plan.batch > 1)
        ck_assert_uint_le(plan.batch * plan.fft, (size_t)1 << 25); /* device memory is bounded */
}

START_TEST(every_plan_holds_its_mask)
{
    const size_t taps[] = {1, 2, 65, 1000, 1024, 4096, 4097, 16000, 16384, 65536, 480000, 10000000};
    const size_t frames[] = {1, 64, 1000, 100000, 1 << 20, (1 << 22) + 5, (size_t)1 << 33};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
        for (size_t f = 0; f < sizeof frames / sizeof *frames; f++) {
            check_plan(taps[t], frames[f], FFT_FUSED_MOST, 0);
            check_plan(taps[t], frames[f], 4096, 0); /* a small GPU */
            check_plan(taps[t], frames[f], 4096,
                       fft_plan_length_among_many(taps[t], frames[f], 4096));
            for (size_t fft = FFT_FUSED_LEAST; fft <= FFT_MOST; fft *= 2)
                if (fft > taps[t])
                    check_plan(taps[t], frames[f], FFT_FUSED_MOST, fft);
        }
}

START_TEST(short_masks_take_one_kernel)
{
    ck_assert_uint_eq(fft_plan_choose(1024, 1 << 28, FFT_FUSED_MOST, 0).fft, 4096);
    ck_assert_uint_eq(fft_plan_length_among_many(1024, 1 << 28, FFT_FUSED_MOST), 4096);
    ck_assert(fft_plan_choose(8192, 1 << 28, FFT_FUSED_MOST, 0).fused);
    ck_assert(!fft_plan_choose(12000, 1 << 28, FFT_FUSED_MOST, 0).fused);
    ck_assert(!fft_plan_choose(65536, 1 << 28, FFT_FUSED_MOST, 0).fused);
    /* On GPUs with less shared memory, passes are no cheaper for being short. */
    ck_assert_uint_eq(fft_plan_choose(4097, 1 << 28, 8192, 0).fft, 8192);
    ck_assert_uint_eq(fft_plan_choose(2049, 1 << 28, 4096, 0).fft, 4096);
    ck_assert_uint_eq(fft_plan_length_among_many(2049, 1 << 28, 4096), 4096);
    /* The transform for a short sound is no longer than needed. */
    ck_assert_uint_le(fft_plan_choose(100, 200, FFT_FUSED_MOST, 0).fft, 2048);
}

START_TEST(too_long_a_mask_has_no_plan)
{
    ck_assert_uint_eq(fft_plan_choose(FFT_MOST, 1000, FFT_FUSED_MOST, 0).fft, 0);
}
