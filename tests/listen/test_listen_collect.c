/* Logs of several listeners in one report: statistics, refusals and the table. */
#include "command.h"
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

/* ---- answers of a page ---- */

enum { PEOPLE = 4, TRIALS = 20, CHOICES = 4 };

/* Judgements of a test, made by each test of this suite. For mushra and bs1116 the ratings by
 * choice. For preference [0] is the preferred place or 2, for abx whether the answer is right. */
static double judged[PEOPLE][TRIALS][CHOICES];

struct page {
    const char *kind;
    size_t choices, sounds, trials;
    json_t *key;
};

static unsigned state = 1;

static unsigned random_below(unsigned bound)
{
    state = (state * 1103515245U + 12345U) & 0x7FFFFFFFU;
    return (state >> 16) % bound;
}

static const char *name_of(const char *what, size_t trial, size_t choice)
{
    static char names[4][32];
    static size_t next;
    char *name = names[next++ % 4];
    snprintf(name, sizeof *names, "%s%zu-%zu", what, trial, choice);
    return name;
}

/* Choices of a trial. Returns their number. */
static size_t choices_of(const struct page *page, size_t trial, size_t *choices)
{
    size_t count = strcmp(page->kind, "mushra") == 0 ? page->choices : 2;
    for (size_t i = 0; i < count; i++)
        choices[i] = i;
    if (strcmp(page->kind, "bs1116") == 0)
        choices[1] = 1 + trial / page->sounds % (page->choices - 1);
    return count;
}

static void seal(json_t *key, json_t *into)
{
    char *text = trial_log_text(key), digest[DIGEST_TEXT], whole[16384];
    ck_assert_int_eq(digest_start(), STATUS_OK);
    snprintf(whole, sizeof whole, "%064d %s", 7, text);
    digest_of_text(whole, digest);
    snprintf(whole, sizeof whole, "%064d", 7);
    json_object_set_new(into, "salt", json_string(whole));
    json_object_set_new(into, "commitment", json_string(digest));
    free(text);
}

/* Writes test.key. Trial 0 is for training. */
static struct page make_page(const char *kind, size_t choices, size_t sounds, size_t trials)
{
    static const char *const names[] = {"original", "hall", "\"plate\", big", "7000 Hz"};
    struct page page = {kind, choices, sounds, trials, NULL};
    json_t *list = json_array(), *heard = json_array(), *tests = json_object();
    for (size_t i = 0; i < choices; i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:i}", "name", names[i], "reference",
                                              i == 0, "anchor", i == 3 ? 7000 : 0));
    for (size_t i = 0; i < sounds; i++)
        json_array_append_new(heard, json_pack("{s:o}", "name", json_sprintf("sound %zu", i)));
    for (size_t t = 0; t <= trials; t++) {
        size_t own[CHOICES], at = t > 0 ? t - 1 : 0, count = choices_of(&page, at, own);
        json_t *slots = json_object();
        for (size_t i = 0; i < count; i++)
            json_object_set_new(slots, name_of("s", t, own[i]), json_integer((json_int_t)own[i]));
        json_object_set_new(slots, name_of("open", t, 0), json_integer(0));
        json_object_set_new(tests, name_of("t", t, 0),
                            json_pack("{s:I, s:b, s:o}", "sound", (json_int_t)(at % sounds),
                                      "training", t == 0, "slots", slots));
    }
    page.key = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "halo", "key", "kind", kind, "title",
                         "a test", "choices", list, "sounds", heard, "trials", tests);
    json_t *bare = json_deep_copy(page.key);
    seal(bare, page.key);
    json_decref(bare);
    ck_assert_int_eq(json_dump_file(page.key, command_path("test.key"), 0), 0);
    return page;
}

