/* The change of a live stream to another chain (live_change.h), in orders that threads meet in at
 * times. */
#include "live/live_change.h"
#include "sound/gain.h"
#include "suite.h"

#include <string.h>

enum { BLOCK = 64, HISTORY = 16 * BLOCK };

static float sound[BLOCK], heard[BLOCK];
static const float *const in[] = {sound};
static float *const out[] = {heard};

static struct stream_slot make_slot(double factor, unsigned number)
{
    struct stream_slot slot;
    struct filter *gain = NULL;
    ck_assert_int_eq(gain_create(1, BLOCK, factor, &gain), STATUS_OK);
    const struct stream_slot_settings settings = {.chain = gain, .gain = 1, .number = number};
    ck_assert_int_eq(stream_slot_init(&slot, &settings), STATUS_OK);
    return slot;
}

static void free_slot(struct stream_slot *slot)
{
    filter_destroy(slot->chain);
    stream_slot_free(slot);
}

/* As the step does a block; `offer`: within it. */
static void run_block(struct live_change *change, struct stream_slot *slot, uint64_t now,
                      struct live_coming *offer)
{
    static const atomic_bool cancelled = false;
    live_history_write(&change->history, in);
    stream_slot_process(slot, in, out);
    if (offer) {
        ck_assert_int_eq(live_change_feed(change, offer, 0, &cancelled), STATUS_OK);
        live_change_offer(change, offer);
    }
    live_change_process(change, slot, now, out);
}

static void expect_level(float level)
{
    for (size_t i = 0; i < BLOCK; i++)
        ck_assert_float_eq(heard[i], level);
}

/* A chain without a memory needs nothing that was heard: what it hears first is the block after the
 * one that is written, though the step is still at work on that. */
START_TEST(a_chain_offered_within_a_block_begins_with_the_next)
{
    struct live_change change = {0};
    struct stream_slot slot = make_slot(1, 0);
    struct live_coming coming = {.slot = make_slot(0.5, 1), .frames = BLOCK / 2};
    ck_assert_int_eq(live_change_init(&change, slot.chain, HISTORY, 0), STATUS_OK);
    for (size_t i = 0; i < BLOCK; i++)
        sound[i] = 1;
    memset(change.out.data[0], 0x7f, BLOCK * sizeof(float)); /* which no block has filled */
    run_block(&change, &slot, 0, &coming);
    ck_assert_uint_eq(coming.since, BLOCK);
    expect_level(1);
    ck_assert(!change.has_begun);
    run_block(&change, &slot, BLOCK, NULL);
    ck_assert_uint_eq(coming.began, BLOCK);
    ck_assert_float_eq(heard[0], 1);
    ck_assert_float_eq(heard[BLOCK - 1], 0.5f);
    ck_assert_ptr_eq(live_change_taken(&change), &coming);
    run_block(&change, &slot, 2 * BLOCK, NULL);
    expect_level(0.5f);
    free_slot(&slot);
    free_slot(&coming.slot);
    live_change_free(&change);
}

/* One that was offered between two blocks begins with the block that follows, and hears it. */
START_TEST(a_chain_offered_between_blocks_begins_at_once)
{
    struct live_change change = {0};
    struct stream_slot slot = make_slot(1, 0);
    struct live_coming coming = {.slot = make_slot(0.5, 1), .frames = BLOCK / 2};
    static const atomic_bool cancelled = false;
    ck_assert_int_eq(live_change_init(&change, slot.chain, HISTORY, 0), STATUS_OK);
    for (size_t i = 0; i < BLOCK; i++)
        sound[i] = 1;
    run_block(&change, &slot, 0, NULL);
    ck_assert_int_eq(live_change_feed(&change, &coming, BLOCK, &cancelled), STATUS_OK);
    live_change_offer(&change, &coming);
    run_block(&change, &slot, BLOCK, NULL);
    ck_assert_uint_eq(coming.since, 0);
    ck_assert_uint_eq(coming.began, BLOCK);
    ck_assert_float_eq(heard[BLOCK - 1], 0.5f);
    free_slot(&slot);
    free_slot(&coming.slot);
    live_change_free(&change);
}
