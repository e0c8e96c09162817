/* Logs of several listeners in one report: statistics, refusals and the table. */
#include "command.h"
#include "listen/trial.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double close_to = 1e-9;

/* A part of a report. `path`: names and indexes, separated by '/'. */
static const json_t *part(const json_t *at, const char *path)
{
    char step[64];
    for (int used; sscanf(path, "%63[^/]%n", step, &used) == 1; path += used + (path[used] == '/'))
        at = json_is_array(at) ? json_array_get(at, strtoul(step, NULL, 10))
                               : json_object_get(at, step);
    return at;
}

struct number {
    const char *path;
    double right; /* 1: true; NAN: null */
};

/* The last number has no path. */
static void expect_all(json_t *report, const struct number *numbers)
{
    for (; numbers->path; numbers++) {
        const json_t *found = part(report, numbers->path);
        double value = json_is_true(found) ? 1 : json_number_value(found);
        ck_assert_msg(found && (json_is_null(found) ? isnan(numbers->right)
                                                    : fabs(value - numbers->right) < close_to),
                      "%s: %.17g, not %.17g", numbers->path, value, numbers->right);
    }
}
#define EXPECT(REPORT, ...) expect_all(REPORT, (const struct number[]){__VA_ARGS__, {NULL, 0}})

static json_t *collected(const char *arguments)
{
    return command_json(command_done("\"$HALO\" listen --collect --json %s", arguments).out);
}

/* ---- logs of the terminal ---- */

/* Judges a trial. `said`: "1" is right for ABX; the preferred choice or 2; ratings by choice. */
static void judge(struct trial *trial, const char *kind, const char *said, double now)
{
    size_t first = trial_choice(trial, 0);
    unsigned digit = (unsigned)*said - '0';
    if (strcmp(kind, "abx") == 0) {
        size_t x = trial_choice(trial, ABX_X);
        ck_assert(trial_abx_answer(trial, (enum abx_sound)(digit == 1 ? x : 1 - x), now));
    } else if (strcmp(kind, "preference") == 0) {
        ck_assert(trial_prefer(trial, (enum preference)(digit == 2 ? 2 : digit != first), now));
    } else {
        for (size_t letter = 0; letter < 2; letter++)
            ck_assert(trial_ranking_rate(trial, letter,
                                         (unsigned)said[trial_choice(trial, letter)] - '0', now));
    }
}

/* Writes the log of a test of 8, 4 or 2 trials (abx, preference, ranking), which ends after those
 * that are `said`. */
static void take(const char *file, const char *who, const char *kind, const char *said,
                 const char *other)
{
    struct trial_log *log;
    struct trial *trial;
    size_t step = strcmp(kind, "ranking") == 0 ? 2 : 1;
    json_t *about =
        json_pack("{s:[s,s], s:s*}", "choices", "hall, \"big\"", other, "listener", who);
    ck_assert_int_eq(trial_log_create(&log), STATUS_OK);
    ck_assert_int_eq(strcmp(kind, "abx") == 0 ? trial_abx_create(8, false, NULL, log, &trial)
                     : step == 1              ? trial_preference_create(2, 4, NULL, log, &trial)
                                              : trial_ranking_create(2, 2, NULL, log, &trial),
                     STATUS_OK);
    ck_assert_int_eq(trial_begin(trial, about), STATUS_OK);
    ck_assert_int_eq(trial_log_open(log, command_path(file), false), STATUS_OK);
    for (double now = 0; *said; said += step, now += 10) {
        for (size_t sound = 0; sound < trial->sound_count; sound++)
            trial_play(trial, sound, now);
        judge(trial, kind, said, now + 1);
        ck_assert(trial_confirm(trial, now + 2.5, NULL));
    }
    trial_destroy(trial);
    trial_log_destroy(log);
}

