#include "base/noise.h"
#include "base/printable.h"
#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ---- */

double collect_number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static struct collect_score *score_at(const struct collect_scores *scores, size_t person,
                                      size_t sound, size_t score)
{
    return scores->table + (person * scores->sounds + sound) * scores->count + score;
}

double collect_score(const struct collect_scores *scores, size_t person, size_t score,
                     const double *weights)
{
    double sum = 0, count = 0;
    for (size_t s = 0; s < scores->sounds; s++) {
        const struct collect_score *own = score_at(scores, person, s, score);
        sum += (weights ? weights[s] : 1) * own->sum;
        count += (weights ? weights[s] : 1) * own->count;
    }
    return sum / count;
}

/* The grade of the sound in a bs1116 trial that is not the reference, minus that of the
 * reference. */
static double difference_grade(const struct collect *all, const struct collect_trial *trial)
{
    for (size_t c = 0; c < all->choices; c++)
        if (c != all->reference && !isnan(trial->ratings[c]))
            return trial->ratings[c] - trial->ratings[all->reference];
    return NAN;
}

enum status collect_scores_init(const struct collect *all, bool without,
                                struct collect_scores *scores)
{
    const bool fine = all->kind == COLLECT_BS1116;
    *scores = (struct collect_scores){.sounds = all->sounds ? json_array_size(all->sounds) : 1};
    for (size_t c = 0; c < all->choices; c++)
        if (!fine || c != all->reference)
            scores->choices[scores->count++] = c;
    size_t *places = calloc(all->people, sizeof *places);
    scores->table = calloc(all->people * scores->sounds * scores->count, sizeof *scores->table);
    if (!places || !scores->table) {
        free(places);
        return fail_memory("ratings");
    }
    for (size_t i = 0; i < all->people; i++)
        places[i] = without && all->persons[i].flagged ? SIZE_MAX : scores->people++;
    for (size_t t = 0; t < all->trial_count; t++) {
        const struct collect_trial *trial = &all->trials[t];
        for (size_t i = 0; places[trial->person] < SIZE_MAX && i < scores->count; i++) {
            double rating = trial->ratings[scores->choices[i]];
            struct collect_score *own = score_at(scores, places[trial->person], trial->sound, i);
            if (isnan(rating))
                continue;
            own->sum += fine ? difference_grade(all, trial) : rating;
            own->count++;
        }
    }
    free(places);
    return STATUS_OK;
}

/* ---- estimates ---- */

enum { ESTIMATES_MOST = COLLECT_CHOICES_MOST + COLLECT_PAIRS_MOST };
enum { BOOTSTRAP_DRAWS = 10000, SOUNDS_LEAST = 5 /* fewer are not drawn */ };

/* A mean score, or the mean difference of two scores. */
struct estimate {
    size_t score, other; /* `other` COLLECT_NONE: no difference */
    double low, high;    /* bootstrap interval; NaN: none */
};

static size_t list_estimates(const struct collect_scores *scores, struct estimate *list)
{
    size_t count = 0;
    for (size_t a = 0; a < scores->count; a++)
        list[count++] = (struct estimate){a, COLLECT_NONE, NAN, NAN};
    for (size_t a = 0; a < scores->count; a++)
        for (size_t b = a + 1; b < scores->count; b++)
            list[count++] = (struct estimate){a, b, NAN, NAN};
    return count;
}

static double estimate_of(const struct estimate *estimate, const double *means)
{
    return means[estimate->score] - (estimate->other == COLLECT_NONE ? 0 : means[estimate->other]);
}

/* Values of an estimate by listener, without those who have none. Returns their number. */
static size_t values_of(const struct collect_scores *scores, const struct estimate *estimate,
                        double *values)
{
    size_t count = 0;
    for (size_t p = 0; p < scores->people; p++) {
        double means[COLLECT_CHOICES_MOST];
        for (size_t i = 0; i < scores->count; i++)
            means[i] = collect_score(scores, p, i, NULL);
        double value = estimate_of(estimate, means);
        if (!isnan(value))
            values[count++] = value;
    }
    return count;
}

static double quantile(const double *sorted, size_t count, double share)
{
    if (count == 0)
        return NAN;
    double place = share * (double)(count - 1);
    size_t at = (size_t)place;
    double next = sorted[at + 1 < count ? at + 1 : at];
    return sorted[at] + (place - (double)at) * (next - sorted[at]);
}

