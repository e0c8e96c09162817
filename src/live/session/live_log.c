#include "live/session/live_log.h"

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "signal/audio.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct live_log {
    FILE *file;
    struct atomic_file destination;
    char *path;
    bool failed;
    uint32_t rate;
};

const char *const live_log_events[] = {
    [LIVE_GAIN] = "gain",
    [LIVE_CEILING] = "ceiling",
    [LIVE_MUTE] = "mute",
    [LIVE_DRY] = "dry",
    [LIVE_RISE] = "rise",
    [LIVE_END] = "end",
    [LIVE_FEEDBACK] = "howl",
    [LIVE_TRY] = "try",
    [LIVE_STAGE_CONTROL] = "control",
    [LIVE_STAGE_ABSENT] = "absent",
    [LIVE_STAGE_FAILED] = "failed",
    [LIVE_STAGE_FAILED + 1] = NULL,
};

const char *const live_log_shapes[] = {
    [SWITCH_FADE] = "fade", [SWITCH_DUCK] = "duck", [SWITCH_GAP] = "gap", [SWITCH_GAP + 1] = NULL};

const char live_log_outage_name[] = "outage";
const char live_log_preset_name[] = "preset";

/* Writes a line and frees it. */
static void write_line(struct live_log *log, json_t *line)
{
    if (!log) {
        json_decref(line);
        return;
    }
    int error = log->failed ? 0 : json_write(json_incref(line), JSON_COMPACT, log->file);
    if (error) {
        warning("cannot write the log %s: %s; the log ends here", log->path, strerror(error));
        log->failed = true;
    }
    json_decref(line);
}

static json_t *set_up(const struct live_chain *chain, const struct live_settings *settings)
{
    const struct live_chain_request *request = &chain->request;
    json_t *stages = json_array(), *others = json_array();
    for (size_t i = 0; i < chain->stages.count; i++) {
        const struct stage *stage = &chain->stages.stages[i];
        json_array_append_new(stages,
                              json_pack("[s, o]", stage->ops->option, json_text(stage->text)));
    }
    for (size_t i = 0; i < request->other_count; i++)
        json_array_append_new(others, json_text(request->others[i]));
    const struct plugin_tempo *tempo = &request->options->settings.tempo;
    return json_pack(
        "{s:i, s:I, s:I, s:I, s:o, s:I, s:o, s:I, s:b, s:b, s:b, s:f, s:f, s:b, s:f, s:I, s:I, "
        "s:I, s:b, s:o, s:I, s:I, s:b}",
        "halo_log", 1, "rate", (json_int_t)settings->rate, "channels",
        (json_int_t)request->format.channels, "block", (json_int_t)request->block, "stages", stages,
        "choose_at", (json_int_t)request->stage, "others", others, "room",
        (json_int_t)request->capacity, "centre",
        request->options->settings.align == MASK_ALIGN_CENTRE, "in_double",
        request->options->settings.convolver.precision == PRECISION_DOUBLE, "causal",
        request->options->settings.align == MASK_ALIGN_CAUSAL, "ceiling_db",
        audio_to_db(settings->ceiling), "gain_db", audio_to_db(settings->gain), "muted",
        settings->muted, "bpm", tempo->bpm, "bar", (json_int_t)tempo->bar, "beat_unit",
        (json_int_t)tempo->unit, "first", (json_int_t)request->first + 1, "dry", settings->dry,
        "device", settings->device ? json_text(settings->device) : json_null(), "speakers",
        (json_int_t)request->format.layout.speakers, "ambisonic",
        (json_int_t)request->format.layout.ambisonic, "equalises", request->equalises);
}

