#include "base/relay.h"

#include "base/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { LOOK_MS = 50 }; /* between looks at whether a signal came */

struct relay {
    size_t slots;
    size_t lent; /* slots that were the owner's to begin with */
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

static void *relay_main(void *argument)
{
    struct relay *relay = argument;
    pthread_mutex_lock(&relay->lock);
    for (;;) {
        while (relay->given == relay->done && !relay->leave)
            pthread_cond_wait(&relay->given_some, &relay->lock);
        if (relay->leave)
            break;
        size_t slot = relay->done % relay->slots;
        pthread_mutex_unlock(&relay->lock);
        relay->work(relay->context, slot);
        pthread_mutex_lock(&relay->lock);
        relay->done++;
        pthread_cond_signal(&relay->done_some);
    }
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}

enum status relay_create(size_t slots, enum relay_begin begin,
                         void (*work)(void *context, size_t slot), void *context,
                         struct relay **result)
{
    struct relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return fail_memory("a thread");
    relay->slots = slots;
    relay->work = work;
    relay->context = context;
    relay->lent = begin == RELAY_WITH_OWNER ? slots : 0;
    relay->given = begin == RELAY_WITH_THREAD ? slots : 0;
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->given_some, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&relay->done_some, &monotonic);
    pthread_condattr_destroy(&monotonic);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    relay->started = pthread_create(&relay->thread, NULL, relay_main, relay) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!relay->started) {
        relay_destroy(relay);
        return fail(STATUS_FAILED, "cannot start a thread to read or write with");
    }
    *result = relay;
    return STATUS_OK;
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    pthread_mutex_lock(&relay->lock);
    relay->leave = true;
    pthread_cond_signal(&relay->given_some);
    pthread_mutex_unlock(&relay->lock);
    if (relay->started)
        pthread_join(relay->thread, NULL);
    pthread_cond_destroy(&relay->given_some);
    pthread_cond_destroy(&relay->done_some);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}

static struct timespec next_look(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_nsec += LOOK_MS * 1000000L;
    time.tv_sec += time.tv_nsec / 1000000000L;
    time.tv_nsec %= 1000000000L;
    return time;
}

enum status relay_take(struct relay *relay, size_t *slot)
{
    pthread_mutex_lock(&relay->lock);
    while (relay->done + relay->lent == relay->taken && !stop_requested()) {
        struct timespec until = next_look();
        pthread_cond_timedwait(&relay->done_some, &relay->lock, &until);
    }
    pthread_mutex_unlock(&relay->lock);
    if (stop_requested())
        return STATUS_INTERRUPTED;
    *slot = relay->taken++ % relay->slots;
    return STATUS_OK;
}

void relay_give(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    relay->given++;
    pthread_cond_signal(&relay->given_some);
    pthread_mutex_unlock(&relay->lock);
}

void relay_finish(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    while (relay->done < relay->given)
        pthread_cond_wait(&relay->done_some, &relay->lock);
    pthread_mutex_unlock(&relay->lock);
}
