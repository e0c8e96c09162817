#include "base/noise.h"
#include "base/printable.h"
#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ESTIMATES_MOST = COLLECT_CHOICES_MOST + COLLECT_PAIRS_MOST };
enum { BOOTSTRAP_DRAWS = 10000, SOUNDS_LEAST = 5 /* fewer are not drawn */ };

static const struct scale {
    double least, most;
    const char *title;
} scales[COLLECT_KINDS] = {
    [COLLECT_RANKING] = {RATING_LEAST, RATING_MOST, "mean rating, 1 to 5"},
    [COLLECT_MUSHRA] = {0, 100, "mean rating, 0 to 100"},
    [COLLECT_BS1116] = {-4, 4, "mean difference from the reference, in grades"}};

/* A mean score, or the mean difference of two scores. */
struct estimate {
    size_t score, other; /* `other` COLLECT_NONE: no difference */
    double low, high;    /* bootstrap interval; NaN: none */
};

/* ---- scores ---- */

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

enum status collect_scores_init(const struct collect *all, bool without,
                                struct collect_scores *scores)
{
    const bool fine = all->kind == COLLECT_BS1116;
    *scores = (struct collect_scores){.sounds = all->sounds ? json_array_size(all->sounds) : 1};
    for (size_t c = 0; c < all->choices; c++)
        if (!fine || c != all->reference)
            scores->choices[scores->count++] = c;
    scores->table = calloc(all->people * scores->sounds * scores->count, sizeof *scores->table);
    if (!scores->table)
        return fail_memory("ratings");
    for (size_t p = 0; p < all->people; p++) {
        if (without && all->persons[p].flagged)
            continue;
        for (const struct collect_trial *trial = all->trials;
             trial < all->trials + all->trial_count; trial++)
            for (size_t i = 0; trial->person == p && i < scores->count; i++) {
                double rating = trial->ratings[scores->choices[i]];
                struct collect_score *own = score_at(scores, scores->people, trial->sound, i);
                own->sum +=
                    isnan(rating) ? 0 : rating - (fine ? trial->ratings[all->reference] : 0);
                own->count += !isnan(rating);
            }
        scores->people++;
    }
    return STATUS_OK;
}

static double estimate_of(const struct collect_scores *scores, const struct estimate *estimate,
                          size_t person, const double *weights)
{
    double own = collect_score(scores, person, estimate->score, weights);
    return estimate->other == COLLECT_NONE
               ? own
               : own - collect_score(scores, person, estimate->other, weights);
}

/* ---- bootstrap ---- */

static double quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1);
    size_t at = (size_t)place;
    if (count == 0)
        return NAN;
    return sorted[at] + (place - (double)at) * (sorted[at + 1 < count ? at + 1 : at] - sorted[at]);
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
        times[(noise_hash((*counter)++) >> 32) * count >> 32]++;
}

/* The mean of an estimate over drawn listeners; NaN if none of them has one. `sounds` NULL: all. */
static double mean_drawn(const struct collect_scores *scores, const struct estimate *estimate,
                         const double *people, const double *sounds)
{
    double sum = 0, weight = 0;
    for (size_t p = 0; p < scores->people; p++) {
        double value = people[p] > 0 ? estimate_of(scores, estimate, p, sounds) : NAN;
        sum += isnan(value) ? 0 : people[p] * value;
        weight += isnan(value) ? 0 : people[p];
    }
    return sum / weight;
}

/* Computes the interval of an estimate. Listeners are drawn, and sounds too if there are enough.
 * All estimates have the same draws. */
static enum status bootstrap(const struct collect_scores *scores, struct estimate *estimate)
{
    double *people = calloc(scores->people + scores->sounds, sizeof *people);
    double *means = calloc(BOOTSTRAP_DRAWS, sizeof *means);
    bool done = people && means, by_sound = scores->sounds >= SOUNDS_LEAST;
    double *sounds = done && by_sound ? people + scores->people : NULL;
    uint64_t counter = RATINGS_SEED;
    size_t kept = 0;
    for (size_t i = 0; done && scores->people > 1 && i < BOOTSTRAP_DRAWS; i++) {
        draw(&counter, people, scores->people);
        if (sounds)
            draw(&counter, sounds, scores->sounds);
        means[kept] = mean_drawn(scores, estimate, people, sounds);
        kept += isnan(means[kept]) ? 0 : 1;
    }
    collect_interval(means, kept, &estimate->low, &estimate->high);
    free(people);
    free(means);
    return done ? STATUS_OK : fail_memory("ratings");
}

/* ---- the report ---- */

json_t *collect_interval_json(double low, double high)
{
    return json_pack("[o,o]", trial_log_number(low), trial_log_number(high));
}

