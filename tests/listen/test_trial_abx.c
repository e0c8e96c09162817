/* Blind tests taken by scripted listeners, one that guesses and one that discriminates: the
 * hidden key, the log, its verification, and tests that go on. */
#include "base/noise.h"
#include "command.h"
#include "listen/trial.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { TRIALS = 16 };

struct session {
    struct trial_log *log;
    struct trial *abx;
};

static struct session session_begin(size_t trials, bool feedback)
{
    struct session session;
    ck_assert_int_eq(trial_log_create(&session.log), STATUS_OK);
    ck_assert_int_eq(trial_abx_create(trials, feedback, NULL, session.log, &session.abx),
                     STATUS_OK);
    json_t *about = json_pack("{s:[s,s], s:{s:s}}", "choices", "hall.wav", "plate.wav", "settings",
                              "sound", "voice.wav");
    ck_assert_int_eq(trial_begin(session.abx, about), STATUS_OK);
    return session;
}

static void session_end(struct session *session)
{
    trial_destroy(session->abx);
    trial_log_destroy(session->log);
}

static double result_number(const struct trial *abx, const char *name)
{
    ck_assert(abx->over);
    json_t *result = abx->kind->result_json(abx);
    double number = json_number_value(json_object_get(result, name));
    json_decref(result);
    return number;
}

/* The discriminating listener: X sounds like one of the choices. */
static enum abx_sound listen(const struct trial *abx)
{
    bool like_a = trial_choice(abx, ABX_X) == trial_choice(abx, ABX_A);
    return like_a ? ABX_A : ABX_B;
}

static enum abx_sound guess(uint64_t *state)
{
    return noise_next(state) < 0 ? ABX_A : ABX_B;
}

/* All heard, an answer, and its confirmation. */
static void answer(struct trial *abx, enum abx_sound said, double now)
{
    for (size_t sound = 0; sound < 3; sound++)
        trial_play(abx, sound, now);
    ck_assert(trial_abx_answer(abx, said, now + 1));
    ck_assert(trial_confirm(abx, now + 2, NULL));
}

/* Trials of 2 s each, 10 s apart. */
static void run_test(struct trial *abx, size_t trials, size_t wrong)
{
    for (size_t i = 0; i < trials; i++) {
        enum abx_sound said = listen(abx);
        if (i < wrong)
            said = said == ABX_A ? ABX_B : ABX_A;
        answer(abx, said, 10 * (double)i + 1);
    }
}

/* 1,000 tests by a guesser: hits follow the binomial distribution, and with them all p-values.
 * Chi-square of 11 cells (10 degrees) exceeds 62.9 once in 10^9 runs. */
START_TEST(guesses_follow_the_binomial)
{
    enum { SESSIONS = 1000, FEWEST = 3, CELLS = 11 };
    static const double expected[CELLS] = {/* of 3 and fewer, 4 ... 12, 13 and more hits:
                                              10000 * dbinom(0:16, 16, .5) in R */
                                           106.353759766, 277.7099609, 666.5039062,  1221.923828,
                                           1745.605469,   1963.806152, 1745.605469,  1221.923828,
                                           666.5039062,   277.7099609, 106.353759766};
    size_t counts[CELLS] = {0}, a = 0;
    uint64_t state = 1;
    for (size_t s = 0; s < SESSIONS; s++) {
        struct session session = session_begin(TRIALS, false);
        while (!session.abx->over) {
            a += trial_choice(session.abx, ABX_X) == 0;
            answer(session.abx, guess(&state), 0);
        }
        size_t hits = (size_t)result_number(session.abx, "hits");
        ck_assert_double_eq(result_number(session.abx, "p_value"), binomial_p_value(hits, TRIALS));
        size_t cell = hits < FEWEST ? 0 : hits - FEWEST;
        counts[cell < CELLS ? cell : CELLS - 1]++;
        session_end(&session);
    }
    double chi_square = 0;
    for (size_t cell = 0; cell < CELLS; cell++) {
        double mean = expected[cell] * SESSIONS / 10000;
        chi_square += pow((double)counts[cell] - mean, 2) / mean;
    }
    ck_assert_double_lt(chi_square, 62.9);
    /* X is A in half of all trials: within six standard deviations. */
    ck_assert_double_lt(fabs((double)a - SESSIONS * TRIALS / 2.0), 6 * sqrt(SESSIONS * TRIALS) / 2);
}

