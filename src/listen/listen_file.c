#include "base/json_text.h"
#include "base/options.h"
#include "base/stop.h"
#include "chain/report.h"
#include "listen/listen_match.h"
#include "listen/listen_options.h"
#include "live/live.h"
#include "live/player.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the switches of --script ---- */

static const double SCRIPT_SECONDS_MOST = 1e9;

/* Parses a choice; the first is A, a or 1. */
static bool parse_choice(const char *text, size_t choices, size_t *choice)
{
    *choice = choices;
    if (strcmp(text, "dry") == 0)
        return true;
    if (!text[0] || text[1])
        return false;
    char first = isdigit((unsigned char)text[0]) ? '1' : 'A';
    int number = toupper((unsigned char)text[0]) - first;
    *choice = (size_t)number;
    return number >= 0 && *choice < choices;
}

static enum status parse_switch(char *item, size_t choices, struct script_switch *to)
{
    char *colon = strchr(item, ':');
    if (!colon)
        return fail(CAUSE_USAGE, "--script is made of TIME:CHOICE such as 5s:B, not '%s'", item);
    if (!parse_choice(colon + 1, choices, &to->choice))
        return fail(CAUSE_USAGE, "--script: there is no choice '%s'; there are A to %c, and dry",
                    colon + 1, (char)('A' + choices - 1));
    *colon = '\0';
    return options_parse_seconds("script", item, 0, SCRIPT_SECONDS_MOST, &to->seconds);
}

enum status listen_script_parse(const char *text, size_t choices, double apart,
                                struct listen_script *script)
{
    char item[64];
    script->count = 0;
    script->has_dry = false;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (script->count == LISTEN_SCRIPT_MOST || length >= sizeof item)
            return fail(CAUSE_USAGE, "--script takes up to %d switches such as 5s:B",
                        LISTEN_SCRIPT_MOST);
        snprintf(item, sizeof item, "%.*s", (int)length, text);
        struct script_switch *to = &script->switches[script->count++];
        TRY(parse_switch(item, choices, to));
        script->has_dry |= to->choice == choices;
        text += length;
    }
    for (size_t i = 1; i < script->count; i++) {
        double before = script->switches[i - 1].seconds, now = script->switches[i].seconds;
        if (now - before < apart)
            return fail(CAUSE_USAGE,
                        "--script: %g s comes too early after %g s; a switch takes %.3f s", now,
                        before, apart);
    }
    return STATUS_OK;
}

enum {
    BLOCK = 1024, /* frames; at most one switch in each block */
};

static const double AHEAD = 0.5; /* seconds to read ahead */

struct listen_render {
    const struct listen_options *options;
    struct listen_script script;
    size_t next; /* index of the next switch of the script */
    struct region *region;
    struct listen_match matching;
    struct live_chain chain;
    struct player *player;
    struct live *live;
    struct block in, out;
    struct sink *sink;
    struct stream_format format; /* format of the sound */
    uint32_t rate;
    uint64_t frames; /* frames to write */
};

/* ---- opening ---- */

static uint64_t frame_of(const struct listen_render *render, double seconds)
{
    return (uint64_t)llround(seconds * (double)render->rate);
}

/* Chooses the length of the file so that each mask of the script is heard. If the script goes on
 * after the first pass, the region repeats until the last mask has had a whole pass. */
static enum status choose_length(struct listen_render *render)
{
    const struct listen_script *script = &render->script;
    const double seconds = render->options->play.seconds;
    const double last = script->count > 0 ? script->switches[script->count - 1].seconds : 0;
    const uint64_t length = render->region->to - render->region->from;
    uint64_t at = frame_of(render, last), passes = at < length ? 1 : 1 + (at + length - 1) / length;
    render->frames = seconds > 0 ? frame_of(render, seconds) : passes * length;
    if (at >= render->frames)
        return fail(CAUSE_USAGE, "--script switches at %g s, but --seconds ends the file at %g s",
                    last, seconds);
    if (seconds <= 0 && passes > 1)
        note("%s repeats, %llu passes of %.3f s, since the script switches at %g s",
             render->options->sound, (unsigned long long)passes,
             (double)length / (double)render->rate, last);
    return STATUS_OK;
}

