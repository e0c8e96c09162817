#include "listen/listen_file.h"

#include "base/json_text.h"
#include "base/options.h"
#include "base/stop.h"
#include "chain/report.h"
#include "listen/listen_match.h"
#include "listen/listen_script.h"
#include "live/live.h"
#include "live/player.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BLOCK = 1024, /* frames; at most one switch in each */
};

static const double AHEAD = 0.5; /* seconds to read ahead */

struct listen_render {
    const struct listen_options *options;
    struct listen_script script;
    size_t next; /* of its switches */
    struct region *region;
    struct listen_match matching;
    struct live_chain chain;
    struct player *player;
    struct live *live;
    struct block in, out;
    struct sink *sink;
    uint32_t rate;
    uint64_t frames; /* to write */
};

/* ---- up ---- */

static enum status open_region(struct listen_render *render)
{
    const struct listen_options *options = render->options;
    const struct region_settings settings = {
        .path = options->sound,
        .allow_truncated = options->play.chain.settings.allow_truncated,
        .rate = options->play.device.rate,
        .from = options->from,
        .to = options->to,
    };
    TRY(region_open(&settings, &render->region));
    render->rate = render->region->format.rate;
    render->frames = options->play.seconds > 0
                         ? (uint64_t)llround(options->play.seconds * (double)render->rate)
                         : render->region->to - render->region->from;
    size_t choices = listen_options_choices(options);
    double apart = options->play.fade + (double)BLOCK / (double)render->rate;
    if (options->script && choices == 0)
        return fail(STATUS_USAGE, "--script switches between masks, and there are none");
    return options->script ? listen_script_parse(options->script, choices, apart, &render->script)
                           : STATUS_OK;
}

static enum status make_chain(struct listen_render *render)
{
    const struct play_options *play = &render->options->play;
    const struct live_chain_request request = {
        .options = &play->chain,
        .stage = play->choosing,
        .others = play->others,
        .other_count = play->other_count,
        .format = render->region->format,
        .block = BLOCK,
        .adapt = listen_match_adapt,
        .adapt_context = &render->matching,
    };
    render->matching = (struct listen_match){.options = render->options,
                                             .region = render->region,
                                             .rate = render->rate,
                                             .chain = &render->chain};
    return live_chain_init(&render->chain, &request);
}

static enum status make_player(struct listen_render *render)
{
    double ahead = AHEAD + 2 * (double)BLOCK / (double)render->rate;
    enum status status = player_open(render->region, ahead, &render->player);
    render->region = NULL; /* the player's */
    return status;
}

static enum status make_live(struct listen_render *render)
{
    const struct filter *filter = render->chain.filter;
    const struct live_settings settings = {
        .rate = render->rate,
        .ceiling = audio_from_db(render->options->play.ceiling_db),
        .gain = 1,
        .at_once = true,
    };
    TRY(live_create(&settings, render->chain.filter, NULL, NULL, &render->live));
    TRY(block_init(&render->in, filter->inputs, BLOCK, "a region"));
    return block_init(&render->out, filter->outputs, BLOCK, "a region");
}

static enum status open_sink(struct listen_render *render)
{
    const struct stream_format format = {.rate = render->rate,
                                         .channels = render->chain.filter->outputs};
    const struct sound_traits exact = {.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    const struct sound_format_request request = {0};
    struct sink_settings settings = {
        .path = render->options->to_file,
        .format = format,
        .traits = &exact,
        .frames = (int64_t)render->frames,
        .dither = true,
        .force = render->options->play.force,
    };
    enum status status =
        sound_format_choose(settings.path, &request, &exact, &format, &settings.sound_format);
    return status == STATUS_OK ? sink_open_sound(&settings, &render->sink) : status;
}

/* ---- the blocks ---- */

/* The switch within the current block. The file omits the chain's latency, so that its times are
 * the script's. */
static void switch_masks(struct listen_render *render, uint64_t position)
{
    size_t choice;
    uint64_t at;
    struct choices *choices = render->chain.choices;
    if (!choices)
        return;
    (void)choices_poll(choices, &choice, &at);
    if (render->next == render->script.count || choices_are_switching(choices))
        return;
    const struct script_switch *to = &render->script.switches[render->next];
    uint64_t frame =
        (uint64_t)llround(to->seconds * (double)render->rate) + render->chain.filter->latency;
    if (frame >= position + BLOCK)
        return;
    struct choices_way way = render->options->play.way;
    way.frames =
        to->seconds > 0 ? (uint64_t)(render->options->play.fade * (double)render->rate) : 0;
    choices_ask(choices, to->choice, to->seconds > 0 ? frame : 0, &way);
    (void)choices_poll(choices, &choice, &at);
    render->next++;
}

static enum status run_block(struct listen_render *render, uint64_t position)
{
    uint64_t late = render->chain.filter->latency;
    size_t from = position >= late          ? 0
                  : late - position < BLOCK ? (size_t)(late - position)
                                            : BLOCK;
    uint64_t left = render->frames + late - position;
    size_t to = left < BLOCK ? (size_t)left : BLOCK;
    TRY(player_wait(render->player, BLOCK));
    player_read(render->player, render->in.data, BLOCK);
    switch_masks(render, position);
    live_process(render->live, (const float *const *)render->in.data, render->out.data);
    if (render->chain.filter->failure)
        return fail(STATUS_FAILED, "%s", render->chain.filter->failure);
    const float *heard[render->out.channels];
    for (size_t c = 0; c < render->out.channels; c++)
        heard[c] = render->out.data[c] + from;
    return to > from ? sink_write(render->sink, heard, to - from) : STATUS_OK;
}

static enum status run(struct listen_render *render)
{
    enum status status = STATUS_OK;
    uint64_t end = render->frames + render->chain.filter->latency;
    for (uint64_t at = 0; at < end && status == STATUS_OK; at += BLOCK)
        status = stop_requested() ? STATUS_INTERRUPTED : run_block(render, at);
    return status == STATUS_OK ? sink_commit(render->sink) : status;
}

static enum status report(const struct listen_render *render)
{
    double seconds = (double)render->frames / (double)render->rate;
    report_clipping(render->options->to_file, render->sink->clipped);
    if (!render->options->play.json) {
        note("%s: %.3f s", render->options->to_file, seconds);
        return STATUS_OK;
    }
    json_t *object =
        json_pack("{s:s, s:I, s:f, s:I, s:o}", "event", "report", "frames",
                  (json_int_t)render->frames, "seconds", seconds, "rate", (json_int_t)render->rate,
                  "choices", listen_match_json(&render->matching));
    int error = json_write(object, JSON_COMPACT, stdout);
    return error ? fail(STATUS_FAILED, "cannot write the report: %s; the sound is complete in %s",
                        strerror(error), render->options->to_file)
                 : STATUS_OK;
}

enum status listen_to_file(const struct listen_options *options)
{
    struct listen_render render = {.options = options};
    enum status status;
    if ((status = open_region(&render)) || (status = make_chain(&render)) ||
        (status = make_player(&render)) || (status = make_live(&render)) ||
        (status = open_sink(&render)) || (status = run(&render)))
        goto end;
    status = report(&render);
end:
    sink_close(render.sink);
    player_close(render.player);
    region_close(render.region);
    live_destroy(render.live);
    block_free(&render.in);
    block_free(&render.out);
    live_chain_free(&render.chain);
    listen_match_free(&render.matching);
    return status;
}
