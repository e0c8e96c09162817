/* What the log of a blind test says of the session: what was compared, how, on what, and how the
 * stream went. */
#include "listen/listen_session.h"

#include "base/build_info.h"
#include "base/files_read.h"
#include "base/json_text.h"
#include "listen/trial_replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- what was compared ---- */

/* Hundredths of dB, which no processor rounds differently. */
static json_t *decibels(double db)
{
    return isfinite(db) ? json_real(round(db * 100) / 100) : json_null();
}

/* `level`: LUFS or dBFS RMS as matched, by --match. */
static json_t *choices_json(const struct listen_session *session)
{
    const struct listen_match *matching = &session->matching;
    const struct live_chain *chain = &session->stream.chain;
    json_t *choices = json_array();
    for (size_t i = 0; i < chain->choice_count && i < matching->count; i++) {
        const struct level_match *match = &matching->matches[i];
        char digest[DIGEST_TEXT];
        digest_of_mask(matching->originals[i], digest);
        json_array_append_new(choices, json_pack("{s:o, s:o, s:s, s:o, s:o, s:I}", "name",
                                                 json_text(chain->names[i]), "spec",
                                                 json_text(chain->texts[i]), "taps_sha256", digest,
                                                 "gain_db", decibels(match->gain_db), "level",
                                                 decibels(match->loudness + match->gain_db),
                                                 "delay", (json_int_t)match->shift));
    }
    return choices;
}

static void add_file(void *files, const char *path)
{
    char digest[DIGEST_TEXT];
    json_t *name = json_text(path);
    if (name && digest_of_file(path, digest))
        json_object_set_new(files, json_string_value(name), json_string(digest));
    json_decref(name);
}

/* Sound, masks, and what else the stages read. */
static json_t *files_json(void)
{
    json_t *files = json_object();
    files_read_each(add_file, files);
    return files;
}

static json_t *stages_json(const struct listen_session *session)
{
    const struct stage_list *stages = &session->stream.chain.stages;
    json_t *array = json_array();
    for (size_t i = 0; i < stages->count; i++)
        json_array_append_new(array, json_pack("[s, o]", stages->stages[i].ops->option,
                                               json_text(stages->stages[i].text)));
    return array;
}

/* "1.000 s to 5.000 s" */
static json_t *region_json(const struct listen_session *session)
{
    char text[64];
    if (!session->player)
        return json_null();
    const struct region *region = player_region(session->player);
    double rate = (double)region->format.rate;
    snprintf(text, sizeof text, "%.3f s to %.3f s", (double)region->from / rate,
             (double)region->to / rate);
    return json_string(text);
}

static json_t *settings_json(const struct listen_session *session)
{
    static const char *const bys[] = {
        [LEVEL_MATCH_NONE] = "none", [LEVEL_MATCH_RMS] = "rms", [LEVEL_MATCH_R128] = "r128"};
    const struct listen_options *options = session->options;
    return json_pack("{s:o, s:o, s:s, s:f, s:s, s:b, s:o, s:f, s:o}", "sound",
                     json_text(options->sound ? options->sound : "live input"), "region",
                     region_json(session), "switch", "out, pause, in", "fade", options->play.fade,
                     "match", bys[options->by], "align", options->align, "stages",
                     stages_json(session), "ceiling_db", options->play.ceiling_db, "files_sha256",
                     files_json());
}

/* What may be another one when the test goes on. */
static json_t *session_json(const struct listen_session *session)
{
    char date[32] = "";
    const struct device_info *info = &session->stream.info;
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_pack("{s:s, s:s, s:o, s:{s:o, s:I, s:I}}", "version", HALO_VERSION, "date", date,
                     "listener", json_text(session->options->listener), "device", "name",
                     json_text(session->stream.device_name), "rate", (json_int_t)info->rate,
                     "period", (json_int_t)(info->period ? info->period : info->block));
}

/* ---- a test that goes on ---- */

/* Takes test and log of --resume. */
static enum status take(struct listen_session *session, struct trial_replay *replay)
{
    const struct listen_options *options = session->options;
    const char *path = options->resume;
    size_t trials = options->abx ? options->abx : options->blind;
    if (replay->fault[0])
        return fail(CAUSE_DAMAGED, "cannot go on with %s: it was changed: %s", path, replay->fault);
    if (replay->finished)
        return fail(CAUSE_OTHER, "cannot go on with %s: its test is over", path);
    bool abx = json_object_get(replay->root, "feedback") != NULL;
    bool feedback = json_is_true(json_object_get(replay->root, "feedback"));
    if (abx != (options->abx > 0) || replay->trial->planned != trials ||
        feedback != options->feedback)
        return fail(CAUSE_USAGE, "cannot go on with %s: it is of --%s %zu%s", path,
                    abx ? "abx" : "blind", replay->trial->planned, feedback ? " --feedback" : "");
    session->trial.test = replay->trial;
    session->trial.log = replay->log;
    session->trial.resumed = replay->root;
    *replay = (struct trial_replay){.log = NULL};
    return STATUS_OK;
}

