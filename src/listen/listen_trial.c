#include "listen/listen_session.h"

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "view/distinct_name.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char early[] = "stop the test early? y: yes, any other key: no";

bool listen_trial_runs(const struct listen_session *session)
{
    const struct trial *test = session->trial.test;
    return test && !test->over;
}

size_t listen_trial_choice(const struct listen_session *session)
{
    return trial_choice(session->trial.test, session->trial.heard);
}

/* ---- up and down ---- */

/* Fail now rather than after the test. */
static enum status check_log(const struct listen_options *options)
{
    struct atomic_file file;
    if (!options->log)
        return STATUS_OK;
    enum status status = atomic_file_open(&file, options->log, options->play.force);
    if (status == STATUS_OK)
        close(file.fd);
    atomic_file_discard(&file);
    return status;
}

static void log_settings(struct listen_session *session)
{
    static const char *const bys[] = {
        [LEVEL_MATCH_NONE] = "none", [LEVEL_MATCH_RMS] = "rms", [LEVEL_MATCH_R128] = "r128"};
    const struct listen_options *options = session->options;
    struct trial_log *log = session->trial.log;
    char text[64];
    trial_log_setting(log, "sound", options->sound ? options->sound : "live input");
    if (session->player) {
        const struct region *region = player_region(session->player);
        double rate = (double)region->format.rate;
        snprintf(text, sizeof text, "%.3f s to %.3f s", (double)region->from / rate,
                 (double)region->to / rate);
        trial_log_setting(log, "passage", text);
    }
    snprintf(text, sizeof text, "out, pause, in, %g s", options->play.fade);
    trial_log_setting(log, "switch", text);
    trial_log_setting(log, "match", bys[options->by]);
    trial_log_setting(log, "align", options->align ? "yes" : "no");
    trial_log_setting(log, "device", session->stream.device_name);
    for (size_t i = 0; i < session->matching.count; i++) {
        const struct level_match *match = &session->matching.matches[i];
        trial_log_choice(log, session->stream.chain.names[i], match->gain_db, (size_t)match->shift);
    }
}

enum status listen_trial_open(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    struct listen_trial *trial = &session->trial;
    if (!listen_options_test(options))
        return STATUS_OK;
    TRY(trial_log_create(&trial->log));
    if (options->abx)
        TRY(trial_abx_create(options->abx, options->feedback, trial->log, &trial->test));
    else
        TRY(trial_ranking_create(listen_options_choices(options), options->blind, trial->log,
                                 &trial->test));
    snprintf(trial->keys, sizeof trial->keys,
             "a-%c listen  1-5 rate  Enter confirm  q stop  arrows seek  [ ] gain  m mute",
             (char)('a' + listen_options_choices(options) - 1));
    return check_log(options);
}

void listen_trial_close(struct listen_session *session)
{
    trial_destroy(session->trial.test);
    trial_log_destroy(session->trial.log);
    session->trial = (struct listen_trial){0};
}

/* ---- the listener's keys ---- */

static void play(struct listen_session *session, size_t sound)
{
    struct listen_trial *trial = &session->trial;
    trial->heard = sound;
    trial_play(trial->test, sound, stream_session_seconds(&session->stream));
    listen_switch_to(session, listen_trial_choice(session));
}

