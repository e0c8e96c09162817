/* Devices without hardware. The input is silence or a sound file. The output is discarded or
 * written to a sound file. They run in real time, faster, or as fast as possible. A spec can ask
 * for xruns, jitter, a varying period, drift of the clock, loss and return of the device, and a
 * change of rate. Files start with the first block that a step runs, so frame i of `out` is the
 * result of frame i of `in`. They are read and written on the driver's thread.
 *
 * Each spec is a device. With pace=1 time is real, otherwise it is simulated. Two devices with
 * pace=0 make their calls in turn, by their clocks, in the same order in each run. */
#include "base/decimal.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "base/thread.h"
#include "live/device/device_driver.h"
#include "sound/file/channel_order.h"
#include "sound/port.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NULL_DEVICES = 2 };

enum null_key {
    NULL_RATE,
    NULL_CHANNELS,
    NULL_PERIOD,
    NULL_PACE,
    NULL_JITTER,
    NULL_VARY,
    NULL_DRIFT,
    NULL_STEP,
    NULL_AFTER,
    NULL_XRUN,
    NULL_LOSE,
    NULL_BACK,
    NULL_TURN,
    NULL_TO,
    NULL_NUMBERS
};

struct null_device {
    char *spec;
    double number[NULL_NUMBERS];
    const char *in, *out; /* paths of files, parts of `spec`; NULL: none */
    struct source *source;
    bool has_ended; /* the end of `source` was reached */
    struct sink *sink;
    struct block input, output; /* buffers of a call */
    struct device_stream *stream;
    pthread_t thread;
    unsigned random; /* state of the random numbers for the jitter */
    bool started;
    atomic_bool leaving;
    atomic_bool gone;          /* the device was lost */
    atomic_uint_fast32_t rate; /* current rate in Hz; becomes NULL_TO at frame NULL_TURN */
    bool was_lost;             /* the previous stream was lost; this one is not lost again */
    double away;               /* number of times that opening will fail */
    uint64_t written;          /* frames written to `sink` */
    bool broken;               /* reading or writing a file failed: the device does not come back */
    int64_t due;      /* Simulated time of the next call; 0: none yet. Guarded by turns.lock. */
    bool takes_turns; /* makes its calls in turn with the other devices; guarded by turns.lock */
};

/* ---- parsing the spec ---- */

static const struct {
    const char *name;
    double least, most, otherwise;
} keys[NULL_NUMBERS] = {
    [NULL_RATE] = {"rate", 1000, 768000, 48000},
    [NULL_CHANNELS] = {"channels", 1, DEVICE_CHANNELS_MOST, 2},
    [NULL_PERIOD] = {"period", 1, DEVICE_FRAMES_MOST, 0}, /* 0: the value of --block */
    [NULL_PACE] = {"pace", 0, 1000, 1},                   /* 0: as fast as possible */
    [NULL_JITTER] = {"jitter", 0, 1000, 0},
    [NULL_VARY] = {"vary", 1, DEVICE_FRAMES_MOST, 0},
    [NULL_DRIFT] = {"drift", -10000, 10000, 0},
    [NULL_STEP] = {"step", 0, 1e15, 0},
    [NULL_AFTER] = {"after", -10000, 10000, 0},
    [NULL_XRUN] = {"xrun", 1, 1e15, 0},
    [NULL_LOSE] = {"lose", 1, 1e15, 0},
    [NULL_BACK] = {"back", 0, 1e6, 0},
    [NULL_TURN] = {"turn", 1, 1e15, 0},
    [NULL_TO] = {"to", 1000, 768000, 48000},
};

static const char null_form[] =
    "in=FILE, out=FILE, rate=HZ, channels=N, period=FRAMES, pace=TIMES (real time; 0: as fast as "
    "possible), jitter=MS, vary=FRAMES, drift=PPM, step=FRAME and after=PPM (another drift from there), "
    "xrun=FRAME, lose=FRAME, back=TRIES, turn=FRAME and to=HZ";

static enum status parse_item(struct null_device *null, char *item)
{
    char *value = strchr(item, '=');
    if (value)
        *value++ = '\0';
    if (value && strcmp(item, "in") == 0)
        null->in = value;
    else if (value && strcmp(item, "out") == 0)
        null->out = value;
    else {
        size_t key = 0;
        while (key < NULL_NUMBERS && strcmp(item, keys[key].name) != 0)
            key++;
        if (key == NULL_NUMBERS || !value)
            return fail(CAUSE_USAGE, "device null has no '%s'; it has %s", item, null_form);
        if (!decimal_parse(value, &null->number[key]) || null->number[key] < keys[key].least ||
            null->number[key] > keys[key].most)
            return fail(CAUSE_USAGE, "device null: %s must be from %g to %g, not '%s'", item,
                        keys[key].least, keys[key].most, value);
    }
    return STATUS_OK;
}

