#include "base/step_crew.h"

#include "base/futex.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPIN = 1000000, /* ns, for another part of the same step */
    OPEN = 1,       /* the door's lowest bit; the others count who is inside */
    INSIDE = 2,
};

struct step_crew {
    struct futex bell; /* parts begun */
    atomic_uint door;
    atomic_bool ending;
    void (*task)(void *context);
    void *context;
    size_t count; /* of threads */
    pthread_t started[];
};

/* False: the part has ended. */
static bool enter(struct step_crew *crew)
{
    unsigned door = atomic_load(&crew->door);
    while (door & OPEN)
        if (atomic_compare_exchange_weak(&crew->door, &door, door + INSIDE))
            return true;
    return false;
}

static void *help(void *argument)
{
    struct step_crew *crew = argument;
    realtime_flush_denormals();
    for (uint32_t heard = 0; !atomic_load(&crew->ending);) {
        if (!futex_wait(&crew->bell, heard + 1, SPIN, INT64_MAX))
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
            return fail(STATUS_FAILED, "cannot start a thread: %s", thread_error(error));
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
