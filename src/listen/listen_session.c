#include "listen/listen_session.h"

#include "base/stop.h"
#include "signal/audio.h"
#include "sound/sound_format.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TICK = 25 };                               /* ms between updates */
static const double AHEAD = 2, TAIL_MEASURED = 2; /* seconds: to read ahead; of a mask's tail */
static const double STEP = 1, PAGE = 10;          /* seconds of a seek */

/* ---- sound and device at one rate ---- */

enum status listen_session_open_region(struct listen_session *session, uint32_t rate)
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
    TRY(region_open(&settings, &session->region));
    return stated_layout_apply(options->play.layout, options->sound, &session->region->format);
}

bool listen_session_has_pipe(const struct listen_session *session)
{
    struct stat about;
    const char *path = session->options->sound;
    return strcmp(path, "-") == 0 ||
           (stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode));
}

/* The device uses the sound's rate if it can; otherwise the sound is resampled. */
static enum status open_ends(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    if (!options->sound || listen_session_has_pipe(session)) {
        TRY(stream_session_open_device(&session->stream, 0, 0));
        return options->sound ? listen_session_open_region(session, session->stream.info.rate)
                              : STATUS_OK;
    }
    TRY(listen_session_open_region(session, options->play.device.rate));
    char reason[300]; /* not shown: any rate will do */
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    uint32_t rate = session->region->format.rate;
    enum status status = stream_session_open_device(&session->stream, rate, 0);
    log_keep_again(&before);
    if (status == STATUS_OK)
        return STATUS_OK;
    TRY(stream_session_open_device(&session->stream, 0, 0));
    if (session->stream.info.rate == rate)
        return STATUS_OK;
    note("%s is resampled from %u Hz to the %u Hz of %s", options->sound, rate,
         session->stream.info.rate, session->stream.device_name);
    return listen_session_open_region(session, session->stream.info.rate);
}

/* ---- chain, player and step ---- */

enum status listen_session_make_chain(struct listen_session *session, size_t channels,
                                      struct live_chain *chain)
{
    struct stream_session *stream = &session->stream;
    const struct region *region = session->region;
    struct live_chain_request request =
        stream_session_chain_request(stream, region ? region->format.channels : channels);
    if (region)
        request.format.layout = region->format.layout;
    request.adapt = listen_match_adapt;
    request.adapt_context = &session->matching;
    request.twice = stream->blind;
    request.dry = !stream->blind;
    session->matching = (struct listen_match){.options = session->options,
                                              .region = session->region,
                                              .rate = stream->info.rate,
                                              .chain = chain};
    return live_chain_init(chain, &request);
}

enum status listen_session_make_player(struct listen_session *session)
{
    if (!session->region)
        return STATUS_OK;
    enum status status = player_open(session->region, AHEAD, &session->player);
    session->region = NULL; /* the player's */
    return status;
}

enum status listen_session_make_source(struct listen_session *session)
{
    const struct filter *filter = session->stream.chain.filter;
    double rate = (double)session->stream.info.rate;
    size_t tail = (size_t)fmin((double)session->stream.chain.taps, TAIL_MEASURED * rate);
    size_t recent = (size_t)(LISTEN_RECENT * rate) + tail;
    enum status status = listen_source_init(&session->source, session->player, session->stream.live,
                                            filter->inputs, recent);
    if (status == STATUS_OK && !session->player)
        status = block_init(&session->recent, filter->inputs, recent, "an input");
    return status;
}

struct live_settings listen_session_settings(struct listen_session *session)
{
    struct live_settings settings = stream_session_settings(&session->stream);
    settings.guard = settings.guard && !session->player;
    settings.gap = session->stream.blind ? &session->gap : NULL;
    return settings;
}

static enum status make_live(struct listen_session *session)
{
    const struct live_settings settings = listen_session_settings(session);
    TRY(stream_session_make_live(&session->stream, &settings, NULL, NULL));
    return listen_session_make_source(session);
}

/* ---- up and down ---- */

/* The commitment is shown before the first sound. */
static enum status begin(struct listen_session *session)
{
    const struct play_options *play = &session->options->play;
    struct stream_session *stream = &session->stream;
    snprintf(stream->keys, sizeof stream->keys,
             "1-9 mask  space dry  arrows seek  [ ] gain  m mute%s  p picture  q leave",
             live_controls_keys(&stream->controls));
    device_report_grants(&stream->info);
    if (!stream->chain.choices && stream->chain.stages.count > 0)
        note("without a mask the dry sound (space) is not matched in loudness");
    if (stream->blind) {
        TRY(listen_switch_settle(session, listen_trial_choice(session)));
        TRY(listen_trial_commit(session));
        if (!play->json) /* stays in the terminal, beside the key at the end */
            note("SHA-256 of key, choices and settings: %s", session->trial.test->key.commitment);
    }
    TRY(view_open(play_options_view(play), play->interval, &stream->view));
    if (stream->blind) {
        if (play->json)
            view_message(stream->view, "SHA-256 of key, choices and settings: %s",
                         session->trial.test->key.commitment);
        listen_match_show(&session->matching, stream->view);
        listen_trial_go_on(session);
    }
    device_run(stream->device, listen_source_step, &session->source);
    return STATUS_OK;
}

static enum status session_open(struct listen_session *session,
                                const struct listen_options *options)
{
    *session = (struct listen_session){.options = options, .wanted = SIZE_MAX};
    session->stream.options = &options->play;
    session->stream.blind = listen_options_test(options);
    TRY(listen_trial_open(session));
    TRY(open_ends(session));
    TRY(listen_session_make_chain(session, session->stream.info.channels_in,
                                  &session->stream.chain));
    TRY(stream_session_match_outputs(&session->stream, session->stream.info.rate,
                                     "the masks make"));
    TRY(listen_session_make_player(session));
    TRY(make_live(session));
    return begin(session);
}