START_TEST(a_discriminating_listener_is_right)
{
    struct session session = session_begin(TRIALS, false);
    run_test(session.abx, TRIALS, 0);
    ck_assert_double_eq(result_number(session.abx, "hits"), TRIALS);
    ck_assert_double_eq_tol(result_number(session.abx, "p_value"), ldexp(1, -TRIALS), 1e-15);
    ck_assert_double_eq(result_number(session.abx, "median_seconds"), 2);
    ck_assert_double_eq(result_number(session.abx, "trials_needed"), 5);
    session_end(&session);
}

/* A value that depended on the one before would reveal more than the sound does. */
START_TEST(random_draws_are_independent)
{
    enum { DRAWS = 2000 };
    struct session session = session_begin(DRAWS, false);
    size_t same = 0, before = 2;
    while (!session.abx->over) {
        size_t x = trial_choice(session.abx, ABX_X);
        same += x == before;
        before = x;
        answer(session.abx, ABX_A, 0);
    }
    ck_assert_double_lt(fabs((double)same - DRAWS / 2.0), 6 * sqrt(DRAWS) / 2);
    session_end(&session);
}

START_TEST(nothing_is_revealed_before_the_end)
{
    struct session session = session_begin(2, false);
    answer(session.abx, ABX_A, 1);
    ck_assert_int_eq(trial_abx_feedback(session.abx), ABX_NOT_REVEALED);
    ck_assert_ptr_null(trial_revealed_key(session.abx));
    answer(session.abx, ABX_A, 2);
    ck_assert_uint_eq(strlen(trial_revealed_key(session.abx)->draws), 2);
    ck_assert(!trial_abx_answer(session.abx, ABX_A, 3));
    ck_assert(!trial_confirm(session.abx, 3, NULL));
    ck_assert_uint_eq(session.abx->answered, 2);
    session_end(&session);
}

START_TEST(feedback_is_given_on_request)
{
    struct session session = session_begin(TRIALS, true);
    while (!session.abx->over) {
        bool right = listen(session.abx) == ABX_B;
        answer(session.abx, ABX_B, 0);
        ck_assert_int_eq(trial_abx_feedback(session.abx), right ? ABX_RIGHT : ABX_WRONG);
    }
    session_end(&session);
}

/* In each trial anew: A, B and X come before the answer. It may change until it is confirmed. */
START_TEST(answers_need_all_sounds_and_may_change)
{
    struct session session = session_begin(8, false);
    for (size_t i = 0; i < 8; i++) {
        enum abx_sound right = listen(session.abx), wrong = right == ABX_A ? ABX_B : ABX_A;
        for (size_t sound = 0; sound < 3; sound++) {
            ck_assert(!trial_abx_answer(session.abx, wrong, 0));
            ck_assert(!trial_confirm(session.abx, 0, NULL));
            trial_play(session.abx, (sound + i) % 3, 0);
        }
        ck_assert(!trial_confirm(session.abx, 0, NULL));
        ck_assert(!trial_abx_answer(session.abx, ABX_X, 0)); /* no answer */
        ck_assert(trial_abx_answer(session.abx, wrong, 1));
        ck_assert_int_eq(trial_abx_said(session.abx), wrong);
        trial_play(session.abx, ABX_X, 2);
        ck_assert(trial_abx_answer(session.abx, right, 3));
        ck_assert(trial_confirm(session.abx, 4, NULL));
        ck_assert(session.abx->over || trial_abx_said(session.abx) == ABX_X);
    }
    ck_assert_double_eq(result_number(session.abx, "hits"), 8);
    session_end(&session);
}

/* ---- the log ---- */

static void save(struct trial_log *log)
{
    command_clean();
    ck_assert_int_eq(trial_log_open(log, command_path("log.json"), false), STATUS_OK);
    ck_assert_str_eq(command_files(), "log.json");
}

