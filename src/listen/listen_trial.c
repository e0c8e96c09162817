/* A blind test of halo listen: its log, its keys and its lines on the screen. */
#include "base/build_info.h"
#include "base/json_text.h"
#include "listen/listen_session.h"
#include "view/distinct_name.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the log: choices, settings, session, interruptions ---- */

/* ---- choices and settings ---- */

/* A level in dB, rounded to 0.01 dB, so that all processors give the same value. */
static json_t *decibels(double db)
{
    return isfinite(db) ? json_real(round(db * 100) / 100) : json_null();
}

/* `level` is the loudness with gain_db: LUFS, or dBFS RMS, as --match asks. */
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

static json_t *stages_json(const struct listen_session *session)
{
    const struct stage_list *stages = &session->stream.chain.stages;
    json_t *array = json_array();
    /* the first stage only chooses among sounds, if there are several */
    for (size_t i = session->options->sound_count > 0; i < stages->count; i++)
        json_array_append_new(array, json_pack("[s, o]", stages->stages[i].ops->option,
                                               json_text(stages->stages[i].text)));
    return array;
}

/* Writes text such as "1.000 s to 5.000 s". */
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
                     digest_files_read(NULL));
}

/* Facts that may change when a test is continued. */
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

/* ---- a test that is continued ---- */

/* The option of each kind of test. */
static const struct test_option {
    const char *kind, *name;
    size_t offset;
    bool in_pairs; /* its value counts trials of each pair of masks */
} test_options[] = {
    {"abx", "abx", offsetof(struct listen_options, abx), false},
    {"ranking", "blind", offsetof(struct listen_options, blind), false},
    {"preference", "prefer", offsetof(struct listen_options, prefer), true},
};

static size_t option_value(const struct test_option *option, const struct listen_options *options)
{
    return *(const size_t *)((const char *)options + option->offset);
}

/* Takes over the test and the log of --resume. */
static enum status take(struct listen_session *session, struct trial_replay *replay)
{
    const struct listen_options *options = session->options;
    const char *path = options->resume;
    const char *kind = replay->trial->kind->name;
    if (replay->fault[0])
        return fail(CAUSE_DAMAGED, "cannot go on with %s: it was changed: %s", path, replay->fault);
    if (replay->finished)
        return fail(CAUSE_OTHER, "cannot go on with %s: its test is over", path);
    bool feedback = json_is_true(json_object_get(replay->root, "feedback"));
    size_t masks = (size_t)json_integer_value(json_object_get(replay->root, "masks"));
    const struct test_option *option = test_options;
    while (strcmp(option->kind, kind) != 0)
        option++;
    size_t times = replay->trial->planned / (option->in_pairs ? preference_pairs(masks) : 1);
    if (option_value(option, options) != times || feedback != options->feedback)
        return fail(CAUSE_USAGE, "cannot go on with %s: it is of --%s %zu%s", path, option->name,
                    times, feedback ? " --feedback" : "");
    session->trial.test = replay->trial;
    session->trial.log = replay->log;
    session->trial.resumed = replay->root;
    *replay = (struct trial_replay){.log = NULL};
    return STATUS_OK;
}

static enum status listen_trial_resume(struct listen_session *session)
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

/* Checks that choices and settings are those of the log. */
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

/* ---- logging the test ---- */

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

/* Logs the gains of a live input, which is matched before each trial. */
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

static void listen_trial_log_begin(struct listen_session *session)
{
    session->trial.before = outages(session);
    if (!session->player && session->options->by != LEVEL_MATCH_NONE)
        log_match(session, stream_session_seconds(&session->stream));
}

static void listen_trial_log_level(struct listen_session *session)
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

void listen_trial_log_loop(struct listen_session *session, const char *loop)
{
    if (listen_trial_runs(session))
        trial_remark(session->trial.test, stream_session_seconds(&session->stream), "loop",
                     json_pack("{s:s}", "loop", loop));
}

