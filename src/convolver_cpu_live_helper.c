/* The CPU's live convolver: the thread that works on long partitions beside the step. */
#include "convolver_cpu_live.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

struct live_helper {
    struct convolution *convolution;
    sem_t jobs;
    atomic_bool leave;
    pthread_t thread;
    bool started;
};

/* The job whose results are due first; segment_count where nothing is to be done. */
static size_t most_urgent(const struct convolution *convolution)
{
    size_t best = convolution->plan.segment_count;
    uint64_t earliest = UINT64_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        uint64_t deadline = atomic_load(&convolution->segments[s].deadline);
        if (convolution->segments[s].ring != HELPERS_RING || deadline >= earliest)
            continue;
        earliest = deadline;
        best = s;
    }
    return best;
}

/* One unit of the most urgent job; false when there is none. */
static bool help(struct convolution *convolution)
{
    size_t s = most_urgent(convolution);
    if (s == convolution->plan.segment_count)
        return false;
    struct segment *segment = &convolution->segments[s];
    job_seize(segment);
    job_run_unit(convolution, s); /* the step may have done the rest by now: then nothing */
    job_release(segment);
    return true;
}

static void *helper_main(void *argument)
{
    struct live_helper *helper = argument;
    for (;;) {
        while (sem_wait(&helper->jobs) != 0 && errno == EINTR)
            ;
        while (!atomic_load(&helper->leave) && help(helper->convolution))
            ;
        if (atomic_load(&helper->leave))
            return NULL;
    }
}

/* Where the caller has a real-time priority, one below it: the step goes first. */
static void lower_priority(pthread_t thread)
{
    int policy;
    struct sched_param parameters;
    if (pthread_getschedparam(thread, &policy, &parameters) != 0 ||
        (policy != SCHED_FIFO && policy != SCHED_RR) ||
        parameters.sched_priority <= sched_get_priority_min(policy))
        return;
    parameters.sched_priority--;
    (void)pthread_setschedparam(thread, policy, &parameters); /* else as the caller */
}

enum status live_helper_create(struct convolution *convolution, struct live_helper **result)
{
    struct live_helper *helper = calloc(1, sizeof *helper);
    if (!helper)
        return fail_memory("a convolver");
    helper->convolution = convolution;
    sem_init(&helper->jobs, 0, 0);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    helper->started = pthread_create(&helper->thread, NULL, helper_main, helper) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!helper->started) {
        live_helper_destroy(helper);
        return fail(STATUS_FAILED, "cannot start a thread; try --threads 1");
    }
    lower_priority(helper->thread);
    *result = helper;
    return STATUS_OK;
}

void live_helper_destroy(struct live_helper *helper)
{
    if (!helper)
        return;
    atomic_store(&helper->leave, true);
    sem_post(&helper->jobs);
    if (helper->started)
        pthread_join(helper->thread, NULL);
    sem_destroy(&helper->jobs);
    free(helper);
}

void live_helper_wake(struct live_helper *helper)
{
    sem_post(&helper->jobs);
}