static enum status null_spec_parse(struct null_device *null, const char *spec)
{
    char *rest;
    for (size_t i = 0; i < NULL_NUMBERS; i++)
        null->number[i] = keys[i].otherwise;
    null->spec = strdup(spec ? spec : "");
    if (!null->spec)
        return fail_memory("a device");
    for (char *item = strtok_r(null->spec, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        TRY(parse_item(null, item));
    if (!null->in)
        return STATUS_OK;
    TRY(source_open_sound(null->in, true, &null->source));
    null->number[NULL_RATE] = null->source->format.rate;
    null->number[NULL_CHANNELS] =
        fmax(null->number[NULL_CHANNELS], (double)null->source->format.channels);
    return STATUS_OK;
}

enum { IDLE_NS = 1000000 /* between calls without a step */, LATE_NS = 1000000000, FIRST_NS = 1 };

static struct null_device null_devices[NULL_DEVICES]; /* in use, in the order of enumeration */

/* Synchronizes the devices whose calls are made in turn. */
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

/* Waits until no device that takes turns has an earlier call. Clocks not yet started are at 0. */
static void wait_for_turn(struct null_device *null, int64_t due)
{
    pthread_mutex_lock(&turns.lock);
    null->due = due;
    pthread_cond_broadcast(&turns.changed);
    while (!is_next(null) && !atomic_load(&null->leaving))
        pthread_cond_wait(&turns.changed, &turns.lock);
    pthread_mutex_unlock(&turns.lock);
}

static void null_take_turns(struct null_device *null, bool takes)
{
    pthread_mutex_lock(&turns.lock);
    null->takes_turns = takes;
    null->due = 0;
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
}

/* Time when a frame has passed, in seconds of the device's clock. */
static double seconds_of(const struct null_device *null, uint64_t frame)
{
    double before = 1 / ((double)null->rate * (1 + 1e-6 * null->number[NULL_DRIFT]));
    double after = 1 / ((double)null->rate * (1 + 1e-6 * null->number[NULL_AFTER]));
    double step = null->number[NULL_STEP], at = (double)frame;
    return step > 0 && at > step ? step * before + (at - step) * after : at * before;
}

/* ---- its thread ---- */

/* Fills the input with sound, then silence. Returns false if the file cannot be read. */
static bool fill(struct null_device *null, size_t frames)
{
    size_t got = 0;
    if (!null->source)
        return true;
    /* Do not read again after the end: then a signal to stop would be an error. */
    if (!null->has_ended &&
        source_read(null->source, null->input.data, frames, &got) != STATUS_OK && !stop_requested())
        return false;
    null->has_ended = got < frames;
    for (size_t c = 0; c < null->input.channels; c++)
        memset(null->input.data[c] + got, 0, (frames - got) * sizeof(float));
    return true;
}

/* Waits until the call that begins with frame `at` is due. `begun`: monotonic time of frame 0. */
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

/* Monotonic time of frame 0, if frame `at` is at time `now`. */
static int64_t begun_before(const struct null_device *null, uint64_t at, int64_t now)
{
    double pace = null->number[NULL_PACE];
    return pace > 0 ? now - (int64_t)(1e9 * seconds_of(null, at) / pace) : now;
}

/* Changes the rate at frame `at`. `begun` is adapted so that time does not jump. */
static void turn_rate(struct null_device *null, uint64_t at, int64_t *begun)
{
    int64_t before = begun_before(null, at, *begun);
    null->rate = (uint32_t)null->number[NULL_TO];
    *begun += begun_before(null, at, *begun) - before;
}

/* Waits a little, since no step runs. Returns the monotonic time of frame 0 if `at` were now. */
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

/* Makes one call. Returns true if a step ran. Sets *whole to false if writing the output failed. */
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
        filled = frames; /* the frames are kept until a step has used them */
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

static enum status null_thread_start(struct null_device *null)
{
    null_take_turns(null, null->number[NULL_PACE] == 0);
    null->started = thread_start(&null->thread, "halo null", THREAD_AS_CALLER, run, null) == 0;
    if (null->started)
        return STATUS_OK;
    null_take_turns(null, false);
    return fail(CAUSE_DEVICE, "cannot start a thread for a device");
}

static void null_thread_stop(struct null_device *null)
{
    pthread_mutex_lock(&turns.lock);
    atomic_store(&null->leaving, true);
    pthread_cond_broadcast(&turns.changed);
    pthread_mutex_unlock(&turns.lock);
    if (null->started)
        pthread_join(null->thread, NULL);
}

static size_t count; /* number of devices that were enumerated */

static enum status null_enumerate(const char *spec, struct device_list *list)
{
    struct device_host *host;
    struct device_row *row;
    if (count == NULL_DEVICES)
        return fail(CAUSE_DEVICE, "there are %d devices null at most", NULL_DEVICES);
    struct null_device *null = &null_devices[count++];
    TRY(null_spec_parse(null, spec));
    TRY(device_list_add_host(list, "null", &host));
    TRY(device_list_add(list, list->host_count - 1, "null", &row));
    row->channels_out = (size_t)null->number[NULL_CHANNELS];
    row->channels_in = null->source ? null->source->format.channels : row->channels_out;
    row->rate = null->number[NULL_RATE];
    row->default_in = row->default_out = true;
    return STATUS_OK;
}

/* ---- a stream ---- */

static enum status open_files(struct null_device *null, const struct device_target *target)
{
    size_t longest = (size_t)null->number[NULL_PERIOD];
    if (null->number[NULL_VARY] > null->number[NULL_PERIOD])
        longest = (size_t)null->number[NULL_VARY];
    struct sink_settings settings = {
        .path = null->out,
        .format = {.rate = (uint32_t)null->number[NULL_RATE], .channels = null->stream->out.opened},
        .sound_format = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
        .frames = FRAMES_UNKNOWN,
        .force = true,
    };
    if (channel_layout_count(target->request->layout_out) == settings.format.channels)
        settings.format.layout = target->request->layout_out;
    if (channel_layout_needs_extensible(settings.format.layout, settings.format.channels))
        settings.sound_format = SF_FORMAT_WAVEX | SF_FORMAT_FLOAT;
    if (null->source)
        TRY(block_init(&null->input, null->source->format.channels, longest, "a device"));
    if (!target->output)
        return STATUS_OK;
    TRY(block_init(&null->output, null->stream->out.opened, longest, "a device"));
    return null->out ? sink_open_sound(&settings, &null->sink) : STATUS_OK;
}

static enum status null_open(const struct device_target *target, struct device_stream *stream,
                             void **opened)
{
    struct null_device *null = *opened =
        &null_devices[count - 1]; /* the device that was enumerated last */
    const struct device_request *request = target->request;
    if (null->away > 0) {
        null->away--;
        return fail(CAUSE_DEVICE, "null is away");
    }
    if (request->rate && (double)request->rate != null->number[NULL_RATE])
        return fail(CAUSE_DEVICE, "null does not run at %u Hz; it supports %.0f", request->rate,
                    null->number[NULL_RATE]);
    if (null->number[NULL_PERIOD] == 0)
        null->number[NULL_PERIOD] = request->block ? (double)request->block : 256;
    null->stream = stream;
    stream->ordinary = null->number[NULL_PACE] != 1;
    TRY(open_files(null, target));
    null->leaving = null->gone = false;
    null->rate = (uint32_t)null->number[NULL_RATE];
    null->random = (unsigned)count;
    return null_thread_start(null);
}

static bool null_is_running(void *opened)
{
    struct null_device *null = opened;
    return !atomic_load(&null->gone);
}

static void null_describe(void *opened, struct device_info *info)
{
    struct null_device *null = opened;
    info->rate = (uint32_t)null->rate;
    info->is_deaf = true;
    const struct device_channels *in = &null->stream->in;
    if (null->source && in->count == null->source->format.channels && device_channels_are_first(in))
        info->layout_in = null->source->format.layout;
}

/* Replaces an existing file only if a step ran and all of its output was written. */
static enum status keep_output(struct null_device *null)
{
    if (null->broken)
        return STATUS_FAILED;
    return null->sink && null->written > 0 ? sink_commit(null->sink) : STATUS_OK;
}

static enum status null_close(void *opened)
{
    struct null_device *null = opened;
    null_thread_stop(null);
    if (null->started) {
        null->was_lost = null->gone;
        null->away = null->broken ? INFINITY : null->gone ? null->number[NULL_BACK] : 0;
    }
    enum status status = keep_output(null);
    sink_close(null->sink);
    null->sink = NULL;
    null->started = null->broken = false;
    null->written = 0;
    return status;
}

static void null_end(void)
{
    for (; count > 0; count--) {
        struct null_device *null = &null_devices[count - 1];
        source_close(null->source);
        block_free(&null->input);
        block_free(&null->output);
        free(null->spec);
        null->source = NULL;
        null->in = null->out = null->spec = NULL;
    }
}

const struct device_driver driver_null = {
    .name = "null",
    .spec = null_form,
    .enumerate = null_enumerate,
    .open = null_open,
    .is_running = null_is_running,
    .describe = null_describe,
    .close = null_close,
    .end = null_end,
    .only_named = true,
};