static json_t *saved(void)
{
    json_error_t error;
    json_t *root = json_load_file(command_path("log.json"), 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    return root;
}

static void expect_event(const json_t *root, size_t index, double time, int trial,
                         const char *event, const char *key, const char *value)
{
    const json_t *line = json_array_get(json_object_get(root, "events"), index);
    ck_assert_double_eq(json_number_value(json_object_get(line, "time")), time);
    ck_assert_int_eq((int)json_integer_value(json_object_get(line, "trial")), trial);
    ck_assert_str_eq(json_string_value(json_object_get(line, "event")), event);
    if (key)
        ck_assert_str_eq(json_string_value(json_object_get(line, key)), value);
}

/* Valid JSON after each record; nothing in it tells the key before the end. */
START_TEST(the_log_is_complete_after_each_record)
{
    struct session session = session_begin(2, false);
    save(session.log);
    for (size_t i = 0; i < 2; i++) {
        double now = 10 * (double)i;
        for (size_t sound = 0; sound < 3; sound++) {
            trial_play(session.abx, sound, now + 0.25 * (double)sound);
            json_t *root = saved();
            ck_assert_uint_eq(json_array_size(json_object_get(root, "events")), 5 * i + sound + 1);
            ck_assert_ptr_null(json_object_get(root, "end"));
            json_decref(root);
        }
        ck_assert(trial_abx_answer(session.abx, ABX_A, now + 1.00049));
        ck_assert(trial_confirm(session.abx, now + 2, json_pack("{s:i}", "late", 3)));
    }
    json_t *root = saved();
    expect_event(root, 0, 0, 1, "listen", "sound", "A");
    expect_event(root, 1, 0.25, 1, "switch", "sound", "B");
    expect_event(root, 3, 1, 1, "answer", "answer", "A");
    expect_event(root, 9, 12, 2, "confirm", NULL, NULL);
    ck_assert_int_eq((int)json_integer_value(json_object_get(
                         json_array_get(json_object_get(root, "events"), 9), "late")),
                     3);
    const json_t *end = json_object_get(root, "end");
    ck_assert(json_is_false(json_object_get(end, "stopped_early")));
    ck_assert_str_eq(json_string_value(json_object_get(root, "commitment")),
                     session.abx->key.commitment);
    ck_assert_str_eq(json_string_value(json_object_get(end, "hash")), trial_log_head(session.log));
    const json_t *result = json_object_get(end, "result");
    ck_assert_double_eq(json_number_value(json_object_get(result, "median_seconds")), 2);
    ck_assert_double_eq(json_number_value(json_object_get(result, "hits")),
                        result_number(session.abx, "hits"));
    json_decref(root);
    session_end(&session);
}

START_TEST(a_log_replaces_no_other_file)
{
    struct session session = session_begin(2, false);
    save(session.log);
    struct session other = session_begin(2, false);
    ck_assert_int_eq(trial_log_open(other.log, command_path("log.json"), false), STATUS_FAILED);
    session_end(&other);
    other = session_begin(2, false);
    ck_assert_int_eq(trial_log_try(command_path("log.json"), true), STATUS_FAILED); /* it runs */
    ck_assert_int_eq(trial_log_open(other.log, command_path("log.json"), true), STATUS_FAILED);
    run_test(session.abx, 2, 0);
    ck_assert_int_eq(trial_log_check(session.log), STATUS_OK);
    session_end(&session);
    session_end(&other);
    ck_assert_int_eq(trial_replay_verify(command_path("log.json"), false), STATUS_OK);
    other = session_begin(2, false);
    ck_assert_int_eq(trial_log_open(other.log, command_path("log.json"), true), STATUS_OK);
    session_end(&other);
}

/* Whatever happens to the file, at any time before the result: `damage` is run in its folder. */
START_TEST(a_log_that_was_lost_has_failed)
{
    static const char *const damages[] = {"rm log.json",
                                          "cp log.json new && mv new log.json",
                                          "head -c 9999 /dev/zero >> log.json",
                                          "truncate -s -100 log.json",
                                          "sed -i s/voice/noise/ log.json",
                                          "printf x | dd of=log.json bs=1 seek=9 conv=notrunc",
                                          "mv log.json other.json && ln -s nowhere log.json"},
                             *const harmless[] = {"ln log.json other.json", "touch log.json",
                                                  "mv log.json o.json && ln -s o.json log.json"};
    enum { DAMAGES = sizeof damages / sizeof *damages, ALL = DAMAGES + 3 };
    for (size_t i = 0; i < 2 * ALL; i++) {
        size_t which = i / 2, last = i % 2;
        struct session session = session_begin(3, false);
        save(session.log);
        for (size_t trial = 0; trial < 3; trial++) {
            if (trial == 1 + last)
                command_done("%s 2> /dev/null",
                             which < DAMAGES ? damages[which] : harmless[which - DAMAGES]);
            if (trial < 2)
                answer(session.abx, listen(session.abx), 10 * (double)trial);
        }
        trial_stop(session.abx, 100);
        ck_assert_msg(trial_log_failed(session.log) == (which < DAMAGES), "%zu", which);
        ck_assert_int_eq(trial_log_check(session.log) == STATUS_OK, which >= DAMAGES);
        session_end(&session);
    }
}

START_TEST(stopping_early_is_reported)
{
    struct session session = session_begin(TRIALS, false);
    save(session.log);
    run_test(session.abx, 10, 1);
    trial_stop(session.abx, 200);
    trial_stop(session.abx, 300);
    ck_assert_uint_eq(session.abx->planned, TRIALS);
    ck_assert_uint_eq(session.abx->answered, 10);
    ck_assert_double_eq(result_number(session.abx, "hits"), 9);
    ck_assert_double_eq_tol(result_number(session.abx, "p_value"), 0.0107421875, 1e-12);
    char *printed = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&printed, &size);
    session.abx->kind->result_print(session.abx, NULL, stream);
    fclose(stream);
    ck_assert_ptr_nonnull(strstr(printed, "9 of 10 right; p = 0.01074"));
    ck_assert_ptr_nonnull(strstr(printed, "10 answered of 16 planned trials; not valid"));
    ck_assert_ptr_nonnull(strstr(printed, "true rate: 55.5 to 99.7 %"));
    ck_assert_ptr_nonnull(strstr(printed, "takes 8 trials"));
    free(printed);

    json_t *root = saved();
    const json_t *end = json_object_get(root, "end");
    ck_assert(json_is_true(json_object_get(end, "stopped_early")));
    ck_assert_double_eq(json_number_value(json_object_get(end, "time")), 200);
    const char *note =
        json_string_value(json_object_get(json_object_get(end, "result"), "p_value_note"));
    ck_assert_ptr_nonnull(strstr(note, "not valid as a planned test"));
    json_decref(root);
    session_end(&session);
}

