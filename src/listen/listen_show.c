#include "listen/listen_session.h"

#include "base/json_text.h"
#include "chain/report.h"
#include "mask/response_plot.h"
#include "signal/audio.h"

#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_WIDTH = 78, PICTURE_HEIGHT = 14, LINES_MOST = PICTURE_HEIGHT + 16 };

void listen_notify(struct listen_session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    view_notify(session->view, format, arguments);
    va_end(arguments);
}

/* ---- the picture ---- */

static enum status draw(struct listen_session *session)
{
    const struct response_plot_settings settings = {
        .width = PICTURE_WIDTH,
        .height = PICTURE_HEIGHT,
        .rate = session->info.rate,
        .braille = !session->options->play.json && strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
    };
    struct mask *masks[LISTEN_CHOICES_MOST] = {NULL};
    size_t count = session->chain.choice_count;
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

void listen_show_picture(struct listen_session *session, bool shown)
{
    free(session->picture);
    session->picture = NULL;
    if (shown && session->chain.choice_count > 0 && draw(session) != STATUS_OK)
        session->picture = NULL;
    for (char *end = session->picture; end && (end = strchr(end, '\n')); end++)
        *end = '\0'; /* each line is a text of its own */
}

/* ---- the status ---- */

static void read_meters(struct listen_session *session)
{
    live_read_meters(session->live, session->in, session->out);
    session->reduction_most = fmax(session->reduction_most, live_reduction(session->live));
}

static void put_time(char *text, size_t size, uint64_t frame, uint32_t rate)
{
    double seconds = (double)frame / (double)rate;
    unsigned minutes = (unsigned)(seconds / 60);
    snprintf(text, size, "%u:%04.1f", minutes, seconds - 60 * minutes);
}

/* "voice.wav 0:03.2/0:05.0" */
static void put_place(const struct listen_session *session, char *text, size_t size)
{
    char at[32], to[32];
    const struct region *region = player_region(session->player);
    const char *slash = strrchr(region->name, '/');
    put_time(at, sizeof at, player_position(session->player), session->info.rate);
    put_time(to, sizeof to, region->to, session->info.rate);
    snprintf(text, size, "%s %s/%s", slash ? slash + 1 : region->name, at, to);
}

static const char *keys_of(struct listen_session *session)
{
    if (session->trial.stopping)
        return "y stop the test  any other key go on";
    if (session->options->abx)
        return "a b x listen  A X is A  B X is B  arrows seek  [ ] gain  m mute  p picture  q stop";
    if (session->options->blind)
        return "a b c listen  1-5 rate  Enter confirm  arrows seek  [ ] gain  m mute  q stop";
    snprintf(session->keys, sizeof session->keys,
             "1-9 mask  space dry  arrows seek  [ ] gain  m mute%s  p picture  q leave",
             live_controls_keys(&session->controls));
    return session->keys;
}

/* What sounds, or will in a moment; 0: dry. */
static size_t chosen(const struct listen_session *session)
{
    const struct live_chain *chain = &session->chain;
    if (session->dry || !chain->choices)
        return 0;
    size_t slot = session->wanted == SIZE_MAX ? choices_asked(chain->choices) : session->wanted;
    return slot % chain->choice_count + 1;
}

static bool is_switching(const struct listen_session *session)
{
    struct choices *choices = session->chain.choices;
    return choices && (session->wanted != SIZE_MAX || choices_are_switching(choices));
}

/* The lines are the trial's, then the picture's. */
static struct live_status picture(struct listen_session *session, const char **lines)
{
    const struct live_chain *chain = &session->chain;
    const struct filter *convolver = live_chain_convolver(chain);
    const struct live_load *load = &session->load;
    bool test = listen_options_test(session->options);
    size_t mask = live_chain_mask_latency(chain), count = listen_trial_lines(session, lines);
    for (size_t i = 0; session->picture && i < PICTURE_HEIGHT; i++)
        lines[count + i] =
            i == 0 ? session->picture : lines[count + i - 1] + strlen(lines[count + i - 1]) + 1;
    if (session->picture)
        count += PICTURE_HEIGHT;
    return (struct live_status){
        .command = "halo listen",
        .seconds = listen_seconds(session),
        .frames = live_frames(session->live),
        .rate = session->info.rate,
        .block = chain->filter->block,
        .device = session->device_name,
        .inputs = chain->filter->inputs,
        .outputs = chain->filter->outputs,
        .in = session->in,
        .out = session->out,
        .choices = test ? 0 : chain->choice_count,
        .names = chain->names,
        .chosen = chosen(session),
        .without_dry = test,
        .switching = is_switching(session),
        .hidden = test,
        .control = live_controls_show(&session->controls),
        .gain_db = session->gain_db,
        .muted = session->muted,
        .reduction_db = -live_reduction(session->live),
        .ceiling_db = session->options->play.ceiling_db,
        .load_now = load->now,
        .load_p99 = load->p99,
        .load_worst = load->worst,
        .late = load->late,
        .lost = load->lost,
        .latency_input = session->player ? 0 : session->info.input_latency,
        .latency_mask = mask,
        .latency_plugins = (size_t)chain->filter->latency - mask,
        .latency_output = session->info.output_latency,
        .latency_adapter = live_device_latency(&session->feed),
        .backend = convolver ? convolver_backend(convolver) : NULL,
        .lines = lines,
        .line_count = count,
        .keys = keys_of(session),
    };
}

void listen_show(struct listen_session *session)
{
    const char *lines[LINES_MOST];
    char place[600], title[1000];
    read_meters(session);
    struct live_status status = picture(session, lines);
    if (session->player) {
        put_place(session, place, sizeof place);
        snprintf(title, sizeof title, "%s on %s", place, session->device_name);
        if (session->options->play.json)
            lines[status.line_count++] = place;
        else
            status.device = title; /* lines that always change would flood the plain view */
    }
    view_show(session->view, &status);
}

/* ---- at the end ---- */

static enum status report_json(const struct listen_session *session,
                               const struct live_status *status)
{
    const struct live_load *load = &session->load;
    uint64_t missed = session->player ? player_missed(session->player) : 0;
    json_t *object = json_pack(
        "{s:s, s:o, s:I, s:f, s:I, s:I, s:I, s:I, s:s*, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o}",
        "event", "report", "device", json_text(session->device_name), "frames",
        (json_int_t)status->frames, "seconds", status->seconds, "rate", (json_int_t)status->rate,
        "block", (json_int_t)status->block, "inputs", (json_int_t)status->inputs, "outputs",
        (json_int_t)status->outputs, "backend", status->backend, "blocks", (json_int_t)load->count,
        "late", (json_int_t)load->late, "lost", (json_int_t)load->lost, "missed",
        (json_int_t)missed, "load_worst", load->worst, "limiter_most_db", -session->reduction_most,
        "choices", listen_match_json(&session->matching), "ledger", live_load_ledger(load), "stages",
        report_stages(&session->chain.stages));
    bool written = object && json_dumpf(object, stdout, JSON_COMPACT) == 0 &&
                   putchar('\n') != EOF && fflush(stdout) == 0;
    json_decref(object);
    return written ? STATUS_OK : fail(STATUS_FAILED, "cannot write the report");
}

enum status listen_report(struct listen_session *session)
{
    const char *lines[LINES_MOST];
    const struct live_status status = picture(session, lines);
    const struct live_load *load = &session->load;
    if (session->options->play.json)
        return report_json(session, &status);
    note("%.1f s on %s, blocks of %zu frames at %u Hz; %llu blocks late, %llu lost", status.seconds,
         session->device_name, status.block, status.rate, (unsigned long long)load->late,
         (unsigned long long)load->lost);
    live_load_print(load);
    if (session->player && player_missed(session->player) > 0)
        note("the disk was too slow: %llu frames were silence instead",
             (unsigned long long)player_missed(session->player));
    report_print_stages(&session->chain.stages);
    if (session->reduction_most > 0)
        note("the limiter took off up to %.1f dB", session->reduction_most);
    return STATUS_OK;
}
