/* A device without hardware: input is silence or a sound file, output is discarded or written to a
 * sound file, in real time, faster, or as fast as possible. Xruns, jitter, varying periods, loss
 * and return of the device can be injected. Files start with the first block that a step runs, so
 * that frame i of `out` is the result of frame i of `in`. They are read and written on the driver's
 * thread. */
#include "live/device_driver.h"

#include "base/decimal.h"
#include "base/monotonic.h"
#include "base/thread.h"
#include "sound/port.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDLE_NS = 1000000 /* between calls without a step */, LATE_NS = 1000000000 };

enum key { RATE, CHANNELS, PERIOD, PACE, JITTER, VARY, XRUN, LOSE, BACK, NUMBERS };

static const struct {
    const char *name;
    double least, most, otherwise;
} keys[NUMBERS] = {
    [RATE] = {"rate", 1000, 768000, 48000},
    [CHANNELS] = {"channels", 1, DEVICE_CHANNELS_MOST, 2},
    [PERIOD] = {"period", 1, DEVICE_FRAMES_MOST, 0}, /* 0: as --block */
    [PACE] = {"pace", 0, 1000, 1},                   /* 0: without a pause */
    [JITTER] = {"jitter", 0, 1000, 0},
    [VARY] = {"vary", 1, DEVICE_FRAMES_MOST, 0},
    [XRUN] = {"xrun", 1, 1e15, 0},
    [LOSE] = {"lose", 1, 1e15, 0},
    [BACK] = {"back", 0, 1e6, 0},
};

static const char form[] =
    "in=FILE, out=FILE, rate=HZ, channels=N, period=FRAMES, pace=TIMES (real time; 0: as fast as "
    "possible), jitter=MS, vary=FRAMES, xrun=FRAME, lose=FRAME and back=TRIES";

static struct {
    char *spec;
    double number[NUMBERS];
    const char *in, *out; /* paths, in `spec`; NULL: none */
    struct source *source;
    struct sink *sink;
    struct block input, output; /* a call's */
    struct device_stream *stream;
    pthread_t thread;
    bool started;
    atomic_bool leaving;
    atomic_bool gone; /* the device was lost */
    bool was_lost;    /* the previous stream; this one is not */
    double away;      /* times that opening will fail */
    uint64_t written; /* frames, to `sink` */
    bool broken;      /* a file failed: the device does not come back */
} null;

/* ---- the spec ---- */

static enum status parse_item(char *item)
{
    char *value = strchr(item, '=');
    if (value)
        *value++ = '\0';
    if (value && strcmp(item, "in") == 0)
        null.in = value;
    else if (value && strcmp(item, "out") == 0)
        null.out = value;
    else {
        size_t key = 0;
        while (key < NUMBERS && strcmp(item, keys[key].name) != 0)
            key++;
        if (key == NUMBERS || !value)
            return fail(STATUS_USAGE, "device null has no '%s'; it has %s", item, form);
        if (!decimal_parse(value, &null.number[key]) || null.number[key] < keys[key].least ||
            null.number[key] > keys[key].most)
            return fail(STATUS_USAGE, "device null: %s must be from %g to %g, not '%s'", item,
                        keys[key].least, keys[key].most, value);
    }
    return STATUS_OK;
}

