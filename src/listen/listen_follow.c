/* halo listen on a device whose rate changes. */
#include "listen/listen_session.h"

#include <math.h>

/* The player of the old rate gives its place; *seconds is where it was. */
static enum status open_sound(struct listen_session *session, double *seconds)
{
    uint32_t before = session->stream.chain.request.format.rate;
    if (!session->player)
        return STATUS_OK;
    *seconds = (double)player_position(session->player) / (double)before;
    player_close(session->player);
    session->player = NULL;
    return listen_session_open_region(session, session->stream.info.rate);
}

/* What belongs to the old rate alone; the chain goes on being shown until another one is there. */
static void free_old(struct listen_session *session)
{
    listen_source_free(&session->source);
    session->source = (struct listen_source){0};
    block_free(&session->recent);
    listen_show_picture(session, false);
}

/* Sound and chain of the device's rate. On failure the chain may be freed. */
static enum status make_new(struct listen_session *session, struct live_chain *chain,
                            double *seconds)
{
    TRY(open_sound(session, seconds));
    TRY(listen_session_make_chain(session, session->stream.chain.filter->inputs, chain));
    return listen_session_make_player(session);
}

/* On failure the session's chain stays. */
static enum status exchange_chain(struct listen_session *session, double *seconds)
{
    struct stream_session *stream = &session->stream;
    uint32_t before = stream->chain.request.format.rate, rate = stream->info.rate;
    struct live_chain chain = {0};
    enum status status = make_new(session, &chain, seconds);
    if (status != STATUS_OK) {
        live_chain_free(&chain);
        return status;
    }
    struct live_settings settings = listen_session_settings(session);
    settings.begin =
        (uint64_t)llround((double)live_frames(stream->live) * (double)rate / (double)before);
    return stream_session_exchange(stream, &chain, &settings);
}

/* On failure the old masks stay with the old chain, for the report. */
static enum status make_again(struct listen_session *session)
{
    struct listen_match old = session->matching;
    double seconds = 0;
    free_old(session);
    session->matching = (struct listen_match){0};
    enum status status = exchange_chain(session, &seconds);
    if (status != STATUS_OK) {
        listen_match_free(&session->matching);
        session->matching = old;
        return status;
    }
    listen_match_free(&old);
    session->matching.chain = &session->stream.chain;
    session->measured_at = 0;
    if (session->player)
        player_seek(session->player,
                    (uint64_t)llround(seconds * (double)session->stream.info.rate));
    return listen_session_make_source(session);
}

enum status listen_follow_device(struct listen_session *session)
{
    struct stream_session *stream = &session->stream;
    uint32_t before = stream->chain.request.format.rate, rate = stream->info.rate;
    if (rate == before || stream->leaving)
        return STATUS_OK;
    if (listen_trial_runs(session)) {
        listen_trial_stop(session);
        return fail(CAUSE_DEVICE, "the test ends: the device's rate is %u Hz now, no longer %u",
                    rate, before);
    }
    stream_session_halt(stream);
    if (stream->stuck || (session->player && listen_session_has_pipe(session)))
        return fail(CAUSE_DEVICE,
                    "the device's rate is %u Hz now, no longer %u, and %s cannot be "
                    "read again",
                    rate, before, stream->stuck ? "the sound" : session->options->sound);
    TRY(make_again(session));
    view_warning(stream->view, "the rate is %u Hz now, no longer %u", rate, before);
    device_run(stream->device, listen_source_step, &session->source);
    return STATUS_OK;
}