/* What a listener says in a trial; its sounds are shown in some order. */
static json_t *said_in(const struct page *page, size_t trial, const double *values)
{
    size_t own[CHOICES], at = trial > 0 ? trial - 1 : 0, count = choices_of(page, at, own);
    json_t *shown = json_array(), *ratings = json_array();
    bool is_abx = strcmp(page->kind, "abx") == 0, is_pair = strcmp(page->kind, "preference") == 0;
    size_t x = random_below(2), turn = random_below((unsigned)count);
    for (size_t i = 0; i < (is_abx ? 1 : count); i++) {
        size_t choice = is_abx ? x : is_pair ? i : own[(i + turn) % count];
        json_array_append_new(shown, json_string(name_of("s", trial, choice)));
        json_array_append_new(ratings, json_real(values[choice]));
    }
    json_t *said = json_pack("{s:s, s:f, s:o, s:s}", "trial", name_of("t", trial, 0), "seconds",
                             12.5, "shown", shown, "remark", "so \"so\"");
    if (is_abx)
        json_object_set_new(said, "answer", json_integer((json_int_t)(values[0] > 0 ? x : 1 - x)));
    else if (is_pair)
        json_object_set_new(said, "preferred",
                            values[0] < 2 ? json_integer((json_int_t)values[0]) : json_null());
    else
        json_object_set(said, "ratings", ratings);
    json_decref(ratings);
    return said;
}

/* Writes PERSON.json. */
static void answer(const struct page *page, size_t person, size_t trials)
{
    static const double training[CHOICES] = {5, 1, 1, 1};
    json_t *list = json_array();
    for (size_t t = 0; t <= trials; t++)
        json_array_append_new(list, said_in(page, t, t ? judged[person][t - 1] : training));
    json_t *root =
        json_pack("{s:s, s:s, s:O, s:o, s:o, s:b, s:{s:s}, s:o}", "halo", "answers", "kind",
                  page->kind, "commitment", json_object_get(page->key, "commitment"), "id",
                  json_sprintf("%zu", person), "listener", json_sprintf("listener %zu", person),
                  "complete", trials == page->trials, "before", "age", "34", "trials", list);
    ck_assert_int_eq(json_dump_file(root, command_path(name_of("", person, 0)), 0), 0);
    json_decref(root);
}

static void answer_all(const struct page *page, size_t people)
{
    for (size_t p = 0; p < people; p++)
        answer(page, p, page->trials);
    json_decref(page->key);
}

