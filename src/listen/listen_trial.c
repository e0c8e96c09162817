#include "listen/listen_session.h"

#include "base/json_text.h"
#include "view/distinct_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HEAD_SHOWN = 16 /* digits in a message */ };

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

/* ---- up and down ---- */

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
        TRY(options->abx
                ? trial_abx_create(options->abx, options->feedback, NULL, trial->log, &trial->test)
                : trial_ranking_create(listen_options_choices(options), options->blind, NULL,
                                       trial->log, &trial->test));
    }
    snprintf(trial->keys, sizeof trial->keys,
             "a-%c listen  1-5 rate  Enter confirm  q stop  arrows seek  [ ] gain  m mute",
             (char)('a' + listen_options_choices(options) - 1));
    /* Fail now rather than after the test. */
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

/* ---- the listener's keys ---- */

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
    bool sounds = session->wanted == SIZE_MAX && !session->stream.muted &&
                  !choices_are_switching(session->stream.chain.choices) &&
                  !switch_gap_is_under_way(&session->gap);
    if (trial->coming && sounds) {
        trial->coming = false;
        trial_play(trial->test, trial->selected, now(session));
    }
}

/* The next trial, or the end. */
static void confirm(struct listen_session *session)
{
    struct trial *test = session->trial.test;
    if (test->kind->is_complete(test))
        listen_trial_log_outages(session);
    if (test->kind->is_complete(test) && test->answered + 1 == test->planned)
        listen_trial_log_end(session);
    if (!trial_confirm(test, now(session), NULL)) {
        view_message(session->stream.view, "%s",
                     session->options->abx ? "no answer yet" : "not all are rated yet");
        return;
    }
    if (trial_log_failed(session->trial.log)) { /* its error is printed at the end */
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

/* The sounds of the trial that were not heard; "": all were. */
static const char *unheard(const struct trial *test)
{
    static const char *const names[] = {"A, B, X", "B, X", "A, X", "X", "A, B", "B", "A", ""};
    return names[test->heard];
}

static void answer(struct listen_session *session, enum abx_sound said)
{
    if (trial_abx_answer(session->trial.test, said, now(session)))
        return;
    view_message(session->stream.view, "not heard yet: %s", unheard(session->trial.test));
}

static bool abx_key(struct listen_session *session, int key)
{
    static const char listening[] = "abxABX"; /* Caps Lock changes nothing */
    const char *found = key > 0 && key < 128 ? strchr(listening, key) : NULL;
    if (found)
        select_sound(session, (size_t)(found - listening) % 3);
    else if (key == '1' || key == '2')
        answer(session, key == '1' ? ABX_A : ABX_B);
    return found || key == '1' || key == '2';
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
        return session->options->abx ? abx_key(session, key) : ranking_key(session, key);
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

/* ---- what is shown ---- */

/* "hall.wav  -3.2 dB, 12.4 ms later, aligned"; on a narrow screen the name alone. */
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

/* Fits beside the trial's number on a screen of 30 columns. */
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

/* Of what plays; none during a switch. */
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

/* ">A:4  B:-": B is not rated yet. */
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

/* In as many lines as it takes. Each but the last ends with dots, which also mark what a screen
 * with few rows leaves out. */
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

/* The head is no news that is to be read out. */
size_t listen_trial_lines(struct listen_session *session, const char **lines, size_t *questions)
{
    struct listen_trial *trial = &session->trial;
    if (!listen_trial_runs(session))
        return 0;
    size_t count = session->options->abx ? abx_lines(session) : ranking_lines(session);
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

/* ---- at the end ---- */

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
