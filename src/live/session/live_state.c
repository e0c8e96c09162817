#include "live/session/live_state.h"

#include "base/json_text.h"
#include "chain/stage_mix.h"

#include <math.h>
#include <string.h>

/* Null if other values than the points are valid, too. */
static json_t *points_json(const struct plugin_port *port)
{
    if (!port->is_enumeration || port->point_count == 0)
        return json_null();
    json_t *points = json_array();
    for (size_t i = 0; i < port->point_count; i++)
        json_array_append_new(points,
                              json_pack("{s:f, s:o}", "value", (double)port->points[i].value,
                                        "label", json_text(port->points[i].label)));
    return points;
}

static json_t *control_json(const struct stage_control *control)
{
    static const char *const kinds[] = {[STAGE_CONTROL_OWN] = "port",
                                        [STAGE_CONTROL_MIX] = "mix",
                                        [STAGE_CONTROL_WET] = "wet",
                                        [STAGE_CONTROL_BYPASS] = "bypass"};
    const struct plugin_port *port = control->port;
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:b, s:b, s:b, s:o, s:s}", "symbol",
        json_text(port->symbol), "name",
        json_text(port->name ? port->name : port->symbol + (port->symbol[0] == '@')), "unit",
        json_text(port->unit), "least", json_finite((double)control->range.minimum), "most",
        json_finite((double)control->range.maximum), "default", (double)control->range.initial,
        "value", (double)control->value, "toggle", port->is_toggle, "integer", port->is_integer,
        "logarithmic", port->is_logarithmic, "points", points_json(port), "kind",
        kinds[control->kind]);
}

static json_t *controls_json(const struct live_controls *controls, size_t stage)
{
    json_t *array = json_array();
    for (size_t i = 0; i < controls->count; i++)
        if (controls->controls[i].stage == stage)
            json_array_append_new(array, control_json(&controls->controls[i]));
    return array;
}

/* The bands of an equaliser; null: the stage is none. */
static json_t *eq_json(const struct live_chain *chain, size_t stage)
{
    const struct eq_bands *bands = live_chain_bands(chain, stage);
    if (!bands)
        return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < bands->count; i++) {
        const struct eq_band *band = &bands->bands[i];
        json_array_append_new(array, json_pack("{s:s, s:f, s:f, s:f}", "kind",
                                               eq_band_kind_of(band->kind)->name, "hz", band->hertz,
                                               "db", band->db, "q", band->q));
    }
    return json_pack("{s:f, s:o}", "preamp", bands->preamp, "bands", array);
}

/* The name of a plugin or of a mask, or else the stage's own words. */
static const char *name_of(const struct stream_session *stream, size_t index, bool chooses)
{
    const struct live_chain *chain = &stream->chain;
    const struct stage_info info = stage_describe(&chain->stages.stages[index]);
    if (chooses)
        return chain->names[choices_asked(chain->choices) % (chain->choice_count + 1)];
    return info.name ? info.name : info.id ? info.id : chain->stages.stages[index].text;
}

static json_t *stage_json(const struct stream_session *stream, size_t index)
{
    const struct live_chain *chain = &stream->chain;
    const struct stage *stage = &chain->stages.stages[index];
    bool chooses = chain->choice_count > 0 && index == chain->request.stage;
    size_t choice = chooses ? choices_asked(chain->choices) % chain->choice_count : 0;
    return json_pack("{s:s, s:o, s:o, s:I, s:b, s:b, s:o, s:o}", "option", stage->ops->option,
                     "text", json_text(live_chain_text(chain, index, choice)), "name",
                     json_text(name_of(stream, index, chooses)), "taps",
                     (json_int_t)stage_describe(stage).taps, "chooses", chooses, "failed",
                     stage->mixed && stage_mix_is_left_out(stage->mixed), "eq",
                     eq_json(chain, index), "controls", controls_json(&stream->controls, index));
}

static json_t *stages_json(const struct stream_session *stream)
{
    json_t *array = json_array();
    for (size_t i = 0; i < stream->chain.stages.count; i++)
        json_array_append_new(array, stage_json(stream, i));
    return array;
}

/* Without a folder there are no presets. */
static json_t *presets_json(void)
{
    struct preset_names names;
    char reason[TASK_REASON];
    json_t *array = json_array();
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = preset_names_init(&names);
    log_keep_again(&before);
    for (size_t i = 0; status == STATUS_OK && i < names.count; i++)
        json_array_append_new(array, json_text(names.names[i]));
    preset_names_free(&names);
    return array;
}

json_t *live_state_chain(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    const struct live_chain *chain = &stream->chain;
    bool hidden = stream->blind;
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:b, s:o, s:f, s:f, s:f}", "event",
                     "chain", "rate", (json_int_t)stream->info.rate, "block",
                     (json_int_t)chain->filter->block, "inputs", (json_int_t)chain->filter->inputs,
                     "outputs", (json_int_t)chain->filter->outputs, "stages",
                     hidden ? json_null() : stages_json(stream), "choices",
                     hidden ? json_null() : json_texts(chain->names, chain->choice_count),
                     "presets", presets_json(), "can_undo", live_edit_can_undo(session), "blind",
                     live_edit_blind_json(session), "gain_least", STREAM_GAIN_LEAST_DB, "gain_most",
                     STREAM_GAIN_MOST_DB, "ceiling_least", STREAM_CEILING_LEAST_DB);
}