enum status listen_trial_resume(struct listen_session *session)
{
    struct trial_replay replay;
    enum status status = trial_replay_init(&replay, session->options->resume, true);
    if (status == STATUS_OK)
        status = take(session, &replay);
    trial_replay_free(&replay);
    return status;
}

static bool is_same(const json_t *one, const json_t *other)
{
    char *a = one ? trial_log_text(one) : NULL, *b = other ? trial_log_text(other) : NULL;
    bool same = a && b && strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

/* Choices and settings are those of the log. */
static enum status compare(const struct listen_session *session, const json_t *about)
{
    const json_t *before = session->trial.resumed;
    const char *name, *path = session->options->resume;
    json_t *setting;
    if (!is_same(json_object_get(about, "choices"), json_object_get(before, "choices")))
        return fail(CAUSE_OTHER,
                    "cannot go on with %s: the choices, their gains or delays were others", path);
    json_object_foreach(json_object_get(about, "settings"), name, setting)
    {
        if (!is_same(setting, json_object_get(json_object_get(before, "settings"), name)))
            return fail(CAUSE_OTHER, "cannot go on with %s: the setting '%s' was another one", path,
                        name);
    }
    const char *listener = session->options->listener;
    if (listener &&
        !is_same(json_object_get(about, "listener"), json_object_get(before, "listener")))
        return fail(CAUSE_OTHER, "cannot go on with %s: it is of another listener", path);
    return STATUS_OK;
}

/* ---- the test ---- */

static enum status begin(struct listen_session *session, json_t *about)
{
    struct trial *test = session->trial.test;
    if (!session->trial.resumed)
        return trial_begin(test, json_incref(about));
    TRY(compare(session, about));
    trial_resume(test, 0, session_json(session));
    return STATUS_OK;
}

enum status listen_trial_commit(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    const char *path = options->resume ? options->resume : options->log;
    json_t *about = session_json(session);
    int failed = json_object_set_new(about, "choices", choices_json(session));
    failed |= json_object_set_new(about, "settings", settings_json(session));
    enum status status = failed ? fail_memory("a log") : begin(session, about);
    json_decref(about);
    if (status == STATUS_OK && path)
        status = trial_log_open(session->trial.log, path, options->resume || options->play.force);
    return status;
}

/* A live input is matched before each trial. */
static void log_match(struct listen_session *session, double now)
{
    json_t *gains = json_array();
    for (size_t i = 0; i < session->stream.chain.choice_count && i < session->matching.count; i++)
        json_array_append_new(gains, decibels(session->matching.matches[i].gain_db));
    trial_remark(session->trial.test, now, "match", json_pack("{s:o}", "gains_db", gains));
}

static struct listen_outages outages(const struct listen_session *session)
{
    return (struct listen_outages){
        .late = session->stream.load.ledger.late,
        .lost = session->stream.load.ledger.lost,
        .missed = session->player ? player_missed(session->player) : 0,
    };
}

void listen_trial_log_begin(struct listen_session *session)
{
    session->trial.before = outages(session);
    if (!session->player && session->options->by != LEVEL_MATCH_NONE)
        log_match(session, stream_session_seconds(&session->stream));
}

void listen_trial_log_level(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    const struct stream_session *stream = &session->stream;
    if (trial->level_logged && trial->muted == stream->muted &&
        fabs(trial->gain_db - stream->gain_db) < 1e-9)
        return;
    trial->level_logged = true;
    trial->muted = stream->muted;
    trial->gain_db = stream->gain_db;
    trial_remark(
        trial->test, stream_session_seconds(stream), "level",
        json_pack("{s:o, s:b}", "gain_db", decibels(stream->gain_db), "muted", stream->muted));
}

static void keep(json_t **array, json_t *record)
{
    if (!*array)
        *array = json_array();
    json_array_append_new(*array, record);
}

void listen_trial_log_outages(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    const struct listen_outages before = trial->before, now = outages(session);
    keep(&trial->outages,
         json_pack("{s:I, s:I, s:I, s:I}", "in_trial", (json_int_t)(trial->test->answered + 1),
                   "late", (json_int_t)(now.late - before.late), "lost",
                   (json_int_t)(now.lost - before.lost), "missed",
                   (json_int_t)(now.missed - before.missed)));
}

void listen_trial_log_late_switch(struct listen_session *session, double by)
{
    keep(&session->trial.late_switches, json_pack("{s:f, s:I}", "seconds", round(by * 1e6) / 1e6,
                                                  "in_trial", (json_int_t)session->switch_trial));
}

void listen_trial_log_end(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    json_t *about = json_object();
    bool any = trial->outages || trial->late_switches;
    (void)json_object_set_new(about, "trials", trial->outages); /* NULL: none */
    (void)json_object_set_new(about, "late_switches", trial->late_switches);
    if (any)
        trial_remark(trial->test, stream_session_seconds(&session->stream), "outages", about);
    else
        json_decref(about);
    trial->outages = trial->late_switches = NULL;
}
