/* Preference tests by scripted listeners; places and orders of the pairs; statistics beside SciPy;
 * the log's verification. */
#include "command.h"
#include "listen/trial.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct session {
    struct trial_log *log;
    struct trial *test;
};

static struct session session_begin(size_t masks, size_t rounds)
{
    struct session session;
    ck_assert_int_eq(trial_log_create(&session.log), STATUS_OK);
    ck_assert_int_eq(trial_preference_create(masks, rounds * preference_pairs(masks), NULL,
                                             session.log, &session.test),
                     STATUS_OK);
    ck_assert_int_eq(trial_begin(session.test, json_object()), STATUS_OK);
    return session;
}

static void session_end(struct session *session)
{
    trial_destroy(session->test);
    trial_log_destroy(session->log);
}

/* Prefers the earlier mask of each pair; of the first and the last mask, none. */
static void run_trial(struct trial *test, size_t last, double now)
{
    size_t a = trial_choice(test, PREFERENCE_A), b = trial_choice(test, PREFERENCE_B);
    trial_play(test, PREFERENCE_A, now);
    trial_play(test, PREFERENCE_B, now + 1);
    ck_assert(trial_prefer(test,
                           a + b == last ? PREFERENCE_NONE
                           : a < b       ? PREFERENCE_A
                                         : PREFERENCE_B,
                           now + 2));
    ck_assert(trial_confirm(test, now + 3, NULL));
}

START_TEST(a_listener_with_a_preference_shows_it)
{
    enum { MASKS = 3, ROUNDS = 6 };
    static const int counts[][3] = {{ROUNDS, 0, 0}, {0, 0, ROUNDS}, {ROUNDS, 0, 0}};
    struct session session = session_begin(MASKS, ROUNDS);
    for (int t = 0; !session.test->over; t++) {
        ck_assert_ptr_null(trial_revealed_key(session.test));
        run_trial(session.test, MASKS - 1, 10.0 * t);
    }
    ck_assert_uint_eq(session.test->answered, ROUNDS * 3);
    json_t *result = session.test->kind->result_json(session.test);
    for (size_t p = 0; p < 3; p++) {
        const json_t *pair = json_array_get(json_object_get(result, "pairs"), p);
        const json_t *preferred = json_object_get(pair, "preferred");
        ck_assert_int_eq(json_integer_value(json_array_get(preferred, 0)), counts[p][0]);
        ck_assert_int_eq(json_integer_value(json_array_get(preferred, 1)), counts[p][1]);
        ck_assert_int_eq(json_integer_value(json_object_get(pair, "ties")), counts[p][2]);
        ck_assert_double_eq_tol(command_json_number(pair, "p_value"), counts[p][0] ? 1 / 32.0 : 1,
                                1e-12);
    }
    ck_assert_double_eq(command_json_number(result, "median_seconds"), 3);
    json_decref(result);
    session_end(&session);
}

/* Each round has each pair, and each pair changes places from round to round. */
START_TEST(pairs_and_places_are_balanced)
{
    enum { MASKS = 4, PAIRS = 6, ROUNDS = 400 };
    size_t first_of_round[PAIRS] = {0};
    struct session session = session_begin(MASKS, ROUNDS);
    trial_stop(session.test, 0);
    const char *draws = trial_revealed_key(session.test)->draws;
    char before[MASKS][MASKS] = {{0}};
    for (size_t round = 0; round < ROUNDS; round++) {
        bool seen[MASKS][MASKS] = {{false}};
        for (size_t i = 0; i < PAIRS; i++) {
            const char *digits = draws + 3 * (round * PAIRS + i);
            size_t a = (size_t)(digits[0] - '1'), b = (size_t)(digits[1] - '1');
            size_t low = a < b ? a : b, high = a < b ? b : a;
            ck_assert(a < MASKS && b < MASKS && a != b && !seen[low][high]);
            seen[low][high] = true;
            ck_assert_int_ne(before[low][high], digits[0]);
            before[low][high] = digits[0];
            if (i == 0)
                first_of_round[low * (2 * MASKS - low - 1) / 2 + high - low - 1]++;
        }
    }
    double chi_square = 0;
    for (size_t p = 0; p < PAIRS; p++)
        chi_square += pow((double)first_of_round[p] - ROUNDS / 6.0, 2) / (ROUNDS / 6.0);
    ck_assert_double_lt(chi_square, 50.7); /* 5 degrees of freedom: once in 10^9 runs */
    session_end(&session);
}

/* The place of a pair's first trial is drawn: of 64 tests, all alike once in 2^63 runs. */
START_TEST(first_places_are_drawn)
{
    size_t swapped = 0;
    for (int i = 0; i < 64; i++) {
        struct session session = session_begin(2, 1);
        swapped += trial_choice(session.test, PREFERENCE_A) == 1;
        session_end(&session);
    }
    ck_assert_uint_gt(swapped, 0);
    ck_assert_uint_lt(swapped, 64);
}

/* scipy.stats.binomtest; Holm's factors by hand; the penalised likelihood by scipy.optimize.root. */
START_TEST(statistics_are_those_of_scipy)
{
    struct preference_pair pairs[3];
    double strengths[3];
    preference_pairs_name(3, pairs);
    static const size_t counts[3][3] = {{9, 1, 2}, {12, 0, 0}, {7, 3, 2}};
    static const double p[] = {0.021484375, 0.00048828125, 0.34375},
                        holm[] = {0.04296875, 0.00146484375, 0.34375},
                        expected[] = {1.3990737614737183, -0.2967914871418007, -1.1022822743319176};
    for (size_t i = 0; i < 3; i++) {
        pairs[i].first_wins = counts[i][0];
        pairs[i].second_wins = counts[i][1];
        pairs[i].ties = counts[i][2];
    }
    preference_test(pairs, 3);
    preference_strengths(pairs, 3, strengths);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(pairs[i].p_value, p[i], 1e-12);
        ck_assert_double_eq_tol(pairs[i].p_holm, holm[i], 1e-12);
        ck_assert_double_eq_tol(strengths[i], expected[i], 1e-9);
    }
}

