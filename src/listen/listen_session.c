#include "listen/listen_session.h"

#include "base/plural.h"
#include "base/stop.h"
#include "plot/response_plot.h"
#include "signal/audio.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- display ---- */

enum { PICTURE_WIDTH = 78, PICTURE_HEIGHT = 14, LINES_MOST = PICTURE_HEIGHT + 16 };

/* Size of a plot that leaves room for the question and its keys, or for masks and levels. Returns
 * false if there is too little room. */
static bool fit_picture(const struct listen_session *session, size_t *width, size_t *height)
{
    enum { BESIDE = 9, MARGIN = 2 }; /* rows and columns for other text */
    const int rows = view_rows(session->stream.view) - BESIDE;
    const int columns = view_columns(session->stream.view) - MARGIN;
    *height = rows < PICTURE_HEIGHT ? (size_t)(rows > 0 ? rows : 0) : PICTURE_HEIGHT;
    *width = columns < PICTURE_WIDTH ? (size_t)(columns > 0 ? columns : 0) : PICTURE_WIDTH;
    return *height >= RESPONSE_PLOT_HEIGHT_LEAST && *width >= RESPONSE_PLOT_WIDTH_LEAST;
}

static enum status draw(struct listen_session *session)
{
    const struct response_plot_settings settings = {
        .width = session->picture_width,
        .height = session->picture_height,
        .rate = session->stream.info.rate,
        .braille = !session->options->play.json && strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
    struct mask *masks[LISTEN_CHOICES_MOST] = {NULL};
    size_t count = session->stream.chain.choice_count;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = listen_match_mask(&session->matching, i, &masks[i]);
    if (status == STATUS_OK)
        status = response_plot(&settings, (const struct mask *const *)masks, "ABCDEFGHI", count,
                               &session->picture);
    for (size_t i = 0; i < count; i++)
        mask_destroy(masks[i]);
    return status;
}

static void show_picture(struct listen_session *session, bool shown)
{
    free(session->picture);
    session->picture = NULL;
    if (!shown || session->stream.chain.choice_count == 0)
        return;
    if (!fit_picture(session, &session->picture_width, &session->picture_height))
        view_message(session->stream.view, "the screen is too small for a plot");
    else if (draw(session) != STATUS_OK)
        session->picture = NULL;
    for (char *end = session->picture; end && (end = strchr(end, '\n')); end++)
        *end = '\0'; /* the lines become separate texts */
}

/* Draws the plot again if the size of the screen has changed. */
static void keep_picture_whole(struct listen_session *session)
{
    size_t width, height;
    (void)fit_picture(session, &width, &height);
    if (session->picture && (width != session->picture_width || height != session->picture_height))
        show_picture(session, true);
}

static void put_time(char *text, size_t size, uint64_t frame, uint32_t rate)
{
    double seconds = (double)frame / (double)rate;
    unsigned minutes = (unsigned)(seconds / 60);
    snprintf(text, size, "%u:%04.1f", minutes, seconds - 60 * minutes);
}

static void put_loop(const struct listen_session *session, char *text, size_t size)
{
    char from[32], to[32];
    uint64_t ends[2];
    player_loop_ends(session->player, &ends[0], &ends[1]);
    put_time(from, sizeof from, ends[0], session->stream.info.rate);
    put_time(to, sizeof to, ends[1], session->stream.info.rate);
    snprintf(text, size, "%s to %s", from, to);
}

/* Writes text such as "voice.wav 0:03.2/0:05.0". */
static void put_place(const struct listen_session *session, char *text, size_t size)
{
    char at[80], to[32];
    const struct region *region = player_region(session->player);
    const char *slash = strrchr(region->name, '/');
    put_time(at, sizeof at, player_position(session->player), session->stream.info.rate);
    put_time(to, sizeof to, region->to, session->stream.info.rate);
    snprintf(text, size, "%s %s/%s", slash && region->sound_count == 1 ? slash + 1 : region->name,
             at, to);
    uint64_t ends[2];
    size_t length = strlen(text);
    player_loop_ends(session->player, &ends[0], &ends[1]);
    if (ends[0] == region->from && ends[1] == region->to)
        return;
    put_loop(session, at, sizeof at);
    snprintf(text + length, size - length, ", loop %s", at);
}

static const char *keys_of(const struct listen_session *session)
{
    if (session->trial.stopping)
        return "y stop the test  any other key continue";
    if (session->options->abx)
        return "a b x listen  1 X is A  2 X is B  Enter next  q stop  arrows seek  [ ] loop  < > gain  "
               "m mute  p picture";
    if (session->options->prefer)
        return "a b listen  1 A is better  2 B is better  0 neither  Enter next  q stop  arrows seek  "
               "[ ] loop  < > gain  m mute";
    if (session->options->blind)
        return session->trial.keys;
    return session->stream.keys;
}

static struct live_status make_status(struct listen_session *session, const char **lines)
{
    struct live_status status = stream_session_status(&session->stream, "halo listen");
    const struct stream_request *wanted = &session->stream.next[STREAM_SWITCH];
    if (wanted->is_asked) { /* the choice will sound soon */
        status.chosen = (wanted->choice + 1) % (session->stream.chain.choice_count + 1);
        status.switching = true;
    }
    if (session->player)
        status.latency_input = 0;
    status.without_dry = status.without_dry || session->options->sound_count > 0;
    status.lines = lines;
    status.line_count = listen_trial_lines(session, lines, &status.question_lines);
    const char *line = session->picture;
    for (size_t i = 0; line && i < session->picture_height; i++, line += strlen(line) + 1)
        lines[status.line_count++] = line;
    status.keys = keys_of(session);
    return status;
}

static void show(struct stream_session *stream)
{
    struct listen_session *session = (struct listen_session *)stream;
    const char *lines[LINES_MOST];
    char place[600];
    keep_picture_whole(session);
    struct live_status status = make_status(session, lines);
    if (session->player) {
        put_place(session, place, sizeof place);
        status.place = place; /* not a line: a screen reader would read each change */
        if (session->options->play.json)
            lines[status.line_count++] = place;
    }
    view_show(session->stream.view, &status);
}

static enum status report_json(const struct listen_session *session,
                               const struct live_status *status)
{
    const struct live_load *load = &session->stream.load;
    uint64_t missed = session->player ? player_missed(session->player) : 0;
    json_t *own = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o}", "blocks", (json_int_t)load->count, "late",
        (json_int_t)status->late, "lost", (json_int_t)status->lost, "missed", (json_int_t)missed,
        "late_switches", (json_int_t)atomic_load(&session->gap.late), "load_worst", load->worst,
        "limiter_most_db", -session->stream.reduction_most, "choices",
        listen_match_json(&session->matching), "dry", listen_match_dry_json(&session->matching));
    return stream_session_report_json(&session->stream, status, own);
}

