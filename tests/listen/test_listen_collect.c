/* Logs of several listeners in one report: statistics, refusals and the table. */
#include "command.h"
#include "listen/collect.h"
#include "listen/trial.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double close_to = 1e-9;

struct taken {
    struct trial_log *log;
    struct trial *trial;
};

static struct taken begin(const char *file, const char *who, struct trial_log *log,
                          struct trial *trial, const char *other)
{
    json_t *about = json_pack("{s:[s,s]}", "choices", "hall, \"big\"", other);
    if (who)
        json_object_set_new(about, "listener", json_string(who));
    ck_assert_int_eq(trial_begin(trial, about), STATUS_OK);
    ck_assert_int_eq(trial_log_open(log, command_path(file), false), STATUS_OK);
    return (struct taken){log, trial};
}

static void end(struct taken taken)
{
    trial_destroy(taken.trial);
    trial_log_destroy(taken.log);
}

/* Eight trials, the first `hits` of them right; ended after `count`. */
static void take_abx(const char *file, const char *who, size_t hits, size_t count,
                     const char *other)
{
    struct trial_log *log;
    struct trial *trial;
    ck_assert_int_eq(trial_log_create(&log), STATUS_OK);
    ck_assert_int_eq(trial_abx_create(8, false, NULL, log, &trial), STATUS_OK);
    struct taken taken = begin(file, who, log, trial, other);
    for (size_t i = 0; i < count; i++) {
        double now = 10 * (double)i;
        size_t x = trial_choice(trial, ABX_X);
        for (size_t sound = 0; sound < 3; sound++)
            trial_play(trial, sound, now);
        ck_assert(trial_abx_answer(trial, (enum abx_sound)(i < hits ? x : 1 - x), now + 1));
        ck_assert(trial_confirm(trial, now + 2.5, NULL));
    }
    end(taken);
}

/* Two trials; `ratings`: those of both choices in each. */
static void take_ranking(const char *file, const char *who, const unsigned ratings[2][2])
{
    struct trial_log *log;
    struct trial *trial;
    ck_assert_int_eq(trial_log_create(&log), STATUS_OK);
    ck_assert_int_eq(trial_ranking_create(2, 2, NULL, log, &trial), STATUS_OK);
    struct taken taken = begin(file, who, log, trial, "plate");
    for (size_t i = 0; i < 2; i++) {
        for (size_t letter = 0; letter < 2; letter++) {
            trial_play(trial, letter, (double)i);
            ck_assert(trial_ranking_rate(trial, letter, ratings[i][trial_choice(trial, letter)],
                                         (double)i));
        }
        ck_assert(trial_confirm(trial, (double)i + 0.5, NULL));
    }
    end(taken);
}

static double at(const json_t *array, size_t index)
{
    return json_number_value(json_array_get(array, index));
}

#define EXPECT(VALUE, RIGHT) ck_assert_double_eq_tol(VALUE, RIGHT, close_to)

START_TEST(abx_has_each_listener_and_the_group)
{
    take_abx("a.json", "Eve", 8, 8, "plate");
    take_abx("b.json", "Bob, \"B\"\nSmith", 6, 8, "plate");
    take_abx("c.json", NULL, 4, 8, "plate");
    json_t *report = command_json(
        command_done("\"$HALO\" listen --collect --json a.json b.json c.json --csv t.csv").out);
    const json_t *people = json_object_get(report, "listeners");
    /* scipy.stats.binomtest(hits, 8, alternative='greater'), and by Holm p * 3, 2, 1 */
    static const double p[] = {0.00390625, 0.14453125, 0.63671875};
    static const double holm[] = {0.01171875, 0.2890625, 0.63671875};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(command_json_number(json_array_get(people, i), "p_value"), p[i]);
        EXPECT(command_json_number(json_array_get(people, i), "p_holm"), holm[i]);
    }
    ck_assert_str_eq(command_json_string(json_array_get(people, 2), "listener"), "c.json");
    const json_t *group = json_object_get(report, "group");
    /* scipy.stats.binomtest(18, 24, alternative='greater'); proportion_ci(.95) of two sides */
    EXPECT(command_json_number(group, "p_value"), 0.011327922344207764);
    EXPECT(at(json_object_get(group, "rate_interval"), 0), 0.5328871975773307);
    EXPECT(at(json_object_get(group, "rate_interval"), 1), 0.9022695905254667);
    json_decref(report);
    struct command_result table = command_done(
        "python3 -c 'import csv; r = list(csv.DictReader(open(\"t.csv\", newline=\"\"))); "
        "print(len(r), sum(int(x[\"right\"]) for x in r), repr(r[8][\"listener\"]), "
        "r[0][\"seconds\"], all((x[\"x\"] == x[\"answer\"]) == (x[\"right\"] == \"1\") "
        "for x in r))'");
    command_expect(table.out, "24 18 'Bob, \"B\"\\nSmith' 2.500 True");
    command_refused(0, "t.csv", "\"$HALO\" listen --collect a.json --csv t.csv");
    command_done("\"$HALO\" listen --collect a.json --csv t.csv --force");
    command_expect(command_done("\"$HALO\" listen --collect a.json b.json c.json").out,
                   "1 of 3 listeners heard the difference");
    command_clean();
}
END_TEST