/* `values`: room for a value of each listener. */
static json_t *estimate_json(const struct collect *all, const struct collect_scores *scores,
                             const struct estimate *own, double *values, double *p_value)
{
    const char *name = collect_name(all, scores->choices[own->score]);
    bool is_pair = own->other != COLLECT_NONE;
    size_t count = 0;
    for (size_t p = 0; p < scores->people; p++) {
        values[count] = estimate_of(scores, own, p, NULL);
        count += isnan(values[count]) ? 0 : 1;
    }
    struct ratings_paired mean = ratings_paired(values, count);
    if (!is_pair && isfinite(mean.low)) { /* within the scale, as in the report of one test */
        mean.low = fmax(mean.low, scales[all->kind].least);
        mean.high = fmin(mean.high, scales[all->kind].most);
    }
    *p_value = count > 1 ? mean.p_value : NAN;
    qsort(values, count, sizeof *values, ascending);
    json_t *row =
        json_pack("{s:o, s:o, s:o}", is_pair ? "difference" : "mean", trial_log_number(mean.mean),
                  "interval", collect_interval_json(mean.low, mean.high), "bootstrap",
                  collect_interval_json(own->low, own->high));
    json_object_update_new(
        row, is_pair ? json_pack("{s:[s,s], s:o}", "pair", name,
                                 collect_name(all, scores->choices[own->other]), "p_value",
                                 trial_log_number(*p_value))
                     : json_pack("{s:s, s:o, s:o}", "name", name, "median",
                                 trial_log_number(quantile(values, count, 0.5)), "quartiles",
                                 collect_interval_json(quantile(values, count, 0.25),
                                                       quantile(values, count, 0.75))));
    return row;
}

/* Adds "choices" and "pairs" of all listeners, or of those who are not flagged. */
static enum status add_results(const struct collect *all, bool without, json_t *report)
{
    double p[COLLECT_PAIRS_MOST + 1] = {0}, holm[COLLECT_PAIRS_MOST];
    double *values = calloc(all->people, sizeof *values);
    struct collect_scores scores;
    size_t count = 0, index;
    json_t *choices = json_array(), *pairs = json_array(), *pair;
    json_object_set_new(report, "choices", choices);
    json_object_set_new(report, "pairs", pairs);
    enum status status = collect_scores_init(all, without, &scores);
    bool by_sound = scores.sounds >= SOUNDS_LEAST;
    json_object_set_new(report, "drawn",
                        json_string(by_sound ? "listeners and sounds" : "listeners"));
    if (status == STATUS_OK && !values)
        status = fail_memory("ratings");
    for (size_t a = 0; a < scores.count; a++)
        for (size_t b = a + 1; status == STATUS_OK && b <= scores.count; b++) {
            bool is_pair = b < scores.count; /* the last one of each is the choice itself */
            struct estimate estimate = {a, is_pair ? b : COLLECT_NONE, NAN, NAN};
            status = bootstrap(&scores, &estimate);
            json_array_append_new(is_pair ? pairs : choices,
                                  estimate_json(all, &scores, &estimate, values, &p[count]));
            count += is_pair;
        }
    ratings_holm(p, count, holm);
    json_array_foreach(pairs, index, pair)
    {
        json_object_set_new(pair, "p_holm", trial_log_number(holm[index]));
    }
    free(values);
    free(scores.table);
    return status;
}

/* ---- flags ---- */

/* Flags a listener as ITU-R BS.1534-3 says: in more than 15 % of the trials the hidden reference
 * was rated below 90, or the anchor of 7 kHz above 90. */
static json_t *flag_mushra(const struct collect *all, size_t index)
{
    struct collect_person *person = &all->persons[index];
    size_t below = 0, above = 0;
    for (size_t t = 0; t < all->trial_count; t++) {
        const struct collect_trial *trial = &all->trials[t];
        below += trial->person == index && trial->ratings[all->reference] < 90;
        above += trial->person == index && all->anchor != COLLECT_NONE &&
                 trial->ratings[all->anchor] > 90;
    }
    person->flagged = 100 * below > 15 * person->trials || 100 * above > 15 * person->trials;
    return json_pack("{s:b, s:I, s:I}", "flagged", person->flagged, "reference_below_90",
                     (json_int_t)below, "anchor_above_90", (json_int_t)above);
}

/* Flags a listener as ITU-R BS.1116-3 says: a one-sided t-test does not show that the mean
 * difference grade is below 0. Equal grades have no such test; then a sign test takes its place. */
static json_t *flag_bs1116(const struct collect *all, size_t index)
{
    struct collect_person *person = &all->persons[index];
    double *grades = calloc(person->trials, sizeof *grades);
    size_t count = 0;
    for (size_t t = 0; grades && t < all->trial_count; t++)
        for (size_t c = 0; all->trials[t].person == index && c < all->choices; c++)
            if (c != all->reference && !isnan(all->trials[t].ratings[c]))
                grades[count++] =
                    all->trials[t].ratings[c] - all->trials[t].ratings[all->reference];
    struct ratings_paired mean = ratings_paired(grades, count);
    double p = mean.mean < 0 ? mean.p_value / 2 : 1 - mean.p_value / 2;
    if (isnan(mean.low))
        p = mean.mean < 0 ? pow(0.5, (double)count) : 1;
    person->flagged = p > 0.05;
    json_t *flag = grades ? json_pack("{s:b, s:f, s:f}", "flagged", person->flagged, "difference",
                                      mean.mean, "p_value", p)
                          : NULL;
    free(grades);
    return flag;
}

