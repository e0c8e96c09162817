/* The partitions of live graphs, and which part of their work is done in which block: a whole
 * stream in integers, without a GPU, with a window of samples in the place of each spectrum. */
#include "gpu/block_plan.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 3, OUTPUTS = 4, BINS_MOST = 128 };

struct simulation {
    struct live_ladder ladder;
    unsigned block;
    size_t taps[2]; /* of the first mask, and of the one that follows */
    int *masks[2];  /* output after output */
    int *time;      /* as the device has them */
    int *spectra[LIVE_LEVELS];
    long long *due[LIVE_LEVELS];
};

static unsigned input_of(unsigned output)
{
    return output % INPUTS;
}

static int noise(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)(*state >> 59) - 16;
}

static int *fill(size_t count, uint64_t seed)
{
    int *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = noise(&seed);
    return values;
}

static void begin(struct simulation *s, unsigned block, size_t taps, size_t next_taps)
{
    size_t longest = taps > next_taps ? taps : next_taps;
    *s = (struct simulation){.ladder = live_ladder_for(block, longest, BINS_MOST),
                             .block = block,
                             .taps = {taps, next_taps},
                             .masks = {fill(OUTPUTS * taps, 1), fill(OUTPUTS * next_taps, 2)}};
    s->time = calloc((size_t)INPUTS * s->ladder.window * block, sizeof *s->time);
    for (size_t l = 0; l < s->ladder.count; l++) {
        const struct live_level *level = &s->ladder.levels[l];
        s->spectra[l] = calloc((size_t)INPUTS * level->depth * 2 * level->size, sizeof(int));
        s->due[l] = calloc((size_t)OUTPUTS * 2 * level->size, sizeof(long long));
    }
}

static void end(struct simulation *s)
{
    for (size_t l = 0; l < s->ladder.count; l++) {
        free(s->spectra[l]);
        free(s->due[l]);
    }
    free(s->time);
    free(s->masks[0]);
    free(s->masks[1]);
}

static int *window_at(const struct simulation *s, unsigned l, unsigned input, unsigned job)
{
    const struct live_level *level = &s->ladder.levels[l];
    return s->spectra[l] +
           ((size_t)input * level->depth + live_entry(level, job)) * 2 * level->size;
}

static void transform(struct simulation *s, unsigned l, unsigned input, unsigned job)
{
    const struct live_level *level = &s->ladder.levels[l];
    const int *time = s->time + (size_t)input * s->ladder.window * s->block;
    unsigned silent = 2 * level->bins - 2 * level->size, wrong = 0, at = 0;
    for (unsigned i = 0; i < silent; i++)
        wrong += live_sample_at(&s->ladder, level, s->block, job, i, &at);
    for (unsigned i = 0; i < 2 * level->size; i++) {
        wrong += !live_sample_at(&s->ladder, level, s->block, job, silent + i, &at);
        window_at(s, l, input, job)[i] = time[at];
    }
    ck_assert_uint_eq(wrong, 0);
}

static void make_result(struct simulation *s, unsigned l, unsigned output, unsigned job, size_t m)
{
    const struct live_level *level = &s->ladder.levels[l];
    size_t partitions = live_level_partitions(&s->ladder, l, s->taps[m]);
    long long *due = s->due[l] + ((job & 1) * OUTPUTS + (size_t)output) * level->size;
    memset(due, 0, level->size * sizeof *due);
    for (size_t p = 0; p < partitions; p++) {
        const int *window = window_at(s, l, input_of(output), job - (unsigned)p);
        size_t from = level->first + p * level->size;
        for (size_t i = 0; i < level->size; i++)
            for (size_t k = 0; k < level->size && from + k < s->taps[m]; k++)
                due[i] += (long long)window[level->size + i - k] *
                          s->masks[m][output * s->taps[m] + from + k];
    }
}

