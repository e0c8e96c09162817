/* The parts of the live step: ring, meter, ramp and limiter, each on its own. */
#include "base/ring.h"
#include "sanitizer.h"
#include "signal/audio.h"
#include "signal/limiter.h"
#include "signal/meter.h"
#include "signal/ramp.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum { RATE = 48000, CHANNELS = 2 };

/* Blocks of many lengths in a fixed irregular order. */
static size_t next_length(uint64_t *state, size_t most)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(*state >> 33) % most + 1;
}

static struct block noise(size_t channels, size_t frames, float amplitude)
{
    struct block block = stream_block(channels, frames);
    for (size_t c = 0; c < channels; c++) {
        truth_noise(c + 1, block.data[c], frames);
        for (size_t i = 0; i < frames; i++)
            block.data[c][i] *= amplitude;
    }
    return block;
}

static struct block copy_of(const struct block *block)
{
    struct block copy = stream_block(block->channels, block->frames);
    for (size_t c = 0; c < block->channels; c++)
        memcpy(copy.data[c], block->data[c], block->frames * sizeof(float));
    return copy;
}

static bool same(const struct block *a, const struct block *b)
{
    for (size_t c = 0; c < a->channels; c++)
        if (memcmp(a->data[c], b->data[c], a->frames * sizeof(float)) != 0)
            return false;
    return true;
}

/* ---- ring ---- */

struct item {
    uint64_t number, check;
    unsigned char odd[3];
};

#if SANITIZER_THREAD
enum { ITEMS = 300000 };
#else
enum { ITEMS = 3000000 };
#endif
enum { RING_ITEMS = 100 };

static struct item item_of(uint64_t number)
{
    return (struct item){.number = number,
                         .check = ~number * 3,
                         .odd = {(unsigned char)number, (unsigned char)(number >> 8), 7}};
}

static void *write_items(void *argument)
{
    struct ring *ring = argument;
    struct item items[200];
    uint64_t state = 1, number = 0;
    while (number < ITEMS) {
        size_t count = next_length(&state, 200);
        count = count < ITEMS - number ? count : ITEMS - number;
        for (size_t i = 0; i < count; i++)
            items[i] = item_of(number + i);
        number += ring_write(ring, items, count);
    }
    return NULL;
}

START_TEST(ring_keeps_order_and_content_between_threads)
{
    struct ring *ring;
    struct item items[150];
    pthread_t writer;
    ck_assert_int_eq(ring_create(sizeof *items, RING_ITEMS, "a test", &ring), STATUS_OK);
    ck_assert_int_eq(pthread_create(&writer, NULL, write_items, ring), 0);
    uint64_t state = 2, number = 0, wrong = 0;
    while (number < ITEMS) {
        size_t count = ring_read(ring, items, next_length(&state, 150));
        for (size_t i = 0; i < count; i++, number++) {
            struct item wanted = item_of(number);
            wrong += items[i].number != number || items[i].check != wanted.check ||
                     memcmp(items[i].odd, wanted.odd, sizeof wanted.odd) != 0;
        }
    }
    pthread_join(writer, NULL);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(ring_readable(ring), 0);
    ring_destroy(ring);
}

START_TEST(ring_accepts_what_fits)
{
    struct ring *ring;
    int in[20], out[20];
    for (int i = 0; i < 20; i++)
        in[i] = i;
    ck_assert_int_eq(ring_create(sizeof *in, 9, "a test", &ring), STATUS_OK);
    ck_assert_uint_eq(ring_writable(ring), 16);
    ck_assert_uint_eq(ring_read(ring, out, 20), 0);
    ck_assert_uint_eq(ring_write(ring, in, 20), 16);
    ck_assert_uint_eq(ring_write(ring, in, 1), 0);
    ck_assert_uint_eq(ring_readable(ring), 16);
    ck_assert_uint_eq(ring_read(ring, out, 10), 10);
    ck_assert_uint_eq(ring_write(ring, in + 16, 4), 4); /* wraps around */
    ck_assert_uint_eq(ring_read(ring, out + 10, 20), 10);
    ck_assert_int_eq(memcmp(in, out, sizeof in), 0);
    ck_assert_uint_eq(ring_write(ring, in, 0), 0);
    ring_destroy(ring);
    ring_destroy(NULL);
}

START_TEST(ring_refuses_impossible_sizes)
{
    struct ring *ring;
    char reported[200];
    log_capture(reported, sizeof reported);
    ck_assert_int_eq(ring_create(64, SIZE_MAX / 2, "a recording", &ring), STATUS_FAILED);
    log_capture(NULL, 0);
    ck_assert_str_eq(reported, "not enough memory for a recording");
}

/* ---- meter ---- */