static enum status report_session(struct listen_session *session)
{
    const char *lines[LINES_MOST];
    const struct live_status status = make_status(session, lines);
    if (session->options->play.json)
        return report_json(session, &status);
    void (*print)(const char *format, ...) = status.late + status.lost > 0 ? warning : note;
    print("%.1f s on %s, blocks of %zu frames at %u Hz; %llu block%s late, %llu lost",
          status.seconds, session->stream.device_name, status.block, status.rate,
          (unsigned long long)status.late, plural_s(status.late), (unsigned long long)status.lost);
    uint64_t late_switches = atomic_load(&session->gap.late);
    if (late_switches > 0)
        warning("%llu switch%s of the test had a longer pause than the others: the machine is too "
                "slow for these masks; the log has their trials",
                (unsigned long long)late_switches, late_switches == 1 ? "" : "es");
    stream_session_report_ledger(&session->stream);
    if (session->player && player_missed(session->player) > 0)
        warning("the disk was too slow: %llu frames were silent",
                (unsigned long long)player_missed(session->player));
    stream_session_report_end(&session->stream);
    return STATUS_OK;
}

enum { TICK = 25 }; /* ms between updates */
/* seconds to read ahead; seconds of a mask's tail that are measured */
static const double AHEAD = 2, TAIL_MEASURED = 2;
static const double STEP = 1, PAGE = 10; /* seconds that keys seek */

/* ---- opening sound and device, with one rate ---- */

static enum status open_region(struct listen_session *session, uint32_t rate)
{
    region_close(session->region);
    session->region = NULL;
    return listen_options_open_region(session->options, rate, &session->region);
}

static bool has_pipe(const struct listen_session *session)
{
    struct stat about;
    const struct string_list *sounds = &session->options->arguments;
    bool has = false;
    for (size_t i = 0; i < sounds->count; i++)
        has = has || strcmp(sounds->values[i], "-") == 0 ||
              (stat(sounds->values[i], &about) == 0 && !S_ISREG(about.st_mode) &&
               !S_ISDIR(about.st_mode));
    return has;
}