void listen_trial_begin(struct listen_session *session)
{
    session->trial.begins = false;
    play(session, 0);
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

static void answer(struct listen_session *session, enum abx_sound said)
{
    struct trial *test = session->trial.test;
    size_t number = test->answered + 1;
    enum abx_feedback reported =
        trial_abx_answer(test, said, stream_session_seconds(&session->stream));
    view_message(session->stream.view, "trial %zu: %s%c%s", number,
                 reported == ABX_NOT_REVEALED ? "your answer is " : "", said == ABX_A ? 'A' : 'B',
                 reported == ABX_RIGHT   ? ", which is right"
                 : reported == ABX_WRONG ? ", which is wrong"
                                         : "");
    listen_trial_go_on(session);
}

static bool abx_key(struct listen_session *session, int key)
{
    static const char listening[] = "abx123";
    const char *found = key > 0 && key < 128 ? strchr(listening, key) : NULL;
    if (found)
        play(session, (size_t)(found - listening) % 3);
    else if (key == 'A' || key == 'B')
        answer(session, key == 'A' ? ABX_A : ABX_B);
    return found || key == 'A' || key == 'B';
}

static bool ranking_key(struct listen_session *session, int key)
{
    struct listen_trial *trial = &session->trial;
    double now = stream_session_seconds(&session->stream);
    if (key >= 'a' && key < 'a' + (int)session->stream.chain.choice_count) {
        play(session, (size_t)(key - 'a'));
    } else if (key >= '0' + RATING_LEAST && key <= '0' + RATING_MOST) {
        trial_ranking_rate(trial->test, trial->heard, (unsigned)(key - '0'), now);
    } else if (key == '\n') {
        if (trial_ranking_confirm(trial->test, now))
            listen_trial_go_on(session);
        else
            view_message(session->stream.view, "not all are rated yet");
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
    return session->options->abx ? abx_key(session, key) : ranking_key(session, key);
}

bool listen_trial_has_answers(const struct listen_session *session)
{
    return session->trial.test && session->trial.test->answered > 0;
}

void listen_trial_stop(struct listen_session *session)
{
    if (session->trial.test)
        trial_stop(session->trial.test, stream_session_seconds(&session->stream));
    stream_session_leave(&session->stream);
}

/* ---- what is shown ---- */

static size_t abx_lines(struct listen_session *session)
{
    struct listen_trial *trial = &session->trial;
    const struct live_chain *chain = &session->stream.chain;
    const int left = view_columns(session->stream.view) - 6; /* beside "> A  " and the margin */
    snprintf(trial->lines[0], sizeof *trial->lines, "trial %zu of %zu: is X A or B?",
             trial->test->answered + 1, session->options->abx);
    for (size_t i = 0; i < 3; i++) {
        char name[DISTINCT_NAME_BYTES] = "?";
        if (i < 2)
            distinct_name(chain->names, chain->choice_count, i, left, name);
        snprintf(trial->lines[i + 1], sizeof *trial->lines, "%c %c  %s",
                 trial->heard == i ? '>' : ' ', "ABX"[i], name);
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
                                   trial->heard == i ? '>' : ' ', (char)('A' + i), mark);
    }
    return 2;
}

/* The commitment was printed before the screen opened; it is no news there is to read out. */
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
        snprintf(trial->lines[count++], sizeof *trial->lines, "SHA-256: %s",
                 trial->test->key.commitment);
    for (size_t i = 0; i < count; i++)
        lines[i] = trial->lines[i];
    return count;
}

/* ---- at the end ---- */

static enum status print_json(const struct trial *test, const struct trial_key *key)
{
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:b, s:s, s:{s:s, s:s}, s:o}", "event", "result", "test",
                  test->kind->name, "answered", (json_int_t)test->answered, "trials",
                  (json_int_t)test->planned, "stopped_early", test->answered < test->planned,
                  "commitment", key->commitment, "key", "draws", key->draws, "salt", key->salt,
                  "result", test->kind->result_json(test));
    int error = json_write(object, JSON_COMPACT, stdout);
    return error ? fail(STATUS_FAILED, "cannot write the result: %s", strerror(error)) : STATUS_OK;
}

static void print_text(const struct listen_session *session, const struct trial_key *key)
{
    const struct trial *test = session->trial.test;
    test->kind->result_print(test, session->stream.chain.names, stdout);
    printf("key: %s (%s)\nto check it: printf '%%s' '%s %s' | sha256sum\n  gives %s\n", key->draws,
           test->kind->draws, key->draws, key->salt, key->commitment);
}

enum status listen_trial_finish(struct listen_session *session)
{
    const struct listen_options *options = session->options;
    struct listen_trial *trial = &session->trial;
    if (!trial->test)
        return STATUS_OK;
    const struct trial_key *key = trial_revealed_key(trial->test);
    log_settings(session);
    if (options->play.json)
        TRY(print_json(trial->test, key));
    else
        print_text(session, key);
    if (!options->log)
        return STATUS_OK;
    TRY(trial_log_save(trial->log, options->log, options->play.force));
    note("%s: the log; halo listen --verify checks it", options->log);
    return STATUS_OK;
}