static json_t *collected(const char *more)
{
    return command_json(
        command_done("\"$HALO\" listen --collect --json test.key [0-9]-0 %s", more).out);
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Lists the means of all equally likely draws of `people` listeners and, if `by_sound`, of `sounds`
 * sounds. The ends of the interval lie near the places of 2.5 and 97.5 % among them. */
static void expect_bootstrap(const json_t *interval, size_t people, size_t sounds, bool by_sound,
                             size_t choice)
{
    size_t rows = (size_t)(pow((double)people, (double)people) + 0.5);
    size_t columns = by_sound ? (size_t)(pow((double)sounds, (double)sounds) + 0.5) : 1;
    double *means = calloc(rows * columns, sizeof *means);
    for (size_t draw = 0; draw < rows * columns; draw++)
        for (size_t i = 0, left = draw % rows; i < people; i++, left /= people)
            for (size_t j = 0, other = draw / rows; j < sounds; j++, other /= sounds)
                means[draw] += judged[left % people][by_sound ? other % sounds : j][choice] /
                               (double)(people * sounds);
    qsort(means, rows * columns, sizeof *means, ascending);
    double last = (double)(rows * columns - 1);
    ck_assert_double_ge(at(interval, 0), means[(size_t)(0.019 * last)] - close_to);
    ck_assert_double_le(at(interval, 0), means[(size_t)(0.031 * last)] + close_to);
    ck_assert_double_ge(at(interval, 1), means[(size_t)(0.969 * last)] - close_to);
    ck_assert_double_le(at(interval, 1), means[(size_t)(0.981 * last) + 1] + close_to);
    free(means);
}

/* Ratings of four listeners; the last one does not find the hidden reference. */
static void rate_mushra(size_t people, size_t trials)
{
    state = 1;
    for (size_t p = 0; p < people; p++)
        for (size_t t = 0; t < trials; t++) {
            judged[p][t][0] = p == 3 ? 60 : 90 + random_below(11);
            for (size_t c = 1; c < CHOICES; c++)
                judged[p][t][c] = random_below(c == 3 ? 50 : 101);
        }
}

START_TEST(mushra_has_means_intervals_and_flags)
{
    struct page page = make_page("mushra", CHOICES, 3, 3);
    rate_mushra(PEOPLE, 3);
    answer_all(&page, PEOPLE);
    json_t *report = collected("--csv t.csv --plot p.png");
    const json_t *rest = json_object_get(report, "without_flagged"), *choice, *pair,
                 *people = json_object_get(report, "listeners");
    for (size_t c = 0; c < CHOICES; c++) {
        double sum = 0;
        choice = json_array_get(json_object_get(report, "choices"), c);
        for (size_t i = 0; i < PEOPLE * (size_t)3; i++)
            sum += judged[i / 3][i % 3][c];
        EXPECT(command_json_number(choice, "mean"), sum / 12);
        expect_bootstrap(json_object_get(choice, "bootstrap"), PEOPLE, 3, false, c);
        choice = json_array_get(json_object_get(rest, "choices"), c);
        expect_bootstrap(json_object_get(choice, "bootstrap"), 3, 3, false, c);
    }
    choice = json_array_get(json_object_get(report, "choices"), 1);
    pair = json_array_get(json_object_get(report, "pairs"), 0);
    const json_t *interval = json_object_get(pair, "interval");
    /* a: means of the listeners, of which numpy.quantile(a, [.5, .25]) and scipy.stats:
     * t.interval(.95, 3, mean(a), sem(a)), ttest_rel, and its p-values by Holm */
    EXPECT(command_json_number(choice, "median"), 44 + 2.0 / 3);
    EXPECT(at(json_object_get(choice, "quartiles"), 0), 40 + 11.0 / 12);
    EXPECT(at(json_object_get(choice, "interval"), 0), 25.254332936791485);
    EXPECT(at(json_object_get(choice, "interval"), 1), 76.41233372987519);
    EXPECT(command_json_number(pair, "p_value"), 0.03789400169512864);
    EXPECT(command_json_number(pair, "p_holm"), 0.14546296480113685);
    EXPECT(at(interval, 0), 3.872207957013586);
    EXPECT(at(interval, 1), 69.62779204298643);
    pair = json_array_get(json_object_get(report, "pairs"), 2);
    EXPECT(command_json_number(pair, "p_value"), 0.006386236498535981);
    EXPECT(command_json_number(pair, "p_holm"), 0.038317418991215886);
    for (size_t p = 0; p < PEOPLE; p++) {
        const json_t *person = json_array_get(people, p);
        ck_assert_int_eq(json_is_true(json_object_get(person, "flagged")), p == 3);
        EXPECT(command_json_number(person, "reference_below_90"), p == 3 ? 3 : 0);
        EXPECT(command_json_number(person, "trials"), 3);
        ck_assert_str_eq(command_json_string(json_object_get(person, "before"), "age"), "34");
    }
    json_decref(report);
    command_done("head -c 8 p.png | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a'");
    double sum = 0;
    for (size_t i = 0; i < PEOPLE * (size_t)3 * CHOICES; i++)
        sum += judged[i / 12][i / 4 % 3][i % 4];
    struct command_result table = command_done(
        "python3 -c 'import csv; r = list(csv.DictReader(open(\"t.csv\"))); "
        "print(len(r), sum(float(x[\"value\"]) for x in r), r[0][\"remark\"], r[47][\"sound\"])'");
    char expected[64];
    snprintf(expected, sizeof expected, "48 %.1f so \"so\" sound 2", sum);
    command_expect(table.out, expected);
    command_expect(command_done("\"$HALO\" listen --collect test.key ?-0").out,
                   "listener 3, of 3 trials\n  hidden reference below 90 in 3");
    command_clean();
}
END_TEST

START_TEST(five_sounds_are_drawn_as_well)
{
    struct page page = make_page("mushra", CHOICES, 5, 5);
    rate_mushra(3, 5);
    answer_all(&page, 3);
    json_t *report = collected("");
    for (size_t c = 0; c < CHOICES; c++)
        expect_bootstrap(
            json_object_get(json_array_get(json_object_get(report, "choices"), c), "bootstrap"), 3,
            5, true, c);
    json_decref(report);
    command_clean();
}
END_TEST

/* Of 20 trials, 3 are 15 %, and 4 are more. */
START_TEST(flags_begin_above_15_percent)
{
    struct page page = make_page("mushra", CHOICES, 20, 20);
    for (size_t p = 0; p < PEOPLE; p++)
        for (size_t t = 0; t < TRIALS; t++) {
            judged[p][t][0] = t < (p == 1 ? 4 : 3) ? 89.9 : 90;
            judged[p][t][1] = judged[p][t][2] = 50;
            judged[p][t][3] = t < (p == 2 ? 4 : 3) ? 90.1 : 90;
        }
    answer_all(&page, PEOPLE);
    json_t *report = collected("");
    for (size_t p = 0; p < PEOPLE; p++)
        ck_assert_int_eq(json_is_true(json_object_get(
                             json_array_get(json_object_get(report, "listeners"), p), "flagged")),
                         p == 1 || p == 2);
    const json_t *equal = json_array_get(json_object_get(report, "choices"), 1);
    EXPECT(command_json_number(equal, "mean"), 50);
    ck_assert(json_is_null(json_array_get(json_object_get(equal, "interval"), 0)));
    ck_assert(json_is_null(json_array_get(json_object_get(equal, "bootstrap"), 0)));
    json_decref(report);
    command_clean();
}
END_TEST

START_TEST(bs1116_reports_difference_grades)
{
    static const double grades[3][6] = {
        {3.1, 4.2, 2.5, 4, 4.4, 3.9}, {4.8, 5, 4.9, 5, 5, 4.7}, {4, 4, 4, 4, 4, 4}};
    struct page page = make_page("bs1116", 3, 3, 6);
    for (size_t p = 0; p < 3; p++)
        for (size_t t = 0; t < 6; t++) {
            bool guessed = p == 1 && t % 2 == 0;
            judged[p][t][0] = guessed ? grades[p][t] : 5;
            judged[p][t][1] = judged[p][t][2] = guessed ? 5 : grades[p][t];
        }
    answer_all(&page, 3);
    json_t *report = collected("");
    const json_t *people = json_object_get(report, "listeners"),
                 *hall = json_array_get(json_object_get(report, "choices"), 0);
    /* scipy.stats.ttest_1samp(differences, 0, alternative='less'); 0.5^6 for equal ones */
    static const double p[] = {0.0034625633729557658, 0.5, 1.0 / 64};
    for (size_t i = 0; i < 3; i++) {
        EXPECT(command_json_number(json_array_get(people, i), "p_value"), p[i]);
        ck_assert_int_eq(json_is_true(json_object_get(json_array_get(people, i), "flagged")),
                         i == 1);
    }
    ck_assert_str_eq(command_json_string(hall, "name"), "hall");
    EXPECT(command_json_number(hall, "mean"), (-5.2 / 3 + 0.3 / 3 - 1) / 3);
    hall =
        json_array_get(json_object_get(json_object_get(report, "without_flagged"), "choices"), 0);
    EXPECT(command_json_number(hall, "mean"), (-5.2 / 3 - 1) / 2);
    json_decref(report);
    command_clean();
}
END_TEST

/* With two choices, the strengths differ by the log odds, with a tie more (preference.h). */
START_TEST(preferences_count_over_listeners)
{
    static const int wins[3][3] = {{3, 1, 0}, {1, 2, 1}, {4, 0, 0}}; /* first, second, neither */
    struct page page = make_page("preference", 2, 2, 4);
    for (size_t p = 0; p < 3; p++)
        for (size_t t = 0; t < 4; t++)
            judged[p][t][0] = (int)t < wins[p][0] ? 0 : (int)t < wins[p][0] + wins[p][1] ? 1 : 2;
    answer_all(&page, 3);
    json_t *report = collected("--csv t.csv");
    const json_t *pair = json_array_get(json_object_get(report, "pairs"), 0),
                 *first = json_array_get(json_object_get(report, "strengths"), 0);
    EXPECT(at(json_object_get(pair, "preferred"), 0), 8);
    EXPECT(at(json_object_get(pair, "preferred"), 1), 3);
    EXPECT(command_json_number(pair, "ties"), 1);
    EXPECT(at(json_object_get(pair, "listeners"), 0), 2);
    EXPECT(at(json_object_get(pair, "listeners"), 1), 1);
    EXPECT(command_json_number(pair, "p_value"), 0.2265625); /* scipy.stats.binomtest(8, 11) */
    EXPECT(command_json_number(first, "strength"), log(9.0 / 4) / 2);
    /* 1 of 27 draws has a listener three times: that is more than 2.5 % */
    EXPECT(at(json_object_get(first, "bootstrap"), 0), log(5.0 / 8) / 2);
    EXPECT(at(json_object_get(first, "bootstrap"), 1), log(12.5 / 0.5) / 2);
    json_decref(report);
    command_expect(command_done("cat t.csv").out,
                   "\"listener 1\",\"1-0\",\"sound 1\",4,\"original\",\"hall\",\"\",12.500,");
    command_refused(2, "--plot draws ratings",
                    "\"$HALO\" listen --collect test.key 0-0 --plot p.svg");
    command_clean();
}
END_TEST

static void take_preference(const char *file, const char *who, enum preference preferred)
{
    struct trial_log *log;
    struct trial *trial;
    ck_assert_int_eq(trial_log_create(&log), STATUS_OK);
    ck_assert_int_eq(trial_preference_create(2, 4, NULL, log, &trial), STATUS_OK);
    struct taken taken = begin(file, who, log, trial, "plate");
    for (size_t i = 0; i < 4; i++) {
        trial_play(trial, PREFERENCE_A, (double)i);
        trial_play(trial, PREFERENCE_B, (double)i);
        bool swap = preferred < PREFERENCE_NONE && trial_choice(trial, PREFERENCE_A) == 1;
        ck_assert(trial_prefer(trial, swap ? 1 - preferred : preferred, (double)i));
        ck_assert(trial_confirm(trial, (double)i + 0.5, NULL));
    }
    end(taken);
}

START_TEST(preferences_of_the_terminal)
{
    take_preference("0-0", "Eve", PREFERENCE_A);
    take_preference("1-0", "Bob", PREFERENCE_B);
    take_preference("2-0", "Ann", PREFERENCE_A);
    take_preference("3-0", "Ida", PREFERENCE_NONE);
    json_t *report =
        command_json(command_done("\"$HALO\" listen --collect --json ?-0 --csv t.csv").out);
    const json_t *pair = json_array_get(json_object_get(report, "pairs"), 0);
    EXPECT(at(json_object_get(pair, "preferred"), 0), 8);
    EXPECT(at(json_object_get(pair, "preferred"), 1), 4);
    EXPECT(command_json_number(pair, "ties"), 4);
    EXPECT(at(json_object_get(pair, "listeners"), 0), 2);
    json_decref(report);
    command_done("test $(grep -c ',\"plate\",0.500$' t.csv) = 4");
    command_clean();
}
END_TEST

START_TEST(abx_of_a_page)
{
    static const size_t hits[] = {8, 6, 4};
    struct page page = make_page("abx", 2, 1, 8);
    for (size_t p = 0; p < 3; p++)
        for (size_t t = 0; t < 8; t++)
            judged[p][t][0] = t < hits[p];
    answer_all(&page, 3);
    json_t *report = collected("");
    const json_t *people = json_object_get(report, "listeners"),
                 *group = json_object_get(report, "group");
    for (size_t p = 0; p < 3; p++)
        EXPECT(command_json_number(json_array_get(people, p), "hits"), (double)hits[p]);
    EXPECT(command_json_number(group, "p_value"), 0.011327922344207764);
    json_decref(report);
    command_clean();
}
END_TEST

START_TEST(one_listener_or_a_part_is_reported)
{
    struct page page = make_page("mushra", CHOICES, 3, 3);
    rate_mushra(1, 3);
    answer(&page, 0, 2);
    json_decref(page.key);
    struct command_result result = command_done("\"$HALO\" listen --collect test.key 0-0");
    command_expect(result.out, "one listener");
    command_expect(result.out, "1 of 1 tests were stopped early");
    json_t *report = collected("");
    const json_t *choice = json_array_get(json_object_get(report, "choices"), 1);
    EXPECT(command_json_number(choice, "mean"), (judged[0][0][1] + judged[0][1][1]) / 2);
    ck_assert(json_is_null(json_array_get(json_object_get(choice, "bootstrap"), 0)));
    json_decref(report);
    command_clean();
}
END_TEST

/* Python changes a file by a line of code, in which `d` is its content. */
static void refused(const char *expected, const char *code, const char *files)
{
    command_done("python3 -c 'import json; d = json.load(open(\"0-0\")); %s; "
                 "json.dump(d, open(\"bad\", \"w\"))'",
                 code);
    command_refused(1, expected, "\"$HALO\" listen --collect %s", files);
}

START_TEST(answers_that_do_not_fit_are_refused)
{
    struct page page = make_page("mushra", CHOICES, 3, 3);
    rate_mushra(2, 3);
    answer_all(&page, 2);
    command_done("cp test.key first.key && cp 1-0 other");
    command_refused(1, "0-0 has no key; also name", "\"$HALO\" listen --collect 0-0");
    command_refused(1, "is a key; also name answers", "\"$HALO\" listen --collect test.key");
    command_refused(1, "is the same test as", "\"$HALO\" listen --collect test.key 1-0 other");
    refused("it is not in the key", "d[\"trials\"][1][\"trial\"] = \"x\"", "test.key bad");
    refused("it is there twice", "d[\"trials\"].append(d[\"trials\"][2])", "test.key bad");
    refused("trial 2 of bad is wrong: a rating is not on the scale",
            "d[\"trials\"][1][\"ratings\"][0] = 101", "test.key bad");
    refused("unknown sound", "d[\"trials\"][1][\"shown\"][0] = \"x\"", "test.key bad");
    refused("a sound twice", "s = d[\"trials\"][1][\"shown\"]; s[0] = s[1]", "test.key bad");
    refused("the sounds of its trial",
            "t = d[\"trials\"][1]; t[\"shown\"].pop(); t[\"ratings\"].pop()", "test.key bad");
    refused("does not fit its key", "d[\"complete\"] = 1", "test.key bad");
    refused("has no answers", "del d[\"trials\"][1:]", "test.key bad");
    refused("of another test than 1-0", "d[\"commitment\"] = \"0\"", "test.key 1-0 bad");
    refused("was changed after the test",
            "d[\"key\"] = json.load(open(\"test.key\")); d[\"key\"][\"title\"] = \"b\"", "bad");
    command_done("head -c 300 0-0 >bad");
    command_refused(1, "cannot read bad", "\"$HALO\" listen --collect test.key bad");
    command_done("printf '{\"halo\": \"answers\", \"trials\": [\n{}' >bad");
    command_refused(1, "the end of bad is missing", "\"$HALO\" listen --collect test.key bad");
    take_abx("log.json", "Eve", 8, 8, "plate");
    command_refused(1, "another kind", "\"$HALO\" listen --collect log.json test.key 0-0");
    command_refused(2, "--plot needs", "\"$HALO\" listen --verify 0-0 --plot p.svg");
    struct command_result result = command_run(
        "FAULT='write (deleted) 0 28' ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD='" FAULTS
        "' \"$HALO\" listen --collect test.key 0-0 1-0 --csv t.csv");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "cannot write t.csv: No space left on device");
    ck_assert_str_eq(result.out, "");
    command_clean();
}
END_TEST

