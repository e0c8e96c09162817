#include "live/device_side.h"

#include "base/monotonic.h"
#include "base/stop.h"
#include "base/thread.h"
#include "signal/audio.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_NS = 2000000 };
#define SECOND INT64_C(1000000000)
static const int64_t BEGIN_NS = 5 * SECOND;         /* PulseAudio takes 2 s to start */
static const int64_t LEARN_NS = SECOND / 2;         /* from the first call, or LEARN_CALLS */
static const size_t LEARN_CALLS = 8;                /* the first one may differ in length */
static const int64_t STOP_NS = 2 * SECOND;          /* for a step or a close to return */
static const int64_t STOPPING_NS = SECOND * 7 / 10; /* the same once a signal asked to stop */
static const int64_t AGAIN_NS = SECOND / 20;        /* for a close that hung earlier */
static const int64_t SILENT_NS = SECOND * 3 / 2;    /* without a call: lost */

/* ---- open ---- */

static enum status learn_period(struct device_side *side)
{
    int64_t begin = monotonic_ns(), first = 0;
    for (;;) {
        size_t calls = atomic_load_explicit(&side->stream->calls, memory_order_acquire);
        int64_t now = monotonic_ns();
        if (calls > 0 && first == 0)
            first = now;
        if (calls >= LEARN_CALLS || (calls > 1 && now - first > LEARN_NS))
            break;
        if (now - begin > BEGIN_NS || !side->driver->is_running(side->opened))
            return fail(CAUSE_DEVICE,
                        "%s was opened but delivers no sound; is it in use or disconnected?",
                        side->label);
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    }
    side->calls_seen = side->stream->calls;
    side->seen_at = monotonic_ns();
    return STATUS_OK;
}

static enum status make_stream(const struct device_choice *choice, struct device_side *side)
{
    side->stream = calloc(1, sizeof *side->stream);
    if (!side->stream || !(side->stream->silence = audio_alloc(DEVICE_FRAMES_MOST)))
        return fail_memory("a device");
    side->stream->in = choice->in;
    side->stream->out = choice->out;
    return STATUS_OK;
}

/* A failure is reported only if no other rate is left. */
static enum status open_at(const struct device_target *target, bool quietly,
                           struct device_side *side)
{
    char reason[300];
    struct log_keeper before = {0};
    if (quietly)
        before = log_keep_in(reason, sizeof reason);
    enum status status = side->driver->open(target, side->stream, &side->opened);
    if (quietly)
        log_keep_again(&before);
    if (status != STATUS_OK && quietly && side->opened) {
        (void)side->driver->close(side->opened);
        side->opened = NULL;
    }
    return status;
}

enum status device_side_open(const struct device_request *request,
                             const struct device_choice *choice, const uint32_t *rates,
                             size_t count, struct device_side *side)
{
    const struct device_row *in = choice->input, *out = choice->output;
    struct device_request at_rate = *request;
    const struct device_target target = {&at_rate, in, out, side->label};
    enum status status = STATUS_FAILED;
    bool both = in && out && strcmp(in->name, out->name) != 0;
    snprintf(side->label, sizeof side->label, "%s%s%s", in ? in->name : out->name,
             both ? " and " : "", both ? out->name : "");
    side->driver = in ? in->driver : out->driver;
    TRY(make_stream(choice, side));
    for (size_t i = 0; i < count && status != STATUS_OK; i++) {
        at_rate.rate = rates[i];
        status = open_at(&target, i + 1 < count, side);
    }
    return status == STATUS_OK ? learn_period(side) : status;
}

uint32_t device_side_rate(const struct device_side *side)
{
    struct device_info info = {0};
    side->driver->describe(side->opened, &info);
    return info.rate;
}

/* ---- while it runs ---- */

bool device_side_stop(struct device_side *side)
{
    struct device_stream *stream = side->stream;
    if (!stream)
        return true;
    atomic_store(&stream->current, NULL);
    int64_t deadline = monotonic_ns() + STOP_NS;
    while (atomic_load(&stream->inside) && monotonic_ns() < deadline)
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    return !atomic_load(&stream->inside);
}

