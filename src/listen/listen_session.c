#include "listen/listen_session.h"

#include "signal/audio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PERIOD_MOST = 1 << 13 };                   /* frames of a block */
static const double AHEAD = 2, TAIL_MEASURED = 2; /* seconds: read ahead; of a mask's memory */

/* ---- a sound and a device of one rate ---- */

static enum status open_device(struct listen_session *session, uint32_t rate, size_t outputs)
{
    struct device_request request = session->options->play.device;
    if (rate)
        request.rate = rate;
    if (outputs && !request.output_map_count)
        request.channels_out = outputs;
    enum status status = device_open(&request, &session->device);
    if (status != STATUS_OK)
        return status;
    device_info(session->device, &session->info);
    device_describe(&session->info, session->device_name, sizeof session->device_name);
    return status;
}

static enum status open_region(struct listen_session *session, uint32_t rate)
{
    const struct listen_options *options = session->options;
    const struct region_settings settings = {
        .path = options->sound,
        .allow_truncated = options->play.chain.settings.allow_truncated,
        .rate = rate,
        .from = options->from,
        .to = options->to,
    };
    region_close(session->region);
    session->region = NULL;
    return region_open(&settings, &session->region);
}

/* A pipe cannot be opened once more, at another rate. */
static bool is_pipe(const char *path)
{
    struct stat about;
    return strcmp(path, "-") == 0 ||
           (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

/* At the sound's rate, or without a word at none. */
static enum status try_rate(struct listen_session *session, uint32_t rate)
{
    char reason[300];
    log_capture(reason, sizeof reason);
    enum status status = open_device(session, rate, 0);
    log_capture(NULL, 0);
    return status;
}

/* The device has the sound's rate where it can; else the sound is brought to the device's. */
static enum status open_ends(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    uint32_t asked = options->play.device.rate;
    if (!options->sound || is_pipe(options->sound)) {
        enum status status = open_device(session, 0, 0);
        bool wanted = status == STATUS_OK && options->sound;
        return wanted ? open_region(session, session->info.rate) : status;
    }
    enum status status = open_region(session, asked);
    if (status != STATUS_OK || try_rate(session, session->region->format.rate) == STATUS_OK)
        return status;
    status = open_device(session, 0, 0);
    uint32_t rate = session->region->format.rate;
    if (status != STATUS_OK || session->info.rate == rate)
        return status;
    note("%s is resampled from %u to the %u Hz of %s", options->sound, rate, session->info.rate,
         session->device_name);
    return open_region(session, session->info.rate);
}

/* ---- what lies between ---- */

/* The block is the device's period, if it keeps to one. */
static size_t block_of(const struct listen_session *session)
{
    const struct device_info *info = &session->info;
    bool usable = !info->varies && info->period <= PERIOD_MOST;
    return usable ? info->period : session->options->play.device.block;
}

static enum status make_chain(struct listen_session *session)
{
    const struct play_options *play = &session->options->play;
    size_t channels =
        session->region ? session->region->format.channels : session->info.channels_in;
    const struct live_chain_request request = {
        .options = &play->chain,
        .stage = play->choosing,
        .others = play->others,
        .other_count = play->other_count,
        .format = {.rate = session->info.rate, .channels = channels},
        .block = block_of(session),
        .priority = session->info.priority,
        .live = true,
        .adapt = listen_match_adapt,
        .adapt_context = &session->matching,
        .twice = listen_options_test(session->options),
    };
    session->matching = (struct listen_match){.options = session->options,
                                         .region = session->region,
                                         .rate = session->info.rate,
                                         .chain = &session->chain};
    return live_chain_init(&session->chain, &request);
}

/* A device that has too few channels for the chain is asked for more. */
static enum status level_match_outputs(struct listen_session *session)
{
    size_t outputs = session->chain.filter->outputs;
    if (session->info.channels_out >= outputs)
        return STATUS_OK;
    if (session->options->play.device.output_map_count)
        return fail(STATUS_FAILED, "the masks make %zu channels, --output-map names %zu", outputs,
                    session->info.channels_out);
    uint32_t rate = session->info.rate;
    device_close(session->device);
    session->device = NULL;
    return open_device(session, rate, outputs);
}

static enum status make_player(struct listen_session *session)
{
    if (!session->region)
        return STATUS_OK;
    enum status status = region_seek(session->region, session->region->from);
    if (status != STATUS_OK)
        return status;
    status = player_open(session->region, AHEAD, &session->player);
    session->region = NULL; /* the player's */
    return status;
}

static enum status make_source(struct listen_session *session)
{
    const struct filter *filter = session->chain.filter;
    double rate = (double)session->info.rate;
    size_t tail = (size_t)fmin((double)session->chain.taps, TAIL_MEASURED * rate);
    size_t recent = (size_t)(LISTEN_RECENT * rate) + tail;
    enum status status = listen_source_init(&session->source, session->player, &session->feed,
                                            filter->inputs, recent);
    if (status == STATUS_OK && !session->player)
        status = block_init(&session->recent, filter->inputs, recent, "an input");
    return status;
}

static enum status make_live(struct listen_session *session)
{
    const struct play_options *play = &session->options->play;
    const struct filter *filter = session->chain.filter;
    const struct live_settings settings = {
        .rate = session->info.rate,
        .ceiling = audio_from_db(play->ceiling_db),
        .gain = 1,
        .guard = !session->player,
        .stages = &session->chain.stages,
    };
    session->way = play->way;
    session->way.frames = (uint64_t)(play->fade * (double)session->info.rate);
    enum status status = live_create(&settings, session->chain.filter, NULL, NULL, &session->live);
    if (status == STATUS_OK)
        status = live_controls_init(&session->controls, &session->chain.stages, session->live);
    if (status == STATUS_OK)
        status = live_device_init(&session->feed, session->live, filter->inputs, filter->outputs,
                                  filter->block, session->info.channels_out);
    if (status == STATUS_OK)
        status = live_load_init(&session->load, filter->block, session->info.rate);
    return status == STATUS_OK ? make_source(session) : status;
}

/* ---- up and down ---- */

/* The draws, made before all this, are told of before the first sound. */
static enum status begin(struct listen_session *session)
{
    const struct play_options *play = &session->options->play;
    bool test = listen_options_test(session->options);
    enum status status = STATUS_OK;
    if (test)
        status = listen_switch_settle(session, listen_trial_choice(session));
    if (status == STATUS_OK)
        status = view_open(play_options_view(play), play->interval, &session->view);
    if (status != STATUS_OK)
        return status;
    if (test) {
        listen_notify(session, "SHA-256 of the key: %s", listen_trial_commitment(session));
        listen_trial_go_on(session);
    }
    device_run(session->device, listen_source_step, &session->source);
    return STATUS_OK;
}

enum status listen_session_open(struct listen_session *session,
                                const struct listen_options *options)
{
    *session = (struct listen_session){.options = options, .wanted = SIZE_MAX};
    enum status status = listen_trial_open(session);
    if (status == STATUS_OK)
        status = open_ends(session);
    if (status == STATUS_OK)
        status = make_chain(session);
    if (status == STATUS_OK)
        status = level_match_outputs(session);
    if (status == STATUS_OK)
        status = make_player(session);
    if (status == STATUS_OK)
        status = make_live(session);
    if (status != STATUS_OK)
        return status;
    device_report_grants(&session->info);
    return begin(session);
}

bool listen_session_close(struct listen_session *session)
{
    if (session->device && !device_stop(session->device))
        session->stuck = true;
    device_close(session->device);
    view_close(session->view);
    free(session->picture);
    listen_trial_close(session);
    if (session->stuck) {
        note("the device's thread hangs: leaving it behind");
        return false;
    }
    listen_source_free(&session->source);
    block_free(&session->recent);
    player_close(session->player);
    region_close(session->region);
    live_device_free(&session->feed);
    live_controls_free(&session->controls);
    live_destroy(session->live);
    live_load_free(&session->load);
    live_chain_free(&session->chain);
    listen_match_free(&session->matching);
    return true;
}

/* ---- meanwhile ---- */

static void take_event(struct listen_session *session, const struct live_event *event)
{
    if (event->what != LIVE_FEEDBACK)
        return;
    session->muted = true;
    listen_notify(session, "howling feedback at %.0f Hz: muted; turn something down, then press m",
                event->value);
}

void listen_session_update(struct listen_session *session)
{
    struct live_event event;
    struct filter *filter = session->chain.filter;
    const char *failure = session->player ? player_failure(session->player) : NULL;
    listen_source_update(&session->source);
    listen_switch_update(session);
    live_load_update(&session->load, &session->feed);
    while (live_took(session->live, &event))
        take_event(session, &event);
    if (filter->notice) {
        listen_notify(session, "%s", filter->notice);
        filter->notice = NULL;
    }
    if (session->controls.notice) {
        listen_notify(session, "%s", session->controls.notice);
        session->controls.notice = NULL;
    }
    if (failure)
        listen_notify(session, "%s", failure);
    device_info(session->device, &session->info);
}
