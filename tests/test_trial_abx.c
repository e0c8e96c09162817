/* Blind tests taken by scripted listeners, one that guesses and one that discriminates: the
 * hidden key, the log, and its verification. */
#include "base/noise.h"
#include "command.h"
#include "listen/trial_abx.h"
#include "listen/trial_verify.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRIALS = 16 };

struct session {
    struct trial_log *log;
    struct trial *abx;
};

static struct session session_begin(size_t trials, bool feedback)
{
    struct session session;
    ck_assert_int_eq(trial_log_create(&session.log), STATUS_OK);
    ck_assert_int_eq(trial_abx_create(trials, feedback, session.log, &session.abx), STATUS_OK);
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

/* Sixteen trials, 2 s each from the first sound to the answer, 10 s apart. */
static void run_test(struct trial *abx, size_t trials, size_t wrong)
{
    for (size_t i = 0; i < trials; i++) {
        double now = 10 * (double)i;
        trial_play(abx, ABX_A, now + 1);
        trial_play(abx, ABX_X, now + 2);
        enum abx_sound answer = listen(abx);
        if (i < wrong)
            answer = answer == ABX_A ? ABX_B : ABX_A;
        trial_abx_answer(abx, answer, now + 3);
    }
}

/* 10,000 tests by a guesser: hits follow the binomial distribution, and with them all p-values.
 * Chi-square of 11 cells (10 degrees) exceeds 62.9 once in 10^9 runs. */
START_TEST(guesses_follow_the_binomial)
{
    enum { SESSIONS = 10000, FEWEST = 3, CELLS = 11 };
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
            trial_abx_answer(session.abx, guess(&state), 0);
        }
        size_t hits = (size_t)result_number(session.abx, "hits");
        ck_assert_double_eq(result_number(session.abx, "p_value"), binomial_p_value(hits, TRIALS));
        size_t cell = hits < FEWEST ? 0 : hits - FEWEST;
        counts[cell < CELLS ? cell : CELLS - 1]++;
        session_end(&session);
    }
    double chi_square = 0;
    for (size_t cell = 0; cell < CELLS; cell++)
        chi_square += pow((double)counts[cell] - expected[cell], 2) / expected[cell];
    ck_assert_double_lt(chi_square, 62.9);
    /* X is A in half of all trials: within six standard deviations. */
    ck_assert_double_lt(fabs((double)a - SESSIONS * TRIALS / 2.0), 6 * sqrt(SESSIONS * TRIALS) / 2);
}
END_TEST

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
END_TEST

/* A value that depended on the one before would reveal more than the sound does. */
START_TEST(random_draws_are_independent)
{
    enum { DRAWS = 10000 };
    struct session session = session_begin(DRAWS, false);
    size_t same = 0, before = 2;
    while (!session.abx->over) {
        size_t x = trial_choice(session.abx, ABX_X);
        same += x == before;
        before = x;
        trial_abx_answer(session.abx, ABX_A, 0);
    }
    ck_assert_double_lt(fabs((double)same - DRAWS / 2.0), 6 * sqrt(DRAWS) / 2);
    session_end(&session);
}
END_TEST

START_TEST(nothing_is_revealed_before_the_end)
{
    struct session session = session_begin(2, false);
    char commitment[DIGEST_TEXT], text[128], digest[DIGEST_TEXT];
    strcpy(commitment, session.abx->key.commitment);
    ck_assert_int_eq(trial_abx_answer(session.abx, ABX_A, 1), ABX_NOT_REVEALED);
    ck_assert_ptr_null(trial_revealed_key(session.abx));
    command_clean();
    ck_assert_int_eq(trial_log_save(session.log, "early.json", false), STATUS_FAILED);
    ck_assert_int_eq(trial_abx_answer(session.abx, ABX_A, 2), ABX_NOT_REVEALED);

    /* the same as sha256sum */
    const struct trial_key *key = trial_revealed_key(session.abx);
    ck_assert_uint_eq(strlen(key->draws), 2);
    snprintf(text, sizeof text, "%s %s", key->draws, key->salt);
    digest_of_text(text, digest);
    ck_assert_str_eq(digest, commitment);
    ck_assert_int_eq(trial_abx_answer(session.abx, ABX_A, 3), ABX_NOT_REVEALED);
    ck_assert_uint_eq(session.abx->answered, 2);
    session_end(&session);
}
END_TEST

START_TEST(feedback_is_given_on_request)
{
    struct session session = session_begin(TRIALS, true);
    while (!session.abx->over) {
        bool right = listen(session.abx) == ABX_B;
        ck_assert_int_eq(trial_abx_answer(session.abx, ABX_X, 0), ABX_NOT_REVEALED); /* no answer */
        ck_assert_int_eq(trial_abx_answer(session.abx, ABX_B, 0), right ? ABX_RIGHT : ABX_WRONG);
    }
    session_end(&session);
}
END_TEST

/* ---- the log ---- */

static void save(const struct trial_log *log)
{
    command_clean();
    ck_assert_int_eq(trial_log_save(log, command_path("log.json"), false), STATUS_OK);
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
    ck_assert_str_eq(json_string_value(json_object_get(line, key)), value);
}