static void change_a_byte(const char *from, const char *to)
{
    char text[16384];
    FILE *file = fopen(command_path(from), "r");
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    text[random_below((unsigned)size)] ^= (char)(1 + random_below(127));
    file = fopen(command_path(to), "w");
    fwrite(text, 1, size, file);
    fclose(file);
}

/* A changed key gives no other report. Changed answers give one line, or a report. */
START_TEST(damage_is_refused_or_harmless)
{
    struct page page = make_page("mushra", CHOICES, 3, 3);
    rate_mushra(2, 3);
    answer_all(&page, 2);
    const char *report = command_done("\"$HALO\" listen --collect test.key ?-0").out;
    size_t refusals = 0;
    for (size_t i = 0; i < 150; i++) {
        bool is_key = i < 75;
        change_a_byte(is_key ? "test.key" : "0-0", "bad");
        struct command_result result =
            command_run("\"$HALO\" listen --collect %s 1-0 bad", is_key ? "0-0" : "test.key");
        refusals += result.code == 1;
        if (result.code == 1) {
            ck_assert_uint_eq(command_lines(result.err), 1);
            ck_assert_str_eq(result.out, "");
        } else if (is_key) {
            ck_assert_str_eq(result.out, report);
        } else {
            ck_assert_int_eq(result.code, 0);
        }
    }
    ck_assert_uint_gt(refusals, 90);
    command_clean();
}
END_TEST

SUITE_MAIN("listen_collect", abx_has_each_listener_and_the_group, ranking_compares_over_listeners,
           statistics_are_those_of_scipy, what_does_not_fit_is_refused,
           logs_of_a_listener_are_pooled, mushra_has_means_intervals_and_flags,
           five_sounds_are_drawn_as_well, flags_begin_above_15_percent,
           bs1116_reports_difference_grades, preferences_count_over_listeners,
           preferences_of_the_terminal, abx_of_a_page, one_listener_or_a_part_is_reported,
           answers_that_do_not_fit_are_refused, damage_is_refused_or_harmless)