/* ---- verification ---- */

static char fault[200];

/* What does not fit; "": nothing. */
static const char *fault_of(const json_t *root)
{
    struct trial_replay replay;
    ck_assert_int_eq(json_dump_file(root, command_path("changed.json"), 0), 0);
    enum status status = trial_replay_init(&replay, command_path("changed.json"), false);
    strcpy(fault, status == STATUS_OK ? replay.fault : "refused");
    trial_replay_free(&replay);
    return fault;
}

/* Each value that differs is found, in all records, also where the JSON is laid out anew. */
static size_t change_each(json_t *root, json_t *value, const char *name)
{
    const char *key;
    json_t *member;
    size_t index, changed = 0;
    json_object_foreach(value, key, member)
    {
        json_incref(member);
        if (json_is_object(member) || json_is_array(member)) {
            changed += change_each(root, member, key);
        } else {
            json_object_set_new(value, key,
                                json_is_string(member) ? json_string("changed")
                                : json_is_true(member) ? json_false()
                                : json_is_boolean(member)
                                    ? json_true()
                                    : json_real(json_number_value(member) * 1.001 + 0.001));
            ck_assert_msg(*fault_of(root), "%s was changed", key);
            json_object_set(value, key, member);
            changed++;
        }
        json_decref(member);
    }
    json_array_foreach(value, index, member)
    {
        json_incref(member);
        if (json_is_object(member) || json_is_array(member)) {
            changed += change_each(root, member, name);
        } else {
            json_array_set_new(value, index, json_string("changed"));
            ck_assert_msg(*fault_of(root), "%s was changed", name);
            json_array_set(value, index, member);
            changed++;
        }
        json_decref(member);
    }
    return changed;
}