/* All of `block` in pieces of `length`. */
static void meter_all(struct meter *meter, const struct block *block, size_t length)
{
    for (size_t at = 0; at < block->frames; at += length) {
        const float *rows[CHANNELS];
        for (size_t c = 0; c < block->channels; c++)
            rows[c] = block->data[c] + at;
        size_t left = block->frames - at;
        meter_process(meter, rows, left < length ? left : length);
    }
}

START_TEST(meter_shows_a_sine)
{
    const size_t lengths[] = {1, 63, 64, 1000, 4096};
    struct block sine = noise(CHANNELS, 3 * RATE, 0);
    for (size_t i = 0; i < sine.frames; i++) {
        sine.data[0][i] = 0.5f * (float)sin(2 * M_PI * 1000 * (double)i / RATE);
        sine.data[1][i] = -0.25f; /* DC: RMS is the value itself */
    }
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct meter *meter;
        struct meter_reading readings[CHANNELS];
        ck_assert_int_eq(meter_create(CHANNELS, RATE, false, &meter), STATUS_OK);
        meter_all(meter, &sine, lengths[l]);
        meter_read(meter, readings);
        ck_assert_float_eq_tol(readings[0].peak, 0.5f, 1e-6f);
        ck_assert_float_eq_tol(readings[0].hold, 0.5f, 1e-6f);
        ck_assert_float_eq_tol(readings[0].rms, 0.353553f, 1e-3f);
        ck_assert_float_eq(readings[1].peak, 0.25f);
        ck_assert_float_eq_tol(readings[1].rms, 0.25f, 1e-4f);
        ck_assert_uint_eq(readings[0].clips + readings[0].bad, 0);
        meter_destroy(meter);
    }
}

/* A step of 1 reaches sqrt(1 - 1/e) = 0.795 after one time constant. */
START_TEST(meter_averages_over_300_ms)
{
    struct meter *meter;
    struct meter_reading reading;
    struct block step = noise(1, RATE * 3 / 10, 0);
    for (size_t i = 0; i < step.frames; i++)
        step.data[0][i] = 1.0f;
    ck_assert_int_eq(meter_create(1, RATE, false, &meter), STATUS_OK);
    meter_all(meter, &step, 64);
    meter_read(meter, &reading);
    ck_assert_float_eq_tol(reading.rms, 0.79506f, 1e-3f);
    ck_assert_uint_eq(reading.clips, 0);
    meter_destroy(meter);
}

START_TEST(meter_peak_covers_each_interval_and_is_held)
{
    struct meter *meter;
    struct meter_reading reading;
    struct block silence = noise(1, RATE / 10, 0);
    const float spike[] = {0, -0.8f, 0};
    const float *row = spike;
    ck_assert_int_eq(meter_create(1, RATE, false, &meter), STATUS_OK);
    meter_process(meter, &row, 3);
    meter_all(meter, &silence, 64);
    meter_read(meter, &reading);
    ck_assert_float_eq(reading.peak, 0.8f);
    for (int tenths = 2; tenths <= 14; tenths++) {
        meter_all(meter, &silence, 64);
        meter_read(meter, &reading);
        ck_assert_float_eq(reading.peak, 0);
        ck_assert_float_eq(reading.hold, 0.8f);
    }
    for (int tenths = 15; tenths <= 25; tenths++)
        meter_all(meter, &silence, 64);
    meter_read(meter, &reading); /* 20 dB down after 1.5 + 1 s */
    ck_assert_float_eq_tol(reading.hold, 0.08f, 0.002f);
    for (int tenths = 0; tenths < 300; tenths++)
        meter_all(meter, &silence, 64);
    meter_read(meter, &reading);
    ck_assert_float_eq(reading.hold, 0);
    meter_destroy(meter);
}

START_TEST(meter_counts_a_run_as_one_clip)
{
    /* Full scale itself is not a clip; a run continues across blocks. */
    const float samples[] = {1, 1.01f, 1.5f, -2, 0.9f, -1.1f, -1, 0, 3e38f, 3e38f, 3e38f, 0};
    for (size_t length = 1; length <= 12; length++) {
        struct meter *meter;
        struct meter_reading reading;
        ck_assert_int_eq(meter_create(1, RATE, false, &meter), STATUS_OK);
        for (size_t at = 0; at < 12; at += length) {
            const float *row = samples + at;
            meter_process(meter, &row, length < 12 - at ? length : 12 - at);
        }
        meter_read(meter, &reading);
        ck_assert_uint_eq(reading.clips, 3);
        ck_assert_uint_eq(reading.bad, 0);
        ck_assert_float_eq(reading.peak, 3e38f);
        ck_assert(isfinite(reading.rms));
        meter_destroy(meter);
    }
}

