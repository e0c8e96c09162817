/* The threads that share a real-time step's pieces: each piece is done once, whoever comes, and
 * nobody is at work after the end. */
#include "base/step_crew.h"

#include "base/monotonic.h"
#include "suite.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { PIECES = 50, STEPS = 2000, THREADS = 3 };

struct shared {
    _Atomic size_t next;
    atomic_uint done[PIECES];
    atomic_uint at_work;
    atomic_uint together; /* calls of the task by the crew */
};

static void take_pieces(struct shared *shared)
{
    for (;;) {
        size_t piece = atomic_fetch_add(&shared->next, 1);
        if (piece >= PIECES)
            return;
        atomic_fetch_add(&shared->at_work, 1);
        atomic_fetch_add(&shared->done[piece], 1);
        atomic_fetch_sub(&shared->at_work, 1);
    }
}

static void help(void *context)
{
    struct shared *shared = context;
    atomic_fetch_add(&shared->together, 1);
    take_pieces(shared);
}

static void run_steps(struct step_crew *crew, struct shared *shared, size_t steps)
{
    for (size_t n = 0; n < steps; n++) {
        for (size_t piece = 0; piece < PIECES; piece++)
            atomic_store(&shared->done[piece], 0);
        atomic_store(&shared->next, 0);
        step_crew_begin(crew, help, shared);
        take_pieces(shared);
        step_crew_end(crew);
        ck_assert_uint_eq(atomic_load(&shared->at_work), 0);
        for (size_t piece = 0; piece < PIECES; piece++)
            ck_assert_uint_eq(atomic_load(&shared->done[piece]), 1);
    }
}

START_TEST(pieces_are_done_once)
{
    struct shared shared = {0};
    struct step_crew *crew = NULL;
    ck_assert_int_eq(step_crew_create(THREADS, &crew), STATUS_OK);
    run_steps(crew, &shared, STEPS);
    step_crew_destroy(crew);
}

START_TEST(alone_is_a_crew_too)
{
    struct shared shared = {0};
    run_steps(NULL, &shared, 3);
    ck_assert_uint_eq(atomic_load(&shared.together), 0);
    step_crew_destroy(NULL);
}

static void wait_for_company(void *context)
{
    atomic_fetch_add(&((struct shared *)context)->together, 1);
}

/* All threads come, from their sleep and from their spinning, if the step stays long enough. */
START_TEST(all_threads_come)
{
    struct shared shared = {0};
    struct step_crew *crew = NULL;
    ck_assert_int_eq(step_crew_create(THREADS, &crew), STATUS_OK);
    for (unsigned n = 1; n <= 20; n++) {
        step_crew_begin(crew, wait_for_company, &shared);
        while (atomic_load(&shared.together) < n * THREADS)
            ;
        step_crew_end(crew);
        ck_assert_uint_eq(atomic_load(&shared.together), n * THREADS);
    }
    step_crew_destroy(crew);
}

/* Whenever the next step was said to come: threads that sleep until then are woken, and those whose
 * step did not come sleep. */
START_TEST(steps_come_at_any_time)
{
    static const int64_t after[] = {-1000000000, -1, 0, 1, 100000, 200000, 1000000, 1000000000000};
    struct shared shared = {0};
    struct step_crew *crew = NULL;
    unsigned steps = 0;
    step_crew_expect(NULL, 0);
    ck_assert_int_eq(step_crew_create(THREADS, &crew), STATUS_OK);
    for (size_t n = 0; n < 10 * sizeof after / sizeof *after; n++) {
        step_crew_expect(crew, monotonic_ns() + after[n % (sizeof after / sizeof *after)]);
        if (n % 3 == 0)
            monotonic_sleep_until(monotonic_ns() + 1500000);
        step_crew_begin(crew, wait_for_company, &shared);
        while (atomic_load(&shared.together) < (steps + 1) * THREADS)
            ;
        step_crew_end(crew);
        ck_assert_uint_eq(atomic_load(&shared.together), ++steps * THREADS);
    }
    step_crew_expect(crew, INT64_MAX);
    step_crew_destroy(crew); /* it ends threads that sleep for long, too */
    crew = NULL;
    ck_assert_int_eq(step_crew_create(THREADS, &crew), STATUS_OK);
    step_crew_expect(crew, INT64_MIN + 1000000);
    run_steps(crew, &shared, 100);
    step_crew_destroy(crew);
}