static enum status session_close(struct listen_session *session)
{
    bool stopped = stream_session_stop(&session->stream);
    free(session->picture);
    listen_trial_close(session);
    if (!stopped)
        return STATUS_FAILED;
    listen_source_free(&session->source);
    block_free(&session->recent);
    player_close(session->player);
    region_close(session->region);
    stream_session_free(&session->stream);
    listen_match_free(&session->matching);
    return session->stream.closed;
}

/* ---- keys ---- */

static void seek(struct listen_session *session, double seconds)
{
    double rate = (double)session->stream.info.rate;
    double at = (double)player_position(session->player) + seconds * rate;
    player_seek(session->player, (uint64_t)llround(fmax(0, at)));
}

/* False: not a key that seeks. */
static bool seek_by_key(struct listen_session *session, int key)
{
    static const struct {
        int key;
        double seconds;
    } moves[] = {
        {VIEW_KEY_LEFT, -STEP},     {VIEW_KEY_RIGHT, STEP},    {VIEW_KEY_DOWN, -PAGE},
        {VIEW_KEY_UP, PAGE},        {VIEW_KEY_PAGE_UP, -PAGE}, {VIEW_KEY_PAGE_DOWN, PAGE},
        {VIEW_KEY_HOME, -INFINITY},
    };
    for (size_t i = 0; i < sizeof moves / sizeof *moves && session->player; i++)
        if (moves[i].key == key) {
            seek(session, moves[i].seconds);
            return true;
        }
    return false;
}

/* The dry sound as a choice: 0, and space, which also goes back. False: not such a key, or there
 * are no choices. */
static bool choose_dry_by_key(struct listen_session *session, int key)
{
    const struct live_chain *chain = &session->stream.chain;
    if (!chain->choices || session->stream.blind || (key != ' ' && key != '0'))
        return false;
    size_t dry = chain->choice_count;
    size_t now = session->wanted != SIZE_MAX ? session->wanted : choices_asked(chain->choices);
    if (now != dry)
        session->before_dry = now;
    listen_switch_to(session, key == ' ' && now == dry ? session->before_dry : dry);
    return true;
}

static void handle_key(struct listen_session *session, int key)
{
    struct stream_session *stream = &session->stream;
    if (stream->leaving || listen_trial_key(session, key) || seek_by_key(session, key) ||
        choose_dry_by_key(session, key) || stream_session_key(stream, key))
        return;
    if (key == 'p' && session->options->blind > 0) /* its letters are not these masks */
        view_message(stream->view, "no plot in a blind ranking");
    else if (key == 'p')
        listen_show_picture(session, !session->picture);
    if (stream->blind || key < '1' || key > '9')
        return;
    size_t choice = (size_t)(key - '1');
    if (choice >= stream->chain.choice_count) {
        view_message(stream->view, "there is no mask %zu", choice + 1);
        return;
    }
    listen_switch_to(session, choice);
}

static void wait_for_keys(struct listen_session *session, int milliseconds)
{
    struct pollfd fd = {.fd = view_key_fd(session->stream.view), .events = POLLIN};
    bool end = fd.fd < 0;
    int key;
    (void)poll(&fd, 1, milliseconds);
    listen_switch_update(session); /* counts what was heard before the key */
    listen_trial_update(session);
    while ((key = view_key(session->stream.view)) != VIEW_KEY_NONE)
        handle_key(session, key);
    if (end && listen_trial_runs(session)) {
        view_warning(session->stream.view, "no more input: the test ends here");
        session->input_ended = true;
        listen_trial_stop(session);
    }
}

/* ---- while it runs ---- */

static void update(struct listen_session *session)
{
    const char *failure = session->player ? player_failure(session->player) : NULL;
    listen_source_update(&session->source);
    listen_switch_update(session);
    listen_trial_update(session);
    stream_session_update(&session->stream);
    if (failure)
        view_warning(session->stream.view, "%s", failure);
}

static enum status run(struct listen_session *session)
{
    for (;;) {
        if (stream_session_time_is_up(&session->stream))
            listen_trial_stop(session);
        if (stream_session_is_over(&session->stream))
            return STATUS_OK;
        enum device_state state = device_state(session->stream.device);
        if (state != DEVICE_RUNNING) {
            listen_trial_stop(session);
            return fail(CAUSE_DEVICE, "the device %s %s", session->stream.device_name,
                        state == DEVICE_LOST ? "is lost"
                                             : "has another rate now; begin again with it");
        }
        TRY(listen_follow_device(session));
        wait_for_keys(session, TICK);
        update(session);
        listen_show(session);
    }
}

enum status listen_session_run(const struct listen_options *options)
{
    struct listen_session session;
    enum status status = session_open(&session, options);
    if (status == STATUS_OK) {
        status = run(&session);
        stream_session_halt(&session.stream);
        update(&session);
        stream_session_read_meters(&session.stream);
        view_close(session.stream.view); /* before the report is printed */
        session.stream.view = NULL;
        enum status reported = listen_trial_finish(&session);
        if (reported == STATUS_OK)
            reported = listen_report(&session);
        status = status == STATUS_OK ? reported : status;
        if (status == STATUS_OK && session.input_ended && !listen_trial_has_answers(&session))
            status = fail(CAUSE_OTHER, "nothing was judged: the input of keys ended before the "
                                       "first answer");
    }
    enum status closed = session_close(&session);
    status = status == STATUS_OK ? closed : status;
    return status == STATUS_OK && stop_requested() ? STATUS_INTERRUPTED : status;
}
