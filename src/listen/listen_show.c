#include "base/plural.h"
#include "listen/listen_session.h"

#include "mask/response_plot.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURE_WIDTH = 78, PICTURE_HEIGHT = 14, LINES_MOST = PICTURE_HEIGHT + 16 };

/* Of a whole plot, beside the question and its keys, or masks and levels. False: there is no room.
 */
static bool fit_picture(const struct listen_session *session, size_t *width, size_t *height)
{
    enum { BESIDE = 9, MARGIN = 2 }; /* rows and columns */
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

void listen_show_picture(struct listen_session *session, bool shown)
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
        *end = '\0'; /* lines become separate texts */
}

/* The screen may have another size now. */
static void keep_picture_whole(struct listen_session *session)
{
    size_t width, height;
    (void)fit_picture(session, &width, &height);
    if (session->picture && (width != session->picture_width || height != session->picture_height))
        listen_show_picture(session, true);
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
    put_time(at, sizeof at, player_position(session->player), session->stream.info.rate);
    put_time(to, sizeof to, region->to, session->stream.info.rate);
    snprintf(text, size, "%s %s/%s", slash ? slash + 1 : region->name, at, to);
}

static const char *keys_of(const struct listen_session *session)
{
    if (session->trial.stopping)
        return "y stop the test  any other key continue";
    if (session->options->abx)
        return "a b x listen  1 X is A  2 X is B  Enter next  q stop  arrows seek  [ ] gain  "
               "m mute  p picture";
    if (session->options->blind)
        return session->trial.keys;
    return session->stream.keys;
}

static struct live_status make_status(struct listen_session *session, const char **lines)
{
    struct live_status status = stream_session_status(&session->stream, "halo listen");
    if (session->wanted != SIZE_MAX) { /* about to sound */
        status.chosen = (session->wanted + 1) % (session->stream.chain.choice_count + 1);
        status.switching = true;
    }
    if (session->player)
        status.latency_input = 0;
    status.lines = lines;
    status.line_count = listen_trial_lines(session, lines, &status.question_lines);
    const char *line = session->picture;
    for (size_t i = 0; line && i < session->picture_height; i++, line += strlen(line) + 1)
        lines[status.line_count++] = line;
    status.keys = keys_of(session);
    return status;
}

void listen_show(struct listen_session *session)
{
    const char *lines[LINES_MOST];
    char place[600];
    if (!view_is_due(session->stream.view))
        return;
    stream_session_read_meters(&session->stream);
    keep_picture_whole(session);
    struct live_status status = make_status(session, lines);
    if (session->player) {
        put_place(session, place, sizeof place);
        status.place = place; /* not a line, which would be news all the time */
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

enum status listen_report(struct listen_session *session)
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
