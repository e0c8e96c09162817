/* No entry of the table of masks is used again while a block that names it may still be read: a
 * stream that falls behind and catches up, with a change of mask in every block. */
#include "base/noise.h"
#include "gpu/live_kernels.h"
#include "suite.h"

enum {
    BEHIND_MOST = 15, /* blocks taken and not sent: LIVE_OWED_MOST - 1 */
    BLOCKS = 20000,
    CHOICES = 64, /* masks that wait to be chosen: LIVE_CHOICES_MOST */
};

/* Which mask a block names, and what was in that mask's entry then. */
struct block_taken {
    size_t entry;
    unsigned owner;
};

static unsigned owners[LIVE_MASKS]; /* the mask in each entry */

static size_t enter(struct live_entries *entries, uint64_t sent, unsigned owner)
{
    size_t position;
    ck_assert_msg(live_entries_take(entries, sent, &position), "no entry for mask %u", owner);
    owners[position] = owner;
    return position;
}

/* A device that has block `sent` may still be at work on the one before, and reads what both name.
 */
static void expect_intact(const struct block_taken *taken, uint64_t block)
{
    const struct block_taken *one = &taken[block % (BEHIND_MOST + 3)];
    ck_assert_msg(owners[one->entry] == one->owner, "block %llu: entry %zu has mask %u, not %u",
                  (unsigned long long)block, one->entry, owners[one->entry], one->owner);
}

START_TEST(entries_wait_for_late_blocks)
{
    struct live_entries entries = {0};
    struct block_taken taken[BEHIND_MOST + 3] = {0};
    uint64_t sent = 0, random = 7;
    unsigned owner = 0;
    for (size_t c = 0; c < CHOICES; c++)
        (void)enter(&entries, sent, ++owner);
    size_t entry = enter(&entries, sent, ++owner);
    for (uint64_t block = 1; block <= BLOCKS; block++) {
        taken[block % (BEHIND_MOST + 3)] = (struct block_taken){entry, owners[entry]};
        size_t next = enter(&entries, sent, ++owner); /* the control thread, meanwhile */
        live_entries_give_back(&entries, entry, block);
        entry = next;
        bool is_stuck = block / 100 % 2 && noise_next(&random) < 0.9F;
        while (sent < block && (!is_stuck || block - sent >= BEHIND_MOST)) {
            sent++;
            expect_intact(taken, sent);
            if (sent > 1)
                expect_intact(taken, sent - 1);
        }
        for (uint64_t late = sent + 1; late <= block; late++)
            expect_intact(taken, late);
    }
}

/* Without a step nothing ever becomes past, and needs not: masks that no block has named. */
START_TEST(unheard_masks_leave_at_once)
{
    struct live_entries entries = {0};
    size_t kept = enter(&entries, 0, 1);
    for (unsigned owner = 2; owner < 10 * LIVE_MASKS; owner++)
        live_entries_give_back(&entries, enter(&entries, 0, owner), 0);
    ck_assert_uint_eq(owners[kept], 1);
}

START_TEST(a_full_table_is_refused)
{
    struct live_entries entries = {0};
    size_t position;
    for (unsigned owner = 1; owner <= LIVE_MASKS; owner++)
        (void)enter(&entries, 50, owner);
    ck_assert(!live_entries_take(&entries, 50, &position));
    live_entries_give_back(&entries, 5, 50);
    ck_assert(!live_entries_take(&entries, 50, &position));
    ck_assert(!live_entries_take(&entries, 51, &position)); /* 50 was answered, its rest may run */
    ck_assert(live_entries_take(&entries, 52, &position));
    ck_assert_uint_eq(position, 5);
}
