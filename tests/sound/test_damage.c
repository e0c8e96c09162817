/* Damaged compressed sounds, at random places: each is refused, or its samples are those of the
 * whole one. HALO_TEST_SEED chooses the places, HALO_TEST_FULL makes them many. */
#include "base/noise.h"
#include "base/status.h"
#include "damaged.h"
#include "suite.h"

#include <stdio.h>

enum { HEADERS = 5000 }; /* bytes, which half of the damage is in */

static uint64_t seed(void)
{
    const char *given = getenv("HALO_TEST_SEED");
    uint64_t state = given ? strtoull(given, NULL, 10) : 1;
    return noise_hash(state);
}

static size_t rounds(void)
{
    return getenv("HALO_TEST_FULL") ? 1500 : 40;
}

static size_t random_below(uint64_t *state, size_t most)
{
    return (size_t)((noise_next(state) + 1.0) / 2 * (double)(most - 1));
}

static struct damaged_edit random_edit(uint64_t *state, size_t kind)
{
    size_t size = damaged_size(kind), most = random_below(state, 2) ? size : HEADERS;
    return (struct damaged_edit){.at = (uint32_t)random_below(state, most < size ? most : size),
                                 .bits = (uint8_t)(1 + random_below(state, 255))};
}

static char lines[4096];

static void ignore(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static void begin(void)
{
    note_verbosity(VERBOSITY_QUIET);
    log_capture(lines, sizeof lines);
    messages_to(ignore, NULL);
    ck_assert(damaged_begin());
}

static void end(void)
{
    damaged_end();
    log_capture(NULL, 0);
    messages_to(NULL, NULL);
}

START_TEST(changed_bytes_change_no_sample)
{
    uint64_t state = seed();
    begin();
    for (size_t kind = 0; kind < DAMAGED_KINDS; kind++)
        for (size_t round = 0; round < rounds(); round++) {
            struct damaged_edit edits[3] = {0};
            size_t count = 1 + random_below(&state, 3);
            for (size_t i = 0; i < count; i++)
                edits[i] = random_edit(&state, kind);
            ck_assert_msg(damaged_holds(kind, edits, count, round & 1),
                          "kind %zu, %s, %zu bytes: %u by %02x, %u by %02x, %u by %02x", kind,
                          round & 1 ? "pipe" : "file", count, edits[0].at, edits[0].bits,
                          edits[1].at, edits[1].bits, edits[2].at, edits[2].bits);
        }
    end();
}

/* Except at the end of a sound whose header does not give its length. */
START_TEST(missing_bytes_change_no_sample)
{
    uint64_t state = seed();
    begin();
    for (size_t kind = 0; kind < DAMAGED_KINDS; kind++)
        for (size_t round = 0; round < rounds() / 2; round++) {
            size_t size = damaged_size(kind), count = 1 + random_below(&state, 6000);
            size_t at = random_below(&state, size - count);
            ck_assert_msg(damaged_holds_without(kind, at, count, round & 1),
                          "kind %zu, %s, without %zu bytes from %zu on", kind,
                          round & 1 ? "pipe" : "file", count, at);
        }
    end();
}

/* Damaged frames are silent: what follows stays in its place. */
START_TEST(damage_that_is_allowed_moves_nothing)
{
    enum { FIRST = 8000, FLACS = 2 }; /* in the frames, and of these kinds the length is known */
    uint64_t state = seed();
    begin();
    for (size_t kind = 0; kind < FLACS; kind++)
        for (size_t round = 0; round < rounds(); round++) {
            struct damaged_edit edit = {
                .at = FIRST + (uint32_t)random_below(&state, damaged_size(kind) / 2),
                .bits = (uint8_t)(1 << random_below(&state, 8))};
            ck_assert_msg(damaged_keeps_places(kind, &edit), "kind %zu, %u by %02x", kind, edit.at,
                          edit.bits);
        }
    end();
}

/* Into the last pages, too, which end early. */
START_TEST(a_part_is_that_of_the_whole)
{
    enum { FRAMES = 100000, VORBIS = 3 };
    uint64_t state = seed();
    begin();
    for (size_t kind = 0; kind <= VORBIS; kind++)
        for (size_t round = 0; round < rounds() / 2; round++) {
            size_t frame = random_below(&state, round % 2 ? FRAMES : 6000);
            frame = round % 2 ? frame : FRAMES - 1 - frame;
            ck_assert_msg(damaged_seeks(kind, frame), "kind %zu, from frame %zu", kind, frame);
        }
    end();
}