START_TEST(meter_counts_flat_tops)
{
    /* Three at full scale of 16 bits, two at more, three that differ, four at -1, three below. */
    static const float full = 32767.0f / 32768, below = 32766.0f / 32768;
    const float samples[] = {0,  full, full, full, 0,  1,  1,    0,     full,  1,
                             -1, 0,    -1,   -1,   -1, -1, 0.5f, below, below, below};
    enum { COUNT = sizeof samples / sizeof *samples };
    for (size_t length = 1; length <= COUNT; length++)
        for (size_t counts = 0; counts < 2; counts++) {
            struct meter *meter;
            struct meter_reading reading;
            ck_assert_int_eq(meter_create(1, RATE, counts, &meter), STATUS_OK);
            for (size_t at = 0; at < COUNT; at += length) {
                const float *row = samples + at;
                meter_process(meter, &row, length < COUNT - at ? length : COUNT - at);
            }
            meter_read(meter, &reading);
            ck_assert_uint_eq(reading.clips, counts ? 2 : 0);
            meter_destroy(meter);
        }
}

START_TEST(meter_survives_nan)
{
    struct meter *meter;
    struct meter_reading reading;
    float samples[64] = {0};
    samples[0] = NAN;
    samples[20] = -INFINITY;
    samples[40] = 0.5f;
    samples[63] = INFINITY;
    const float *row = samples;
    ck_assert_int_eq(meter_create(1, RATE, false, &meter), STATUS_OK);
    meter_process(meter, &row, 64);
    meter_read(meter, &reading);
    ck_assert_uint_eq(reading.bad, 3);
    ck_assert_uint_eq(reading.clips, 0);
    ck_assert_float_eq(reading.peak, 0.5f);
    ck_assert_float_eq(reading.hold, 0.5f);
    ck_assert(reading.rms > 0 && reading.rms < 0.5f);
    meter_destroy(meter);
}

/* ---- ramp ---- */

START_TEST(ramp_at_rest)
{
    struct block block = noise(CHANNELS, 1000, 1), before = copy_of(&block);
    struct ramp ramp;
    block.data[0][5] = before.data[0][5] = 1e-42f;
    ramp_init(&ramp, 1);
    ramp_process(&ramp, CHANNELS, block.data, block.frames);
    ck_assert(same(&block, &before));
    ramp_set(&ramp, 0.5f, 0);
    ramp_process(&ramp, CHANNELS, block.data, block.frames);
    for (size_t i = 0; i < block.frames; i++)
        ck_assert(block.data[1][i] == before.data[1][i] * 0.5f);
    ramp_init(&ramp, 0);
    block.data[0][0] = NAN;
    ramp_process(&ramp, CHANNELS, block.data, block.frames);
    ck_assert_float_eq(audio_peak(block.data[0], block.frames), 0);
}

START_TEST(ramp_moves_in_equal_steps)
{
    enum { LENGTH = 24000 };
    struct block block = noise(CHANNELS, LENGTH + 100, 0);
    struct ramp ramp;
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < block.frames; i++)
            block.data[c][i] = 1;
    ramp_init(&ramp, 0);
    ramp_set(&ramp, 2, LENGTH);
    ramp_process(&ramp, CHANNELS, block.data, block.frames);
    for (size_t c = 0; c < CHANNELS; c++) {
        for (size_t i = 0; i < LENGTH; i++)
            ck_assert_float_eq_tol(block.data[c][i], 2 * (float)i / LENGTH, 3e-7f);
        for (size_t i = LENGTH; i < block.frames; i++)
            ck_assert(block.data[c][i] == 2);
    }
}

/* Fades, partial fades and reversals are the same frame by frame as in any blocks. */
START_TEST(ramp_is_the_same_in_any_blocks)
{
    enum { FRAMES = 20000 };
    const struct {
        size_t at, frames;
        float target;
    } turns[] = {
        {0, 5000, 1}, {3000, 1000, 0}, {8000, 777, 0.3f}, {8000, 0, 0.5f}, {9000, 9999, 1}};
    struct block whole = noise(CHANNELS, FRAMES, 1), pieces = copy_of(&whole);
    struct block *blocks[] = {&whole, &pieces};
    for (size_t b = 0; b < 2; b++) {
        struct ramp ramp;
        uint64_t state = 5;
        size_t turn = 0;
        ramp_init(&ramp, 0);
        for (size_t at = 0; at < FRAMES;) {
            while (turn < 5 && turns[turn].at == at) {
                float before = ramp_gain(&ramp);
                ramp_set(&ramp, turns[turn].target, turns[turn].frames);
                if (turns[turn].frames) /* no jump */
                    ck_assert_float_eq_tol(ramp_gain(&ramp), before, 1e-6f);
                turn++;
            }
            size_t to = turn < 5 ? turns[turn].at : FRAMES;
            size_t length = b == 0 ? to - at : next_length(&state, 200);
            length = length < to - at ? length : to - at;
            float *rows[] = {blocks[b]->data[0] + at, blocks[b]->data[1] + at};
            ramp_set(&ramp, ramp.to, 100); /* requested again: nothing changes */
            ramp_process(&ramp, CHANNELS, rows, length);
            at += length;
        }
        ck_assert(ramp_gain(&ramp) == 1);
    }
    ck_assert(same(&whole, &pieces));
}

