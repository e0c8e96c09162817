#include "live/live_session.h"

/* NULL: none. */
static const char *recording_at_work(const struct live_session *session)
{
    if (session->recorder && !session->record_ended)
        return session->options->record;
    return session->recorder_dry && !session->record_dry_ended ? session->options->record_dry
                                                               : NULL;
}

static struct live_status make_status(struct live_session *session)
{
    struct live_status status = stream_session_status(&session->stream, "halo live");
    status.device = session->stream.device ? status.device : "lost: waiting for it";
    status.fed_back = session->stream.fed_back;
    status.recording = recording_at_work(session);
    status.recorded = status.recording ? status.seconds : 0;
    status.osc_refused = session->osc ? osc_refused(session->osc) : 0;
    return status;
}

void live_show(struct live_session *session)
{
    stream_session_read_meters(&session->stream);
    const struct live_status status = make_status(session);
    view_show(session->stream.view, &status);
    if (session->osc)
        osc_send_meters(session->osc, &status);
}

/* ---- at the end ---- */

/* Blocks that a GPU was late with, or had failed at. */
static uint64_t blocks_from_cpu(const struct live_session *session)
{
    const struct filter *convolver = live_chain_convolver(&session->stream.chain);
    return convolver ? convolver_late(convolver) : 0;
}

static enum status report_json(const struct live_session *session, const struct live_status *status)
{
    const struct stream_session *stream = &session->stream;
    const struct live_load *load = &stream->load;
    json_t *own = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I}", "latency",
        (json_int_t)live_status_latency(status), "priority", (json_int_t)stream->info.priority,
        "interruptions", (json_int_t)session->interruptions, "blocks", (json_int_t)load->count,
        "from_cpu", (json_int_t)blocks_from_cpu(session), "late", (json_int_t)load->late, "lost",
        (json_int_t)load->lost, "load_mean", load->count ? load->sum / (double)load->count : 0,
        "load_p99", load->p99, "load_worst", load->worst, "limiter_most_db",
        -stream->reduction_most, "howls", (json_int_t)stream->feedback_count, "clips_in",
        (json_int_t)stream->clips_in);
    return stream_session_report_json(stream, status, own);
}

enum status live_report(struct live_session *session)
{
    const struct live_status status = make_status(session);
    const struct stream_session *stream = &session->stream;
    const struct live_load *load = &stream->load;
    double ms = 1e3 / (double)status.rate;
    size_t latency = live_status_latency(&status);
    if (stream->options->json)
        return report_json(session, &status);
    note("%.1f s of %s, blocks of %zu frames at %u Hz; latency %zu frames, %.1f ms", status.seconds,
         stream->device_name, status.block, status.rate, latency, ms * (double)latency);
    note("the step took %.1f %% of its time, p99 %.1f %%, at worst %.1f %%; %llu blocks late, "
         "%llu lost",
         load->count ? 100 * load->sum / (double)load->count : 0, 100 * load->p99,
         100 * load->worst, (unsigned long long)load->late, (unsigned long long)load->lost);
    live_load_print(load);
    if (blocks_from_cpu(session) > 0)
        note("blocks that the GPU was late with, and the CPU had: %llu",
             (unsigned long long)blocks_from_cpu(session));
    if (session->interruptions > 0 && stream->device)
        note("times that the device was lost and came back: %llu",
             (unsigned long long)session->interruptions);
    if (stream->feedback_count > 0)
        note("howls of feedback that were muted: %llu", (unsigned long long)stream->feedback_count);
    stream_session_report_end(stream);
    return STATUS_OK;
}