static int ascending(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

void collect_interval(double *values, size_t count, double *low, double *high)
{
    qsort(values, count, sizeof *values, ascending);
    *low = quantile(values, count, 0.025);
    *high = quantile(values, count, 0.975);
    if (!(*high - *low > 1e-9))
        *low = *high = NAN;
}

/* Draws `count` of `count` things, with repetition: how often each was drawn. */
static void draw(uint64_t *counter, double *times, size_t count)
{
    for (size_t i = 0; i < count; i++)
        times[i] = 0;
    for (size_t i = 0; i < count; i++)
        times[(size_t)((noise_hash((*counter)++) >> 32) * count >> 32)]++;
}

/* The estimates of one draw; NaN if no drawn listener has one. */
static void estimate_drawn(const struct collect_scores *scores, const double *people,
                           const double *sounds, const struct estimate *list, size_t count,
                           double *drawn)
{
    double sums[ESTIMATES_MOST] = {0}, weights[ESTIMATES_MOST] = {0};
    for (size_t p = 0; p < scores->people; p++) {
        double means[COLLECT_CHOICES_MOST];
        for (size_t i = 0; people[p] > 0 && i < scores->count; i++)
            means[i] = collect_score(scores, p, i, sounds);
        for (size_t e = 0; people[p] > 0 && e < count; e++) {
            double value = estimate_of(&list[e], means);
            sums[e] += isnan(value) ? 0 : people[p] * value;
            weights[e] += isnan(value) ? 0 : people[p];
        }
    }
    for (size_t e = 0; e < count; e++)
        drawn[e] = sums[e] / weights[e];
}

/* Percentile intervals of 95 %: listeners are drawn, and sounds too if there are enough. */
static enum status bootstrap(const struct collect_scores *scores, struct estimate *list,
                             size_t count)
{
    double drawn[ESTIMATES_MOST];
    size_t kept[ESTIMATES_MOST] = {0};
    double *all = calloc(count * BOOTSTRAP_DRAWS, sizeof *all);
    double *people = calloc(scores->people + scores->sounds + 1, sizeof *people);
    double *sounds = people ? people + scores->people : NULL;
    uint64_t counter = RATINGS_SEED;
    for (size_t i = 0; all && people && scores->people > 1 && i < BOOTSTRAP_DRAWS; i++) {
        draw(&counter, people, scores->people);
        if (scores->sounds >= SOUNDS_LEAST)
            draw(&counter, sounds, scores->sounds);
        estimate_drawn(scores, people, scores->sounds >= SOUNDS_LEAST ? sounds : NULL, list, count,
                       drawn);
        for (size_t e = 0; e < count; e++)
            if (!isnan(drawn[e]))
                all[e * BOOTSTRAP_DRAWS + kept[e]++] = drawn[e];
    }
    for (size_t e = 0; all && people && e < count; e++)
        collect_interval(all + e * BOOTSTRAP_DRAWS, kept[e], &list[e].low, &list[e].high);
    bool done = all && people;
    free(all);
    free(people);
    return done ? STATUS_OK : fail_memory("ratings");
}

/* ---- the report ---- */

static void limits_of(const struct collect *all, double *least, double *most)
{
    static const double limits[COLLECT_KINDS][2] = {[COLLECT_RANKING] = {RATING_LEAST, RATING_MOST},
                                                    [COLLECT_MUSHRA] = {0, 100},
                                                    [COLLECT_BS1116] = {-4, 4}};
    *least = limits[all->kind][0];
    *most = limits[all->kind][1];
}

json_t *collect_interval_json(double low, double high)
{
    return json_pack("[o,o]", trial_log_number(low), trial_log_number(high));
}

static json_t *choice_json(const struct collect *all, const struct collect_scores *scores,
                           const struct estimate *own, double *values)
{
    double least, most;
    size_t count = values_of(scores, own, values);
    struct ratings_paired mean = ratings_paired(values, count);
    limits_of(all, &least, &most);
    if (isfinite(mean.low)) { /* within the scale, as in the report of one test */
        mean.low = fmax(mean.low, least);
        mean.high = fmin(mean.high, most);
    }
    qsort(values, count, sizeof *values, ascending);
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o}", "name", collect_name(all, scores->choices[own->score]),
        "mean", trial_log_number(mean.mean), "interval", collect_interval_json(mean.low, mean.high),
        "bootstrap", collect_interval_json(own->low, own->high), "median",
        trial_log_number(quantile(values, count, 0.5)), "quartiles",
        collect_interval_json(quantile(values, count, 0.25), quantile(values, count, 0.75)));
}

