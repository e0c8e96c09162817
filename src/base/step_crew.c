#include "base/step_crew.h"

#include "base/futex.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    SPIN = 1000000,  /* ns that a thread spins for another part of the same step */
    MARGIN = 150000, /* ns that a thread spins before and after the expected time of a step */
    OPEN = 1,        /* lowest bit of `door`; the other bits count the threads inside */
    INSIDE = 2,
};

struct step_crew {
    struct futex bell; /* number of parts that have begun */
    atomic_uint door;
    atomic_bool ending;
    atomic_int_fast64_t expected; /* time of the next step, monotonic_ns() */
    void (*task)(void *context);
    void *context;
    size_t count; /* number of threads */
    pthread_t started[];
};

/* Joins the current part of the step. False: the part has ended. */
static bool enter(struct step_crew *crew)
{
    unsigned door = atomic_load(&crew->door);
    while (door & OPEN)
        if (atomic_compare_exchange_weak(&crew->door, &door, door + INSIDE))
            return true;
    return false;
}

/* Waits after part number `heard` until another begins, the next step is near, or none comes. */
static bool wait_for_part(struct step_crew *crew, uint32_t heard, int64_t spin)
{
    int64_t now = monotonic_ns(), expected = atomic_load(&crew->expected);
    if (now < expected - MARGIN)
        return futex_wait(&crew->bell, heard + 1, spin, expected - MARGIN);
    if (now < expected + MARGIN)
        return futex_wait(&crew->bell, heard + 1, 2 * MARGIN, expected + MARGIN);
    return futex_wait(&crew->bell, heard + 1, spin, INT64_MAX);
}

static void *help(void *argument)
{
    struct step_crew *crew = argument;
    bool has_begun = true;
    realtime_flush_denormals();
    /* the default is 50 us, unless the thread has a real-time priority */
    (void)prctl(PR_SET_TIMERSLACK, 1UL);
    for (uint32_t heard = 0; !atomic_load(&crew->ending);) {
        has_begun = wait_for_part(crew, heard, has_begun ? SPIN : 0);
        if (!has_begun)
            continue;
        heard = atomic_load(&crew->bell.value);
        if (!enter(crew))
            continue;
        crew->task(crew->context);
        atomic_fetch_sub(&crew->door, INSIDE);
    }
    return NULL;
}

enum status step_crew_create(size_t threads, struct step_crew **result)
{
    struct step_crew *crew = calloc(1, sizeof *crew + threads * sizeof *crew->started);
    if (!crew)
        return fail_memory("the threads of a live stream");
    while (crew->count < threads) {
        int error = thread_start(&crew->started[crew->count], "halo live step", THREAD_AS_CALLER,
                                 help, crew);
        if (error) {
            step_crew_destroy(crew);
            return fail(CAUSE_NO_MEMORY, "cannot start a thread: %s", thread_error(error));
        }
        crew->count++;
    }
    *result = crew;
    return STATUS_OK;
}

void step_crew_destroy(struct step_crew *crew)
{
    if (!crew)
        return;
    atomic_store(&crew->ending, true);
    futex_raise(&crew->bell);
    for (size_t t = 0; t < crew->count; t++)
        pthread_join(crew->started[t], NULL);
    free(crew);
}

HALO_REALTIME void step_crew_expect(struct step_crew *crew, int64_t at)
{
    if (crew)
        atomic_store(&crew->expected, at);
}

HALO_REALTIME void step_crew_begin(struct step_crew *crew, void (*task)(void *context),
                                   void *context)
{
    if (!crew)
        return;
    crew->task = task;
    crew->context = context;
    atomic_store(&crew->door, OPEN);
    futex_raise(&crew->bell);
}

HALO_REALTIME void step_crew_end(struct step_crew *crew)
{
    if (!crew)
        return;
    atomic_fetch_and(&crew->door, ~(unsigned)OPEN);
    while (atomic_load(&crew->door) != 0)
        realtime_pause();
}
