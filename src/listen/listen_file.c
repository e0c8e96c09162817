#include "listen/listen_file.h"

#include "base/stop.h"
#include "listen/listen_match.h"
#include "listen/listen_script.h"
#include "live/live.h"
#include "live/player.h"

#include <math.h>
#include <stdio.h>

enum { BLOCK = 1024 };           /* frames; a switch in each at most */
static const double AHEAD = 0.5; /* seconds, of reading */

struct file_job {
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

static enum status open_region(struct file_job *job)
{
    const struct listen_options *options = job->options;
    const struct region_settings settings = {
        .path = options->sound,
        .allow_truncated = options->play.chain.settings.allow_truncated,
        .rate = options->play.device.rate,
        .from = options->from,
        .to = options->to,
    };
    enum status status = region_open(&settings, &job->region);
    if (status != STATUS_OK)
        return status;
    job->rate = job->region->format.rate;
    job->frames = options->play.seconds > 0
                      ? (uint64_t)llround(options->play.seconds * (double)job->rate)
                      : job->region->to - job->region->from;
    size_t choices = listen_options_choices(options);
    double isolated = options->play.fade + (double)BLOCK / (double)job->rate;
    if (options->script && choices == 0)
        return fail(STATUS_USAGE, "--script switches between masks, and there are none");
    return options->script ? listen_script_parse(options->script, choices, isolated, &job->script)
                           : STATUS_OK;
}

static enum status make_chain(struct file_job *job)
{
    const struct play_options *play = &job->options->play;
    const struct live_chain_request request = {
        .options = &play->chain,
        .stage = play->choosing,
        .others = play->others,
        .other_count = play->other_count,
        .format = job->region->format,
        .block = BLOCK,
        .adapt = listen_match_adapt,
        .adapt_context = &job->matching,
    };
    job->matching = (struct listen_match){
        .options = job->options, .region = job->region, .rate = job->rate, .chain = &job->chain};
    return live_chain_init(&job->chain, &request);
}

/* Reads on from the region's start. */
static enum status make_player(struct file_job *job)
{
    enum status status = region_seek(job->region, job->region->from);
    if (status != STATUS_OK)
        return status;
    double ahead = AHEAD + 2 * (double)BLOCK / (double)job->rate;
    status = player_open(job->region, ahead, &job->player);
    job->region = NULL; /* the player's */
    return status;
}

static enum status make_live(struct file_job *job)
{
    const struct filter *filter = job->chain.filter;
    const struct live_settings settings = {
        .rate = job->rate,
        .ceiling = audio_from_db(job->options->play.ceiling_db),
        .gain = 1,
        .at_once = true,
    };
    enum status status = live_create(&settings, job->chain.filter, NULL, NULL, &job->live);
    if (status == STATUS_OK)
        status = block_init(&job->in, filter->inputs, BLOCK, "a passage");
    if (status == STATUS_OK)
        status = block_init(&job->out, filter->outputs, BLOCK, "a passage");
    return status;
}

static enum status open_sink(struct file_job *job)
{
    const struct stream_format format = {.rate = job->rate, .channels = job->chain.filter->outputs};
    const struct sound_traits exact = {.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    const struct sound_format_request request = {0};
    struct sink_settings settings = {
        .path = job->options->to_file,
        .input = job->options->sound,
        .format = format,
        .traits = &exact,
        .frames = (int64_t)job->frames,
        .dither = true,
        .force = job->options->play.force,
    };
    enum status status =
        sound_format_choose(settings.path, &request, &exact, &format, &settings.sound_format);
    return status == STATUS_OK ? sink_open_sound(&settings, &job->sink) : status;
}

/* The switch that falls into the block at hand. The file lacks the frames that the chain is
 * late, so that its times are the script's. */
static void switch_masks(struct file_job *job, uint64_t position)
{
    size_t choice;
    uint64_t at;
    struct choices *choices = job->chain.choices;
    if (!choices)
        return;
    (void)choices_poll(choices, &choice, &at);
    if (job->next == job->script.count || choices_are_switching(choices))
        return;
    const struct listen_script_switch *to = &job->script.switches[job->next];
    uint64_t frame =
        (uint64_t)llround(to->seconds * (double)job->rate) + job->chain.filter->latency;
    if (frame >= position + BLOCK)
        return;
    struct choices_way way = job->options->play.way;
    way.frames = to->seconds > 0 ? (uint64_t)(job->options->play.fade * (double)job->rate) : 0;
    choices_ask(choices, to->choice, to->seconds > 0 ? frame : 0, &way);
    (void)choices_poll(choices, &choice, &at);
    job->next++;
}

static enum status run_block(struct file_job *job, uint64_t position)
{
    uint64_t late = job->chain.filter->latency;
    size_t from = position >= late          ? 0
                  : late - position < BLOCK ? (size_t)(late - position)
                                            : BLOCK;
    uint64_t left = job->frames + late - position;
    size_t to = left < BLOCK ? (size_t)left : BLOCK;
    enum status status = player_wait(job->player, BLOCK);
    if (status != STATUS_OK)
        return status;
    player_read(job->player, job->in.data, BLOCK);
    switch_masks(job, position);
    live_process(job->live, (const float *const *)job->in.data, job->out.data);
    if (job->chain.filter->failure)
        return fail(STATUS_FAILED, "%s", job->chain.filter->failure);
    const float *heard[job->out.channels];
    for (size_t c = 0; c < job->out.channels; c++)
        heard[c] = job->out.data[c] + from;
    return to > from ? sink_write(job->sink, heard, to - from) : STATUS_OK;
}

static enum status run(struct file_job *job)
{
    enum status status = STATUS_OK;
    uint64_t end = job->frames + job->chain.filter->latency;
    for (uint64_t at = 0; at < end && status == STATUS_OK; at += BLOCK)
        status = stop_requested() ? STATUS_INTERRUPTED : run_block(job, at);
    return status == STATUS_OK ? sink_commit(job->sink) : status;
}

static enum status report(const struct file_job *job)
{
    double seconds = (double)job->frames / (double)job->rate;
    if (!job->options->play.json) {
        note("%s: %.3f s", job->options->to_file, seconds);
        return STATUS_OK;
    }
    json_t *object = json_pack("{s:s, s:I, s:f, s:I, s:o}", "event", "report", "frames",
                               (json_int_t)job->frames, "seconds", seconds, "rate",
                               (json_int_t)job->rate, "choices", listen_match_json(&job->matching));
    bool written = object && json_dumpf(object, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(object);
    return written ? STATUS_OK : fail(STATUS_FAILED, "cannot write the report");
}

enum status listen_to_file(const struct listen_options *options)
{
    struct file_job job = {.options = options};
    enum status status = open_region(&job);
    if (status == STATUS_OK)
        status = make_chain(&job);
    if (status == STATUS_OK)
        status = make_player(&job);
    if (status == STATUS_OK)
        status = make_live(&job);
    if (status == STATUS_OK)
        status = open_sink(&job);
    if (status == STATUS_OK)
        status = run(&job);
    if (status == STATUS_OK)
        status = report(&job);
    sink_close(job.sink);
    player_close(job.player);
    region_close(job.region);
    live_destroy(job.live);
    block_free(&job.in);
    block_free(&job.out);
    live_chain_free(&job.chain);
    listen_match_free(&job.matching);
    return status;
}
