/* The step allocates nothing: every allocation of the process, FFTW's own too,
 * goes through the counters below. */
#include "cells.h"
#include "chain.h"
#include "convolver.h"
#include "engine.h"
#include "gain.h"
#include "stream.h"
#include "suite.h"

#include <stdatomic.h>

#if defined(__SANITIZE_ADDRESS__)
#define COUNTED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define COUNTED 0
#endif
#endif
#ifndef COUNTED
#define COUNTED 1
#endif

static atomic_size_t allocations;

#if COUNTED
/* glibc's own allocator under its second name. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : 12;
}

void free(void *memory)
{
    if (memory)
        atomic_fetch_add(&allocations, 1);
    __libc_free(memory);
}
#endif

START_TEST(counters_count)
{
    size_t before = atomic_load(&allocations);
    void *volatile memory = malloc(10);
    free(memory);
    ck_assert_uint_eq(atomic_load(&allocations), before + 2);
}
END_TEST

/* Live with one thread, with more so that a helper takes part; else as files. */
static void check_steps(const char *backend, size_t taps, size_t block, size_t channels,
                        size_t live_threads)
{
    struct workers *workers;
    struct filter *chain, *filter;
    ck_assert_int_eq(workers_create(live_threads ? live_threads : 1, &workers), STATUS_OK);
    struct mask *mask = truth_noise_mask(1, channels, taps);
    struct mask *other = truth_noise_mask(2, channels, taps);
    struct convolver_settings settings = {
        .backend = backend, .block = block, .live = live_threads > 0, .workers = workers};
    ck_assert_int_eq(chain_create(channels, block, &chain), STATUS_OK);
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    ck_assert_int_eq(chain_append(chain, filter), STATUS_OK);
    struct filter *convolver = filter;
    ck_assert_int_eq(gain_create(channels, block, 0.5, &filter), STATUS_OK);
    ck_assert_int_eq(chain_append(chain, filter), STATUS_OK);
    struct block in = stream_noise(3, channels, block), out = stream_noise(4, channels, block);
    size_t steps = 10 * taps / block + 50;
    cells_switch(convolver, other, 5 * taps + 3, taps);
    size_t before = atomic_load(&allocations);
    for (size_t step = 0; step < steps; step++)
        engine_step(chain, (const float *const *)in.data, out.data);
    size_t after = atomic_load(&allocations);
    ck_assert_msg(after == before, "%s, %zu taps, blocks of %zu: %zu allocations in %zu steps",
                  backend, taps, block, after - before, steps);
    ck_assert(convolver_switched(convolver, NULL));
    filter_destroy(chain);
    mask_destroy(mask);
    mask_destroy(other);
    block_free(&in);
    block_free(&out);
    workers_destroy(workers);
}

START_TEST(steps_allocate_nothing)
{
    const size_t blocks[] = {32, 64, 100, 128, 256, 1024, 4096};
    const size_t taps[] = {1, 64, 1000, 20000, 100000};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            for (size_t live_threads = 0; live_threads <= 2; live_threads++)
                check_steps("cpu", taps[t], blocks[b], 2, live_threads);
    check_steps("direct", 1000, 64, 2, 0);
}
END_TEST

int main(void)
{
    if (!COUNTED)
        return 77; /* a sanitizer's allocator is in the way */
    const TTest *const tests[] = {counters_count, steps_allocate_nothing};
    return suite_run("realtime", tests, sizeof tests / sizeof *tests);
}
