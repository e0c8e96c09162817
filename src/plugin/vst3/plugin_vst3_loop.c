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
    const void *instance;  /* the instance in whose calls it was registered; NULL: in none */
    bool is_called;        /* a thread calls the handler now */
};

/* The lock is not held while a handler is called: it may have to wait for a lock of the plugin. */
static struct {
    struct vst3_host_application application;
    struct vst3_run_loop loop;
    pthread_mutex_t within;
    atomic_size_t count;
    struct watch watches[WATCHES_MOST];
} host = {.within = PTHREAD_MUTEX_INITIALIZER};

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
        host.watches[at] = (struct watch){
            handler, fd, interval, monotonic_ns() + interval, vst3_thread_instance(), false};
        atomic_store(&host.count, at + 1);
    }
    pthread_mutex_unlock(&host.within);
    return has_room ? VST3_OK : VST3_OUT_OF_MEMORY;
}

/* A handler may watch several descriptors: all of its watches end. The last release may call the
 * host, so the lock is not held then. */
static int32_t drop_watches(void *handler, bool is_timer)
{
    size_t kept = 0, dropped = 0;
    pthread_mutex_lock(&host.within);
    for (size_t at = 0; at < atomic_load(&host.count); at++)
        if (host.watches[at].handler == handler && (host.watches[at].fd < 0) == is_timer)
            dropped++;
        else
            host.watches[kept++] = host.watches[at];
    atomic_store(&host.count, kept);
    pthread_mutex_unlock(&host.within);
    for (size_t i = 0; i < dropped; i++)
        ((struct vst3_unknown *)handler)->calls->release(handler);
    return dropped > 0 ? VST3_OK : VST3_FALSE;
}

static bool is_due(struct watch *watch, int64_t now)
{
    struct pollfd one = {.fd = watch->fd, .events = POLLIN};
    if (watch->fd >= 0)
        return poll(&one, 1, 0) > 0;
    bool is_over = now >= watch->due;
    if (is_over)
        watch->due = now + watch->interval;
    return is_over;
}

static void call_handler(const struct watch *watch)
{
    struct vst3_event_handler *event = watch->handler;
    struct vst3_timer_handler *timer = watch->handler;
    if (watch->fd >= 0)
        event->calls->on_fdis_set(event, watch->fd);
    else
        timer->calls->on_timer(timer);
}

/* The watch may be gone, or elsewhere, after the call. */
static void end_call(const struct watch *called)
{
    for (size_t at = 0; at < atomic_load(&host.count); at++)
        if (host.watches[at].handler == called->handler && host.watches[at].fd == called->fd)
            host.watches[at].is_called = false;
}

/* Call a watch with the lock held, which is released meanwhile. */
static void turn_watch(struct watch *watch, const void *instance, int64_t now)
{
    bool is_ours = watch->instance == instance || !watch->instance;
    if (!is_ours || watch->is_called || !is_due(watch, now))
        return;
    watch->is_called = true;
    const struct watch called = *watch;
    struct vst3_unknown *unknown = called.handler;
    unknown->calls->add_ref(unknown);
    pthread_mutex_unlock(&host.within);
    call_handler(&called);
    unknown->calls->release(unknown);
    pthread_mutex_lock(&host.within);
    end_call(&called);
}

/* Handlers that change the watches may delay another one to the next turn. */
void vst3_host_turn(const void *instance)
{
    if (atomic_load(&host.count) == 0)
        return;
    int64_t now = monotonic_ns();
    pthread_mutex_lock(&host.within);
    for (size_t at = 0; at < atomic_load(&host.count); at++)
        turn_watch(&host.watches[at], instance, now);
    pthread_mutex_unlock(&host.within);
}

void vst3_host_forget(const void *instance)
{
    size_t kept = 0;
    pthread_mutex_lock(&host.within);
    for (size_t at = 0; at < atomic_load(&host.count); at++)
        if (host.watches[at].instance != instance)
            host.watches[kept++] = host.watches[at];
    atomic_store(&host.count, kept);
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