static json_t *pair_json(const struct collect *all, const struct collect_scores *scores,
                         const struct estimate *own, double *values, double *p_value)
{
    size_t count = values_of(scores, own, values);
    struct ratings_paired mean = ratings_paired(values, count);
    *p_value = count > 1 ? mean.p_value : NAN;
    return json_pack(
        "{s:[s,s], s:o, s:o, s:o, s:o}", "pair", collect_name(all, scores->choices[own->score]),
        collect_name(all, scores->choices[own->other]), "difference", trial_log_number(mean.mean),
        "interval", collect_interval_json(mean.low, mean.high), "bootstrap",
        collect_interval_json(own->low, own->high), "p_value", trial_log_number(*p_value));
}

/* Adds "choices" and "pairs". */
static enum status add_results(const struct collect *all, const struct collect_scores *scores,
                               double *values, json_t *report)
{
    struct estimate list[ESTIMATES_MOST];
    double p[COLLECT_PAIRS_MOST] = {0}, holm[COLLECT_PAIRS_MOST];
    size_t count = list_estimates(scores, list), index;
    json_t *choices = json_array(), *pairs = json_array(), *pair;
    json_object_set_new(report, "choices", choices);
    json_object_set_new(report, "pairs", pairs);
    json_object_set_new(
        report, "bootstrap_draws",
        json_string(scores->sounds >= SOUNDS_LEAST ? "listeners and sounds" : "listeners"));
    TRY(bootstrap(scores, list, count));
    for (size_t e = 0; e < count; e++)
        if (e < scores->count)
            json_array_append_new(choices, choice_json(all, scores, &list[e], values));
        else
            json_array_append_new(pairs,
                                  pair_json(all, scores, &list[e], values, &p[e - scores->count]));
    ratings_holm(p, count - scores->count, holm);
    json_array_foreach(pairs, index, pair)
    {
        json_object_set_new(pair, "p_holm", trial_log_number(holm[index]));
    }
    return STATUS_OK;
}

static enum status report_on(const struct collect *all, bool without, json_t *report)
{
    struct collect_scores scores;
    enum status status = collect_scores_init(all, without, &scores);
    double *values = calloc(all->people, sizeof *values);
    if (status == STATUS_OK)
        status = values ? add_results(all, &scores, values, report) : fail_memory("ratings");
    free(values);
    free(scores.table);
    return status;
}

/* ---- flags ---- */

/* Flags a listener as ITU-R BS.1534-3 says: in more than 15 % of the trials the hidden reference
 * was rated below 90, or the anchor of 7 kHz above 90. */
static void flag_mushra(const struct collect *all, struct collect_person *person, size_t index,
                        json_t *report)
{
    size_t below = 0, above = 0;
    for (size_t t = 0; t < all->trial_count; t++) {
        const struct collect_trial *trial = &all->trials[t];
        below += trial->person == index && trial->ratings[all->reference] < 90;
        above += trial->person == index && all->anchor != COLLECT_NONE &&
                 trial->ratings[all->anchor] > 90;
    }
    person->flagged = 100 * below > 15 * person->trials || 100 * above > 15 * person->trials;
    json_object_set_new(report, "reference_below_90", json_integer((json_int_t)below));
    json_object_set_new(report, "anchor_above_90", json_integer((json_int_t)above));
}

/* Flags a listener as ITU-R BS.1116 says: the mean difference grade is not shown to be below 0, by a
 * one-sided t-test. Equal grades have no such test; then a sign test takes its place. */
static enum status flag_bs1116(const struct collect *all, struct collect_person *person,
                               size_t index, json_t *report)
{
    double *grades = calloc(person->trials, sizeof *grades);
    size_t count = 0;
    if (!grades)
        return fail_memory("ratings");
    for (size_t t = 0; t < all->trial_count; t++)
        if (all->trials[t].person == index)
            grades[count++] = difference_grade(all, &all->trials[t]);
    struct ratings_paired mean = ratings_paired(grades, count);
    double p = mean.mean < 0 ? mean.p_value / 2 : 1 - mean.p_value / 2;
    if (isnan(mean.low))
        p = mean.mean < 0 ? pow(0.5, (double)count) : 1;
    free(grades);
    person->flagged = p > 0.05;
    json_object_set_new(report, "difference", trial_log_number(mean.mean));
    json_object_set_new(report, "p_value", trial_log_number(p));
    return STATUS_OK;
}

enum status collect_ratings_report(struct collect *all, json_t *report)
{
    size_t flagged = 0;
    for (size_t i = 0; i < all->people; i++) {
        struct collect_person *person = &all->persons[i];
        json_t *own = json_array_get(json_object_get(report, "listeners"), i);
        if (all->kind == COLLECT_RANKING)
            continue;
        if (all->kind == COLLECT_MUSHRA)
            flag_mushra(all, person, i, own);
        else
            TRY(flag_bs1116(all, person, i, own));
        json_object_set_new(own, "flagged", json_boolean(person->flagged));
        flagged += person->flagged;
    }
    TRY(report_on(all, false, report));
    if (flagged == 0 || flagged == all->people)
        return STATUS_OK;
    json_t *rest = json_object();
    json_object_set_new(report, "without_flagged", rest);
    return report_on(all, true, rest);
}

