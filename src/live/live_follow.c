#include "live/live_session.h"

#include "chain/stage_mask.h"

#include <math.h>

enum { REASON = 512 };

/* ---- the chain for the new rate ---- */

/* A mask that was loaded while the stream ran. */
static enum status load_again(struct live_chain *chain, const struct live_chain *old, size_t choice,
                              const struct choices_way *way)
{
    struct mask *mask;
    if (!old->replaced[choice])
        return STATUS_OK;
    TRY(stage_mask_read(old->replaced[choice], &chain->mask_format,
                        &chain->request.options->settings, &mask));
    return live_chain_put(chain, choice, old->replaced[choice], mask, way);
}

/* The first choice is heard, and its exchange takes until the stream runs: it comes last. */
static enum status make_chain(const struct live_session *session, struct live_chain *chain)
{
    const struct stream_session *stream = &session->stream;
    const struct live_chain *old = &stream->chain;
    const struct live_chain_request request =
        live_session_chain_request(session, old->filter->inputs);
    TRY(live_chain_init(chain, &request));
    for (size_t i = old->choice_count; i-- > 0;)
        TRY(load_again(chain, old, i, &stream->way));
    return STATUS_OK;
}

/* ---- the stream with it ---- */

/* It is said at once, also where the failures of a reopening are captured: that one may succeed. */
static enum status judge_until_now(const struct live_session *session)
{
    char reason[REASON] = "";
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = proof_judge(&session->proof, LIVE_UNPROVEN);
    log_keep_again(&before);
    if (status != STATUS_OK)
        view_warning(session->stream.view, "%s", reason);
    return status;
}

/* Another rate counts other frames: the proof is reported, and begins anew. */
static void prove_until_now(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    if (!session->options->proof.wanted)
        return;
    live_session_prove(session, &stream->chain, live_frames(stream->live));
    if (stream->info.rate == stream->chain.request.format.rate)
        return;
    proof_print(&session->proof);
    enum status status = judge_until_now(session);
    session->unproven = session->unproven == STATUS_OK ? status : session->unproven;
    session->proof = (struct proof_result){0};
}

/* The time goes on: where the present frame is at the new rate, at the begin of a block. */
static uint64_t begin_at_rate(const struct live_session *session, const struct live_chain *chain,
                              uint32_t before)
{
    double frames = (double)live_frames(session->stream.live);
    double ratio = (double)session->stream.info.rate / (double)before;
    uint64_t begin = (uint64_t)llround(frames * ratio);
    return begin - begin % chain->filter->block;
}

static enum status follow(struct live_session *session, uint32_t before)
{
    struct stream_session *stream = &session->stream;
    struct live_chain chain;
    live_preset_start_again(session); /* first, since it may bring the chain to make again */
    enum status status = make_chain(session, &chain);
    if (status != STATUS_OK) {
        live_chain_free(&chain);
        return status;
    }
    prove_until_now(session);
    live_session_end_recordings(session);
    live_control_end_loads(session); /* of masks for the old rate */
    struct live_settings settings = live_session_settings(session);
    settings.begin = chain.since = begin_at_rate(session, &chain, before);
    return stream_session_exchange(stream, &chain, &settings);
}

/* A block that is no part of the period costs a block of delay, which a chain made for the period
 * does not have. A recording's log has one length of blocks, so it keeps it. */
static bool wants_other_block(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    size_t block = stream->chain.filter->block, period = stream->info.period;
    bool delays = live_adapter_latency(stream->live) > 0 || period % block != 0;
    return delays && !stream->info.varies && !stream->log &&
           live_session_chain_request(session, 1).block != stream->chain.request.block;
}

bool live_fits_device(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    return stream->info.rate == stream->chain.request.format.rate && !wants_other_block(session);
}

static void tell(const struct stream_session *stream, uint32_t rate, size_t block, bool records)
{
    if (stream->info.rate != rate)
        view_warning(stream->view, "the rate is %u Hz now, no longer %u%s", stream->info.rate, rate,
                     records ? ": the recording ends" : "");
    else
        view_message(stream->view, "blocks have %zu frames now, no longer %zu",
                     stream->chain.filter->block, block);
}

enum status live_follow_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    const struct device_info info = stream->info;
    uint32_t before = stream->chain.request.format.rate;
    size_t block = stream->chain.filter->block;
    bool records = session->recordings[0].recorder || session->recordings[1].recorder;
    device_info(stream->device, &stream->info);
    if (live_fits_device(session))
        return STATUS_OK;
    enum status status = follow(session, before);
    if (status == STATUS_OK)
        tell(stream, before, block, records);
    else
        stream->info = info;
    return status;
}