/* Opens the sound and the device. The device gets the sound's rate if it can; otherwise the sound
 * is resampled. */
static enum status open_ends(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    if (!options->sound || has_pipe(session)) {
        TRY(stream_session_open_device(&session->stream, 0, 0));
        return options->sound ? open_region(session, session->stream.info.rate) : STATUS_OK;
    }
    TRY(open_region(session, options->play.device.rate));
    char reason[300]; /* the failure is not displayed, since another rate is tried */
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
    return open_region(session, session->stream.info.rate);
}

/* ---- making chain, player and step ---- */

static enum status make_chain(struct listen_session *session, size_t channels,
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
    request.dry = !stream->blind && session->options->sound_count == 0;
    session->matching = (struct listen_match){.options = session->options,
                                              .region = session->region,
                                              .rate = stream->info.rate,
                                              .chain = chain};
    listen_match_sounds(&session->matching, &request);
    return live_chain_init(chain, &request);
}

static enum status make_player(struct listen_session *session)
{
    if (!session->region)
        return STATUS_OK;
    enum status status = player_open(session->region, AHEAD, &session->player);
    session->region = NULL; /* the player owns it */
    return status;
}

static enum status make_source(struct listen_session *session)
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

static struct live_settings settings_of(struct listen_session *session)
{
    struct live_settings settings = stream_session_settings(&session->stream);
    settings.guard = settings.guard && !session->player;
    settings.gap = session->stream.blind ? &session->gap : NULL;
    return settings;
}

static enum status make_live(struct listen_session *session)
{
    const struct live_settings settings = settings_of(session);
    TRY(stream_session_make_live(&session->stream, &settings, NULL, NULL));
    return make_source(session);
}

/* ---- when the device's rate changes ---- */

/* Where a player was, in seconds. */
struct listen_place {
    double at;
    double from, to; /* ends of the loop */
};

/* Opens the sound at the new rate, in place of the player. */
static enum status open_sound(struct listen_session *session, struct listen_place *place)
{
    uint32_t before = session->stream.chain.request.format.rate;
    if (!session->player)
        return STATUS_OK;
    uint64_t from, to;
    player_loop_ends(session->player, &from, &to);
    *place = (struct listen_place){(double)player_position(session->player) / (double)before,
                                   (double)from / (double)before, (double)to / (double)before};
    player_close(session->player);
    session->player = NULL;
    return open_region(session, session->stream.info.rate);
}

static void go_to(struct listen_session *session, const struct listen_place *place)
{
    const struct region *region = player_region(session->player);
    double rate = (double)session->stream.info.rate;
    uint64_t to = (uint64_t)llround(place->to * rate);
    player_loop(session->player, (uint64_t)llround(place->from * rate),
                to < region->to ? to : region->to);
    player_seek(session->player, (uint64_t)llround(place->at * rate));
}

/* Frees what fits only the old rate. The chain stays until there is a new one, since it is
 * displayed. */
static void free_old(struct listen_session *session)
{
    listen_source_free(&session->source);
    session->source = (struct listen_source){0};
    block_free(&session->recent);
    show_picture(session, false);
}

/* Makes sound, chain and player for the device's rate. On failure the caller frees the chain. */
static enum status make_new(struct listen_session *session, struct live_chain *chain,
                            struct listen_place *place)
{
    TRY(open_sound(session, place));
    TRY(make_chain(session, session->stream.chain.filter->inputs, chain));
    return make_player(session);
}

/* Replaces the chain. On failure the session keeps its chain. */
static enum status exchange_chain(struct listen_session *session, struct listen_place *place)
{
    struct stream_session *stream = &session->stream;
    uint32_t before = stream->chain.request.format.rate, rate = stream->info.rate;
    struct live_chain chain = {0};
    enum status status = make_new(session, &chain, place);
    if (status != STATUS_OK) {
        live_chain_free(&chain);
        return status;
    }
    struct live_settings settings = settings_of(session);
    settings.begin =
        (uint64_t)llround((double)live_frames(stream->live) * (double)rate / (double)before);
    return stream_session_exchange(stream, &chain, &settings);
}

/* Makes all again for a new rate. On failure the old masks stay with the old chain, for the
 * report. */
