/* The context that plugins get: the host, with its run loop. */
#include "plugin/vst3/plugin_vst3.h"

#include "base/monotonic.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>

enum { WATCHES_MOST = 256, TIMER_MOST = 86400000 /* ms */, NS_PER_MS = 1000000 };

/* A timer, or a file descriptor that may become readable. */
struct watch {
    void *handler;         /* owned: a vst3_timer_handler, or a vst3_event_handler */
    int fd;                /* -1: a timer */
    int64_t interval, due; /* ns */
};

/* Handlers may register and unregister handlers, so the lock is recursive. */
static struct {
    struct vst3_host_application application;
    struct vst3_run_loop loop;
    pthread_mutex_t within;
    atomic_size_t count;
    struct watch watches[WATCHES_MOST];
} host = {.within = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

/* ---- watches ---- */

static int32_t add_watch(void *handler, int fd, int64_t interval)
{
    if (!handler)
        return VST3_INVALID_ARGUMENT;
    pthread_mutex_lock(&host.within);
    size_t at = atomic_load(&host.count);
    bool has_room = at < WATCHES_MOST;
    if (has_room) {
        ((struct vst3_unknown *)handler)->calls->add_ref(handler);
        host.watches[at] = (struct watch){handler, fd, interval, monotonic_ns() + interval};
        atomic_store(&host.count, at + 1);
    }
    pthread_mutex_unlock(&host.within);
    return has_room ? VST3_OK : VST3_OUT_OF_MEMORY;
}

/* A handler may watch several descriptors: all of its watches end. */
static int32_t drop_watches(void *handler, bool is_timer)
{
    int32_t result = VST3_FALSE;
    pthread_mutex_lock(&host.within);
    for (size_t at = atomic_load(&host.count); at-- > 0;) {
        struct watch *watch = &host.watches[at];
        if (watch->handler != handler || (watch->fd < 0) != is_timer)
            continue;
        size_t left = atomic_load(&host.count) - 1;
        memmove(watch, watch + 1, (left - at) * sizeof *watch);
        atomic_store(&host.count, left);
        ((struct vst3_unknown *)handler)->calls->release(handler);
        result = VST3_OK;
    }
    pthread_mutex_unlock(&host.within);
    return result;
}

static bool is_readable(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) > 0;
}

static void turn_watch(struct watch *watch, int64_t now)
{
    if (watch->fd >= 0) {
        struct vst3_event_handler *handler = watch->handler;
        if (is_readable(watch->fd))
            handler->calls->on_fdis_set(handler, watch->fd);
        return;
    }
    struct vst3_timer_handler *handler = watch->handler;
    if (now < watch->due)
        return;
    watch->due = now + watch->interval;
    handler->calls->on_timer(handler);
}

/* Handlers that change the watches may delay another one to the next turn. */
void vst3_host_turn(void)
{
    if (atomic_load(&host.count) == 0 || pthread_mutex_trylock(&host.within) != 0)
        return;
    int64_t now = monotonic_ns();
    for (size_t at = 0; at < atomic_load(&host.count); at++)
        turn_watch(&host.watches[at], now);
    pthread_mutex_unlock(&host.within);
}

void vst3_host_forget(void)
{
    pthread_mutex_lock(&host.within);
    atomic_store(&host.count, 0); /* what is left belongs to plugins that are gone */
    pthread_mutex_unlock(&host.within);
}

/* ---- the objects ---- */

static uint32_t keep_alive(void *self)
{
    (void)self;
    return 1;
}

static int32_t query(void *self, const struct vst3_id *iid, void **object)
{
    (void)self;
    bool is_loop = memcmp(iid, &vst3_run_loop_iid, sizeof *iid) == 0;
    bool is_host = memcmp(iid, &vst3_host_application_iid, sizeof *iid) == 0 ||
                   memcmp(iid, &vst3_unknown_iid, sizeof *iid) == 0;
    *object = is_loop ? (void *)&host.loop : is_host ? &host.application : NULL;
    return *object ? VST3_OK : VST3_NO_INTERFACE;
}

static int32_t get_name(void *self, uint16_t *name)
{
    (void)self;
    static const char text[] = "halo";
    for (size_t i = 0; i < sizeof text; i++)
        name[i] = (uint16_t)text[i];
    return VST3_OK;
}

static int32_t make(void *self, const struct vst3_id *cid, const struct vst3_id *iid, void **object)
{
    (void)self;
    return vst3_letter_make(cid, iid, object);
}

static int32_t register_event_handler(void *self, void *handler, int fd)
{
    (void)self;
    return fd < 0 ? VST3_INVALID_ARGUMENT : add_watch(handler, fd, 0);
}

static int32_t unregister_event_handler(void *self, void *handler)
{
    (void)self;
    return drop_watches(handler, false);
}

static int32_t register_timer(void *self, void *handler, uint64_t milliseconds)
{
    (void)self;
    return milliseconds == 0 || milliseconds > TIMER_MOST
               ? VST3_INVALID_ARGUMENT
               : add_watch(handler, -1, (int64_t)milliseconds * NS_PER_MS);
}

static int32_t unregister_timer(void *self, void *handler)
{
    (void)self;
    return drop_watches(handler, true);
}

void *vst3_host(void)
{
    static const struct vst3_host_application_calls application = {query, keep_alive, keep_alive,
                                                                   get_name, make};
    static const struct vst3_run_loop_calls loop = {query,
                                                    keep_alive,
                                                    keep_alive,
                                                    register_event_handler,
                                                    unregister_event_handler,
                                                    register_timer,
                                                    unregister_timer};
    host.application.calls = &application;
    host.loop.calls = &loop;
    return &host.application;
}
