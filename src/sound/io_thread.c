#include "sound/io_thread.h"

#include "base/monotonic.h"
#include "base/stop.h"
#include "base/thread.h"

#include <stdlib.h>

enum { POLL_MS = 50 }; /* for signals */

struct io_thread {
    size_t slots;
    size_t lent; /* slots that the owner had initially */
    void (*work)(void *context, size_t slot);
    void *context;
    pthread_t thread;
    bool started;
    size_t taken; /* the owner's */

    pthread_mutex_t lock;
    pthread_cond_t given_some;
    pthread_cond_t done_some;
    size_t given; /* lock */
    size_t done;  /* lock */
    bool leave;   /* lock */
};

static void *io_thread_main(void *argument)
{
    struct io_thread *io_thread = argument;
    pthread_mutex_lock(&io_thread->lock);
    for (;;) {
        while (io_thread->given == io_thread->done && !io_thread->leave)
            pthread_cond_wait(&io_thread->given_some, &io_thread->lock);
        if (io_thread->leave)
            break;
        size_t slot = io_thread->done % io_thread->slots;
        pthread_mutex_unlock(&io_thread->lock);
        io_thread->work(io_thread->context, slot);
        pthread_mutex_lock(&io_thread->lock);
        io_thread->done++;
        pthread_mutex_unlock(&io_thread->lock);
        pthread_cond_signal(&io_thread->done_some);
        pthread_mutex_lock(&io_thread->lock);
    }
    pthread_mutex_unlock(&io_thread->lock);
    return NULL;
}

enum status io_thread_create(size_t slots, enum io_thread_begin begin,
                             void (*work)(void *context, size_t slot), void *context,
                             struct io_thread **result)
{
    struct io_thread *io_thread = calloc(1, sizeof *io_thread);
    if (!io_thread)
        return fail_memory("a thread");
    io_thread->slots = slots;
    io_thread->work = work;
    io_thread->context = context;
    io_thread->lent = begin == IO_THREAD_WITH_OWNER ? slots : 0;
    io_thread->given = begin == IO_THREAD_WITH_THREAD ? slots : 0;
    pthread_mutex_init(&io_thread->lock, NULL);
    pthread_cond_init(&io_thread->given_some, NULL);
    thread_condition_init(&io_thread->done_some);
    io_thread->started = thread_start(&io_thread->thread, "halo file", THREAD_AS_CALLER,
                                      io_thread_main, io_thread) == 0;
    if (!io_thread->started) {
        io_thread_destroy(io_thread);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread to read or write with");
    }
    *result = io_thread;
    return STATUS_OK;
}

void io_thread_destroy(struct io_thread *io_thread)
{
    if (!io_thread)
        return;
    pthread_mutex_lock(&io_thread->lock);
    io_thread->leave = true;
    pthread_cond_signal(&io_thread->given_some);
    pthread_mutex_unlock(&io_thread->lock);
    if (io_thread->started)
        pthread_join(io_thread->thread, NULL);
    pthread_cond_destroy(&io_thread->given_some);
    pthread_cond_destroy(&io_thread->done_some);
    pthread_mutex_destroy(&io_thread->lock);
    free(io_thread);
}

enum status io_thread_take(struct io_thread *io_thread, size_t *slot)
{
    pthread_mutex_lock(&io_thread->lock);
    while (io_thread->done + io_thread->lent == io_thread->taken && !stop_requested()) {
        struct timespec until = monotonic_after(POLL_MS);
        pthread_cond_timedwait(&io_thread->done_some, &io_thread->lock, &until);
    }
    pthread_mutex_unlock(&io_thread->lock);
    if (stop_requested())
        return STATUS_INTERRUPTED;
    *slot = io_thread->taken++ % io_thread->slots;
    return STATUS_OK;
}

void io_thread_give(struct io_thread *io_thread)
{
    pthread_mutex_lock(&io_thread->lock);
    io_thread->given++;
    pthread_mutex_unlock(&io_thread->lock);
    pthread_cond_signal(&io_thread->given_some); /* who wakes would wait for the lock */
}

void io_thread_finish(struct io_thread *io_thread)
{
    pthread_mutex_lock(&io_thread->lock);
    while (io_thread->done < io_thread->given)
        pthread_cond_wait(&io_thread->done_some, &io_thread->lock);
    pthread_mutex_unlock(&io_thread->lock);
}
