#include "live/driver_null.h"

#include "base/monotonic.h"
#include "base/stop.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { IDLE_NS = 1000000 /* between calls without a step */, LATE_NS = 1000000000, FIRST_NS = 1 };

struct null_device null_devices[NULL_DEVICES];

/* The devices whose time is simulated. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} turns = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

/* ---- simulated time ---- */

static bool is_next(const struct null_device *null)
{
    for (size_t i = 0; i < NULL_DEVICES; i++) {
        const struct null_device *other = &null_devices[i];
        if (other == null || !other->takes_turns)
            continue;
        if (other->due < null->due || (other->due == null->due && other < null))
            return false;
    }
    return true;
}

/* Until every other device has a call later than `due`, or none at all. The first
 * call of one that does not run yet is earlier. */
static void wait_for_turn(struct null_device *null, int64_t due)
{
    pthread_mutex_lock(&turns.lock);
    null->due = due;
    pthread_cond_broadcast(&turns.changed);
    while (!is_next(null) && !atomic_load(&null->leaving))
        pthread_cond_wait(&turns.changed, &turns.lock);
    pthread_mutex_unlock(&turns.lock);
}

void null_take_turns(struct null_device *null, bool takes)
{
    pthread_mutex_lock(&turns.lock);
    null->takes_turns = takes;
    null->due = 0;
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
}

/* When a frame has passed, by the device's clock. */
static double seconds_of(const struct null_device *null, uint64_t frame)
{
    double before = 1 / ((double)null->rate * (1 + 1e-6 * null->number[NULL_DRIFT]));
    double after = 1 / ((double)null->rate * (1 + 1e-6 * null->number[NULL_AFTER]));
    double step = null->number[NULL_STEP], at = (double)frame;
    return step > 0 && at > step ? step * before + (at - step) * after : at * before;
}

/* ---- its thread ---- */

/* False: the file cannot be read. Silence follows its end. */
static bool fill(struct null_device *null, size_t frames)
{
    size_t got = 0;
    if (!null->source)
        return true;
    /* Not again after its end, where a signal to stop would be an error. */
    if (!null->has_ended &&
        source_read(null->source, null->input.data, frames, &got) != STATUS_OK && !stop_requested())
        return false;
    null->has_ended = got < frames;
    for (size_t c = 0; c < null->input.channels; c++)
        memset(null->input.data[c] + got, 0, (frames - got) * sizeof(float));
    return true;
}

/* Of the call that begins with frame `at`; `begun`: the monotonic time of frame 0. */
static void wait_for_call(struct null_device *null, uint64_t at, int64_t *begun)
{
    double pace = null->number[NULL_PACE], share = (double)rand_r(&null->random) / RAND_MAX;
    double due = seconds_of(null, at) + 1e-3 * null->number[NULL_JITTER] * share;
    if (pace == 0) {
        int64_t turn = FIRST_NS + (int64_t)(1e9 * due);
        wait_for_turn(null, turn > null->due ? turn : null->due);
        null->stream->simulated_ns = null->due;
        return;
    }
    int64_t now = monotonic_ns(), time = *begun + (int64_t)(1e9 * due / pace);
    if (time < now - LATE_NS)
        *begun += now - time;
    monotonic_sleep_until(time);
    if (pace != 1)
        null->stream->simulated_ns = (int64_t)((double)monotonic_ns() * pace);
}

/* The monotonic time of frame 0, if that of frame `at` is `now`. */
static int64_t begun_before(const struct null_device *null, uint64_t at, int64_t now)
{
    double pace = null->number[NULL_PACE];
    return pace > 0 ? now - (int64_t)(1e9 * seconds_of(null, at) / pace) : now;
}

/* The rate turns at frame `at`; the time goes on. */
static void turn_rate(struct null_device *null, uint64_t at, int64_t *begun)
{
    int64_t before = begun_before(null, at, *begun);
    null->rate = (uint32_t)null->number[NULL_TO];
    *begun += begun_before(null, at, *begun) - before;
}

/* Until a step runs. Returns when frame 0 would have been, if frame `at` were now. */
static int64_t wait_for_step(struct null_device *null, uint64_t at)
{
    int64_t now = monotonic_ns();
    double pace = null->number[NULL_PACE];
    monotonic_sleep_until(now + IDLE_NS);
    if (pace == 0)
        null->stream->simulated_ns = null->due > 0 ? null->due : FIRST_NS;
    else if (pace != 1)
        null->stream->simulated_ns = (int64_t)((double)monotonic_ns() * pace);
    return begun_before(null, at, now);
}

/* One call. True: a step ran. */
static bool call(struct null_device *null, size_t frames, bool lost, bool *whole)
{
    bool runs = device_process(null->stream, null->source ? (const float **)null->input.data : NULL,
                               null->output.channels ? null->output.data : NULL, frames, lost);
    if (runs && null->sink) {
        *whole = sink_write(null->sink, (const float **)null->output.data, frames) == STATUS_OK;
        null->written += frames;
    }
    return runs;
}

static void *run(void *opened)
{
    struct null_device *null = opened;
    size_t period = (size_t)null->number[NULL_PERIOD], other = (size_t)null->number[NULL_VARY];
    size_t frames = period, filled = 0;
    uint64_t at = 0, xrun = (uint64_t)null->number[NULL_XRUN],
             lose = (uint64_t)null->number[NULL_LOSE];
    uint64_t turn = (uint64_t)null->number[NULL_TURN];
    int64_t begun = monotonic_ns();
    while (!atomic_load(&null->leaving)) {
        bool whole = filled == frames || fill(null, frames);
        filled = frames; /* kept until a step uses it */
        bool runs = whole && call(null, frames, xrun && at >= xrun, &whole);
        null->broken = !whole;
        if (runs) {
            xrun = at >= xrun ? 0 : xrun;
            at += frames;
            filled = 0;
            if (turn && at >= turn && null->rate != (uint32_t)null->number[NULL_TO])
                turn_rate(null, at, &begun);
        }
        if (!whole || (lose && at >= lose && !null->was_lost)) {
            atomic_store(&null->gone, true);
            break;
        }
        if (runs && other)
            frames = frames == period ? other : period;
        if (runs)
            wait_for_call(null, at, &begun);
        else
            begun = wait_for_step(null, at);
    }
    null_take_turns(null, false);
    return NULL;
}

enum status null_thread_start(struct null_device *null)
{
    null_take_turns(null, null->number[NULL_PACE] == 0);
    null->started = thread_start(&null->thread, "halo null", THREAD_AS_CALLER, run, null) == 0;
    if (null->started)
        return STATUS_OK;
    null_take_turns(null, false);
    return fail(CAUSE_DEVICE, "cannot start a thread for a device");
}

void null_thread_stop(struct null_device *null)
{
    pthread_mutex_lock(&turns.lock);
    atomic_store(&null->leaving, true);
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
    if (null->started)
        pthread_join(null->thread, NULL);
}