START_TEST(ranking_compares_over_listeners)
{
    take_ranking("a.json", "Eve", (const unsigned[2][2]){{4, 2}, {5, 2}});
    take_ranking("b.json", "Bob", (const unsigned[2][2]){{3, 2}, {3, 3}});
    take_ranking("c.json", "Ann", (const unsigned[2][2]){{5, 1}, {5, 1}});
    json_t *report =
        command_json(command_done("\"$HALO\" listen --collect --json [abc].json --csv t.csv").out);
    const json_t *first = json_array_get(json_object_get(report, "choices"), 0),
                 *pair = json_array_get(json_object_get(report, "pairs"), 0),
                 *interval = json_object_get(pair, "interval");
    /* a = [4.5, 3, 5]: scipy.stats.t.interval(.95, 2, mean(a), sem(a)); the high end is 6.75 */
    EXPECT(command_json_number(first, "mean"), 12.5 / 3);
    EXPECT(at(json_object_get(first, "interval"), 0), 1.5810941603955353);
    EXPECT(at(json_object_get(first, "interval"), 1), 5);
    /* numpy.quantile(a, [.5, .25, .75]) */
    EXPECT(command_json_number(first, "median"), 4.5);
    EXPECT(at(json_object_get(first, "quartiles"), 0), 3.75);
    EXPECT(at(json_object_get(first, "quartiles"), 1), 4.75);
    /* scipy.stats.ttest_rel([4.5, 3, 5], [2, 2.5, 1]), and its confidence_interval(.95) */
    EXPECT(command_json_number(pair, "difference"), 7.0 / 3);
    EXPECT(command_json_number(pair, "p_value"), 0.14798713276974157);
    EXPECT(at(interval, 0), -2.0286691342342293);
    EXPECT(at(interval, 1), 6.695335800900896);
    json_decref(report);
    command_expect(command_done("cat t.csv").out,
                   "\"Eve\",\"a.json\",1,\"hall, \"\"big\"\"\",4,0.5");
    command_expect(command_done("\"$HALO\" listen --collect a.json").out, "one listener");
    command_clean();
}
END_TEST

START_TEST(statistics_are_those_of_scipy)
{
    /* scipy.stats.ttest_1samp([1.2, -.3, .8, 2.1], 0), and its confidence_interval(.95) */
    struct ratings_paired paired = ratings_paired((const double[]){1.2, -.3, .8, 2.1}, 4);
    EXPECT(paired.mean, 0.95);
    EXPECT(paired.p_value, 0.15219009961468027);
    EXPECT(paired.low, -0.6332470465118343);
    EXPECT(paired.high, 2.533247046511834);
    ck_assert(isnan(ratings_paired((const double[]){1, 1}, 2).p_value));
    double holm[4];
    ratings_holm((const double[]){0.03, 0.01, 0.02, 0.9}, 4, holm);
    EXPECT(holm[0], 0.06);
    EXPECT(holm[1], 0.04);
    EXPECT(holm[2], 0.06);
    EXPECT(holm[3], 0.9);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
    take_abx("a.json", "Eve", 8, 8, "plate");
    take_abx("part.json", "Bob", 2, 3, "plate");
    take_abx("other.json", "Bob", 8, 8, "spring");
    take_ranking("rank.json", "Eve", (const unsigned[2][2]){{4, 2}, {5, 2}});
    command_done("cp a.json copy.json && sed 's/Eve/Eva/' a.json >bad.json");
    command_refused(1, "was changed", "\"$HALO\" listen --collect a.json bad.json");
    command_refused(1, "incomplete", "\"$HALO\" listen --collect a.json part.json");
    command_refused(1, "other sounds, masks or settings",
                    "\"$HALO\" listen --collect a.json other.json");
    command_refused(1, "another kind", "\"$HALO\" listen --collect a.json rank.json");
    command_refused(1, "the same log", "\"$HALO\" listen --collect a.json copy.json");
    command_refused(2, "which logs", "\"$HALO\" listen --collect");
    command_refused(2, "either --collect", "\"$HALO\" listen --collect --verify a.json");
    command_refused(2, "--csv needs", "\"$HALO\" listen --verify a.json --csv t.csv");
    command_clean();
}
END_TEST

/* The folder of a sound may differ between machines. Two logs of a listener count together. */
START_TEST(logs_of_a_listener_are_pooled)
{
    take_abx("a.json", "Eve", 8, 8, "plate");
    take_abx("b.json", "Eve", 6, 8, "elsewhere/plate");
    command_expect(command_done("\"$HALO\" listen --collect a.json b.json").out,
                   "Eve: 14 of 16 right; ");
    command_clean();
}
END_TEST

SUITE_MAIN("listen_collect", abx_has_each_listener_and_the_group, ranking_compares_over_listeners,
           statistics_are_those_of_scipy, what_does_not_fit_is_refused,
           logs_of_a_listener_are_pooled)
