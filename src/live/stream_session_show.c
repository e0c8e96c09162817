/* What a running stream shows, and its report. */
#include "live/stream_session.h"

#include "base/json_text.h"
#include "base/plural.h"
#include "chain/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

uint64_t stream_session_blocks_from_cpu(const struct live_chain *chain)
{
    const struct filter *convolver = live_chain_convolver(chain);
    return convolver ? convolver_late(convolver) : 0;
}

void stream_session_read_meters(struct stream_session *session)
{
    live_read_meters(session->live, session->in, session->out);
    session->clips_in = session->bad_in = 0;
    for (size_t c = 0; c < session->chain.filter->inputs; c++) {
        session->clips_in += session->in[c].clips;
        session->bad_in += session->in[c].bad;
    }
}

static const char *show_device(struct stream_session *session)
{
    if (session->stalled == 0)
        return session->device_name;
    snprintf(session->device_text, sizeof session->device_text, "%s, no answer for %.0f s",
             session->device_name, session->stalled);
    return session->device_text;
}

struct live_status stream_session_status(struct stream_session *session, const char *command)
{
    const struct live_chain *chain = &session->chain;
    const struct filter *convolver = live_chain_convolver(chain);
    const struct live_load *load = &session->load;
    size_t mask = live_chain_mask_latency(chain);
    bool is_wet = !session->dry && chain->choices;
    size_t chosen = is_wet ? live_chain_mask_of(chain, choices_asked(chain->choices)) + 1 : 0;
    return (struct live_status){
        .command = command,
        .seconds = stream_session_seconds(session),
        .frames = live_frames(session->live),
        .rate = session->info.rate,
        .block = session->info.varies ? chain->filter->block : session->info.period,
        .device = show_device(session),
        .inputs = chain->filter->inputs,
        .outputs = chain->filter->outputs,
        .in = session->in,
        .out = session->out,
        .choices = session->blind ? 0 : chain->choice_count,
        .names = chain->names,
        .chosen = chosen <= chain->choice_count ? chosen : 0, /* 0 as a choice, too */
        .without_dry = session->blind,
        .switching = chain->choices && choices_are_switching(chain->choices),
        .hidden = session->blind,
        .control = live_controls_show(&session->controls),
        .gain_db = session->gain_db,
        .muted = session->muted,
        .feedback_seen = session->feedback_seen,
        .reduction_db = -live_reduction(session->live),
        .ceiling_db = session->options->ceiling_db,
        .load_now = load->now,
        .load_p99 = load->p99,
        .load_worst = load->worst,
        .late = load->ledger.late,
        .lost = load->ledger.lost,
        .latency_input = session->info.input_latency,
        .latency_mask = mask,
        .latency_plugins = (size_t)chain->filter->latency - mask,
        .latency_output = session->info.output_latency,
        .latency_adapter = live_adapter_latency(session->live),
        .has_bridge = session->info.has_bridge,
        .latency_bridge = session->info.bridge_latency,
        .ratio_ppm = session->info.ratio_ppm,
        .backend = convolver ? convolver_backend(convolver) : NULL,
        .keys = session->keys,
    };
}

enum status stream_session_report_json(const struct stream_session *session,
                                       const struct live_status *status, json_t *own)
{
    json_t *object =
        json_pack("{s:s, s:o, s:I, s:f, s:I, s:I, s:I, s:I, s:s*, s:s}", "event", "report",
                  "device", json_text(session->device_name), "frames", (json_int_t)status->frames,
                  "seconds", status->seconds, "rate", (json_int_t)status->rate, "block",
                  (json_int_t)status->block, "inputs", (json_int_t)status->inputs, "outputs",
                  (json_int_t)status->outputs, "backend", status->backend, "precision",
                  precision_names[stage_list_precision(&session->chain.stages)]);
    json_t *end = json_pack("{s:I, s:o, s:o, s:o}", "unseen", (json_int_t)session->load.unseen,
                            "ledger", ledger_json(&session->load.ledger), "verdict",
                            ledger_verdict_json(&session->load.ledger, session->info.priority),
                            "stages", report_stages(&session->chain.stages));
    struct channel_layout in = session->chain.request.format.layout;
    json_object_set_new(object, "layout_in", report_layout(in, status->inputs));
    json_object_set_new(object, "layout", report_layout(session->chain.layout, status->outputs));
    int error = json_object_update(object, own) == 0 && json_object_update(object, end) == 0
                    ? json_write(json_incref(object), JSON_COMPACT, stdout)
                    : ENOMEM;
    json_decref(object);
    json_decref(own);
    json_decref(end);
    return error ? fail_errno(error, "cannot write the report") : STATUS_OK;
}

void stream_session_report_ledger(const struct stream_session *session)
{
    if (session->load.unseen > 0)
        warning("%llu block%s not watched: the control thread was late",
                (unsigned long long)session->load.unseen,
                session->load.unseen == 1 ? " was" : "s were");
    ledger_print(&session->load.ledger, session->info.priority);
}

void stream_session_report_end(const struct stream_session *session)
{
    report_print_stages(&session->chain.stages);
    if (session->clips_in > 0)
        warning("the input clipped %llu time%s", (unsigned long long)session->clips_in,
                plural_s(session->clips_in));
    if (session->bad_in > 0)
        warning("the input had %llu invalid sample%s (NaN or infinite)",
                (unsigned long long)session->bad_in, plural_s(session->bad_in));
    if (session->reduction_most > 0)
        warning("the limiter reduced up to %.1f dB", session->reduction_most);
}
