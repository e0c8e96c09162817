#include "base/json_text.h"
#include "signal/audio.h"
#include "view/view_kind.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct json_view {
    struct view view;
    _Atomic double seconds; /* of the stream, as last shown */
};

/* JSON has no infinity and no NaN. */
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
    for (size_t c = 0; c < channels; c++)
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o, s:o}", "peak_db",
                                        real_or_null(audio_to_db(readings[c].peak)), "rms_db",
                                        real_or_null(audio_to_db(readings[c].rms)), "hold_db",
                                        real_or_null(audio_to_db(readings[c].hold)), "clips",
                                        integer(readings[c].clips)));
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

static json_t *stream_fields(const struct live_status *status)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "event", "status", "seconds",
                     real_or_null(status->seconds), "frames", integer(status->frames), "rate",
                     integer(status->rate), "block", integer(status->block), "device",
                     text_or_null(status->device), "backend", text_or_null(status->backend), "in",
                     meters(status->in, status->inputs), "out",
                     status->hidden ? json_null() : meters(status->out, status->outputs));
}

static json_t *choice_fields(const struct live_status *status)
{
    return json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:b, s:o, s:o, s:b, s:b, s:o, s:o}", "preset",
        text_or_null(status->preset), "coming_preset", text_or_null(status->coming_preset),
        "choices", texts(status->names, status->choices), "hidden", status->hidden, "chosen",
        status->hidden ? json_null() : integer(status->chosen), "switching", status->switching,
        "control", control(&status->control), "gain_db", real_or_null(status->gain_db), "muted",
        status->muted, "howled", status->feedback_seen, "reduction_db",
        real_or_null(status->reduction_db), "ceiling_db", real_or_null(status->ceiling_db));
}

static json_t *health_fields(const struct live_status *status)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "load_now", real_or_null(status->load_now), "load_p99", real_or_null(status->load_p99),
        "load_worst", real_or_null(status->load_worst), "late",
        status->hidden ? json_null() : integer(status->late), "lost",
        status->hidden ? json_null() : integer(status->lost), "latency",
        integer(live_status_latency(status)), "latency_input", integer(status->latency_input),
        "latency_mask", integer(status->latency_mask), "latency_plugins",
        integer(status->latency_plugins), "latency_output", integer(status->latency_output),
        "latency_adapter", integer(status->latency_adapter), "latency_bridge",
        integer(status->latency_bridge), "ratio_ppm",
        status->has_bridge ? real_or_null(status->ratio_ppm) : json_null(), "recording",
        text_or_null(status->recording), "recorded", real_or_null(status->recorded), "osc_refused",
        integer(status->osc_refused), "lines", texts(status->lines, status->line_count));
}

/* One puts(), since any thread may print a message. */
static void print_object(json_t *root)
{
    char *text = json_line(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        return;
    puts(text);
    fflush(stdout);
    free(text);
}

static void json_show(struct view *view, const struct live_status *status)
{
    json_t *root = stream_fields(status);
    atomic_store(&((struct json_view *)view)->seconds, status->seconds);
    json_object_update_new(root, choice_fields(status));
    json_object_update_new(root, health_fields(status));
    print_object(root);
}

static void json_message(struct view *view, const char *text)
{
    print_object(json_pack("{s:s, s:f, s:o}", "event", "message", "seconds",
                           atomic_load(&((struct json_view *)view)->seconds), "text",
                           json_text(text)));
}

const struct view_kind view_json = {
    .size = sizeof(struct json_view),
    .show = json_show,
    .message = json_message,
    .interval = 1,
};