/* The answer to the block whose samples follow x[...][0]; what is before them has been heard. */
static void check_answer(const struct simulation *s, unsigned number, size_t m, int *const *x,
                         size_t heard)
{
    for (unsigned o = 0; o < OUTPUTS; o++)
        for (unsigned i = 0; i < s->block; i++) {
            const int *input = x[input_of(o)], *mask = s->masks[m] + o * s->taps[m];
            long long sum = 0, truth = 0;
            for (size_t k = 0; k < s->taps[m] && k <= heard + i; k++)
                truth += (long long)input[heard + i - k] * mask[k];
            for (size_t k = 0; k < s->taps[m] && k < s->block && k <= heard + i; k++)
                sum += (long long)input[heard + i - k] * mask[k];
            for (unsigned l = 0; l < s->ladder.count; l++) {
                const struct live_level *level = &s->ladder.levels[l];
                unsigned turn = (live_job_out(level, number) - 1) & 1;
                if (live_level_partitions(&s->ladder, l, s->taps[m]) > 0)
                    sum += s->due[l][(turn * OUTPUTS + (size_t)o) * level->size +
                                     live_due_at(level, number, s->block) + i];
            }
            if (sum != truth)
                ck_abort_msg("block %u, %zu and %zu taps, number %u: output %u, frame %u", s->block,
                             s->taps[0], s->taps[1], number, o, i);
        }
}

static void do_share(struct simulation *s, unsigned number, size_t m, bool is_new)
{
    for (unsigned l = 0; l < s->ladder.count; l++) {
        const struct live_level *level = &s->ladder.levels[l];
        struct live_span share = live_inputs_in(level, number, INPUTS);
        for (unsigned i = share.first; i < share.last; i++)
            transform(s, l, i, live_job_in(level, number));
        share = live_outputs_in(level, number, OUTPUTS, is_new);
        for (unsigned o = share.first; o < share.last; o++)
            make_result(s, l, o, live_job_out(level, number), m);
    }
}

/* From block `first` on, whose number may wrap; the other mask follows with block `change`. */
static void run(unsigned block, size_t taps, size_t next_taps, unsigned first, unsigned change)
{
    struct simulation s;
    size_t blocks = change + (taps + next_taps) / block + 3;
    int *x[INPUTS];
    begin(&s, block, taps, next_taps);
    for (size_t c = 0; c < INPUTS; c++)
        x[c] = fill(blocks * block, 3 + c);
    for (unsigned b = 0; b < blocks; b++) {
        unsigned number = first + b, place = number & (s.ladder.window - 1);
        size_t m = b >= change;
        for (unsigned l = 0; l < s.ladder.count && b == change; l++)
            for (unsigned o = 0; o < OUTPUTS; o++)
                make_result(&s, l, o, live_job_out(&s.ladder.levels[l], number) - 1, 1);
        check_answer(&s, number, m, x, (size_t)b * block);
        for (size_t c = 0; c < INPUTS; c++)
            memcpy(s.time + (c * s.ladder.window + place) * block, x[c] + (size_t)b * block,
                   block * sizeof(int));
        do_share(&s, number, m, b == change);
    }
    for (size_t c = 0; c < INPUTS; c++)
        free(x[c]);
    end(&s);
}

START_TEST(streams_equal_truth)
{
    static const unsigned blocks[] = {1, 2, 3, 4, 7, 16, 25, 32, 64};
    static const size_t taps[] = {1, 2, 5, 16, 31, 33, 64, 65, 100, 129, 300, 411};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++)
            run(blocks[b], taps[t], taps[(t * 5 + 2) % (sizeof taps / sizeof *taps)], 1,
                (unsigned)(taps[t] / blocks[b] + t + 3));
}

/* A mask that is armed from block `since` on has all results as soon as the ladder says so, and
 * that is within two of the longest periods. */
