/* Blind rankings by scripted listeners, one that discriminates and one that guesses; orders,
 * revised ratings, early ends, the log and its verification. */
#include "base/noise.h"
#include "command.h"
#include "listen/trial_ranking.h"
#include "listen/trial_verify.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct session {
    struct trial_log *log;
    struct trial *ranking;
};

static struct session session_begin(size_t masks, size_t trials)
{
    struct session session;
    ck_assert_int_eq(trial_log_create(&session.log), STATUS_OK);
    ck_assert_int_eq(trial_ranking_create(masks, trials, session.log, &session.ranking), STATUS_OK);
    return session;
}

static void session_end(struct session *session)
{
    trial_destroy(session->ranking);
    trial_log_destroy(session->log);
}

static double number_in(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const json_t *score_of(const json_t *result, size_t mask)
{
    return json_array_get(json_object_get(result, "scores"), mask);
}

/* Rates the first mask 5, the second 4, the third 3 and any other 2. */
static void run_trial(struct trial *ranking, size_t masks, double now)
{
    for (size_t letter = 0; letter < masks; letter++) {
        size_t mask = trial_choice(ranking, letter);
        trial_play(ranking, letter, now + (double)letter);
        trial_ranking_rate(ranking, letter, mask < 3 ? 5 - (unsigned)mask : 2, now + 4);
    }
    ck_assert(trial_ranking_confirm(ranking, now + 7));
}

START_TEST(a_discriminating_listener_ranks_them)
{
    enum { MASKS = 4, TRIALS = 12 };
    struct session session = session_begin(MASKS, TRIALS);
    for (int t = 0; t < TRIALS; t++) {
        ck_assert_ptr_null(trial_revealed_key(session.ranking));
        run_trial(session.ranking, MASKS, 10.0 * t);
    }
    ck_assert(session.ranking->over);
    ck_assert_uint_eq(session.ranking->answered, TRIALS);
    json_t *result = session.ranking->kind->result_json(session.ranking);
    for (size_t mask = 0; mask < MASKS; mask++) {
        const json_t *score = score_of(result, mask),
                     *interval = json_object_get(score, "interval");
        ck_assert_double_eq(number_in(score, "mean"), 5 - (double)mask);
        ck_assert_double_eq(json_number_value(json_array_get(interval, 1)), 5 - (double)mask);
        ck_assert_double_eq(number_in(score, "first"), mask == 0 ? TRIALS : 0);
    }
    /* All trials in one order: n (k - 1); R: pchisq(36, 3, lower.tail=FALSE) */
    ck_assert_double_eq_tol(number_in(result, "friedman"), 36, 1e-12);
    ck_assert_double_eq_tol(number_in(result, "p_value"), 7.48837694879548e-08, 1e-16);
    ck_assert_double_eq(number_in(result, "median_seconds"), 7);
    json_decref(result);
    session_end(&session);
}
END_TEST

/* 6 orders of 3 masks in 9,999 trials: chi-square of 5 degrees exceeds 50.7 once in 10^9 runs. */
START_TEST(orders_are_uniform)
{
    enum { MASKS = 3, TRIALS = 9999, ORDERS = 6 };
    static const char *const orders[ORDERS] = {"123", "132", "213", "231", "312", "321"};
    size_t counts[ORDERS] = {0}, known = 0;
    double chi_square = 0;
    struct session session = session_begin(MASKS, TRIALS);
    trial_stop(session.ranking, 0);
    const char *draws = trial_revealed_key(session.ranking)->draws;
    ck_assert_uint_eq(strlen(draws), TRIALS * (MASKS + 1) - 1);
    for (size_t t = 0; t < TRIALS; t++)
        for (size_t order = 0; order < ORDERS; order++)
            counts[order] += strncmp(draws + t * (MASKS + 1), orders[order], MASKS) == 0;
    for (size_t order = 0; order < ORDERS; order++) {
        double expected = (double)TRIALS / ORDERS, away = (double)counts[order] - expected;
        chi_square += away * away / expected;
        known += counts[order];
    }
    ck_assert_uint_eq(known, TRIALS);
    ck_assert_double_lt(chi_square, 50.7);
    session_end(&session);
}
END_TEST

/* Rankings by a guesser: one in twenty is below 5 %, within six standard deviations plus the
 * error of the chi-square approximation with 12 trials of 4. */
START_TEST(guesses_find_no_difference)
{
    enum { SESSIONS = 2000, MASKS = 4, TRIALS = 12 };
    uint64_t state = 7;
    int below = 0;
    for (int s = 0; s < SESSIONS; s++) {
        struct session session = session_begin(MASKS, TRIALS);
        while (!session.ranking->over) {
            for (size_t letter = 0; letter < MASKS; letter++)
                trial_ranking_rate(session.ranking, letter,
                                   1 + (unsigned)((noise_next(&state) + 1) * 2.499F), 0);
            ck_assert(trial_ranking_confirm(session.ranking, 0));
        }
        json_t *result = session.ranking->kind->result_json(session.ranking);
        below += number_in(result, "p_value") < 0.05;
        json_decref(result);
        session_end(&session);
    }
    ck_assert_int_gt(below, SESSIONS / 20 - 68);
    ck_assert_int_lt(below, SESSIONS / 20 + 68);
}
END_TEST

START_TEST(ratings_may_change_until_confirmed)
{
    struct session session = session_begin(2, 1);
    struct trial *ranking = session.ranking;
    ck_assert_uint_eq(trial_ranking_rating(ranking, 0), 0);
    trial_ranking_rate(ranking, 0, 2, 1);
    ck_assert(!trial_ranking_confirm(ranking, 2));
    trial_ranking_rate(ranking, 1, 3, 3);
    trial_ranking_rate(ranking, 0, 4, 4);
    trial_ranking_rate(ranking, 0, 6, 5);
    trial_ranking_rate(ranking, 0, 0, 5);
    ck_assert_uint_eq(trial_ranking_rating(ranking, 0), 4);
    size_t mask = trial_choice(ranking, 0);
    ck_assert(trial_ranking_confirm(ranking, 6));
    ck_assert(!trial_ranking_confirm(ranking, 7));
    trial_ranking_rate(ranking, 0, 1, 8);
    json_t *result = ranking->kind->result_json(ranking);
    ck_assert_double_eq(number_in(score_of(result, mask), "mean"), 4);
    ck_assert_double_eq(number_in(score_of(result, 1 - mask), "mean"), 3);
    json_decref(result);
    ck_assert_uint_eq(trial_choice(ranking, 0), mask);
    session_end(&session);
}
END_TEST

static char *printed(const struct trial *ranking)
{
    static const char *const names[] = {"hall.wav", "plate.wav", "spring.wav"};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    ranking->kind->result_print(ranking, names, stream);
    fclose(stream);
    return text;
}

START_TEST(the_result_is_readable)
{
    struct session session = session_begin(3, 4);
    run_trial(session.ranking, 3, 0);
    run_trial(session.ranking, 3, 10);
    trial_stop(session.ranking, 20);
    char *text = printed(session.ranking);
    ck_assert_ptr_nonnull(strstr(text, "5.00  (5.00 to 5.00)  hall.wav, first in 2 of 2\n"
                                       "4.00  (4.00 to 4.00)  plate.wav, first in 0 of 2\n"
                                       "3.00  (3.00 to 3.00)  spring.wav, first in 0 of 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "p = 0.1353 ("));
    ck_assert_ptr_nonnull(strstr(text, "over the 2 answered of 4 planned trials; not valid"));
    free(text);
    session_end(&session);

    session = session_begin(3, 4);
    trial_stop(session.ranking, 20);
    text = printed(session.ranking);
    ck_assert_ptr_null(strstr(text, "nan"));
    free(text);
    session_end(&session);
}
END_TEST

/* ---- the log ---- */

static json_t *save(const struct trial_log *log)
{
    json_error_t error;
    command_clean();
    ck_assert_int_eq(trial_log_save(log, command_path("log.json"), false), STATUS_OK);
    json_t *root = json_load_file(command_path("log.json"), 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    return root;
}

static void expect_fault(const json_t *root, const char *expected)
{
    const char *fault = NULL;
    ck_assert_int_eq(json_dump_file(root, command_path("changed.json"), 0), 0);
    ck_assert_int_eq(trial_verify(command_path("changed.json"), &fault), STATUS_OK);
    const char *found = fault ? fault : "none";
    ck_assert_msg(strstr(found, expected) != NULL, "not '%s': '%s'", expected, found);
}

START_TEST(verifying_finds_changes)
{
    struct session session = session_begin(3, 12);
    for (int t = 0; t < 5; t++)
        run_trial(session.ranking, 3, 10.0 * t);
    trial_ranking_rate(session.ranking, 0, 1, 60); /* of the trial that is not confirmed */
    trial_stop(session.ranking, 70);
    json_t *root = save(session.log), *end = json_object_get(root, "end");
    json_t *key = json_object_get(end, "key"), *events = json_object_get(root, "events");
    json_t *scores = json_object_get(json_object_get(end, "result"), "scores");
    ck_assert(json_is_true(json_object_get(end, "stopped_early")));
    ck_assert_uint_eq(json_array_size(events), 5 * 7 + 1);
    expect_fault(root, "none");

    json_object_set_new(json_array_get(scores, 2), "mean", json_real(4));
    expect_fault(root, "result does not follow");
    json_object_set_new(json_array_get(scores, 2), "mean", json_real(3));
    expect_fault(root, "none");
    json_t *rate = json_array_get(events, 1);
    json_int_t rating = json_integer_value(json_object_get(rate, "rating"));
    json_object_set_new(rate, "rating", json_integer(rating == 4 ? 3 : 4));
    expect_fault(root, "result does not follow");
    json_object_set_new(rate, "rating", json_integer(0));
    expect_fault(root, "answers are not one for every trial");
    json_array_remove(events, 1);
    expect_fault(root, "answers are not one for every trial");

    char *draws = strdup(json_string_value(json_object_get(key, "draws")));
    char first = draws[0];
    draws[0] = draws[1];
    draws[1] = first;
    json_object_set_new(key, "draws", json_string(draws));
    expect_fault(root, "the key is not the one");
    free(draws);
    json_decref(root);
    session_end(&session);
}
END_TEST

/* A key that fits its commitment but not the test. */
START_TEST(verifying_survives_nonsense)
{
    static const char *const draws[] = {"", ",", "123", "zzz,zzz", "999,111", "1234567890,0"};
    struct session session = session_begin(3, 2);
    run_trial(session.ranking, 3, 0);
    run_trial(session.ranking, 3, 10);
    json_t *root = save(session.log);
    json_t *key = json_object_get(json_object_get(root, "end"), "key");
    for (size_t i = 0; i < sizeof draws / sizeof *draws; i++) {
        char commitment[DIGEST_TEXT];
        const char *salt = json_string_value(json_object_get(key, "salt"));
        ck_assert_int_eq(trial_commit(draws[i], salt, commitment), STATUS_OK);
        json_object_set_new(key, "draws", json_string(draws[i]));
        json_object_set_new(root, "commitment", json_string(commitment));
        expect_fault(root, "the ");
    }
    json_decref(root);
    session_end(&session);
}
END_TEST

SUITE_MAIN("trial_ranking", a_discriminating_listener_ranks_them, orders_are_uniform,
           guesses_find_no_difference, ratings_may_change_until_confirmed, the_result_is_readable,
           verifying_finds_changes, verifying_survives_nonsense)