static enum status make_again(struct listen_session *session)
{
    struct listen_match old = session->matching;
    struct listen_place place = {0};
    free_old(session);
    session->matching = (struct listen_match){0};
    enum status status = exchange_chain(session, &place);
    if (status != STATUS_OK) {
        listen_match_free(&session->matching);
        session->matching = old;
        return status;
    }
    listen_match_free(&old);
    session->matching.chain = &session->stream.chain;
    session->measured_at = 0;
    if (session->player)
        go_to(session, &place);
    return make_source(session);
}

static enum status follow_device(struct listen_session *session)
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
    if (stream->stuck || (session->player && has_pipe(session)))
        return fail(CAUSE_DEVICE,
                    "the device's rate is %u Hz now, no longer %u, and %s cannot be "
                    "read again",
                    rate, before, stream->stuck ? "the sound" : session->options->sound);
    TRY(make_again(session));
    view_warning(stream->view, "the rate is %u Hz now, no longer %u", rate, before);
    device_run(stream->device, listen_source_step, &session->source);
    return STATUS_OK;
}

/* ---- start and end ---- */

/* Starts the stream. The commitment is shown before the first sound. */
static enum status begin(struct listen_session *session)
{
    const struct play_options *play = &session->options->play;
    struct stream_session *stream = &session->stream;
    bool is_of_sounds = session->options->sound_count > 0;
    snprintf(stream->keys, sizeof stream->keys,
             "1-9 %s  arrows seek  [ ] | loop  r restart  < > gain  m mute%s%s  q leave",
             is_of_sounds ? "sound" : "mask  space dry", live_controls_keys(&stream->controls),
             is_of_sounds ? "" : "  p picture");
    device_report_grants(&stream->info);
    if (!stream->chain.choices && stream->chain.stages.count > 0)
        note("without a mask the dry sound (space) is not matched in loudness");
    if (stream->blind) {
        TRY(listen_switch_settle(session, listen_trial_choice(session)));
        TRY(listen_trial_commit(session));
        /* as a note, it stays in the terminal, above the key that is printed at the end */
        if (!play->json)
            note("SHA-256 of key, choices and settings: %s", session->trial.test->key.commitment);
    }
    TRY(view_open(play_options_view(play), play->interval, &stream->view));
    listen_match_show(&session->matching, stream->view);
    if (stream->blind) {
        if (play->json)
            view_message(stream->view, "SHA-256 of key, choices and settings: %s",
                         session->trial.test->key.commitment);
        listen_trial_go_on(session);
    }
    device_run(stream->device, listen_source_step, &session->source);
    return STATUS_OK;
}

