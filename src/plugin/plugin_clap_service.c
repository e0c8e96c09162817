/* The main thread of a CLAP plugin that processes in real time: it answers request_callback and
 * request_restart, which the step only notes.
 *
 * A restart goes by turns, since start_processing and stop_processing belong to the step:
 * the step stops (CLAP_STOPPED), this thread deactivates and activates (CLAP_STARTED), and the step
 * starts with its next block. */
#include "plugin/plugin_clap.h"

#include "base/realtime.h"
#include "base/thread.h"

#include <stdlib.h>
#include <time.h>

enum { CLAP_POLL_MS = 5 };

enum clap_turn { CLAP_RUNS, CLAP_STOPPED };

struct clap_service {
    struct clap_instance *instance;
    _Atomic(enum clap_turn) turn;
    atomic_bool leave;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t
        within; /* held while a thread is within the plugin as main; never by the step */
};

static bool attend(struct clap_service *service)
{
    struct clap_instance *instance = service->instance;
    bool is_stopped = atomic_load(&service->turn) == CLAP_STOPPED;
    unsigned asked = atomic_fetch_and(&instance->side.asked, CLAP_ASKED_RESTART);
    asked &= ~(unsigned)CLAP_ASKED_RESTART;
    clap_instance_attend(instance, asked);
    clap_host_report(&instance->side);
    if (is_stopped) {
        clap_instance_deactivate(instance);
        clap_instance_activate(instance);
        atomic_store(&service->turn, CLAP_RUNS);
    }
    return asked || is_stopped;
}

static void *serve_plugin(void *argument)
{
    struct clap_service *service = argument;
    const struct timespec pause = {.tv_nsec = CLAP_POLL_MS * 1000000L};
    while (!atomic_load(&service->leave)) {
        pthread_mutex_lock(&service->within);
        bool busy = attend(service);
        pthread_mutex_unlock(&service->within);
        if (!busy)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

enum status clap_service_create(struct clap_instance *instance, struct clap_service **result)
{
    struct clap_service *service = calloc(1, sizeof *service);
    if (!service)
        return fail_memory("a plugin");
    service->instance = instance;
    pthread_mutex_init(&service->within, NULL);
    service->has_thread = thread_start(&service->thread, "halo clap main", THREAD_ORDINARY,
                                       serve_plugin, service) == 0;
    if (!service->has_thread) {
        clap_service_destroy(service);
        return fail(CAUSE_NO_MEMORY, "cannot start a plugin's main thread");
    }
    *result = service;
    return STATUS_OK;
}

void clap_service_destroy(struct clap_service *service)
{
    if (!service)
        return;
    atomic_store(&service->leave, true);
    if (service->has_thread)
        pthread_join(service->thread, NULL);
    pthread_mutex_destroy(&service->within);
    free(service);
}

void clap_service_pause(struct clap_service *service)
{
    if (service)
        pthread_mutex_lock(&service->within);
}

/* A reset has activated it: nothing is left of a restart. */
void clap_service_resume(struct clap_service *service)
{
    if (service)
        pthread_mutex_unlock(&service->within);
}

HALO_REALTIME bool clap_service_admits(struct clap_service *service)
{
    struct clap_instance *instance = service->instance;
    if (atomic_load(&service->turn) != CLAP_RUNS)
        return false;
    if (!(atomic_load(&instance->side.asked) & CLAP_ASKED_RESTART))
        return true;
    if (instance->is_processing) {
        enum clap_role before = clap_enter(CLAP_AUDIO_THREAD);
        instance->handle->stop_processing(instance->handle);
        clap_enter(before);
    }
    instance->is_processing = false;
    atomic_store(&service->turn, CLAP_STOPPED);
    return false;
}