/* ---- the report as text ---- */

static void print_interval(const json_t *object, const char *name, const char *format)
{
    const json_t *interval = json_object_get(object, name), *low = json_array_get(interval, 0);
    if (json_is_number(low))
        printf("%s%.2f to %.2f", format, json_number_value(low),
               json_number_value(json_array_get(interval, 1)));
}

static void print_value(const json_t *row, const char *name, bool is_signed)
{
    double value = collect_number(row, name);
    if (isnan(value))
        printf("no ratings");
    else
        printf(is_signed ? "%+.2f" : "%.2f", value);
    print_interval(row, "interval", "; t ");
    print_interval(row, "bootstrap", "; bootstrap ");
}

static void print_pair(const json_t *row)
{
    const json_t *pair = json_object_get(row, "pair");
    printf("%s - ", printable(json_string_value(json_array_get(pair, 0))));
    printf("%s: ", printable(json_string_value(json_array_get(pair, 1))));
    print_value(row, "difference", true);
    if (json_is_number(json_object_get(row, "p_value")))
        printf("; p = %.4g, by Holm %.4g", collect_number(row, "p_value"),
               collect_number(row, "p_holm"));
    putchar('\n');
}

static void print_results(const struct collect *all, const json_t *report)
{
    size_t index, differ = 0;
    const json_t *row;
    json_array_foreach(json_object_get(report, "choices"), index, row)
    {
        const json_t *quartiles = json_object_get(row, "quartiles");
        printf("%s: ", printable(collect_text(row, "name")));
        print_value(row, "mean", all->kind == COLLECT_BS1116);
        if (json_is_number(json_object_get(row, "median")))
            printf("; median %.2f, quartiles %.2f and %.2f", collect_number(row, "median"),
                   json_number_value(json_array_get(quartiles, 0)),
                   json_number_value(json_array_get(quartiles, 1)));
        putchar('\n');
    }
    json_array_foreach(json_object_get(report, "pairs"), index, row)
    {
        print_pair(row);
        differ += collect_number(row, "p_holm") <= 0.05;
    }
    if (index > 0 && all->people > 1)
        printf("%zu of %zu pairs differ beyond chance (5 %% level, Holm). The others may differ, "
               "too:\nthese ratings do not show it.\n",
               differ, index);
}

static void print_flagged(const struct collect *all, const json_t *report)
{
    size_t index;
    const json_t *person;
    json_array_foreach(json_object_get(report, "listeners"), index, person)
    {
        if (!all->persons[index].flagged)
            continue;
        if (all->kind == COLLECT_MUSHRA)
            printf("flagged: %s, with the hidden reference below 90 in %.0f and the 7 kHz anchor "
                   "above 90 in %.0f\n  of %zu trials (BS.1534-3: more than 15 %%)\n",
                   printable(collect_text(person, "listener")),
                   collect_number(person, "reference_below_90"),
                   collect_number(person, "anchor_above_90"), all->persons[index].trials);
        else
            printf("flagged: %s, who did not show to hear a difference (mean %+.2f, p = %.4g)\n",
                   printable(collect_text(person, "listener")),
                   collect_number(person, "difference"), collect_number(person, "p_value"));
    }
}

void collect_ratings_print(const struct collect *all, const json_t *report)
{
    static const char *const scales[COLLECT_KINDS] = {
        [COLLECT_RANKING] = "mean rating, 1 to 5",
        [COLLECT_MUSHRA] = "mean rating, 0 to 100",
        [COLLECT_BS1116] = "mean difference from the reference, in grades"};
    const json_t *rest = json_object_get(report, "without_flagged");
    printf("%s, of %zu listener%s (95 %% confidence: Student's t; bootstrap over %s):\n",
           scales[all->kind], all->people, all->people > 1 ? "s" : "",
           collect_text(report, "bootstrap_draws"));
    print_results(all, report);
    if (all->kind == COLLECT_BS1116)
        puts("A choice below 0 with its whole interval sounded worse than the reference. If the "
             "interval\nreaches 0, a difference was not shown; that does not prove that there is "
             "none.");
    print_flagged(all, report);
    if (rest) {
        puts("without the flagged listeners:");
        print_results(all, rest);
    }
    if (all->people < 2)
        puts("one listener: there are no intervals and no p-values for other listeners");
}
