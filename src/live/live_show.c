#include "live/live_session.h"

#include "base/json_text.h"
#include "chain/report.h"
#include "signal/audio.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

void live_notify(struct live_session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    view_notify(session->view, format, arguments);
    va_end(arguments);
}

static void read_meters(struct live_session *session)
{
    live_read_meters(session->live, session->in, session->out);
    session->clips_in = 0;
    for (size_t c = 0; c < session->chain.filter->inputs; c++)
        session->clips_in += session->in[c].clips;
    session->reduction_most = fmax(session->reduction_most, live_reduction(session->live));
}

/* NULL: none. */
static const char *recording_at_work(const struct live_session *session)
{
    if (session->recorder && !session->record_ended)
        return session->options->record;
    return session->recorder_dry && !session->record_dry_ended ? session->options->record_dry
                                                               : NULL;
}

static struct live_status picture(struct live_session *session)
{
    const struct live_chain *chain = &session->chain;
    const struct filter *convolver = live_chain_convolver(chain);
    const struct live_load *load = &session->load;
    uint64_t frames = live_frames(session->live);
    size_t mask = live_chain_mask_latency(chain);
    const char *recording = recording_at_work(session);
    return (struct live_status){
        .command = "halo live",
        .seconds = (double)frames / (double)session->info.rate,
        .frames = frames,
        .rate = session->info.rate,
        .block = chain->filter->block,
        .device = session->device ? session->device_name : "lost: waiting for it",
        .inputs = chain->filter->inputs,
        .outputs = chain->filter->outputs,
        .in = session->in,
        .out = session->out,
        .choices = chain->choice_count,
        .names = chain->names,
        .chosen = session->dry || !chain->choices ? 0 : choices_asked(chain->choices) + 1,
        .switching = chain->choices && choices_are_switching(chain->choices),
        .control = live_controls_show(&session->controls),
        .gain_db = session->gain_db,
        .muted = session->muted,
        .fed_back = session->fed_back,
        .reduction_db = -live_reduction(session->live),
        .ceiling_db = session->options->play.ceiling_db,
        .load_now = load->now,
        .load_p99 = load->p99,
        .load_worst = load->worst,
        .late = load->late,
        .lost = load->lost,
        .latency_input = session->info.input_latency,
        .latency_mask = mask,
        .latency_plugins = (size_t)chain->filter->latency - mask,
        .latency_output = session->info.output_latency,
        .latency_adapter = live_device_latency(&session->feed),
        .backend = convolver ? convolver_backend(convolver) : NULL,
        .recording = recording,
        .recorded = recording ? (double)frames / (double)session->info.rate : 0,
        .osc_refused = session->osc ? osc_refused(session->osc) : 0,
        .keys = session->keys,
    };
}

void live_show(struct live_session *session)
{
    read_meters(session);
    const struct live_status status = picture(session);
    view_show(session->view, &status);
    if (session->osc)
        osc_send_meters(session->osc, &status);
}

/* ---- at the end ---- */

/* Blocks that a GPU was late with, or had failed at. */
static uint64_t blocks_from_cpu(const struct live_session *session)
{
    const struct filter *convolver = live_chain_convolver(&session->chain);
    return convolver ? convolver_late(convolver) : 0;
}

static enum status report_json(const struct live_session *session, const struct live_status *status)
{
    const struct live_load *load = &session->load;
    json_t *object = json_pack(
        "{s:s, s:o, s:I, s:f, s:I, s:I, s:I, s:I, s:s*, s:I, s:I, s:I}", "event", "report",
        "device", json_text(session->device_name), "frames", (json_int_t)status->frames, "seconds",
        status->seconds, "rate", (json_int_t)status->rate, "block", (json_int_t)status->block,
        "inputs", (json_int_t)status->inputs, "outputs", (json_int_t)status->outputs, "backend",
        status->backend, "latency", (json_int_t)live_status_latency(status), "priority",
        (json_int_t)session->info.priority, "interruptions", (json_int_t)session->interruptions);
    json_t *more =
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:o, s:o}", "blocks",
                  (json_int_t)load->count, "from_cpu", (json_int_t)blocks_from_cpu(session), "late",
                  (json_int_t)load->late, "lost", (json_int_t)load->lost, "load_mean",
                  load->count ? load->sum / (double)load->count : 0, "load_p99", load->p99,
                  "load_worst", load->worst, "limiter_most_db", -session->reduction_most, "howls",
                  (json_int_t)session->feedback_count, "clips_in", (json_int_t)session->clips_in, "ledger",
                  live_load_ledger(load), "stages", report_stages(&session->chain.stages));
    bool written = object && more && json_object_update(object, more) == 0 &&
                   json_dumpf(object, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF &&
                   fflush(stdout) == 0;
    json_decref(object);
    json_decref(more);
    return written ? STATUS_OK : fail(STATUS_FAILED, "cannot write the report");
}

enum status live_report(struct live_session *session)
{
    const struct live_status status = picture(session);
    const struct live_load *load = &session->load;
    double ms = 1e3 / (double)status.rate;
    size_t latency = live_status_latency(&status);
    if (session->options->play.json)
        return report_json(session, &status);
    note("%.1f s of %s, blocks of %zu frames at %u Hz; latency %zu frames, %.1f ms", status.seconds,
         session->device_name, status.block, status.rate, latency, ms * (double)latency);
    note("the step took %.1f %% of its time, p99 %.1f %%, at worst %.1f %%; %llu blocks late, "
         "%llu lost",
         load->count ? 100 * load->sum / (double)load->count : 0, 100 * load->p99,
         100 * load->worst, (unsigned long long)load->late, (unsigned long long)load->lost);
    live_load_print(load);
    if (blocks_from_cpu(session) > 0)
        note("blocks that the GPU was late with, and the CPU had: %llu",
             (unsigned long long)blocks_from_cpu(session));
    if (session->interruptions > 0 && session->device)
        note("times that the device was lost and came back: %llu",
             (unsigned long long)session->interruptions);
    if (session->feedback_count > 0)
        note("howls of feedback that were muted: %llu", (unsigned long long)session->feedback_count);
    report_print_stages(&session->chain.stages);
    if (session->reduction_most > 0)
        note("the limiter took off up to %.1f dB", session->reduction_most);
    return STATUS_OK;
}