START_TEST(abx_has_each_listener_and_the_group)
{
    take("a.json", "Eve", "abx", "11111111", "plate");
    take("b.json", "Bob, \"B\"\nSmith", "abx", "11111100", "plate");
    take("c.json", NULL, "abx", "11110000", "plate");
    json_t *report = collected("a.json b.json c.json --csv t.csv");
    ck_assert_str_eq(json_string_value(part(report, "listeners/2/listener")), "c.json");
    /* scipy.stats.binomtest(hits, 8, alternative='greater'), and by Holm p * 3, 2, 1;
     * binomtest(18, 24, alternative='greater'); proportion_ci(.95) of two sides */
    EXPECT(report, {"listeners/0/p_value", 0.00390625}, {"listeners/1/p_value", 0.14453125},
           {"listeners/2/p_value", 0.63671875}, {"listeners/0/p_holm", 0.01171875},
           {"listeners/1/p_holm", 0.2890625}, {"listeners/2/p_holm", 0.63671875},
           {"group/p_value", 0.011327922344207764}, {"group/rate_interval/0", 0.5328871975773307},
           {"group/rate_interval/1", 0.9022695905254667});
    command_expect(
        command_done(
            "python3 -c 'import csv; r = list(csv.DictReader(open(\"t.csv\", newline=\"\"))); "
            "print(len(r), sum(int(x[\"right\"]) for x in r), repr(r[8][\"listener\"]), "
            "r[0][\"seconds\"], all((x[\"x\"] == x[\"answer\"]) == (x[\"right\"] == \"1\") "
            "for x in r))'")
            .out,
        "24 18 'Bob, \"B\"\\nSmith' 2.500 True");
    command_refused(0, "t.csv", "\"$HALO\" listen --collect a.json --csv t.csv");
    command_done("\"$HALO\" listen --collect a.json --csv t.csv --force");
    command_expect(command_done("\"$HALO\" listen --collect a.json b.json c.json").out,
                   "1 of 3 listeners heard the difference");
}

START_TEST(ranking_compares_over_listeners)
{
    take("a.json", "Eve", "ranking", "4252", "plate");
    take("b.json", "Bob", "ranking", "3233", "plate");
    take("c.json", "Ann", "ranking", "5151", "plate");
    /* a = [4.5, 3, 5]: scipy.stats.t.interval(.95, 2, mean(a), sem(a)), whose high end is 6.75;
     * numpy.quantile(a, [.5, .25, .75]);
     * scipy.stats.ttest_rel(a, [2, 2.5, 1]), and its confidence_interval(.95) */
    EXPECT(collected("[abc].json --csv t.csv"), {"choices/0/mean", 12.5 / 3},
           {"choices/0/interval/0", 1.5810941603955353}, {"choices/0/interval/1", 5},
           {"choices/0/median", 4.5}, {"choices/0/quartiles/0", 3.75},
           {"choices/0/quartiles/1", 4.75}, {"pairs/0/difference", 7.0 / 3},
           {"pairs/0/p_value", 0.14798713276974157}, {"pairs/0/interval/0", -2.0286691342342293},
           {"pairs/0/interval/1", 6.695335800900896});
    command_expect(command_done("cat t.csv").out,
                   "\"Eve\",\"a.json\",1,\"hall, \"\"big\"\"\",4,2.5");
    command_expect(command_done("\"$HALO\" listen --collect a.json").out, "one listener");
}

START_TEST(preferences_of_the_terminal)
{
    take("a.json", "Eve", "preference", "0000", "plate");
    take("b.json", "Bob", "preference", "1111", "plate");
    take("c.json", "Ann", "preference", "0000", "plate");
    take("d.json", "Ida", "preference", "2222", "plate");
    EXPECT(collected("[abcd].json --csv t.csv"), {"pairs/0/preferred/0", 8},
           {"pairs/0/preferred/1", 4}, {"pairs/0/ties", 4}, {"pairs/0/listeners/0", 2},
           {"pairs/0/listeners/1", 1});
    command_done("test $(grep -c ',\"plate\",2.500$' t.csv) = 4");
}

