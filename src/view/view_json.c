#include "base/json_text.h"
#include "signal/audio.h"
#include "view/view_kind.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct json_view {
    struct view view;
    _Atomic double seconds; /* of the stream, when it was shown last */
};

/* Infinity and NaN have no place in JSON. */
static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text ? json_text(text) : json_null();
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *meters(const struct meter_reading *readings, size_t channels)
{
    json_t *array = json_array();
    for (size_t c = 0; c < channels; c++) {
        json_t *meter = json_object();
        json_object_set_new(meter, "peak_db", real_or_null(audio_to_db(readings[c].peak)));
        json_object_set_new(meter, "rms_db", real_or_null(audio_to_db(readings[c].rms)));
        json_object_set_new(meter, "hold_db", real_or_null(audio_to_db(readings[c].hold)));
        json_object_set_new(meter, "clips", integer(readings[c].clips));
        json_array_append_new(array, meter);
    }
    return array;
}

static json_t *texts(const char *const *lines, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, json_text(lines[i]));
    return array;
}

static json_t *control(const struct live_status_control *control)
{
    if (!control->text)
        return json_null();
    return json_pack("{s:o, s:I, s:o, s:o, s:b, s:b}", "text", json_text(control->text), "stage",
                     (json_int_t)control->stage, "symbol", json_text(control->symbol), "value",
                     real_or_null(control->value), "bypassed", control->bypassed, "failed",
                     control->failed);
}

static void set_stream(json_t *root, const struct live_status *status)
{
    json_object_set_new(root, "seconds", real_or_null(status->seconds));
    json_object_set_new(root, "frames", integer(status->frames));
    json_object_set_new(root, "rate", integer(status->rate));
    json_object_set_new(root, "block", integer(status->block));
    json_object_set_new(root, "device", text_or_null(status->device));
    json_object_set_new(root, "backend", text_or_null(status->backend));
    json_object_set_new(root, "in", meters(status->in, status->inputs));
    json_object_set_new(root, "out",
                        status->hidden ? json_null() : meters(status->out, status->outputs));
}

static void set_choice(json_t *root, const struct live_status *status)
{
    json_object_set_new(root, "choices", texts(status->names, status->choices));
    json_object_set_new(root, "hidden", json_boolean(status->hidden));
    json_object_set_new(root, "chosen", status->hidden ? json_null() : integer(status->chosen));
    json_object_set_new(root, "switching", json_boolean(status->switching));
    json_object_set_new(root, "control", control(&status->control));
    json_object_set_new(root, "gain_db", real_or_null(status->gain_db));
    json_object_set_new(root, "muted", json_boolean(status->muted));
    json_object_set_new(root, "howled", json_boolean(status->fed_back));
    json_object_set_new(root, "reduction_db", real_or_null(status->reduction_db));
    json_object_set_new(root, "ceiling_db", real_or_null(status->ceiling_db));
}

static void set_health(json_t *root, const struct live_status *status)
{
    json_object_set_new(root, "load_now", real_or_null(status->load_now));
    json_object_set_new(root, "load_p99", real_or_null(status->load_p99));
    json_object_set_new(root, "load_worst", real_or_null(status->load_worst));
    json_object_set_new(root, "late", integer(status->late));
    json_object_set_new(root, "lost", integer(status->lost));
    json_object_set_new(root, "latency", integer(live_status_latency(status)));
    json_object_set_new(root, "latency_input", integer(status->latency_input));
    json_object_set_new(root, "latency_mask", integer(status->latency_mask));
    json_object_set_new(root, "latency_plugins", integer(status->latency_plugins));
    json_object_set_new(root, "latency_output", integer(status->latency_output));
    json_object_set_new(root, "latency_adapter", integer(status->latency_adapter));
    json_object_set_new(root, "recording", text_or_null(status->recording));
    json_object_set_new(root, "recorded", real_or_null(status->recorded));
    json_object_set_new(root, "osc_refused", integer(status->osc_refused));
    json_object_set_new(root, "lines", texts(status->lines, status->line_count));
}

/* A line at a time, whichever thread prints. */
static void print_object(json_t *root)
{
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(root);
    if (!text)
        return;
    puts(text);
    fflush(stdout);
    free(text);
}

static void json_show(struct view *view, const struct live_status *status)
{
    atomic_store(&((struct json_view *)view)->seconds, status->seconds);
    json_t *root = json_object();
    json_object_set_new(root, "event", json_string("status"));
    set_stream(root, status);
    set_choice(root, status);
    set_health(root, status);
    print_object(root);
}

static void json_message(struct view *view, const char *text)
{
    json_t *root = json_object();
    json_object_set_new(root, "event", json_string("message"));
    json_object_set_new(root, "seconds",
                        json_real(atomic_load(&((struct json_view *)view)->seconds)));
    json_object_set_new(root, "text", json_text(text));
    print_object(root);
}

static enum status json_open(struct view **result)
{
    struct json_view *view = calloc(1, sizeof *view);
    if (!view)
        return fail_memory("the view");
    *result = &view->view;
    return STATUS_OK;
}

const struct view_kind view_json = {
    .open = json_open,
    .show = json_show,
    .message = json_message,
    .interval = 1,
};