START_TEST(each_change_is_found)
{
    struct session session = session_begin(3, false);
    save(session.log);
    run_test(session.abx, 2, 1);
    trial_stop(session.abx, 200);
    json_t *root = saved(), *events = json_object_get(root, "events");
    ck_assert_str_eq(fault_of(root), "");
    ck_assert_uint_ge(change_each(root, root, "log"), 70);
    ck_assert_str_eq(fault_of(root), "");
    for (size_t i = 0; i < json_array_size(events); i++) { /* each event left out */
        json_t *event = json_incref(json_array_get(events, i));
        json_array_remove(events, i);
        ck_assert_ptr_nonnull(strstr(fault_of(root), "does not follow from"));
        json_array_insert_new(events, i, event);
    }
    json_object_set_new(json_array_get(events, 0), "more", json_true());
    ck_assert_ptr_nonnull(strstr(fault_of(root), "event 1 (listen of trial 1)"));
    json_decref(root);
    session_end(&session);
}

/* Makes all hashes anew, from a record on. */
static void hash_anew(json_t *root, size_t from)
{
    json_t *events = json_object_get(root, "events"), *end = json_object_get(root, "end");
    char hash[DIGEST_TEXT];
    strcpy(hash, json_string_value(
                     json_object_get(from ? json_array_get(events, from - 1) : root, "hash")));
    for (size_t i = from; i <= json_array_size(events); i++) {
        json_t *record = i < json_array_size(events) ? json_array_get(events, i) : end;
        ck_assert_int_eq(trial_log_hash(hash, record, hash), STATUS_OK);
        json_object_set_new(record, "hash", json_string(hash));
    }
}

/* A forger who makes the hashes anew: rules of the test and results must hold all the same. An
 * answer and its result, both forged, are found by the head alone. */
START_TEST(results_follow_from_what_is_hashed)
{
    struct session session = session_begin(TRIALS, false);
    save(session.log);
    run_test(session.abx, TRIALS, 4);
    json_t *root = saved(), *events = json_object_get(root, "events");
    json_t *end = json_object_get(root, "end"), *result = json_object_get(end, "result");
    char head[DIGEST_TEXT];
    strcpy(head, json_string_value(json_object_get(end, "hash")));
    hash_anew(root, 0);
    ck_assert_str_eq(json_string_value(json_object_get(end, "hash")), head);

    json_t *said = json_array_get(events, 3);
    bool was_a = strcmp(json_string_value(json_object_get(said, "answer")), "A") == 0;
    json_object_set_new(said, "answer", json_string(was_a ? "B" : "A"));
    hash_anew(root, 3);
    ck_assert_ptr_nonnull(strstr(fault_of(root), "does not follow from the answers"));
    json_object_set_new(result, "hits", json_integer(13));
    hash_anew(root, 3);
    ck_assert_ptr_nonnull(strstr(fault_of(root), "p_value does not follow"));
    json_object_set_new(said, "answer", json_string(was_a ? "A" : "B"));
    json_object_set_new(result, "hits", json_integer(12));
    hash_anew(root, 3);
    ck_assert_str_eq(fault_of(root), "");

    json_array_remove(events, 2); /* X was not heard */
    hash_anew(root, 2);
    ck_assert_ptr_nonnull(strstr(fault_of(root), "event 3 (answer of trial 1)"));
    json_decref(root);
    session_end(&session);
}

static void set_in(json_t *root, size_t event, const char *name, json_t *value)
{
    json_object_set_new(json_array_get(json_object_get(root, "events"), event), name, value);
}