START_TEST(statistics_are_those_of_scipy)
{
    /* scipy.stats.ttest_1samp([1.2, -.3, .8, 2.1], 0), and its confidence_interval(.95) */
    static const double right[] = {
        0.95, -0.6332470465118343, 2.533247046511834, 0.15219009961468027, 0.06, 0.04, 0.06, 0.9};
    struct ratings_paired paired = ratings_paired((const double[]){1.2, -.3, .8, 2.1}, 4);
    double found[8] = {paired.mean, paired.low, paired.high, paired.p_value};
    ratings_holm((const double[]){0.03, 0.01, 0.02, 0.9}, 4, found + 4);
    for (size_t i = 0; i < 8; i++)
        ck_assert_double_eq_tol(found[i], right[i], close_to);
    ck_assert(isnan(ratings_paired((const double[]){1, 1}, 2).p_value));
}

START_TEST(logs_that_do_not_fit_are_refused)
{
    /* The folder of a sound may differ between machines. Logs of a listener count together. */
    take("more.json", "Eve", "abx", "11111100", "elsewhere/plate");
    take("a.json", "Eve", "abx", "11111111", "plate");
    take("part.json", "Bob", "abx", "110", "plate");
    take("other.json", "Bob", "abx", "11111111", "spring");
    take("rank.json", "Eve", "ranking", "4252", "plate");
    command_done("cp a.json copy.json && sed 's/Eve/Eva/' a.json >bad.json");
    static const char *const faults[][2] = {{"was changed", "bad"},
                                            {"incomplete", "part"},
                                            {"other sounds, masks or settings", "other"},
                                            {"another kind", "rank"},
                                            {"the same log", "copy"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        command_refused(1, faults[i][0], "\"$HALO\" listen --collect a.json %s.json", faults[i][1]);
    command_expect(command_done("\"$HALO\" listen --collect a.json more.json").out,
                   "Eve: 14 of 16 right; ");
    static const char *const usage[][2] = {{"which logs", "--collect"},
                                           {"either --collect", "--collect --verify a.json"},
                                           {"--csv needs", "--verify a.json --csv t.csv"},
                                           {"--plot needs", "--verify a.json --plot p.svg"}};
    for (size_t i = 0; i < sizeof usage / sizeof *usage; i++)
        command_refused(2, usage[i][0], "\"$HALO\" listen %s", usage[i][1]);
}

/* ---- answers of a page ---- */

enum { PEOPLE = 4, TRIALS = 20, CHOICES = 4 };

/* Judgements of a test, made by each test of this suite. For mushra and bs1116 the ratings by
 * choice. For preference [0] is the preferred place or 2, for abx whether the answer is right. */
static double judged[PEOPLE][TRIALS][CHOICES];

struct page {
    const char *kind;
    size_t choices, sounds, trials;
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

/* Writes test.key. Trial 0 is for training. Returns the commitment. */
static json_t *write_key(const struct page *page)
{
    static const char *const names[] = {"original", "hall", "\"plate\", big", "7000 Hz"};
    static char digest[DIGEST_TEXT];
    json_t *list = json_array(), *heard = json_array(), *tests = json_object();
    for (size_t i = 0; i < page->choices; i++)
        json_array_append_new(list, json_pack("{s:s, s:b, s:i}", "name", names[i], "reference",
                                              i == 0, "anchor", i == 3 ? 7000 : 0));
    for (size_t i = 0; i < page->sounds; i++)
        json_array_append_new(heard, json_pack("{s:o}", "name", json_sprintf("sound %zu", i)));
    for (size_t t = 0; t <= page->trials; t++) {
        size_t own[CHOICES], at = t > 0 ? t - 1 : 0, count = choices_of(page, at, own);
        json_t *slots = json_pack("{s:i}", name_of("open", t, 0), 0);
        for (size_t i = 0; i < count; i++)
            json_object_set_new(slots, name_of("s", t, own[i]), json_integer((json_int_t)own[i]));
        json_object_set_new(tests, name_of("t", t, 0),
                            json_pack("{s:I, s:b, s:o}", "sound", (json_int_t)(at % page->sounds),
                                      "training", t == 0, "slots", slots));
    }
    json_t *key = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "halo", "key", "kind", page->kind,
                            "title", "a test", "choices", list, "sounds", heard, "trials", tests);
    char *text = trial_log_text(key), *whole = NULL;
    ck_assert_int_eq(digest_start(), STATUS_OK);
    ck_assert_int_gt(asprintf(&whole, "salt %s", text), 0);
    digest_of_text(whole, digest);
    json_object_update_new(key, json_pack("{s:s, s:s}", "salt", "salt", "commitment", digest));
    ck_assert_int_eq(json_dump_file(key, command_path("test.key"), 0), 0);
    json_decref(key);
    free(text);
    free(whole);
    return json_string(digest);
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

/* Writes test.key, and answers of each listener to the first `answered` trials. */
static void answer(struct page page, size_t people, size_t answered)
{
    static const double training[CHOICES] = {5, 1, 1, 1};
    json_t *commitment = write_key(&page);
    for (size_t p = 0; p < people; p++) {
        json_t *list = json_array();
        for (size_t t = 0; t <= answered; t++)
            json_array_append_new(list, said_in(&page, t, t ? judged[p][t - 1] : training));
        json_t *root =
            json_pack("{s:s, s:s, s:O, s:o, s:o, s:b, s:{s:s}, s:o}", "halo", "answers", "kind",
                      page.kind, "commitment", commitment, "id", json_sprintf("%zu", p), "listener",
                      json_sprintf("listener %zu", p), "complete", answered == page.trials,
                      "before", "age", "34", "trials", list);
        ck_assert_int_eq(json_dump_file(root, command_path(name_of("", p, 0)), 0), 0);
        json_decref(root);
    }
    json_decref(commitment);
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/* Lists the means of all equally likely draws of `people` listeners and, if `by_sound`, of `sounds`
 * sounds. The ends of the intervals lie near the places of 2.5 and 97.5 % among them. */
static void expect_bootstrap(const json_t *choices, size_t people, size_t sounds, bool by_sound)
{
    size_t rows = (size_t)(pow((double)people, (double)people) + 0.5);
    size_t columns = by_sound ? (size_t)(pow((double)sounds, (double)sounds) + 0.5) : 1;
    double last = (double)(rows * columns - 1), *means = calloc(rows * columns, sizeof *means);
    ck_assert_uint_eq(json_array_size(choices), CHOICES);
    for (size_t choice = 0; choice < CHOICES; choice++) {
        memset(means, 0, rows * columns * sizeof *means);
        for (size_t draw = 0; draw < rows * columns; draw++)
            for (size_t i = 0, left = draw % rows; i < people; i++, left /= people)
                for (size_t j = 0, other = draw / rows; j < sounds; j++, other /= sounds)
                    means[draw] += judged[left % people][by_sound ? other % sounds : j][choice] /
                                   (double)(people * sounds);
        qsort(means, rows * columns, sizeof *means, ascending);
        const json_t *interval = part(json_array_get(choices, choice), "bootstrap");
        double low = json_number_value(part(interval, "0"));
        double high = json_number_value(part(interval, "1"));
        ck_assert_double_ge(low, means[(size_t)(0.019 * last)] - close_to);
        ck_assert_double_le(low, means[(size_t)(0.031 * last)] + close_to);
        ck_assert_double_ge(high, means[(size_t)(0.969 * last)] - close_to);
        ck_assert_double_le(high, means[(size_t)(0.981 * last) + 1] + close_to);
    }
    free(means);
}

/* Writes ratings of up to four listeners; the last one does not find the hidden reference. */
static void answer_mushra(size_t people, size_t trials, size_t answered)
{
    state = 1;
    for (size_t p = 0; p < people; p++)
        for (size_t t = 0; t < trials; t++) {
            judged[p][t][0] = p == 3 ? 60 : 90 + random_below(11);
            for (size_t c = 1; c < CHOICES; c++)
                judged[p][t][c] = random_below(c == 3 ? 50 : 101);
        }
    answer((struct page){"mushra", CHOICES, trials, trials}, people, answered);
}

START_TEST(mushra_has_means_intervals_and_flags)
{
    answer_mushra(PEOPLE, 3, 3);
    json_t *report = collected("test.key ?-0 --csv t.csv --plot p.png");
    double means[CHOICES] = {0}, sum = 0;
    for (size_t i = 0; i < PEOPLE * (size_t)3 * CHOICES; i++) {
        means[i % CHOICES] += judged[i / 12][i / 4 % 3][i % 4] / 12;
        sum += judged[i / 12][i / 4 % 3][i % 4];
    }
    expect_bootstrap(part(report, "choices"), PEOPLE, 3, false);
    expect_bootstrap(part(report, "without_flagged/choices"), 3, 3, false);
    ck_assert_str_eq(json_string_value(part(report, "listeners/3/before/age")), "34");
    /* a: means of the listeners: numpy.quantile(a, [.5, .25]) and scipy.stats:
     * t.interval(.95, 3, mean(a), sem(a)), ttest_rel, and its p-values by Holm */
    EXPECT(report, {"choices/0/mean", means[0]}, {"choices/1/mean", means[1]},
           {"choices/2/mean", means[2]}, {"choices/3/mean", means[3]},
           {"choices/1/median", 44 + 2.0 / 3}, {"choices/1/quartiles/0", 40 + 11.0 / 12},
           {"choices/1/interval/0", 25.254332936791485},
           {"choices/1/interval/1", 76.41233372987519}, {"pairs/0/p_value", 0.03789400169512864},
           {"pairs/0/p_holm", 0.14546296480113685}, {"pairs/0/interval/0", 3.872207957013586},
           {"pairs/0/interval/1", 69.62779204298643}, {"pairs/2/p_value", 0.006386236498535981},
           {"pairs/2/p_holm", 0.038317418991215886}, {"listeners/2/reference_below_90", 0},
           {"listeners/3/reference_below_90", 3}, {"listeners/3/trials", 3},
           {"listeners/0/flagged", 0}, {"listeners/1/flagged", 0}, {"listeners/2/flagged", 0},
           {"listeners/3/flagged", 1});
    command_done("head -c 8 p.png | od -An -tx1 | grep -q '89 50 4e 47 0d 0a 1a 0a'");
    char expected[64];
    snprintf(expected, sizeof expected, "48 %.1f so \"so\" sound 2", sum);
    command_expect(
        command_done(
            "python3 -c 'import csv; r = list(csv.DictReader(open(\"t.csv\"))); "
            "print(len(r), sum(float(x[\"value\"]) for x in r), r[0][\"remark\"], r[47][\"sound\"])'")
            .out,
        expected);
    command_expect(command_done("\"$HALO\" listen --collect test.key ?-0").out,
                   "listener 3, of 3 trials\n  hidden reference below 90 in 3");
}

START_TEST(five_sounds_are_drawn_as_well)
{
    answer_mushra(3, 5, 5);
    json_t *report = collected("test.key ?-0");
    expect_bootstrap(part(report, "choices"), 3, 5, true);
}

/* Of 20 trials, 3 are 15 %, and 4 are more. */
START_TEST(flags_begin_above_15_percent)
{
    for (size_t p = 0; p < PEOPLE; p++)
        for (size_t t = 0; t < TRIALS; t++) {
            judged[p][t][0] = t < (p == 1 ? 4 : 3) ? 89.9 : 90;
            judged[p][t][1] = judged[p][t][2] = 50;
            judged[p][t][3] = t < (p == 2 ? 4 : 3) ? 90.1 : 90;
        }
    answer((struct page){"mushra", CHOICES, TRIALS, TRIALS}, PEOPLE, TRIALS);
    EXPECT(collected("test.key ?-0"), {"listeners/0/flagged", 0}, {"listeners/1/flagged", 1},
           {"listeners/2/flagged", 1}, {"listeners/3/flagged", 0}, {"choices/1/mean", 50},
           {"choices/1/interval/0", NAN}, {"choices/1/bootstrap/0", NAN});
}

START_TEST(bs1116_reports_difference_grades)
{
    static const double grades[3][6] = {
        {3.1, 4.2, 2.5, 4, 4.4, 3.9}, {4.8, 5, 4.9, 5, 5, 4.7}, {4, 4, 4, 4, 4, 4}};
    for (size_t p = 0; p < 3; p++)
        for (size_t t = 0; t < 6; t++) {
            bool guessed = p == 1 && t % 2 == 0;
            judged[p][t][0] = guessed ? grades[p][t] : 5;
            judged[p][t][1] = judged[p][t][2] = guessed ? 5 : grades[p][t];
        }
    answer((struct page){"bs1116", 3, 3, 6}, 3, 6);
    json_t *report = collected("test.key ?-0");
    ck_assert_str_eq(json_string_value(part(report, "choices/0/name")), "hall");
    /* scipy.stats.ttest_1samp(differences, 0, alternative='less'); 0.5^6 for equal ones */
    EXPECT(report, {"listeners/0/p_value", 0.0034625633729557658}, {"listeners/1/p_value", 0.5},
           {"listeners/2/p_value", 1.0 / 64}, {"listeners/0/flagged", 0},
           {"listeners/1/flagged", 1}, {"listeners/2/flagged", 0},
           {"choices/0/mean", (-5.2 / 3 + 0.3 / 3 - 1) / 3},
           {"without_flagged/choices/0/mean", (-5.2 / 3 - 1) / 2});
}

/* With two choices, the strengths differ by the log odds, with a tie more (preference.h). */
START_TEST(preferences_count_over_listeners)
{
    static const char *const said[] = {"0001", "0112", "0000"}; /* 2: neither */
    for (size_t i = 0; i < 12; i++)
        judged[i / 4][i % 4][0] = said[i / 4][i % 4] - '0';
    answer((struct page){"preference", 2, 2, 4}, 3, 4);
    /* scipy.stats.binomtest(8, 11). 1 of 27 draws has a listener three times: that is more than
     * 2.5 % */
    EXPECT(collected("test.key ?-0 --csv t.csv"), {"pairs/0/preferred/0", 8},
           {"pairs/0/preferred/1", 3}, {"pairs/0/ties", 1}, {"pairs/0/listeners/0", 2},
           {"pairs/0/listeners/1", 1}, {"pairs/0/p_value", 0.2265625},
           {"strengths/0/strength", log(9.0 / 4) / 2},
           {"strengths/0/bootstrap/0", log(5.0 / 8) / 2},
           {"strengths/0/bootstrap/1", log(12.5 / 0.5) / 2});
    command_expect(command_done("cat t.csv").out,
                   "\"listener 1\",\"1-0\",\"sound 1\",4,\"original\",\"hall\",\"\",12.500,");
    command_refused(2, "--plot draws ratings",
                    "\"$HALO\" listen --collect test.key 0-0 --plot p.svg");
}

START_TEST(abx_of_a_page)
{
    for (size_t i = 0; i < 24; i++)
        judged[i / 8][i % 8][0] = i % 8 < 8 - 2 * (i / 8);
    answer((struct page){"abx", 2, 1, 8}, 3, 8);
    EXPECT(collected("test.key ?-0"), {"listeners/0/hits", 8}, {"listeners/1/hits", 6},
           {"listeners/2/hits", 4}, {"group/p_value", 0.011327922344207764});
}

START_TEST(one_listener_or_a_part_is_reported)
{
    answer_mushra(1, 3, 2);
    struct command_result result = command_done("\"$HALO\" listen --collect test.key 0-0");
    command_expect(result.out, "one listener");
    command_expect(result.out, "1 of 1 tests were stopped early");
    EXPECT(collected("test.key 0-0"), {"choices/1/mean", (judged[0][0][1] + judged[0][1][1]) / 2},
           {"choices/1/bootstrap/0", NAN});
}

START_TEST(answers_that_do_not_fit_are_refused)
{
    /* Python changes a listener's answers, `d`, by a line of code. */
    static const char *const faults[][3] = {
        {"it is not in the key", "d[\"trials\"][1][\"trial\"] = \"x\"", "test.key bad"},
        {"it is there twice", "d[\"trials\"].append(d[\"trials\"][2])", "test.key bad"},
        {"trial 2 of bad is wrong: a rating is not on the scale",
         "d[\"trials\"][1][\"ratings\"][0] = 101", "test.key bad"},
        {"unknown sound", "d[\"trials\"][1][\"shown\"][0] = \"x\"", "test.key bad"},
        {"a sound twice", "s = d[\"trials\"][1][\"shown\"]; s[0] = s[1]", "test.key bad"},
        {"the sounds of its trial",
         "t = d[\"trials\"][1]; t[\"shown\"].pop(); t[\"ratings\"].pop()", "test.key bad"},
        {"does not fit its key", "d[\"complete\"] = 1", "test.key bad"},
        {"has no answers", "del d[\"trials\"][1:]", "test.key bad"},
        {"of another test than 1-0", "d[\"commitment\"] = \"0\"", "test.key 1-0 bad"},
        {"was changed after the test",
         "d[\"key\"] = json.load(open(\"test.key\")); d[\"key\"][\"title\"] = \"b\"", "bad"},
        {"0-0 has no key; also name", "", "0-0"},
        {"is a key; also name answers", "", "test.key"},
        {"is the same test as", "", "test.key 0-0 bad"},
        {"another kind", "", "log.json test.key 0-0"},
        {"cannot read cut", "", "test.key cut"},
        {"the end of torn is missing", "", "test.key torn"}};
    answer_mushra(2, 3, 3);
    take("log.json", "Eve", "abx", "11111111", "plate");
    command_done("head -c 300 0-0 >cut; printf '{\"halo\": \"answers\", \"trials\": [\n{}' >torn");
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        command_done("python3 -c 'import json; d = json.load(open(\"0-0\")); %s\n"
                     "json.dump(d, open(\"bad\", \"w\"))'",
                     faults[i][1]);
        command_refused(1, faults[i][0], "\"$HALO\" listen --collect %s", faults[i][2]);
    }
    struct command_result result = command_run(
        "FAULT='write (deleted) 0 28' ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD='" FAULTS
        "' \"$HALO\" listen --collect test.key 0-0 1-0 --csv t.csv");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "cannot write t.csv: No space left on device");
    ck_assert_str_eq(result.out, "");
}

/* A changed key gives no other report. Changed answers give one line, or a report. */
START_TEST(damage_is_refused_or_harmless)
{
    answer_mushra(2, 3, 3);
    const char *report = command_done("\"$HALO\" listen --collect test.key ?-0").out;
    command_done("python3 -c 'import random; random.seed(1)\nfor i in range(150):\n"
                 " b = bytearray(open(\"test.key\" if i < 75 else \"0-0\", \"rb\").read())\n"
                 " b[random.randrange(len(b))] ^= random.randrange(1, 128)\n"
                 " open(\"bad%%d\" %% i, \"wb\").write(b)'");
    size_t refusals = 0;
    for (size_t i = 0; i < 150; i++) {
        struct command_result result =
            command_run("\"$HALO\" listen --collect %s 1-0 bad%zu", i < 75 ? "0-0" : "test.key", i);
        refusals += result.code == 1;
        ck_assert_int_le(result.code, 1);
        if (result.code == 1) {
            ck_assert_uint_eq(command_lines(result.err), 1);
            ck_assert_str_eq(result.out, "");
        } else if (i < 75) {
            ck_assert_str_eq(result.out, report);
        }
    }
    ck_assert_uint_gt(refusals, 90);
}