/* ---- limiter ---- */

static void limit_all(struct limiter *limiter, struct block *block, size_t most)
{
    uint64_t state = 9;
    for (size_t at = 0; at < block->frames;) {
        float *rows[CHANNELS];
        size_t length = most == SIZE_MAX ? most : next_length(&state, most);
        length = length < block->frames - at ? length : block->frames - at;
        for (size_t c = 0; c < block->channels; c++)
            rows[c] = block->data[c] + at;
        limiter_process(limiter, rows, length);
        at += length;
    }
}

START_TEST(limiter_leaves_sound_below_the_ceiling)
{
    struct limiter limiter;
    float ceiling = (float)audio_from_db(-1);
    struct block block = noise(CHANNELS, 10000, ceiling), before;
    block.data[0][100] = ceiling;
    block.data[1][200] = -ceiling;
    before = copy_of(&block);
    limiter_init(&limiter, CHANNELS, RATE, ceiling);
    limit_all(&limiter, &block, 300);
    ck_assert(same(&block, &before));
    ck_assert(limiter_reduction(&limiter) == 0);
}

START_TEST(limiter_never_exceeds)
{
    const float ceilings[] = {1, 0.891250938f, 0.1f, 3e-5f, 1e-20f};
    const float amplitudes[] = {0.5f, 1.5f, 20, 1e10f, 3e38f};
    for (size_t c = 0; c < 5; c++)
        for (size_t a = 0; a < 5; a++) {
            struct limiter limiter;
            struct block block = noise(CHANNELS, 5000, amplitudes[a]);
            for (size_t i = 0; i < block.frames; i += 97)
                block.data[i & 1][i] = i % 3 ? FLT_MAX : -FLT_MAX;
            limiter_init(&limiter, CHANNELS, RATE, ceilings[c]);
            limit_all(&limiter, &block, 300);
            for (size_t k = 0; k < CHANNELS; k++)
                ck_assert(audio_peak(block.data[k], block.frames) <= ceilings[c]);
            /* and is no louder reduction than needed: the hit itself is at the ceiling */
            ck_assert_float_ge(fabsf(block.data[0][0]), ceilings[c] * 0.999999f);
        }
}

START_TEST(limiter_is_the_same_in_any_blocks)
{
    struct block one = noise(CHANNELS, 30000, 2);
    for (size_t i = 0; i < 10000; i++) /* and recovers in between */
        one.data[0][10000 + i] = one.data[1][10000 + i] = 1e-3f;
    one.data[0][15000] = NAN;
    one.data[1][25000] = INFINITY;
    struct block other = copy_of(&one);
    struct limiter limiter;
    limiter_init(&limiter, CHANNELS, 4000, 0.5f);
    limit_all(&limiter, &one, SIZE_MAX);
    limiter_init(&limiter, CHANNELS, 4000, 0.5f);
    limit_all(&limiter, &other, 150);
    ck_assert(same(&one, &other));
    ck_assert(one.data[0][15000] == 0 && one.data[1][25000] == 0);
    ck_assert(one.data[0][19999] == 1e-3f); /* 2.5 s at this rate: the gain is 1 again */
}

/* A hit in one channel reduces all channels equally, and release takes 150 ms: after that time
 * the gain, 1/4 at first, is 1 - 3/4 / e. */
START_TEST(limiter_links_channels_and_releases)
{
    struct limiter limiter;
    struct block block = noise(CHANNELS, RATE * 3 / 20 + 1, 0);
    for (size_t i = 0; i < block.frames; i++)
        block.data[1][i] = 0.1f;
    block.data[0][0] = 4;
    limiter_init(&limiter, CHANNELS, RATE, 1);
    limit_all(&limiter, &block, 64);
    ck_assert_float_eq(block.data[0][0], 1);
    ck_assert_float_eq_tol(block.data[1][0], 0.025f, 1e-8f);
    ck_assert_float_eq_tol(block.data[1][block.frames - 1], 0.0724090f, 1e-5f);
    ck_assert_double_eq_tol(limiter_reduction(&limiter), 2.804, 0.01);
}