static enum status session_open(struct listen_session *session,
                                const struct listen_options *options)
{
    *session = (struct listen_session){.options = options};
    session->stream.options = &options->play;
    session->stream.ceiling_db = options->play.ceiling_db;
    session->stream.blind = listen_options_test(options);
    TRY(listen_trial_open(session));
    TRY(open_ends(session));
    TRY(make_chain(session, session->stream.info.channels_in, &session->stream.chain));
    TRY(stream_session_match_outputs(&session->stream, session->stream.info.rate,
                                     "the masks make"));
    TRY(make_player(session));
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

/* Handles the keys that seek. Returns false for other keys. */
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

static const double LOOP_LEAST = 0.1; /* seconds */

/* Handles the keys of the loop: [ and ] put its ends to the present place, | takes the whole
 * region. Returns false for other keys. */
static bool loop_by_key(struct listen_session *session, int key)
{
    struct view *view = session->stream.view;
    if (key != '[' && key != ']' && key != '|')
        return false;
    if (!session->player) {
        view_message(view, "a live input has no loop");
        return true;
    }
    const struct region *region = player_region(session->player);
    uint64_t from, to, at = player_position(session->player);
    player_loop_ends(session->player, &from, &to);
    from = key == '[' ? at : key == '|' ? region->from : from;
    to = key == ']' ? at : key == '|' ? region->to : to;
    if ((double)to < (double)from + LOOP_LEAST * (double)session->stream.info.rate) {
        view_message(view, "a loop shorter than %.1f s is not played", LOOP_LEAST);
        return true;
    }
    char text[80];
    player_loop(session->player, from, to);
    put_loop(session, text, sizeof text);
    view_message(view, "the loop is %s", text);
    listen_trial_log_loop(session, text);
    return true;
}

/* Handles the keys for the dry sound: 0 chooses it; space chooses it or goes back. Returns false
 * for other keys, or if there are no choices. */
static bool choose_dry_by_key(struct listen_session *session, int key)
{
    const struct live_chain *chain = &session->stream.chain;
    if (!chain->choices || session->stream.blind || (key != ' ' && key != '0'))
        return false;
    if (!chain->request.dry) {
        view_message(session->stream.view, "the sounds to choose from have no dry sound");
        return true;
    }
    size_t dry = chain->choice_count;
    const struct stream_request *wanted = &session->stream.next[STREAM_SWITCH];
    size_t now = wanted->is_asked ? wanted->choice : choices_asked(chain->choices);
    if (now != dry)
        session->before_dry = now;
    listen_switch_to(session, key == ' ' && now == dry ? session->before_dry : dry);
    return true;
}

static void handle_key(struct stream_session *stream, int key)
{
    struct listen_session *session = (struct listen_session *)stream;
    if (stream->leaving || listen_trial_key(session, key) || seek_by_key(session, key) ||
        loop_by_key(session, key) || choose_dry_by_key(session, key) ||
        stream_session_key(stream, key))
        return;
    if (key == 'r' && !stream->blind && session->player) {
        session->restarts = !session->restarts;
        view_message(stream->view, session->restarts ? "each switch restarts the loop"
                                                     : "the sound goes on at switches");
        return;
    }
    if (key == 'p' && (listen_options_hides(session->options) || session->options->sound_count > 0))
        view_message(stream->view, "no plot %s",
                     listen_options_hides(session->options) ? "in this test" : "of sounds");
    else if (key == 'p')
        show_picture(session, !session->picture);
    if (stream->blind || key < '1' || key > '9')
        return;
    size_t choice = (size_t)(key - '1');
    if (choice >= stream->chain.choice_count) {
        view_message(stream->view, "there is no %s %zu",
                     session->options->sound_count > 0 ? "sound" : "mask", choice + 1);
        return;
    }
    listen_switch_to(session, choice);
}

/* Logs what was heard before the keys are handled, so that it counts. */
static void before_keys(struct stream_session *stream)
{
    struct listen_session *session = (struct listen_session *)stream;
    listen_switch_update(session);
    listen_trial_update(session);
}

static void after_keys(struct stream_session *stream, bool keys_ended)
{
    struct listen_session *session = (struct listen_session *)stream;
    if (!keys_ended || !listen_trial_runs(session))
        return;
    view_warning(stream->view, "no more input: the test ends here");
    session->input_ended = true;
    listen_trial_stop(session);
}

/* ---- while it runs ---- */

static void update(struct stream_session *stream)
{
    struct listen_session *session = (struct listen_session *)stream;
    const char *failure = session->player ? player_failure(session->player) : NULL;
    listen_source_update(&session->source);
    listen_switch_update(session);
    listen_trial_update(session);
    stream_session_update(stream);
    if (failure)
        view_warning(stream->view, "%s", failure);
}

static void leave(struct stream_session *stream)
{
    listen_trial_stop((struct listen_session *)stream);
}

static enum status check_device(struct stream_session *stream)
{
    struct listen_session *session = (struct listen_session *)stream;
    enum device_state state = device_state(stream->device);
    if (state == DEVICE_RUNNING)
        return follow_device(session);
    listen_trial_stop(session);
    return fail(CAUSE_DEVICE, "the device %s %s", stream->device_name,
                state == DEVICE_LOST ? "is lost" : "has another rate now; begin again with it");
}

static enum status report(struct stream_session *stream)
{
    struct listen_session *session = (struct listen_session *)stream;
    TRY(listen_trial_finish(session));
    return report_session(session);
}

static const struct stream_command commands = {
    .tick = TICK,
    .leave = leave,
    .check_device = check_device,
    .before_keys = before_keys,
    .key = handle_key,
    .after_keys = after_keys,
    .update = update,
    .show = show,
    .report = report,
};

enum status listen_session_run(const struct listen_options *options)
{
    struct listen_session session;
    enum status status = session_open(&session, options);
    if (status == STATUS_OK) {
        status = stream_session_run(&session.stream, &commands);
        if (status == STATUS_OK && session.input_ended && !listen_trial_has_answers(&session))
            status = fail(CAUSE_OTHER, "nothing was judged: the input of keys ended before the "
                                       "first answer");
    }
    enum status closed = session_close(&session);
    status = status == STATUS_OK ? closed : status;
    return status == STATUS_OK && stop_requested() ? STATUS_INTERRUPTED : status;
}