static void keep(json_t **array, json_t *record)
{
    if (!*array)
        *array = json_array();
    json_array_append_new(*array, record);
}

static void listen_trial_log_outages(struct listen_session *session)
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

static void listen_trial_log_end(struct listen_session *session)
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

enum { HEAD_SHOWN = 16 /* digits of the head in a message */ };

static const char early[] = "stop the test early? y: yes, any other key: no";

bool listen_trial_runs(const struct listen_session *session)
{
    const struct trial *test = session->trial.test;
    return test && !test->over;
}

size_t listen_trial_choice(const struct listen_session *session)
{
    return trial_choice(session->trial.test, session->trial.selected);
}

/* ---- opening and closing ---- */

static enum status create_test(const struct listen_options *options, struct trial_log *log,
                               struct trial **test)
{
    const size_t choices = listen_options_choices(options), trials = listen_options_trials(options);
    if (options->abx)
        return trial_abx_create(trials, options->feedback, NULL, log, test);
    return (options->prefer ? trial_preference_create : trial_ranking_create)(choices, trials, NULL,
                                                                              log, test);
}

enum status listen_trial_open(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    struct listen_trial *trial = &session->trial;
    if (!listen_options_test(options))
        return STATUS_OK;
    if (options->resume) {
        TRY(listen_trial_resume(session));
    } else {
        TRY(trial_log_create(&trial->log));
        TRY(create_test(options, trial->log, &trial->test));
    }
    snprintf(
        trial->keys, sizeof trial->keys,
        "a-%c listen  1-5 rate  Enter confirm  q stop  arrows seek  [ ] loop  < > gain  m mute",
        (char)('a' + listen_options_choices(options) - 1));
    /* fail now rather than after the test */
    return options->log ? trial_log_try(options->log, options->play.force) : STATUS_OK;
}

void listen_trial_close(struct listen_session *session)
{
    trial_destroy(session->trial.test);
    trial_log_destroy(session->trial.log);
    json_decref(session->trial.resumed);
    json_decref(session->trial.outages);
    json_decref(session->trial.late_switches);
    session->trial = (struct listen_trial){0};
}

/* ---- keys ---- */

static double now(const struct listen_session *session)
{
    return stream_session_seconds(&session->stream);
}

static void select_sound(struct listen_session *session, size_t sound)
{
    session->trial.selected = sound;
    session->trial.coming = true;
    listen_switch_to(session, listen_trial_choice(session));
}

void listen_trial_begin(struct listen_session *session)
{
    session->trial.begins = false;
    listen_trial_log_begin(session);
    select_sound(session, 0);
}

void listen_trial_go_on(struct listen_session *session)
{
    if (!listen_trial_runs(session))
        stream_session_leave(&session->stream);
    else if (session->player || session->options->by == LEVEL_MATCH_NONE)
        listen_trial_begin(session);
    else
        session->trial.begins = true;
}

void listen_trial_update(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    if (!listen_trial_runs(session))
        return;
    listen_trial_log_level(session);
    bool sounds = !session->stream.next[STREAM_SWITCH].is_asked && !session->stream.muted &&
                  !choices_are_switching(session->stream.chain.choices) &&
                  !switch_gap_is_under_way(&session->gap);
    if (trial->coming && sounds) {
        trial->coming = false;
        trial_play(trial->test, trial->selected, now(session));
    }
}

