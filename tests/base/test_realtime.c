/* The step makes no allocations, and live takes no lock. */
#include "allocations.h"
#include "cells.h"
#include "chain/chain.h"
#include "convolve/convolver.h"
#include "locks.h"
#include "signal/fft.h"
#include "signal/fft_double.h"
#include "sound/engine.h"
#include "sound/gain.h"
#include "stream.h"
#include "suite.h"

#include <pthread.h>
#include <stdio.h>

START_TEST(counters_count)
{
    size_t before = allocations_of_all();
    void *volatile memory = malloc(10);
    free(memory);
    ck_assert_uint_eq(allocations_of_all(), before + 2);
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    before = locks_of_thread();
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    ck_assert_uint_eq(locks_of_thread(), before + locks_are_counted());
}

/* A convolver and a gain; in double precision as for a device, with floats outside. */
static struct filter *chain_of(const struct convolver_settings *settings, const struct mask *mask,
                               struct filter **convolver)
{
    struct filter *chain, *gain;
    bool in_double = settings->precision == PRECISION_DOUBLE;
    enum status (*append)(struct filter *, struct filter *) =
        in_double ? chain_append_in_double : chain_append;
    ck_assert_int_eq(
        (in_double ? chain_create_in_double : chain_create)(mask->inputs, settings->block, &chain),
        STATUS_OK);
    ck_assert_int_eq(convolver_create(settings, mask, convolver), STATUS_OK);
    ck_assert_int_eq(append(chain, *convolver), STATUS_OK);
    ck_assert_int_eq((in_double ? gain_create_in_double : gain_create)(mask->outputs,
                                                                       settings->block, 0.5, &gain),
                     STATUS_OK);
    ck_assert_int_eq(append(chain, gain), STATUS_OK);
    if (in_double)
        ck_assert_int_eq(precision_adapter_create(chain, &chain), STATUS_OK);
    return chain;
}

/* Live with one thread, and with more so that a worker is used; else in file mode. */
static void check_steps(const char *backend, size_t taps, size_t block, size_t channels,
                        size_t live_threads, enum precision precision)
{
    struct workers *workers;
    struct filter *convolver;
    ck_assert_int_eq(workers_create(live_threads ? live_threads : 1, &workers), STATUS_OK);
    struct mask *mask = truth_noise_mask(1, channels, taps);
    struct mask *other = truth_noise_mask(2, channels, taps);
    struct convolver_settings settings = {.backend = backend,
                                          .precision = precision,
                                          .block = block,
                                          .live = live_threads > 0,
                                          .proof.wanted = live_threads > 0 && block == 64,
                                          .workers = workers};
    struct filter *chain = chain_of(&settings, mask, &convolver);
    struct block in = stream_noise(3, channels, block), out = stream_noise(4, channels, block);
    size_t steps = 10 * taps / block + 50;
    cells_switch(convolver, other, 5 * taps + 3, taps);
    size_t before = allocations_of_all(), locks = locks_of_thread();
    for (size_t step = 0; step < steps; step++)
        filter_process(chain, (const float *const *)in.data, out.data);
    size_t after = allocations_of_all();
    locks = locks_of_thread() - locks;
    ck_assert_msg(after == before, "%s, %zu taps, blocks of %zu: %zu allocations in %zu steps",
                  backend, taps, block, after - before, steps);
    ck_assert_msg(!settings.live || locks == 0,
                  "%s, %zu taps, blocks of %zu: %zu locks in %zu steps", backend, taps, block,
                  locks, steps);
    ck_assert(convolver_switched(convolver, NULL));
    filter_destroy(chain);
    workers_destroy(workers);
}

START_TEST(transforms_allocate_nothing)
{
    for (size_t n = 2; n < 9000; n += 122) {
        struct fft *fft;
        struct fft_double *wide;
        float *x = audio_alloc(n), *spectrum = audio_alloc(fft_spectrum_floats(n));
        ck_assert_int_eq(fft_create(n, &fft), STATUS_OK);
        ck_assert_int_eq(fft_double_create(n, &wide), STATUS_OK);
        size_t before = allocations_of_all();
        fft_forward(fft, x, spectrum);
        fft_inverse(fft, spectrum, x);
        fft_double_forward(wide);
        fft_double_inverse(wide);
        ck_assert_msg(allocations_of_all() == before, "%zu", n);
        fft_destroy(fft);
        fft_double_destroy(wide);
        free(x);
        free(spectrum);
    }
}

START_TEST(steps_allocate_nothing)
{
    const size_t blocks[] = {32, 64, 100, 128, 256, 1024, 4096};
    const size_t taps[] = {1, 64, 1000, 20000, 100000};
    bool full = getenv("HALO_TEST_FULL");
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t live_threads = 0; live_threads <= 2; live_threads++)
                if (full || t < 3 || (b + t) % 3 == live_threads) /* the longer ones take turns */
                    check_steps("cpu", taps[t], blocks[b], 2, live_threads, PRECISION_SINGLE);
    for (size_t live_threads = 0; live_threads <= 2; live_threads++) {
        check_steps("direct", 1000, 64, 2, live_threads, PRECISION_SINGLE);
        check_steps("direct", 1000, 64, 2, live_threads, PRECISION_DOUBLE);
    }
    const size_t odd[] = {37, 74, 1009};
    for (size_t b = 0; b < sizeof odd / sizeof *odd; b++)
        for (size_t live_threads = 0; live_threads <= 2; live_threads++) {
            check_steps("cpu", 20000, odd[b], 2, live_threads, PRECISION_SINGLE);
            check_steps("cpu", 20000, odd[b], 2, live_threads, PRECISION_DOUBLE);
        }
    for (size_t t = 1; t < 4; t++)
        for (size_t live_threads = 0; live_threads <= 2; live_threads++)
            check_steps("cpu", taps[t], 64, 2, live_threads, PRECISION_DOUBLE);
}

int main(void)
{
    if (!allocations_are_counted()) {
        puts("skipped: a sanitizer's allocator is in the way");
        return 77;
    }
    return suite_run();
}