static void run_armed(unsigned block, size_t taps, size_t next_taps, unsigned since)
{
    struct simulation s;
    size_t blocks = since + (taps + next_taps) / block + 150;
    unsigned heard = 0;
    int *x[INPUTS];
    begin(&s, block, taps, next_taps);
    struct simulation next = s;
    for (size_t l = 0; l < s.ladder.count; l++)
        next.due[l] = calloc((size_t)OUTPUTS * 2 * s.ladder.levels[l].size, sizeof(long long));
    for (size_t c = 0; c < INPUTS; c++)
        x[c] = fill(blocks * block, 3 + c);
    for (unsigned number = 1; number < blocks; number++) {
        size_t at = (size_t)(number - 1) * block;
        if (!heard && number > since && live_is_complete(&s.ladder, since, number))
            heard = number;
        check_answer(heard ? &next : &s, number, heard > 0, x, at);
        for (size_t c = 0; c < INPUTS; c++)
            memcpy(s.time + (c * s.ladder.window + (number & (s.ladder.window - 1))) * block,
                   x[c] + at, block * sizeof(int));
        do_share(&s, number, 0, false);
        if (number >= since)
            do_share(&next, number, 1, false);
    }
    ck_assert_uint_gt(heard, since);
    ck_assert_uint_le(heard - since, 2 * s.ladder.levels[s.ladder.count - 1].period);
    for (size_t l = 0; l < s.ladder.count; l++)
        free(next.due[l]);
    for (size_t c = 0; c < INPUTS; c++)
        free(x[c]);
    end(&s);
}

START_TEST(masks_are_armed)
{
    for (unsigned since = 1; since < 70; since++)
        run_armed(4, 700, 650, since);
    run_armed(64, 100, 411, 5);
}

/* A mask may enter in any block of a period. */
START_TEST(masks_enter_in_any_block)
{
    for (unsigned change = 1; change < 70; change++) {
        run(4, 700, 650, 1, change);
        run(3, 100, 500, 1, change);
    }
}

START_TEST(numbers_wrap)
{
    for (unsigned before = 1; before < 200; before += 13) {
        run(4, 700, 650, (unsigned)0 - before, 40);
        run(1, 300, 100, (unsigned)0 - before, 60);
    }
}

START_TEST(ladders_hold_the_mask)
{
    static const size_t blocks[] = {1, 3, 16, 64, 100, 128, 480, 1025, 2048};
    static const size_t taps[] = {1, 64, 65, 1000, 16384, 480000, 10000000};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
            struct live_ladder ladder = live_ladder_for(blocks[b], taps[t], LIVE_BINS_MOST);
            size_t held = blocks[b];
            for (size_t l = 0; l < ladder.count; l++) {
                const struct live_level *level = &ladder.levels[l];
                ck_assert_uint_eq(level->first, held);
                ck_assert_uint_eq(level->first, (2 + level->behind) * level->size - blocks[b]);
                ck_assert_uint_eq(level->size, level->period * blocks[b]);
                ck_assert_uint_eq(level->period & (level->period - 1), 0);
                ck_assert_uint_eq(level->depth & (level->depth - 1), 0);
                ck_assert_uint_gt(level->depth, level->partitions + level->behind);
                ck_assert_uint_ge(level->bins, level->size);
                ck_assert_uint_eq(1U << level->bins_log2, level->bins);
                held += (size_t)level->partitions * level->size;
            }
            ck_assert_uint_ge(held, taps[t]);
            ck_assert(ladder.count == 0 || held - ladder.levels[ladder.count - 1].size < taps[t]);
        }
}

/* What a ladder is for: in a block, few of the products that all of a long mask takes. */
START_TEST(long_masks_take_few_products)
{
    struct live_ladder ladder = live_ladder_for(128, 480000, LIVE_BINS_MOST);
    double products = 0;
    for (size_t l = 0; l < ladder.count; l++)
        products +=
            (double)ladder.levels[l].bins * ladder.levels[l].partitions / ladder.levels[l].period;
    ck_assert_double_lt(products, 480000 / 40.0);
}

/* No block has more than a share of a period's work, of which at most one is left over. */
START_TEST(blocks_have_the_same_work)
{
    struct live_ladder ladder = live_ladder_for(128, 480000, LIVE_BINS_MOST);
    for (unsigned number = 1; number < 300; number++)
        for (size_t l = 0; l < ladder.count; l++) {
            const struct live_level *level = &ladder.levels[l];
            struct live_span in = live_inputs_in(level, number, 1000);
            struct live_span out = live_outputs_in(level, number, 1000, false);
            ck_assert_uint_ge(in.last - in.first, 1000 / level->period);
            ck_assert_uint_le(in.last - in.first, 1000 / level->period + 1);
            ck_assert_uint_ge(out.last - out.first, 1000 / level->period);
            ck_assert_uint_le(out.last - out.first, 1000 / level->period + 1);
        }
}
