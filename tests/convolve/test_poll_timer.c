/* Polls lock to the work that another thread produces: simulated, with timing errors on both
 * sides. */
#include "base/noise.h"
#include "convolve/convolver_cpu_live.h"
#include "suite.h"

enum { PERIOD = 2666667, PERIODS = 20000, SETTLED = 100 }; /* ns */

struct beat {
    double drift;    /* of the producer's clock against the poller's */
    int64_t jitter;  /* ns, the largest delay of work */
    int64_t late;    /* ns, the largest delay of a poll */
    int64_t working; /* ns for handling one piece of work */
    int64_t stalls;  /* one of this many polls is three periods late; 0: none */
    double pause;    /* periods without work, once, in the middle */
};

struct tally {
    size_t looks;
    size_t lost; /* work that was not polled for within half a period */
};

static int64_t random_up_to(uint64_t *random, int64_t most)
{
    return (int64_t)((0.5 + 0.5 * (double)noise_next(random)) * (double)most);
}

static struct tally simulate(const struct beat *beat)
{
    struct tally tally = {0};
    uint64_t random = 1;
    int64_t now = 0, number = 0, waiting = PERIOD / 3;
    struct poll_timer clock = poll_timer_start(PERIOD, now);
    while (number < PERIODS) {
        tally.looks++;
        bool found = false;
        while (now >= waiting) {
            bool there = now <= waiting + PERIOD / 2; /* else the producer has done it by now */
            found = found || there;
            tally.lost += number > SETTLED && !there;
            number++;
            double periods = (double)number + 1.0 / 3 + (number > PERIODS / 2 ? beat->pause : 0);
            double due = (double)PERIOD * periods * (1 + beat->drift);
            waiting = (int64_t)due + random_up_to(&random, beat->jitter);
        }
        int64_t look = poll_timer_next(&clock, found, now + (found ? beat->working : 0));
        ck_assert_int_gt(look, now);
        bool stalled = beat->stalls > 0 && tally.looks % (size_t)beat->stalls == 0;
        now = look + random_up_to(&random, beat->late) + (stalled ? 3 * PERIOD : 0);
    }
    return tally;
}

START_TEST(polls_lock_to_the_work)
{
    static const struct beat beats[] = {
        {0},
        {.drift = 1e-3},
        {.drift = -1e-3},
        {.late = PERIOD / 32},
        {.late = PERIOD / 8, .working = PERIOD / 4},
        {.jitter = PERIOD / 8},
        {.drift = 5e-4, .jitter = PERIOD / 16, .late = PERIOD / 16, .working = PERIOD / 8},
        {.working = 2 * PERIOD / 5, .late = PERIOD / 16},
    };
    for (size_t b = 0; b < sizeof beats / sizeof *beats; b++) {
        struct tally tally = simulate(&beats[b]);
        ck_assert_msg(tally.lost == 0, "period %zu: %zu lost", b, tally.lost);
        ck_assert_msg(tally.looks < PERIODS + PERIODS / 2, "period %zu: %zu polls", b, tally.looks);
    }
}

/* Three periods of work are missed, and no more. */
START_TEST(a_stall_is_recovered)
{
    enum { STALLS = 200 };
    struct tally tally =
        simulate(&(struct beat){.late = PERIOD / 32, .working = PERIOD / 16, .stalls = STALLS});
    ck_assert_uint_gt(tally.lost, 0);
    ck_assert_uint_le(tally.lost, 4 * (tally.looks / STALLS + 1));
}

/* Whatever the initial phase of the polls. */
START_TEST(work_that_restarts_is_found)
{
    enum { PLACES = 32 };
    for (size_t p = 0; p < PLACES; p++) {
        struct tally tally = simulate(&(struct beat){.pause = 1000 + (double)p / PLACES});
        ck_assert_msg(tally.lost < 20, "phase %zu: %zu lost", p, tally.lost);
    }
}

/* Without work, one poll per period is enough. */
START_TEST(idle_polls_are_few)
{
    int64_t now = 0;
    struct poll_timer clock = poll_timer_start(PERIOD, now);
    size_t looks = 0;
    for (; now < (int64_t)PERIODS * PERIOD; looks++)
        now = poll_timer_next(&clock, false, now);
    ck_assert_uint_lt(looks, PERIODS + PERIODS / 10);
}