static enum status open_region(struct listen_render *render)
{
    const struct listen_options *options = render->options;
    TRY(listen_options_open_region(options, options->play.device.rate, &render->region));
    render->format = render->region->format;
    render->rate = render->format.rate;
    size_t choices = listen_options_choices(options);
    double apart = options->play.fade + (double)BLOCK / (double)render->rate;
    if (options->script && choices == 0)
        return fail(CAUSE_USAGE, "--script switches between masks, and there are none");
    if (options->script)
        TRY(listen_script_parse(options->script, choices, apart, &render->script));
    if (render->script.has_dry && options->sound_count > 0)
        return fail(CAUSE_USAGE, "--script: several sounds have no dry sound");
    return choose_length(render);
}

static enum status make_chain(struct listen_render *render)
{
    const struct play_options *play = &render->options->play;
    struct live_chain_request request = {
        .options = &play->chain,
        .stage = play->choosing,
        .others = play->others,
        .other_count = play->other_count,
        .format = render->region->format,
        .block = BLOCK,
        .adapt = listen_match_adapt,
        .adapt_context = &render->matching,
        .dry = render->script.has_dry,
    };
    render->matching = (struct listen_match){.options = render->options,
                                             .region = render->region,
                                             .frames = render->frames,
                                             .rate = render->rate,
                                             .chain = &render->chain};
    listen_match_sounds(&render->matching, &request);
    return live_chain_init(&render->chain, &request);
}

static enum status make_player(struct listen_render *render)
{
    double ahead = AHEAD + 2 * (double)BLOCK / (double)render->rate;
    enum status status = player_open(render->region, ahead, &render->player);
    render->region = NULL; /* the player owns it */
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
    struct stream_format format = render->format;
    format.channels = render->chain.filter->outputs;
    format.layout = render->chain.layout;
    const struct sound_traits exact = {.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    const struct sound_format_request request = {0};
    struct sink_settings settings = {
        .path = render->options->to_file,
        .format = format,
        .frames = (int64_t)render->frames,
        .dither = DITHER_AUTO,
        .force = render->options->play.force,
    };
    enum status status =
        sound_format_choose(settings.path, &request, &exact, &format, &settings.sound_format);
    return status == STATUS_OK ? sink_open_sound(&settings, &render->sink) : status;
}

/* ---- the blocks ---- */

/* Makes the script's switch if it is in the current block. The file omits the chain's latency, so
 * that its times are those of the script. */
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
    uint64_t frame = frame_of(render, to->seconds) + render->chain.filter->latency;
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
        return fail(CAUSE_OTHER, "%s", render->chain.filter->failure);
    const float *heard[render->out.channels];
    for (size_t c = 0; c < render->out.channels; c++)
        heard[c] = render->out.data[c] + from;
    return to > from ? sink_write(render->sink, heard, to - from) : STATUS_OK;
}

static enum status run_blocks(struct listen_render *render)
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
    json_t *object = json_pack(
        "{s:s, s:I, s:f, s:I, s:o, s:o}", "event", "report", "frames", (json_int_t)render->frames,
        "seconds", seconds, "rate", (json_int_t)render->rate, "choices",
        listen_match_json(&render->matching), "dry", listen_match_dry_json(&render->matching));
    int error = json_write(object, JSON_COMPACT, stdout);
    return error ? fail(cause_of_errno(error),
                        "cannot write the report: %s; the sound is complete in %s", strerror(error),
                        render->options->to_file)
                 : STATUS_OK;
}

enum status listen_to_file(const struct listen_options *options)
{
    struct listen_render render = {.options = options};
    enum status status;
    if ((status = open_region(&render)) || (status = make_chain(&render)) ||
        (status = make_player(&render)) || (status = make_live(&render)) ||
        (status = open_sink(&render)) || (status = run_blocks(&render)))
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