bool device_side_is_lost(struct device_side *side)
{
    size_t calls = atomic_load_explicit(&side->stream->calls, memory_order_relaxed);
    int64_t now = monotonic_ns();
    if (calls != side->calls_seen) {
        side->calls_seen = calls;
        side->seen_at = now;
    }
    side->stalled = now - side->seen_at > SILENT_NS ? now - side->seen_at : 0;
    if (side->driver->watch)
        side->driver->watch(side->opened);
    bool is_silent = side->stalled > 0 && !side->driver->outlives_stalls;
    return is_silent || !side->driver->is_running(side->opened);
}

/* ---- closing, on a thread that can be abandoned ---- */

struct closing {
    struct device_side sides[DEVICE_SIDES]; /* what they have is closed and freed by the thread */
    struct device_join *join;
    enum status status;
    atomic_bool done;
};

/* A close that hangs; until it returns nothing can be opened. */
static struct closing *abandoned;
static int64_t abandoned_at; /* monotonic */

static void free_stream(struct device_stream *stream)
{
    if (stream)
        free(stream->silence);
    free(stream);
}

static void free_closing(struct closing *closing)
{
    device_join_destroy(closing->join);
    for (size_t i = 0; i < DEVICE_SIDES; i++)
        free_stream(closing->sides[i].stream);
    free(closing);
}

/* All streams of a driver are closed before it ends. */
static void *close_main(void *argument)
{
    struct closing *closing = argument;
    for (size_t i = 0; i < DEVICE_SIDES; i++) {
        const struct device_side *side = &closing->sides[i];
        enum status status = side->opened ? side->driver->close(side->opened) : STATUS_OK;
        closing->status = closing->status == STATUS_OK ? status : closing->status;
    }
    for (size_t i = 0; i < DEVICE_SIDES; i++) {
        const struct device_driver *driver = closing->sides[i].driver;
        if (driver && (i == 0 || driver != closing->sides[0].driver))
            driver->end();
    }
    closing->done = true;
    return NULL;
}

static bool is_noisy(const struct closing *closing)
{
    bool noisy = false;
    for (size_t i = 0; i < DEVICE_SIDES; i++)
        noisy = noisy || (closing->sides[i].driver && closing->sides[i].driver->noisy);
    return noisy;
}

static bool wait_for(const struct closing *closing, int64_t limit_ns)
{
    int64_t deadline = monotonic_ns() + limit_ns;
    while (!closing->done && monotonic_ns() < deadline)
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    return closing->done;
}

/* Only a server hangs: a device with a file is to complete it. */
static int64_t close_limit(const struct closing *closing)
{
    const struct device_driver *driver = closing->sides[0].driver;
    return stop_requested() && driver && !driver->only_named ? STOPPING_NS : STOP_NS;
}

enum status device_sides_close(const struct device_side *sides, struct device_join *join)
{
    pthread_t thread;
    enum status status = STATUS_OK;
    struct closing *closing = calloc(1, sizeof *closing);
    if (closing) {
        memcpy(closing->sides, sides, sizeof closing->sides);
        closing->join = join;
    }
    if (!closing ||
        thread_start(&thread, "halo close", THREAD_AS_CALLER, close_main, closing) != 0) {
        free(closing); /* the streams are leaked */
        return fail_memory("a thread");
    }
    pthread_detach(thread);
    if (is_noisy(closing))
        device_hush();
    bool done = wait_for(closing, close_limit(closing));
    device_unhush();
    if (done) {
        status = closing->status;
        free_closing(closing);
    } else {
        abandoned_at = abandoned ? abandoned_at : monotonic_ns();
        abandoned = closing; /* one before is leaked: its close may still run */
    }
    return status;
}

void device_side_end(const struct device_driver *driver)
{
    const struct device_side sides[DEVICE_SIDES] = {{.driver = driver}};
    device_sides_close(sides, NULL);
}

/* A close that hung may have returned. */
enum status device_sides_are_clear(void)
{
    if (abandoned && wait_for(abandoned, AGAIN_NS)) {
        free_closing(abandoned);
        abandoned = NULL;
    }
    return abandoned ? fail(CAUSE_DEVICE, "the sound system still hangs after a device was lost")
                     : STATUS_OK;
}

double device_sides_hang(void)
{
    return abandoned ? 1e-9 * (double)(monotonic_ns() - abandoned_at) : 0;
}