/* Confirms the current trial and starts the next one, or ends the test. */
static void confirm(struct listen_session *session)
{
    struct trial *test = session->trial.test;
    if (test->kind->is_complete(test))
        listen_trial_log_outages(session);
    if (test->kind->is_complete(test) && test->answered + 1 == test->planned)
        listen_trial_log_end(session);
    if (!trial_confirm(test, now(session), NULL)) {
        view_message(session->stream.view, "%s",
                     session->options->blind ? "not all are rated yet" : "no answer yet");
        return;
    }
    if (trial_log_failed(session->trial.log)) { /* the error is printed at the end */
        stream_session_leave(&session->stream);
        return;
    }
    enum abx_feedback reported =
        session->options->abx ? trial_abx_feedback(test) : ABX_NOT_REVEALED;
    view_message(session->stream.view, "trial %zu %s; head %.*s", test->answered,
                 reported == ABX_RIGHT   ? "was right"
                 : reported == ABX_WRONG ? "was wrong"
                                         : "is done",
                 HEAD_SHOWN, trial_log_head(session->trial.log));
    listen_trial_go_on(session);
}

/* Names of the trial's sounds that were not heard yet; "": all were heard. */
static const char *unheard(const struct trial *test)
{
    static const char *const names[] = {"A, B, X", "B, X", "A, X", "X", "A, B", "B", "A", ""};
    const unsigned others = test->sound_count == 2 ? 1U << ABX_X : 0; /* there is no X */
    return names[test->heard | others];
}

static void answer(struct listen_session *session, enum abx_sound said)
{
    if (trial_abx_answer(session->trial.test, said, now(session)))
        return;
    view_message(session->stream.view, "not heard yet: %s", unheard(session->trial.test));
}

static bool abx_key(struct listen_session *session, int key)
{
    static const char listening[] = "abxABX"; /* Caps Lock has no effect */
    const char *found = key > 0 && key < 128 ? strchr(listening, key) : NULL;
    if (found)
        select_sound(session, (size_t)(found - listening) % 3);
    else if (key == '1' || key == '2')
        answer(session, key == '1' ? ABX_A : ABX_B);
    return found || key == '1' || key == '2';
}

static bool preference_key(struct listen_session *session, int key)
{
    static const char listening[] = "abAB", judging[] = "120";
    const struct trial *test = session->trial.test;
    const char *found = key > 0 && key < 128 ? strchr(listening, key) : NULL;
    const char *judged = key > 0 && key < 128 ? strchr(judging, key) : NULL;
    if (found)
        select_sound(session, (size_t)(found - listening) % 2);
    else if (judged &&
             !trial_prefer(session->trial.test, (enum preference)(judged - judging), now(session)))
        view_message(session->stream.view, "not heard yet: %s", unheard(test));
    return found || judged;
}

static bool ranking_key(struct listen_session *session, int key)
{
    struct listen_trial *trial = &session->trial;
    int letter = key < 'a' ? key - 'A' : key - 'a';
    if (letter >= 0 && letter < (int)session->stream.chain.choice_count) {
        select_sound(session, (size_t)letter);
    } else if (key >= '0' + RATING_LEAST && key <= '0' + RATING_MOST) {
        if (trial->coming ||
            !trial_ranking_rate(trial->test, trial->selected, (unsigned)(key - '0'), now(session)))
            view_message(session->stream.view, "not heard yet: %c", (char)('A' + trial->selected));
    } else {
        return false;
    }
    return true;
}

bool listen_trial_key(struct listen_session *session, int key)
{
    struct listen_trial *trial = &session->trial;
    if (!listen_trial_runs(session))
        return false;
    if (trial->stopping) {
        trial->stopping = false;
        if (key == 'y')
            listen_trial_stop(session);
        return true;
    }
    trial->stopping = key == 'q';
    if (trial->stopping || trial->begins)
        return trial->stopping;
    if (key == '\n')
        confirm(session);
    else
        return session->options->abx      ? abx_key(session, key)
               : session->options->prefer ? preference_key(session, key)
                                          : ranking_key(session, key);
    return true;
}

bool listen_trial_has_answers(const struct listen_session *session)
{
    return session->trial.test && session->trial.test->answered > 0;
}

