#include "base/workers.h"

#include "base/machine.h"
#include "base/stop.h"
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { LOOK_NS = 100000000, SECOND_NS = 1000000000 };

struct worker {
    struct workers *workers;
    size_t number;
    pthread_t thread;
};

static const double WORTH = 150e3; /* ns; a woken thread runs after 50 us or later */

struct workers {
    size_t count;
    size_t started; /* threads that run, at most count - 1 */
    bool is_short;  /* another thread could not be started */
    struct worker *threads;
    bool has_cpus; /* `cpus` is set: the creator's processors, for all threads (machine.h) */
    cpu_set_t cpus;

    pthread_mutex_t lock;
    pthread_cond_t begin;
    pthread_cond_t done;
    size_t wanted; /* under the lock: threads that may still join the job */
    size_t busy;   /* under the lock: threads that have joined the job and not finished */
    bool leave;    /* under the lock */

    workers_task *task; /* written before a job begins, read while it runs */
    void *context;
    size_t pieces;
    atomic_size_t next;
};

static void take_pieces(struct workers *workers, size_t worker)
{
    for (;;) {
        size_t piece = atomic_fetch_add(&workers->next, 1);
        if (piece >= workers->pieces || stop_requested())
            return;
        workers->task(workers->context, piece, worker);
    }
}

/* Conditions are signalled without the lock, so that a woken thread need not wait for it. */
static void *worker_main(void *argument)
{
    struct worker *own = argument;
    struct workers *workers = own->workers;
    if (workers->has_cpus)
        (void)sched_setaffinity(0, sizeof workers->cpus, &workers->cpus);
    stop_allow_interrupt();
    for (;;) {
        pthread_mutex_lock(&workers->lock);
        while (workers->wanted == 0 && !workers->leave)
            pthread_cond_wait(&workers->begin, &workers->lock);
        bool leave = workers->leave;
        if (!leave) {
            workers->wanted--;
            workers->busy++;
        }
        pthread_mutex_unlock(&workers->lock);
        if (leave)
            return NULL;
        take_pieces(workers, own->number);
        pthread_mutex_lock(&workers->lock);
        bool last = --workers->busy == 0;
        pthread_mutex_unlock(&workers->lock);
        if (last)
            pthread_cond_signal(&workers->done);
    }
}

/* Starts threads until `most` run. */
static int start_threads(struct workers *workers, size_t most)
{
    int error = 0;
    while (error == 0 && workers->started < most) {
        struct worker *own = &workers->threads[workers->started];
        *own = (struct worker){.workers = workers, .number = workers->started + 1};
        error = thread_start(&own->thread, "halo worker", THREAD_AS_CALLER, worker_main, own);
        workers->started += error == 0;
    }
    return error;
}

enum status workers_create_for_later(size_t count, struct workers **result)
{
    struct workers *workers = calloc(1, sizeof *workers);
    if (!workers)
        return fail_memory("threads");
    workers->count = count > 0 ? count : machine_processors();
    workers->has_cpus = sched_getaffinity(0, sizeof workers->cpus, &workers->cpus) == 0;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->begin, NULL);
    thread_condition_init(&workers->done);
    workers->threads = calloc(workers->count, sizeof *workers->threads);
    if (!workers->threads) {
        workers_destroy(workers);
        return fail_memory("threads");
    }
    *result = workers;
    return STATUS_OK;
}

enum status workers_create(size_t count, struct workers **result)
{
    struct workers *workers;
    TRY(workers_create_for_later(count, &workers));
    int error = start_threads(workers, workers->count - 1);
    if (error) {
        workers_destroy(workers);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread: %s; try fewer with --threads",
                    thread_error(error));
    }
    *result = workers;
    return STATUS_OK;
}

void workers_destroy(struct workers *workers)
{
    if (!workers)
        return;
    pthread_mutex_lock(&workers->lock);
    workers->leave = true;
    pthread_cond_broadcast(&workers->begin);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < workers->started; i++)
        pthread_join(workers->threads[i].thread, NULL);
    pthread_cond_destroy(&workers->done);
    pthread_cond_destroy(&workers->begin);
    pthread_mutex_destroy(&workers->lock);
    free(workers->threads);
    free(workers);
}

size_t workers_count(const struct workers *workers)
{
    return workers ? workers->count : 1;
}

struct workers *workers_worth(struct workers *workers, double nanoseconds)
{
    return nanoseconds < WORTH ? NULL : workers;
}

/* Starts missing threads. They join the current job at once. */
static void start_missing(struct workers *workers, size_t wanted)
{
    if (workers->started >= wanted || workers->is_short)
        return;
    int error = start_threads(workers, wanted);
    workers->is_short = error != 0;
    if (error)
        note("cannot start more than %zu of %zu threads: %s", workers->started + 1, workers->count,
             thread_error(error));
}

/* Wakes only threads with a piece to take: waking one costs as much as a short piece. */
static void begin(struct workers *workers, size_t wanted)
{
    size_t sleeping = workers->started;
    pthread_mutex_lock(&workers->lock);
    workers->wanted = wanted;
    pthread_mutex_unlock(&workers->lock);
    start_missing(workers, wanted);
    if (sleeping <= wanted)
        pthread_cond_broadcast(&workers->begin);
    for (size_t i = 0; sleeping > wanted && i < wanted; i++)
        pthread_cond_signal(&workers->begin);
}

/* Waits for threads in the job. After a signal it interrupts them, since one may wait for another
 * program, such as the writer of a pipe. The lock is held. */
static void wait_for_others(struct workers *workers)
{
    while (workers->busy > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / SECOND_NS;
        until.tv_nsec %= SECOND_NS;
        pthread_cond_timedwait(&workers->done, &workers->lock, &until);
        for (size_t i = 0; stop_requested() && i < workers->started; i++)
            stop_interrupt(workers->threads[i].thread);
    }
}

/* Ends the job. All pieces are taken, so it does not wait for threads that have not woken. */
static void finish(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->wanted = 0;
    wait_for_others(workers);
    pthread_mutex_unlock(&workers->lock);
}

void workers_run(struct workers *workers, size_t pieces, workers_task *task, void *context)
{
    if (!workers || workers->count == 1 || pieces <= 1) {
        for (size_t piece = 0; piece < pieces && !(workers && stop_requested()); piece++)
            task(context, piece, 0);
        return;
    }
    workers->task = task;
    workers->context = context;
    workers->pieces = pieces;
    atomic_store(&workers->next, 0);
    begin(workers, (pieces < workers->count ? pieces : workers->count) - 1);
    take_pieces(workers, 0);
    finish(workers);
}