/* A log that no test writes is found also where its hashes are right. */
START_TEST(contradictions_are_found)
{
    struct session session = session_begin(3, false);
    save(session.log);
    trial_remark(session.abx, 0.5, "level", json_pack("{s:f, s:b}", "gain_db", -3.0, "muted", 0));
    for (size_t i = 0; i < 2; i++) { /* events 1 to 5, 6 to 10 */
        for (size_t sound = 0; sound < 3; sound++)
            trial_play(session.abx, sound, 10 * (double)i + (double)sound + 1);
        ck_assert(trial_abx_answer(session.abx, ABX_A, 10 * (double)i + 4));
        ck_assert(trial_confirm(session.abx, 10 * (double)i + 5,
                                json_pack("{s:i, s:i, s:i}", "late", 1, "lost", 0, "missed", 2)));
    }
    trial_resume(session.abx, 0, NULL); /* another program: its time begins anew */
    trial_remark(session.abx, 1, "level", json_pack("{s:f, s:b}", "gain_db", 0.0, "muted", 1));
    trial_remark(session.abx, 1.5, "outages",
                 json_pack("{s:[{s:i}, {s:i}]}", "trials", "late", 0, "late", 2));
    trial_stop(session.abx, 2);
    const struct {
        size_t event;
        const char *name;
        json_t *value;
    } changes[] = {{0, "time", json_real(-1)},
                   {2, "time", json_real(0.99)},
                   {4, "time", json_real(7)},
                   {6, "time", json_real(4.5)},
                   {12, "time", json_real(2.5)},
                   {11, "time", json_real(-0.5)},
                   {0, "muted", json_string("no")},
                   {0, "muted", json_integer(0)},
                   {0, "muted", json_true()},
                   {0, "gain_db", json_string("-3")},
                   {12, "gain_db", json_real(77)},
                   {0, "gain_db", json_real(-99)},
                   {5, "late", json_integer(-1)},
                   {10, "lost", json_string("none")},
                   {5, "missed", json_real(0.5)},
                   {10, "missed", json_null()},
                   {3, "time", json_real(1e300)},
                   {12, "muted", json_null()},
                   {13, "trials", json_pack("[{s:i}, {s:i}]", "late", 0, "late", -2)}};
    json_t *root = saved();
    ck_assert_str_eq(fault_of(root), "");
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        json_t *changed = json_deep_copy(root);
        set_in(changed, changes[i].event, changes[i].name, changes[i].value);
        hash_anew(changed, 0);
        ck_assert_msg(*fault_of(changed), "%zu: %s of event %zu", i, changes[i].name,
                      changes[i].event);
        json_decref(changed);
    }
    set_in(root, 0, "gain_db", json_real(-4)); /* what could be is found by the head alone */
    set_in(root, 5, "late", json_integer(2));
    set_in(root, 3, "time", json_real(2.5));
    hash_anew(root, 0);
    ck_assert_str_eq(fault_of(root), "");
    json_decref(root);
    session_end(&session);
}

/* The first member of any object, once more before it: readers take the one or the other. */
START_TEST(members_that_are_there_twice_are_refused)
{
    struct session session = session_begin(3, false);
    char *text = NULL;
    size_t size = 0, objects = 0;
    save(session.log);
    run_test(session.abx, 2, 1);
    trial_stop(session.abx, 200);
    session_end(&session);
    FILE *file = fopen(command_path("log.json"), "r");
    ck_assert_int_gt(getdelim(&text, &size, 0, file), 0);
    fclose(file);
    size = strlen(text);
    for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{'), objects++) {
        struct trial_replay replay;
        const char *end = strchr(at, ':');
        file = fopen(command_path("twice.json"), "w");
        fprintf(file, "%.*s%.*s: 0, %s", (int)(at + 1 - text), text, (int)(end - at - 1), at + 1,
                at + 1);
        fclose(file);
        ck_assert_int_eq(trial_replay_verify(command_path("twice.json"), false), STATUS_FAILED);
        ck_assert_int_eq(trial_replay_init(&replay, command_path("twice.json"), true),
                         STATUS_FAILED); /* not taken for one that was cut off */
        trial_replay_free(&replay);
    }
    ck_assert_uint_ge(objects, 14);
    free(text);
}

