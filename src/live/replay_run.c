/* A replay at work: a live step that hears a file. */
#include "live/replay.h"

#include "base/stop.h"

static enum status fail_log(const struct replay *replay, const char *problem)
{
    return fail(STATUS_FAILED, "cannot replay %s: %s", replay->path, problem);
}

struct run {
    struct replay *replay;
    struct live_chain *chain;
    struct live *live;
    struct block in;
    struct block out;
    size_t next; /* event */
    size_t choice;
    uint64_t at;
};

static void warn_of_load(const struct replay *replay, const struct logged *logged)
{
    note("%s: at %.3f s mask %s was read again; its present content is taken", replay->path,
         (double)logged->frame / (double)replay->format.rate, logged->text);
}

static bool is_of_mask(const struct logged *logged)
{
    return logged->kind == LOGGED_SWITCH || logged->kind == LOGGED_LOAD;
}

/* The step is to have it where it had it then. sent becomes false where too many wait. */
static enum status send(struct run *run, const struct logged *logged, bool *sent)
{
    const struct stage_list *stages = &run->chain->stages;
    struct live_event event = logged->event;
    struct stage_control control = {0};
    enum status status = STATUS_OK;
    if (logged->kind == LOGGED_CONTROL) {
        status = stage_controls_find(stages, event.stage, logged->text, &control);
        event.kind = control.kind;
        event.port = control.port_index;
    } else if (event.what > LIVE_STAGE_CONTROL &&
               (event.stage >= stages->count || !stages->stages[event.stage].mixed)) {
        return fail_log(run->replay, "it tells of a stage that it does not have");
    }
    *sent = status == STATUS_OK && live_send(run->live, &event);
    return status;
}

static enum status change_mask(struct run *run, const struct logged *logged)
{
    struct live_chain *chain = run->chain;
    enum status status = STATUS_OK;
    if (logged->choice >= chain->choice_count)
        return fail_log(run->replay, "it chooses a mask that it does not have");
    if (logged->kind == LOGGED_SWITCH)
        choices_ask(chain->choices, logged->choice, logged->frame, &logged->way);
    if (logged->kind == LOGGED_LOAD) {
        warn_of_load(run->replay, logged);
        status = live_chain_load(chain, logged->choice, logged->text, NULL);
    }
    if (status == STATUS_OK)
        (void)choices_poll(chain->choices, &run->choice, &run->at);
    return status;
}

/* What begins within the coming block. A switch waits for the one before, as it did then. */
static enum status take_events(struct run *run, uint64_t end)
{
    const struct replay *replay = run->replay;
    for (; run->next < replay->event_count; run->next++) {
        const struct logged *logged = &replay->events[run->next];
        bool sent = true;
        if (logged->frame >= end ||
            (is_of_mask(logged) &&
             (!run->chain->choices || choices_are_switching(run->chain->choices))))
            return STATUS_OK;
        enum status status =
            is_of_mask(logged) ? change_mask(run, logged) : send(run, logged, &sent);
        if (status != STATUS_OK || !sent)
            return status;
    }
    return STATUS_OK;
}

/* A plugin that failed then may do so again: it was left out, and is. */
static enum status look_for_failure(const struct run *run)
{
    const char *failure = run->chain->filter->failure;
    return failure && !run->replay->fails ? fail_log(run->replay, failure) : STATUS_OK;
}

static enum status run_block(struct run *run, struct source *source, struct sink *sink,
                             uint64_t *heard, bool *ended)
{
    size_t block = run->in.frames, got = 0;
    enum status status = source_read(source, run->in.data, block, &got);
    if (status != STATUS_OK)
        return status;
    block_silence(&run->in, got, block - got);
    *ended = got < block;
    if (run->chain->choices)
        (void)choices_poll(run->chain->choices, &run->choice, &run->at);
    status = take_events(run, *heard + block);
    if (status != STATUS_OK)
        return status;
    live_process(run->live, (const float *const *)run->in.data, run->out.data);
    status = look_for_failure(run);
    if (status != STATUS_OK)
        return status;
    struct live_event taken;
    while (live_receive(run->live, &taken))
        ;
    *heard += got;
    return got > 0 ? sink_write(sink, (const float *const *)run->out.data, got) : STATUS_OK;
}

enum status replay_run(struct replay *replay, struct live_chain *chain, struct source *source,
                       struct sink *sink, uint64_t *heard)
{
    struct run run = {.replay = replay, .chain = chain};
    const struct filter *filter = chain->filter;
    bool ended = false;
    *heard = 0;
    replay->settings.stages = &chain->stages;
    enum status status = live_create(&replay->settings, chain->filter, NULL, NULL, &run.live);
    if (status == STATUS_OK)
        status = block_init(&run.in, filter->inputs, filter->block, "a replay");
    if (status == STATUS_OK)
        status = block_init(&run.out, filter->outputs, filter->block, "a replay");
    while (status == STATUS_OK && !ended)
        status =
            stop_requested() ? STATUS_INTERRUPTED : run_block(&run, source, sink, heard, &ended);
    block_free(&run.in);
    block_free(&run.out);
    live_destroy(run.live);
    return status;
}