enum status live_log_open(const char *path, bool force, const struct live_chain *chain,
                          const struct live_settings *settings, struct live_log **result)
{
    enum status status = STATUS_OK;
    struct live_log *log = calloc(1, sizeof *log);
    if (!log || !(log->path = strdup(path))) {
        free(log);
        return fail_memory("a log");
    }
    if ((status = atomic_file_open(&log->destination, path, force)))
        goto fail;
    if (!(log->file = fdopen(log->destination.fd, "w"))) {
        status = fail_errno(errno, "cannot write %s", path);
        goto fail;
    }
    int error = json_write(set_up(chain, settings), JSON_COMPACT, log->file);
    if (error) {
        status = fail_errno(error, "cannot write %s", path);
        goto fail;
    }
    log->rate = settings->rate;
    *result = log;
    return STATUS_OK;
fail:
    log->failed = true;
    live_log_close(log);
    return status;
}

enum status live_log_keep(struct live_log *log)
{
    return log ? atomic_file_keep(&log->destination, log->path) : STATUS_OK;
}

void live_log_close(struct live_log *log)
{
    if (!log)
        return;
    if (log->file && fclose(log->file) != 0 && !log->failed)
        warning("cannot write the log %s: %s", log->path, strerror(errno));
    if (!log->file && log->destination.fd >= 0)
        close(log->destination.fd);
    atomic_file_discard(&log->destination);
    free(log->path);
    free(log);
}

/* Values are written with full precision, so that a replay is exact. */
void live_log_event(struct live_log *log, const struct live_event *event, const char *symbol)
{
    json_int_t frame = (json_int_t)event->frame, stage = (json_int_t)event->stage + 1;
    const char *name = live_log_events[event->what];
    if (symbol)
        write_line(log,
                   json_pack("{s:I, s:s, s:I, s:o, s:f}", "frame", frame, "event", name, "stage",
                             stage, "control", json_text(symbol), "value", event->value));
    else if (event->what > LIVE_STAGE_CONTROL)
        write_line(log, json_pack("{s:I, s:s, s:f, s:I}", "frame", frame, "event", name, "value",
                                  event->value, "stage", stage));
    else
        write_line(log, json_pack("{s:I, s:s, s:f}", "frame", frame, "event", name, "value",
                                  event->value));
}

void live_log_switch(struct live_log *log, size_t choice, uint64_t at,
                     const struct choices_way *way)
{
    write_line(log, json_pack("{s:I, s:s, s:I, s:I, s:s}", "frame", (json_int_t)at, "event",
                              "choose", "choice", (json_int_t)choice + 1, "fade",
                              (json_int_t)way->frames, "shape", live_log_shapes[way->shape]));
}

void live_log_load(struct live_log *log, size_t choice, const char *text, uint64_t frame)
{
    write_line(log, json_pack("{s:I, s:s, s:I, s:o}", "frame", (json_int_t)frame, "event", "load",
                              "choice", (json_int_t)choice + 1, "mask", json_text(text)));
}

void live_log_bands(struct live_log *log, size_t stage, const char *text, uint64_t frame,
                    const struct choices_way *way)
{
    write_line(log,
               json_pack("{s:I, s:s, s:I, s:o, s:I, s:s}", "frame", (json_int_t)frame, "event",
                         "load", "stage", (json_int_t)stage + 1, "mask", json_text(text), "fade",
                         (json_int_t)way->frames, "shape", live_log_shapes[way->shape]));
}

void live_log_preset(struct live_log *log, const struct live_log_preset *preset)
{
    if (!log)
        return;
    json_t *line = set_up(preset->chain, preset->settings);
    json_t *own =
        json_pack("{s:I, s:s, s:I, s:I, s:s}", "frame", (json_int_t)preset->at, "event",
                  live_log_preset_name, "since", (json_int_t)preset->chain->since, "fade",
                  (json_int_t)preset->way.frames, "shape", live_log_shapes[preset->way.shape]);
    if (json_object_update(line, own) != 0) {
        json_decref(line);
        line = NULL;
    }
    json_decref(own);
    write_line(log, line);
}

void live_log_outage(struct live_log *log, const struct outage *outage)
{
    if (!log || !outage)
        return;
    json_t *line = ledger_outage_json(outage, log->rate);
    if (line && json_object_set_new(line, "event", json_string(live_log_outage_name)) != 0) {
        json_decref(line);
        line = NULL;
    }
    write_line(log, line);
}