START_TEST(verifying_refuses_other_files)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{}",
        "7",
        "{\"test\": \"abx\", \"trials\": 16}",
        "{\"test\": \"abx\", \"trials\": 16, \"events\": [], \"sealed_seed\": \"00\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *file = fopen(command_path("bad.json"), "w");
        fputs(texts[i], file);
        fclose(file);
        ck_assert_int_eq(trial_replay_verify(command_path("bad.json"), false), STATUS_FAILED);
    }
    ck_assert_int_eq(trial_replay_verify(command_path("none.json"), false), STATUS_FAILED);
}

/* ---- going on ---- */

static void write_part(const char *text, size_t size)
{
    FILE *file = fopen(command_path("log.json"), "w");
    ck_assert_uint_eq(fwrite(text, 1, size, file), size);
    fclose(file);
}

/* Cut off after any byte behind the first record, a log loses what was cut, and at most the record
 * before; the test goes on in the order that was drawn, and its log is whole again. */
START_TEST(a_log_cut_anywhere_goes_on)
{
    struct session session = session_begin(3, false);
    char draws[4], *text = NULL;
    size_t size = 0, most = 0;
    save(session.log);
    strcpy(draws, session.abx->key.draws);
    run_test(session.abx, 3, 1);
    FILE *file = fopen(command_path("log.json"), "r");
    ck_assert_int_gt(getdelim(&text, &size, 0, file), 0);
    fclose(file);
    session_end(&session);
    size = strlen(text);
    for (size_t cut = (size_t)(strstr(text, "\"events\"") - text) + 11; cut < size - 2; cut += 61) {
        struct trial_replay replay;
        write_part(text, cut);
        ck_assert_int_eq(trial_replay_init(&replay, command_path("log.json"), true), STATUS_OK);
        ck_assert_msg(replay.cut && !replay.finished && !*replay.fault, "cut at %zu", cut);
        ck_assert_str_eq(replay.trial->key.draws, draws);
        ck_assert_uint_ge(replay.trial->answered, most);
        most = replay.trial->answered;
        ck_assert_int_eq(trial_log_open(replay.log, command_path("log.json"), true), STATUS_OK);
        if (!replay.trial->over)
            trial_resume(replay.trial, 0, NULL);
        for (double now = 0; !replay.trial->over; now += 10)
            answer(replay.trial, listen(replay.trial), now);
        ck_assert_double_ge(result_number(replay.trial, "hits"), 2);
        trial_replay_free(&replay);
        ck_assert_int_eq(trial_replay_verify(command_path("log.json"), false), STATUS_OK);
    }
    ck_assert_uint_eq(most, 3);
    free(text);
}

/* Records up to where the disk was full are kept, and the test goes on from there. */
START_TEST(a_full_disk_costs_the_last_records)
{
    enum { ROOM = 700 }; /* bytes behind the first record */
    struct session session = session_begin(8, false);
    struct trial_replay replay;
    struct rlimit before, full;
    struct stat about;
    save(session.log);
    ck_assert_int_eq(stat(command_path("log.json"), &about), 0);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    full = (struct rlimit){(rlim_t)about.st_size + ROOM, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &full), 0);
    for (double now = 1; !trial_log_failed(session.log); now += 10)
        answer(session.abx, listen(session.abx), now);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(trial_log_check(session.log), STATUS_FAILED);
    size_t answered = session.abx->answered;
    session_end(&session);
    ck_assert_int_eq(trial_replay_init(&replay, command_path("log.json"), true), STATUS_OK);
    ck_assert(!*replay.fault && !replay.finished);
    ck_assert_uint_eq(replay.trial->answered, answered - 1);
    trial_replay_free(&replay);
}

/* Of a test that runs, the log can be checked, and is not taken by another one. */
START_TEST(a_running_test_keeps_its_log)
{
    struct session session = session_begin(3, false);
    struct trial_replay replay;
    save(session.log);
    run_test(session.abx, 2, 1);
    ck_assert_int_eq(trial_replay_init(&replay, command_path("log.json"), true), STATUS_FAILED);
    trial_replay_free(&replay);
    ck_assert_int_eq(trial_replay_init(&replay, command_path("log.json"), false), STATUS_OK);
    ck_assert_uint_eq(replay.trial->answered, 2);
    ck_assert_str_eq(trial_log_head(replay.log), trial_log_head(session.log));
    trial_replay_free(&replay);
    session_end(&session);
}