void listen_trial_stop(struct listen_session *session)
{
    if (listen_trial_runs(session))
        listen_trial_log_end(session);
    if (session->trial.test)
        trial_stop(session->trial.test, stream_session_seconds(&session->stream));
    stream_session_leave(&session->stream);
}

/* ---- display ---- */

/* Writes text such as "hall.wav  -3.2 dB, 12.4 ms later, aligned"; on a narrow screen only the
 * name. */
static void describe_choice(const struct listen_session *session, size_t choice, char *text,
                            size_t size)
{
    enum { WIDE = 60, BESIDE = 6 /* "> A  " and the margin */, BLANKS = 2 };
    const struct live_chain *chain = &session->stream.chain;
    const int columns = view_columns(session->stream.view);
    char name[DISTINCT_NAME_BYTES], match[128] = "";
    if (columns >= WIDE)
        level_match_describe(&session->matching.matches[choice], "", session->stream.info.rate,
                             session->options->align, match, sizeof match);
    const char *gain = match + strspn(match, ": ");
    int left = columns - BESIDE - (*gain ? BLANKS + (int)strlen(gain) : 0);
    distinct_name(chain->names, chain->choice_count, choice, left, name);
    snprintf(text, size, "%s%s%s", name, *gain ? "  " : "", gain);
}

/* The question of an ABX trial. It fits beside the trial's number on a screen of 30 columns. */
static void ask_abx(const struct trial *test, char *text, size_t size)
{
    enum abx_sound said = trial_abx_said(test);
    if (said != ABX_X)
        snprintf(text, size, "X is %c; Enter", "AB"[said]);
    else if (*unheard(test))
        snprintf(text, size, "hear %s", unheard(test));
    else
        snprintf(text, size, "is X A or B?");
}

/* Marks the sound that plays. During a switch nothing is marked. */
static char mark_of(const struct listen_trial *trial, size_t sound)
{
    return trial->selected == sound && !trial->coming ? '>' : ' ';
}

static size_t abx_lines(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    char question[64];
    ask_abx(trial->test, question, sizeof question);
    snprintf(trial->lines[0], sizeof *trial->lines, "trial %zu of %zu: %s",
             trial->test->answered + 1, session->options->abx, question);
    for (size_t i = 0; i < 3; i++) {
        char name[DISTINCT_NAME_BYTES + 128] = "?";
        if (i < 2)
            describe_choice(session, i, name, sizeof name);
        snprintf(trial->lines[i + 1], sizeof *trial->lines, "%c %c  %s", mark_of(trial, i),
                 "ABX"[i], name);
    }
    return 4;
}

static size_t preference_lines(struct listen_session *session)
{
    static const char *const said[] = {"A is better; Enter", "B is better; Enter",
                                       "neither; Enter"};
    struct listen_trial *trial = &session->trial;
    const char *missing = unheard(trial->test);
    enum preference preferred = trial_preferred(trial->test);
    char question[64] = "A or B?";
    if (preferred != PREFERENCE_OPEN)
        snprintf(question, sizeof question, "%s", said[preferred]);
    else if (*missing)
        snprintf(question, sizeof question, "hear %s", missing);
    snprintf(trial->lines[0], sizeof *trial->lines, "trial %zu of %zu: %s",
             trial->test->answered + 1, trial->test->planned, question);
    snprintf(trial->lines[1], sizeof *trial->lines, "%cA  %cB", mark_of(trial, PREFERENCE_A),
             mark_of(trial, PREFERENCE_B));
    return 2;
}

/* Lines such as ">A:4  B:-", where B is not rated yet. */
static size_t ranking_lines(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    char *line = trial->lines[1];
    size_t length = 0, size = sizeof *trial->lines;
    snprintf(trial->lines[0], size, "trial %zu of %zu: rate all, 1 bad to 5 best",
             trial->test->answered + 1, session->options->blind);
    for (size_t i = 0; i < session->stream.chain.choice_count; i++) {
        unsigned rating = trial_ranking_rating(trial->test, i);
        char mark = rating ? (char)('0' + rating) : '-';
        length += (size_t)snprintf(line + length, size - length, "%s%c%c:%c", i > 0 ? " " : "",
                                   mark_of(trial, i), (char)('A' + i), mark);
    }
    return 2;
}