enum status collect_ratings_report(struct collect *all, json_t *report)
{
    size_t flagged = 0;
    for (size_t i = 0; all->kind != COLLECT_RANKING && i < all->people; i++) {
        json_t *own = json_array_get(json_object_get(report, "listeners"), i);
        if (json_object_update_new(own, all->kind == COLLECT_MUSHRA ? flag_mushra(all, i)
                                                                    : flag_bs1116(all, i)) != 0)
            return fail_memory("ratings");
        flagged += all->persons[i].flagged;
    }
    TRY(add_results(all, false, report));
    if (flagged == 0 || flagged == all->people)
        return STATUS_OK;
    json_t *rest = json_object();
    json_object_set_new(report, "without_flagged", rest);
    return add_results(all, true, rest);
}

/* ---- the report as text ---- */

static void print_interval(const json_t *row, const char *name, const char *before)
{
    const json_t *interval = json_object_get(row, name);
    if (json_is_number(json_array_get(interval, 0)))
        printf("%s%.2f to %.2f", before, json_number_value(json_array_get(interval, 0)),
               json_number_value(json_array_get(interval, 1)));
}

static void print_row(const json_t *row)
{
    const json_t *pair = json_object_get(row, "pair");
    printf("%s", printable(pair ? json_string_value(json_array_get(pair, 0))
                                : collect_text(row, "name")));
    if (pair)
        printf(" - %s", printable(json_string_value(json_array_get(pair, 1))));
    double mean = collect_number(row, pair ? "difference" : "mean");
    if (isnan(mean)) { /* everybody stopped before */
        puts(": no ratings");
        return;
    }
    printf(pair ? ": %+.2f" : ": %.2f", mean);
    print_interval(row, "interval", "; t ");
    print_interval(row, "bootstrap", "; bootstrap ");
    if (!pair)
        printf("; median %.2f", collect_number(row, "median"));
    print_interval(row, "quartiles", ", quartiles ");
    if (json_is_number(json_object_get(row, "p_value")))
        printf("; p = %.4g, by Holm %.4g", collect_number(row, "p_value"),
               collect_number(row, "p_holm"));
    putchar('\n');
}

static void print_results(const json_t *report)
{
    size_t index, differ = 0, tested = 0;
    const json_t *row;
    json_array_foreach(json_object_get(report, "choices"), index, row)
    {
        print_row(row);
    }
    json_array_foreach(json_object_get(report, "pairs"), index, row)
    {
        print_row(row);
        tested += json_is_number(json_object_get(row, "p_holm"));
        differ += collect_number(row, "p_holm") <= 0.05;
    }
    if (tested > 0)
        printf("%zu of %zu pairs differ beyond chance (5 %% level, Holm). For the others a "
               "difference was\nnot shown; that does not prove that there is none.\n",
               differ, tested);
}

static void print_flagged(const struct collect *all, const json_t *report)
{
    size_t index;
    const json_t *person;
    json_array_foreach(json_object_get(report, "listeners"), index, person)
    {
        const char *who = printable(collect_text(person, "listener"));
        if (all->persons[index].flagged && all->kind == COLLECT_MUSHRA)
            printf("flagged (BS.1534-3: more than 15 %% of the trials): %s, of %zu trials\n"
                   "  hidden reference below 90 in %.0f, 7 kHz anchor above 90 in %.0f\n",
                   who, all->persons[index].trials, collect_number(person, "reference_below_90"),
                   collect_number(person, "anchor_above_90"));
        else if (all->persons[index].flagged)
            printf("flagged: %s, who was not shown to hear a difference (mean %+.2f, p = %.4g)\n",
                   who, collect_number(person, "difference"), collect_number(person, "p_value"));
    }
}

void collect_ratings_print(const struct collect *all, const json_t *report)
{
    const json_t *rest = json_object_get(report, "without_flagged");
    printf("%s, of %zu listener%s\n(95 %% confidence: Student's t; bootstrap over %s):\n",
           scales[all->kind].title, all->people, all->people > 1 ? "s" : "",
           collect_text(report, "drawn"));
    print_results(report);
    if (all->kind == COLLECT_BS1116)
        puts("A choice whose whole interval is below 0 sounded worse than the reference.");
    print_flagged(all, report);
    if (rest) {
        puts("without the flagged listeners:");
        print_results(rest);
    }
    if (all->people < 2)
        puts("one listener: there are no intervals and no p-values for other listeners");
}
