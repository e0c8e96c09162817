/* Devices without hardware: input is silence or a sound file, output is discarded or written to a
 * sound file, in real time, faster, or as fast as possible. Xruns, jitter, varying periods, drift
 * of the clock, loss and return of the device, and another rate, can be injected. Files start with
 * the first block that a step runs, so that frame i of `out` is the result of frame i of `in`. They
 * are read and written on the driver's thread.
 *
 * Each spec is a device. Time is simulated unless it is real: two devices with pace=0 take their
 * calls in turn, by their clocks, so that the same calls come in the same order in each run. */
#include "live/driver_null.h"

#include "sound/channel_order.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static size_t count; /* of devices that were enumerated */

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
        &null_devices[count - 1]; /* a device is opened when it is known */
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

/* An existing file stays as it is unless a step ran and all of it was written. */
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