START_TEST(the_log_is_complete)
{
    struct session session = session_begin(2, false);
    trial_log_choice(session.log, "hall.wav", 0, 0);
    trial_log_choice(session.log, "plat\xe9.wav", -3.2, 595);
    trial_log_setting(session.log, "match", "r128");
    trial_play(session.abx, ABX_A, 0.5);
    trial_play(session.abx, ABX_X, 1.25);
    trial_play(session.abx, ABX_X, 2);
    trial_abx_answer(session.abx, ABX_A, 3);
    trial_play(session.abx, ABX_B, 4);
    trial_abx_answer(session.abx, ABX_A, 6);
    save(session.log);
    json_t *root = saved();
    expect_event(root, 0, 0.5, 1, "listen", "sound", "A");
    expect_event(root, 1, 1.25, 1, "switch", "sound", "X");
    expect_event(root, 2, 2, 1, "listen", "sound", "X");
    expect_event(root, 3, 3, 1, "answer", "answer", "A");
    expect_event(root, 4, 4, 2, "listen", "sound", "B");
    expect_event(root, 5, 6, 2, "answer", "answer", "A");
    ck_assert_uint_eq(json_array_size(json_object_get(root, "events")), 6);

    const json_t *choice = json_array_get(json_object_get(root, "choices"), 1);
    ck_assert_str_eq(json_string_value(json_object_get(choice, "name")), "plat\uFFFD.wav");
    ck_assert_double_eq(json_number_value(json_object_get(choice, "gain_db")), -3.2);
    ck_assert_int_eq((int)json_integer_value(json_object_get(choice, "delay")), 595);
    const json_t *end = json_object_get(root, "end");
    ck_assert(json_is_false(json_object_get(end, "stopped_early")));
    ck_assert_str_eq(json_string_value(json_object_get(root, "commitment")),
                     session.abx->key.commitment);
    const json_t *result = json_object_get(end, "result");
    ck_assert_double_eq(json_number_value(json_object_get(result, "median_seconds")), 2.25);
    ck_assert_double_eq(json_number_value(json_object_get(result, "hits")),
                        result_number(session.abx, "hits"));
    ck_assert_int_eq(trial_log_save(session.log, command_path("log.json"), false), STATUS_FAILED);
    ck_assert_int_eq(trial_log_save(session.log, command_path("log.json"), true), STATUS_OK);
    json_decref(root);
    session_end(&session);
}
END_TEST

START_TEST(stopping_early_is_reported)
{
    struct session session = session_begin(TRIALS, false);
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

    save(session.log);
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
END_TEST

/* ---- verification ---- */

static const char *fault_of(const json_t *root)
{
    const char *fault = "nothing was found";
    ck_assert_int_eq(json_dump_file(root, command_path("changed.json"), 0), 0);
    ck_assert_int_eq(trial_verify(command_path("changed.json"), &fault), STATUS_OK);
    return fault ? fault : "";
}

static void expect_fault(const json_t *root, const char *expected)
{
    const char *fault = fault_of(root);
    ck_assert_msg(strstr(fault, expected) != NULL, "not '%s': '%s'", expected, fault);
}

START_TEST(verifying_finds_changes)
{
    struct session session = session_begin(TRIALS, false);
    run_test(session.abx, TRIALS, 4);
    save(session.log);
    json_t *root = saved(), *end = json_object_get(root, "end");
    json_t *key = json_object_get(end, "key"), *result = json_object_get(end, "result");
    ck_assert_str_eq(fault_of(root), "");

    json_object_set_new(result, "hits", json_integer(13));
    expect_fault(root, "result does not follow");
    json_object_set_new(result, "hits", json_integer(12));
    json_object_set_new(result, "p_value", json_real(0.01));
    expect_fault(root, "result does not follow");
    json_object_set_new(result, "p_value", json_real(binomial_p_value(12, TRIALS)));
    ck_assert_str_eq(fault_of(root), "");

    json_t *answer = json_array_get(json_object_get(root, "events"), 2);
    const char *choice = json_string_value(json_object_get(answer, "answer"));
    json_object_set_new(answer, "answer", json_string(choice[0] == 'A' ? "B" : "A"));
    expect_fault(root, "result does not follow");
    json_array_remove(json_object_get(root, "events"), 2);
    expect_fault(root, "answers are not one for every trial");

    char draws[TRIALS + 1];
    strcpy(draws, json_string_value(json_object_get(key, "draws")));
    draws[3] = draws[3] == 'A' ? 'B' : 'A';
    json_object_set_new(key, "draws", json_string(draws));
    expect_fault(root, "the key is not the one");
    json_decref(root);
    session_end(&session);
}
END_TEST

/* A p-value so small that a change to it is smaller still. */
START_TEST(verifying_compares_small_p_values)
{
    struct session session = session_begin(40, false);
    run_test(session.abx, 40, 0);
    save(session.log);
    json_t *root = saved();
    json_t *result = json_object_get(json_object_get(root, "end"), "result");
    ck_assert_str_eq(fault_of(root), "");
    json_object_set_new(result, "p_value", json_real(ldexp(1, -41)));
    expect_fault(root, "result does not follow");
    json_decref(root);
    session_end(&session);
}
END_TEST

START_TEST(verifying_refuses_other_files)
{
    static const char *const texts[] = {"", "[]", "{}", "{\"test\": \"abx\", \"trials\": 16}"};
    const char *fault;
    command_clean();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FILE *file = fopen(command_path("bad.json"), "w");
        fputs(texts[i], file);
        fclose(file);
        ck_assert_int_eq(trial_verify(command_path("bad.json"), &fault), STATUS_FAILED);
    }
    ck_assert_int_eq(trial_verify(command_path("none.json"), &fault), STATUS_FAILED);
}
END_TEST

SUITE_MAIN("trial_abx", guesses_follow_the_binomial, a_discriminating_listener_is_right,
           random_draws_are_independent, nothing_is_revealed_before_the_end,
           feedback_is_given_on_request, the_log_is_complete, stopping_early_is_reported,
           verifying_finds_changes, verifying_compares_small_p_values,
           verifying_refuses_other_files)