static enum status parse_spec(const char *spec)
{
    char *rest;
    for (size_t i = 0; i < NUMBERS; i++)
        null.number[i] = keys[i].otherwise;
    null.spec = strdup(spec ? spec : "");
    if (!null.spec)
        return fail_memory("a device");
    for (char *item = strtok_r(null.spec, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        TRY(parse_item(item));
    if (!null.in)
        return STATUS_OK;
    TRY(source_open_sound(null.in, true, &null.source));
    null.number[RATE] = null.source->format.rate;
    null.number[CHANNELS] = fmax(null.number[CHANNELS], (double)null.source->format.channels);
    return STATUS_OK;
}

static enum status null_enumerate(const char *spec, struct device_list *list)
{
    struct device_host *host;
    struct device_row *row;
    TRY(parse_spec(spec));
    TRY(device_list_add_host(list, "null", &host));
    TRY(device_list_add(list, list->host_count - 1, "null", &row));
    row->channels_out = (size_t)null.number[CHANNELS];
    row->channels_in = null.source ? null.source->format.channels : row->channels_out;
    row->rate = null.number[RATE];
    row->default_in = row->default_out = true;
    return STATUS_OK;
}

/* ---- its thread ---- */

/* False: the file cannot be read. Silence follows its end. */
static bool fill(size_t frames)
{
    size_t got = 0;
    if (!null.source)
        return true;
    if (source_read(null.source, null.input.data, frames, &got) != STATUS_OK)
        return false;
    for (size_t c = 0; c < null.input.channels; c++)
        memset(null.input.data[c] + got, 0, (frames - got) * sizeof(float));
    return true;
}

static void wait_for_next(bool runs, size_t frames, int64_t *due)
{
    int64_t now = monotonic_ns();
    double pace = null.number[PACE];
    if (!runs) {
        *due = now;
        monotonic_sleep_until(now + IDLE_NS);
    } else if (pace > 0) {
        *due += (int64_t)(1e9 * (double)frames / (null.number[RATE] * pace));
        if (*due < now - LATE_NS)
            *due = now;
        double late = 1e6 * null.number[JITTER] * ((double)random() / RAND_MAX);
        monotonic_sleep_until(*due + (int64_t)late);
    }
}

static void *run(void *unused)
{
    size_t period = (size_t)null.number[PERIOD], other = (size_t)null.number[VARY];
    size_t frames = period, filled = 0;
    uint64_t at = 0, xrun = (uint64_t)null.number[XRUN], lose = (uint64_t)null.number[LOSE];
    int64_t due = monotonic_ns();
    while (!atomic_load(&null.leaving)) {
        bool runs = false, whole = filled == frames || fill(frames);
        filled = frames; /* kept until a step uses it */
        if (whole)
            runs = device_process(null.stream, null.source ? (const float **)null.input.data : NULL,
                                  null.output.channels ? null.output.data : NULL, frames,
                                  xrun && at >= xrun);
        if (runs && null.sink) {
            whole = sink_write(null.sink, (const float **)null.output.data, frames) == STATUS_OK;
            null.written += frames;
        }
        null.broken = !whole;
        if (runs) {
            xrun = at >= xrun ? 0 : xrun;
            at += frames;
            filled = 0;
        }
        if (!whole || (lose && at >= lose && !null.was_lost)) {
            atomic_store(&null.gone, true);
            break;
        }
        wait_for_next(runs, frames, &due);
        if (runs && other)
            frames = frames == period ? other : period;
    }
    return unused;
}

/* ---- a stream ---- */

static enum status open_files(const struct device_target *target)
{
    size_t longest = (size_t)null.number[PERIOD];
    if (null.number[VARY] > null.number[PERIOD])
        longest = (size_t)null.number[VARY];
    const struct sink_settings settings = {
        .path = null.out,
        .format = {.rate = (uint32_t)null.number[RATE], .channels = null.stream->out.opened},
        .sound_format = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
        .frames = FRAMES_UNKNOWN,
        .force = true,
    };
    if (null.source)
        TRY(block_init(&null.input, null.source->format.channels, longest, "a device"));
    if (!target->output)
        return STATUS_OK;
    TRY(block_init(&null.output, null.stream->out.opened, longest, "a device"));
    return null.out ? sink_open_sound(&settings, &null.sink) : STATUS_OK;
}

static enum status null_open(const struct device_target *target, struct device_stream *stream)
{
    const struct device_request *request = target->request;
    if (null.away > 0) {
        null.away--;
        return fail(STATUS_FAILED, "null is away");
    }
    if (request->rate && (double)request->rate != null.number[RATE])
        return fail(STATUS_FAILED, "null does not run at %u Hz; it supports %.0f", request->rate,
                    null.number[RATE]);
    if (null.number[PERIOD] == 0)
        null.number[PERIOD] = request->block ? (double)request->block : 256;
    null.stream = stream;
    stream->ordinary = null.number[PACE] != 1;
    TRY(open_files(target));
    null.leaving = null.gone = false;
    null.started = thread_start(&null.thread, "halo null", THREAD_AS_CALLER, run, NULL) == 0;
    return null.started ? STATUS_OK : fail(STATUS_FAILED, "cannot start a thread for a device");
}

static bool null_is_running(void)
{
    return !atomic_load(&null.gone);
}

static void null_describe(struct device_info *info)
{
    info->rate = (uint32_t)null.number[RATE];
}

/* An existing file stays as it is unless a step ran and all of it was written. */
static enum status keep_output(void)
{
    if (null.broken)
        return STATUS_FAILED;
    return null.sink && null.written > 0 ? sink_commit(null.sink) : STATUS_OK;
}

static enum status null_close(void)
{
    atomic_store(&null.leaving, true);
    if (null.started) {
        pthread_join(null.thread, NULL);
        null.was_lost = null.gone;
        null.away = null.broken ? INFINITY : null.gone ? null.number[BACK] : 0;
    }
    enum status status = keep_output();
    sink_close(null.sink);
    source_close(null.source);
    block_free(&null.input);
    block_free(&null.output);
    free(null.spec);
    null.sink = NULL;
    null.source = NULL;
    null.in = null.out = null.spec = NULL;
    null.started = null.broken = false;
    null.written = 0;
    return status;
}

const struct device_driver driver_null = {
    .name = "null",
    .spec = form,
    .enumerate = null_enumerate,
    .open = null_open,
    .is_running = null_is_running,
    .describe = null_describe,
    .close = null_close,
    .only_named = true,
};