/* Adds lines with the log's head, as many as needed. Each but the last ends with dots. If a screen
 * with few rows leaves lines out, the dots show it. */
static size_t head_lines(struct listen_trial *trial, size_t count, int columns)
{
    enum { BESIDE = 7 /* the word, a margin on each side */, DOTS = 3 };
    const char *head = trial_log_head(trial->log);
    int left = (int)strlen(head), most = columns - BESIDE;
    int rows = left <= most ? 1 : (left + most - DOTS - 1) / (most > DOTS ? most - DOTS : 1);
    for (int digits = (left + rows - 1) / rows; left > 0 && count < LISTEN_TRIAL_LINES; count++) {
        snprintf(trial->lines[count], sizeof *trial->lines, "%-4s %.*s%s", rows > 0 ? "head" : "",
                 digits, head, left > digits ? "..." : "");
        head += left > digits ? digits : left;
        left -= digits;
        rows = 0;
    }
    return count;
}

/* The head is not among the questions, so that a screen reader does not read it. */
size_t listen_trial_lines(struct listen_session *session, const char **lines, size_t *questions)
{
    struct listen_trial *trial = &session->trial;
    if (!listen_trial_runs(session))
        return 0;
    size_t count = session->options->abx      ? abx_lines(session)
                   : session->options->prefer ? preference_lines(session)
                                              : ranking_lines(session);
    if (trial->begins)
        snprintf(trial->lines[0], sizeof *trial->lines, "measuring the input");
    if (trial->stopping)
        snprintf(trial->lines[0], sizeof *trial->lines, "%s", early);
    *questions = count;
    if (view_columns(session->stream.view) != INT_MAX)
        count = head_lines(trial, count, view_columns(session->stream.view));
    for (size_t i = 0; i < count; i++)
        lines[i] = trial->lines[i];
    return count;
}

/* ---- the end of the test ---- */

static enum status print_json(const struct listen_trial *trial, const struct trial_key *key)
{
    const struct trial *test = trial->test;
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:b, s:s, s:s, s:{s:s, s:s}, s:o}", "event", "result",
                  "test", test->kind->name, "answered", (json_int_t)test->answered, "trials",
                  (json_int_t)test->planned, "stopped_early", test->answered < test->planned,
                  "commitment", key->commitment, "head", trial_log_head(trial->log), "key", "draws",
                  key->draws, "seed", key->seed, "result", test->kind->result_json(test));
    int error = json_write(object, JSON_COMPACT, stdout);
    return error ? fail_errno(error, "cannot write the result") : STATUS_OK;
}

static void print_text(const struct listen_session *session, const struct trial_key *key)
{
    const struct trial *test = session->trial.test;
    test->kind->result_print(test, session->stream.chain.names, stdout);
    printf("key: %s (%s), seed %s\ncommitment %s\nhead %s\n", key->draws, test->kind->draws,
           key->seed, key->commitment, trial_log_head(session->trial.log));
}

enum status listen_trial_finish(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    struct listen_trial *trial = &session->trial;
    const char *log = options->resume ? options->resume : options->log;
    if (!trial->test)
        return STATUS_OK;
    listen_trial_stop(session);
    if (trial_log_failed(trial->log) && log)
        note("no result is shown; --resume goes on if %s is whole and can be written", log);
    TRY(trial_log_check(trial->log));
    const struct trial_key *key = trial_revealed_key(trial->test);
    if (options->play.json)
        TRY(print_json(trial, key));
    else
        print_text(session, key);
    if (log)
        note("%s: the log; halo listen --verify checks it", log);
    return STATUS_OK;
}