/* One choice always wins, and nothing was judged. */
START_TEST(strengths_are_finite)
{
    struct preference_pair pairs[PREFERENCE_PAIRS_MOST];
    double strengths[PREFERENCE_CHOICES_MOST];
    preference_pairs_name(PREFERENCE_CHOICES_MOST, pairs);
    preference_test(pairs, PREFERENCE_PAIRS_MOST);
    preference_strengths(pairs, PREFERENCE_CHOICES_MOST, strengths);
    for (size_t i = 0; i < PREFERENCE_CHOICES_MOST; i++)
        ck_assert_double_eq_tol(strengths[i], 0, 1e-12);
    for (size_t i = 0; i < PREFERENCE_PAIRS_MOST; i++)
        pairs[i].first_wins = 1000;
    preference_strengths(pairs, PREFERENCE_CHOICES_MOST, strengths);
    for (size_t i = 1; i < PREFERENCE_CHOICES_MOST; i++)
        ck_assert(isfinite(strengths[i]) && strengths[i] < strengths[i - 1]);
}

START_TEST(preferences_may_change_until_confirmed)
{
    struct session session = session_begin(2, 1);
    struct trial *test = session.test;
    trial_play(test, PREFERENCE_B, 0);
    ck_assert(!trial_prefer(test, PREFERENCE_B, 1)); /* A was not heard */
    ck_assert(!trial_confirm(test, 1, NULL));
    trial_play(test, PREFERENCE_A, 1);
    ck_assert(!trial_prefer(test, PREFERENCE_OPEN, 2));
    ck_assert(trial_prefer(test, PREFERENCE_B, 2));
    ck_assert(trial_prefer(test, PREFERENCE_NONE, 3));
    ck_assert_int_eq(trial_preferred(test), PREFERENCE_NONE);
    ck_assert(trial_confirm(test, 4, NULL));
    ck_assert(!trial_prefer(test, PREFERENCE_A, 5));
    json_t *result = test->kind->result_json(test);
    const json_t *pair = json_array_get(json_object_get(result, "pairs"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(pair, "ties")), 1);
    json_decref(result);
    session_end(&session);
}

static char *printed(const struct trial *test)
{
    static const char *const names[] = {"hall.wav", "plate.wav", "spring.wav"};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    test->kind->result_print(test, names, stream);
    fclose(stream);
    return text;
}

START_TEST(the_result_is_readable)
{
    struct session session = session_begin(2, 8);
    for (int t = 0; t < 6; t++)
        run_trial(session.test, 9, 10.0 * t);
    trial_stop(session.test, 90);
    char *text = printed(session.test);
    ck_assert_ptr_nonnull(strstr(text, "hall.wav: 6, plate.wav: 0, neither: 0; p = 0.03125\n"));
    ck_assert_ptr_nonnull(strstr(text, "over the 6 answered of 8 planned trials; not valid"));
    ck_assert_ptr_nonnull(strstr(text, "+1.28  hall.wav\n-1.28  plate.wav\n"));
    free(text);
    session_end(&session);

    session = session_begin(3, 1);
    trial_stop(session.test, 0);
    text = printed(session.test);
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
    session_end(&session);
}

/* ---- verification ---- */

static void expect_fault(const json_t *root, const char *expected)
{
    struct trial_replay replay;
    ck_assert_int_eq(json_dump_file(root, command_path("changed.json"), 0), 0);
    ck_assert_int_eq(trial_replay_init(&replay, command_path("changed.json"), false), STATUS_OK);
    const char *found = *replay.fault ? replay.fault : "none";
    ck_assert_msg(strstr(found, expected) != NULL, "not '%s': '%s'", expected, found);
    trial_replay_free(&replay);
}

START_TEST(verifying_finds_changes)
{
    struct session session = session_begin(3, 2);
    ck_assert_int_eq(trial_log_open(session.log, command_path("log.json"), false), STATUS_OK);
    for (int t = 0; t < 5; t++)
        run_trial(session.test, 2, 10.0 * t);
    trial_stop(session.test, 70);
    json_t *root = json_load_file(command_path("log.json"), 0, NULL);
    json_t *result = json_object_get(json_object_get(root, "end"), "result");
    json_t *events = json_object_get(root, "events");
    ck_assert_uint_eq(json_array_size(events), 5 * 4);
    expect_fault(root, "none");

    json_t *pair = json_array_get(json_object_get(result, "pairs"), 1);
    json_int_t ties = json_integer_value(json_object_get(pair, "ties"));
    json_object_set_new(pair, "ties", json_integer(ties + 1));
    expect_fault(root, "does not follow");
    json_object_set_new(pair, "ties", json_integer(ties));
    json_t *judged = json_array_get(events, 2);
    json_t *said = json_incref(json_object_get(judged, "prefer"));
    json_object_set_new(judged, "prefer", json_string("both"));
    expect_fault(root, "event 3");
    json_object_set_new(judged, "prefer", said);
    expect_fault(root, "none");

    /* a number of trials that no preference test has */
    json_object_set_new(root, "trials", json_integer(5));
    ck_assert_int_eq(json_dump_file(root, command_path("changed.json"), 0), 0);
    struct trial_replay replay;
    ck_assert_int_ne(trial_replay_init(&replay, command_path("changed.json"), false), STATUS_OK);
    trial_replay_free(&replay);
    json_decref(root);
    session_end(&session);
}
