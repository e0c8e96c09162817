/* Blind rankings by scripted listeners, one that discriminates and one that guesses; orders,
 * revised ratings, early ends, and the log's verification. */
#include "base/noise.h"
#include "command.h"
#include "listen/trial.h"
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
    ck_assert_int_eq(trial_ranking_create(masks, trials, NULL, session.log, &session.ranking),
                     STATUS_OK);
    ck_assert_int_eq(trial_begin(session.ranking, json_object()), STATUS_OK);
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
        ck_assert(trial_ranking_rate(ranking, letter, mask < 3 ? 5 - (unsigned)mask : 2,
                                     now + (double)letter + 0.5));
    }
    ck_assert(trial_confirm(ranking, now + 7, NULL));
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
        const json_t *score = score_of(result, mask);
        ck_assert_double_eq(number_in(score, "mean"), 5 - (double)mask);
        ck_assert(json_is_null(json_array_get(json_object_get(score, "interval"), 1)));
        ck_assert_double_eq(number_in(score, "first"), mask == 0 ? TRIALS : 0);
    }
    /* All trials in one order: n (k - 1), by chance once in k!^(n - 1) */
    ck_assert_double_eq_tol(number_in(result, "friedman"), 36, 1e-12);
    ck_assert_double_eq_tol(number_in(result, "p_value") * pow(24, 11), 1, 1e-9);
    ck_assert_double_eq(number_in(result, "median_seconds"), 7);
    json_decref(result);
    session_end(&session);
}

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

/* Rankings by a guesser: at most one in twenty is below 5 %, within six standard deviations, and
 * not far fewer, since so many trials have many values of p. */
START_TEST(guesses_find_no_difference)
{
    enum { SESSIONS = 400, MASKS = 3, TRIALS = 10 };
    uint64_t state = 7;
    int below = 0;
    for (int s = 0; s < SESSIONS; s++) {
        struct session session = session_begin(MASKS, TRIALS);
        while (!session.ranking->over) {
            for (size_t letter = 0; letter < MASKS; letter++) {
                trial_play(session.ranking, letter, 0);
                ck_assert(trial_ranking_rate(session.ranking, letter,
                                             1 + (unsigned)((noise_next(&state) + 1) * 2.499F), 0));
            }
            ck_assert(trial_confirm(session.ranking, 0, NULL));
        }
        json_t *result = session.ranking->kind->result_json(session.ranking);
        below += number_in(result, "p_value") < 0.05;
        json_decref(result);
        session_end(&session);
    }
    ck_assert_int_gt(below, SESSIONS / 20 - 18);
    ck_assert_int_lt(below, SESSIONS / 20 + 26);
}

START_TEST(ratings_may_change_until_confirmed)
{
    struct session session = session_begin(2, 1);
    struct trial *ranking = session.ranking;
    ck_assert_uint_eq(trial_ranking_rating(ranking, 0), 0);
    ck_assert(!trial_ranking_rate(ranking, 0, 2, 1)); /* not heard */
    trial_play(ranking, 0, 1);
    ck_assert(trial_ranking_rate(ranking, 0, 2, 1));
    ck_assert(!trial_confirm(ranking, 2, NULL));
    trial_play(ranking, 1, 2);
    ck_assert(trial_ranking_rate(ranking, 1, 3, 3));
    ck_assert(trial_ranking_rate(ranking, 0, 4, 4));
    ck_assert(!trial_ranking_rate(ranking, 0, 6, 5));
    ck_assert(!trial_ranking_rate(ranking, 0, 0, 5));
    ck_assert_uint_eq(trial_ranking_rating(ranking, 0), 4);
    size_t mask = trial_choice(ranking, 0);
    ck_assert(trial_confirm(ranking, 6, NULL));
    ck_assert(!trial_confirm(ranking, 7, NULL));
    ck_assert(!trial_ranking_rate(ranking, 0, 1, 8));
    json_t *result = ranking->kind->result_json(ranking);
    ck_assert_double_eq(number_in(score_of(result, mask), "mean"), 4);
    ck_assert_double_eq(number_in(score_of(result, 1 - mask), "mean"), 3);
    json_decref(result);
    ck_assert_uint_eq(trial_choice(ranking, 0), mask);
    session_end(&session);
}

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
    ck_assert_ptr_nonnull(strstr(text, "5.00  hall.wav, first in 2 of 2\n"
                                       "4.00  plate.wav, first in 0 of 2\n"
                                       "3.00  spring.wav, first in 0 of 2\n"));
    ck_assert_ptr_nonnull(strstr(text, "p = 0.1667 (Friedman test, exact"));
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
    struct session session = session_begin(3, 12);
    ck_assert_int_eq(trial_log_open(session.log, command_path("log.json"), false), STATUS_OK);
    for (int t = 0; t < 5; t++)
        run_trial(session.ranking, 3, 10.0 * t);
    trial_play(session.ranking, 0, 59);
    trial_ranking_rate(session.ranking, 0, 1, 60); /* of the trial that is not confirmed */
    trial_stop(session.ranking, 70);
    json_t *root = json_load_file(command_path("log.json"), 0, NULL);
    json_t *end = json_object_get(root, "end"), *events = json_object_get(root, "events");
    json_t *result = json_object_get(end, "result"), *scores = json_object_get(result, "scores");
    ck_assert(json_is_true(json_object_get(end, "stopped_early")));
    ck_assert_uint_eq(json_array_size(events), 5 * 7 + 2);
    expect_fault(root, "none");

    json_t *score = json_array_get(scores, 2);
    json_object_set_new(score, "mean", json_real(4));
    expect_fault(root, "mean does not follow");
    json_object_set_new(score, "mean", json_real(3));
    json_t *interval = json_incref(json_object_get(score, "interval"));
    json_object_set_new(score, "interval", json_pack("[f,f]", 2.9, 3.1));
    expect_fault(root, "interval does not follow");
    json_object_set_new(score, "interval", interval);
    json_t *statistic = json_incref(json_object_get(result, "friedman"));
    json_object_set_new(result, "friedman", json_real(99));
    expect_fault(root, "friedman does not follow");
    json_object_set_new(result, "friedman", statistic);
    expect_fault(root, "none");
    json_array_remove(events, 1);
    expect_fault(root, "event 2");
    json_decref(root);
    session_end(&session);
}
