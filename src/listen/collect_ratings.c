#include "base/noise.h"
#include "base/printable.h"
#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>

enum { ESTIMATES_MOST = COLLECT_CHOICES_MOST + PREFERENCE_PAIRS_MOST, BOOTSTRAP_DRAWS = 10000 };

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
    for (size_t s = 0; score < scores->count && s < scores->sounds; s++) {
        const struct collect_score *own = score_at(scores, person, s, score);
        sum += (weights ? weights[s] : 1) * own->sum;
        count += (weights ? weights[s] : 1) * own->count;
    }
    return score < scores->count ? sum / count : 0;
}

/* The score of a choice in a trial; NaN: the choice was not in the trial. */
static double score_in(const struct collect *all, const struct collect_trial *trial, size_t choice)
{
    return trial->ratings[choice] -
           (all->kind == COLLECT_BS1116 ? trial->ratings[all->reference] : 0);
}

enum status collect_scores_init(const struct collect *all, bool without,
                                struct collect_scores *scores)
{
    *scores = (struct collect_scores){.sounds = all->sounds ? json_array_size(all->sounds) : 1};
    for (size_t c = 0; c < all->choices; c++)
        if (all->kind != COLLECT_BS1116 || c != all->reference)
            scores->choices[scores->count++] = c;
    scores->table = calloc(all->people * scores->sounds * scores->count, sizeof *scores->table);
    if (!scores->table)
        return fail_memory("ratings");
    for (size_t p = 0; p < all->people; p++) {
        if (without && all->persons[p].flagged)
            continue;
        for (size_t t = 0; t < all->trial_count; t++)
            for (size_t i = 0; all->trials[t].person == p && i < scores->count; i++) {
                double score = score_in(all, &all->trials[t], scores->choices[i]);
                struct collect_score *own =
                    score_at(scores, scores->people, all->trials[t].sound, i);
                own->sum += isnan(score) ? 0 : score;
                own->count += !isnan(score);
            }
        scores->people++;
    }
    return STATUS_OK;
}

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

/* Estimates over listeners: mean scores, and differences of two scores. */
struct results {
    struct collect_scores scores;
    size_t count;
    struct estimate {
        size_t score, other;     /* `score` minus `other`; `other` scores.count: `score` alone */
    } estimates[ESTIMATES_MOST]; /* The scores alone come first. */
};

/* An estimate for a listener; NaN: there is none. `sounds` as in collect_score. */
static double value_of(const struct results *results, size_t index, size_t person,
                       const double *sounds)
{
    return collect_score(&results->scores, person, results->estimates[index].score, sounds) -
           collect_score(&results->scores, person, results->estimates[index].other, sounds);
}

/* The values of an estimate, in ascending order. Returns their number. */
static size_t values_of(const struct results *results, size_t index, double *values)
{
    size_t count = 0;
    for (size_t p = 0; p < results->scores.people; p++) {
        values[count] = value_of(results, index, p, NULL);
        count += isnan(values[count]) ? 0 : 1;
    }
    qsort(values, count, sizeof *values, ascending);
    return count;
}

/* ---- bootstrap ---- */

/* Draws `count` of `count` things, with repetition: how often each was drawn. */
static void draw(uint64_t *counter, double *times, size_t count)
{
    for (size_t i = 0; i < count; i++)
        times[i] = 0;
    for (size_t i = 0; i < count; i++)
        times[(noise_hash((*counter)++) >> 32) * count >> 32]++;
}

/* The interval of every `step`-th of the drawn values. `sorted`: room for them. */
static void interval_of(const double *drawn, size_t draws, size_t step, double *sorted,
                        double ends[2])
{
    size_t kept = 0;
    for (size_t i = 0; i < draws; i++) {
        sorted[kept] = drawn[i * step];
        kept += isnan(sorted[kept]) ? 0 : 1;
    }
    qsort(sorted, kept, sizeof *sorted, ascending);
    ends[0] = quantile(sorted, kept, 0.025);
    ends[1] = quantile(sorted, kept, 0.975);
    if (!(ends[1] - ends[0] > 1e-9))
        ends[0] = ends[1] = NAN;
}

enum status collect_bootstrap(size_t people, size_t sounds, size_t draws,
                              collect_statistic *statistic, const void *context, size_t count,
                              double (*ends)[2])
{
    double *times = calloc(people + sounds, sizeof *times);
    double *drawn = calloc((count + 1) * draws, sizeof *drawn);
    bool done = times && drawn, by_sound = sounds >= COLLECT_SOUNDS_LEAST;
    uint64_t counter = RATINGS_SEED;
    for (size_t i = 0; done && people > 1 && i < draws; i++) {
        draw(&counter, times, people);
        if (by_sound)
            draw(&counter, times + people, sounds);
        statistic(context, times, by_sound ? times + people : NULL, drawn + i * count);
    }
    for (size_t i = 0; done && i < count; i++)
        interval_of(drawn + i, draws, count, drawn + draws * count, ends[i]);
    free(times);
    free(drawn);
    return done ? STATUS_OK : fail_memory("a bootstrap");
}

/* Means of the estimates over drawn listeners; NaN: none of them has one. */
static void means_of(const void *context, const double *people, const double *sounds, double *means)
{
    const struct results *results = context;
    for (size_t i = 0; i < results->count; i++) {
        double sum = 0, weight = 0;
        for (size_t p = 0; p < results->scores.people; p++) {
            double value = people[p] > 0 ? value_of(results, i, p, sounds) : NAN;
            sum += isnan(value) ? 0 : people[p] * value;
            weight += isnan(value) ? 0 : people[p];
        }
        means[i] = sum / weight;
    }
}

/* ---- the report ---- */

json_t *collect_ends_json(double low, double high)
{
    return json_pack("[o,o]", trial_log_number(low), trial_log_number(high));
}

static void print_ends(FILE *text, const char *before, double low, double high)
{
    if (!isnan(low))
        fprintf(text, "%s%.2f to %.2f", before, low, high);
}

/* Adds an estimate to the report, from the first values in all->room. */
static void add_estimate(const struct collect *all, const char *name, const char *other,
                         size_t count, double holm, const double ends[2], json_t *report)
{
    struct ratings_paired mean = ratings_paired(all->room, count);
    double median = quantile(all->room, count, 0.5), low = quantile(all->room, count, 0.25),
           high = quantile(all->room, count, 0.75);
    if (!other && !isnan(mean.low)) { /* within the scale, as in the report of one test */
        mean.low = fmax(mean.low, collect_kinds[all->kind].lowest);
        mean.high = fmin(mean.high, collect_kinds[all->kind].highest);
    }
    json_t *row = other ? json_pack("{s:[s,s], s:o, s:o, s:o}", "pair", name, other, "difference",
                                    trial_log_number(mean.mean), "p_value",
                                    trial_log_number(count > 1 ? mean.p_value : NAN), "p_holm",
                                    trial_log_number(holm))
                        : json_pack("{s:s, s:o, s:o, s:o}", "name", name, "mean",
                                    trial_log_number(mean.mean), "median", trial_log_number(median),
                                    "quartiles", collect_ends_json(low, high));
    json_object_update_new(row, json_pack("{s:o, s:o}", "interval",
                                          collect_ends_json(mean.low, mean.high), "bootstrap",
                                          collect_ends_json(ends[0], ends[1])));
    json_array_append_new(json_object_get(report, other ? "pairs" : "choices"), row);
    fputs(printable(name), all->text);
    if (other)
        fprintf(all->text, " - %s", printable(other));
    if (count == 0) { /* everybody stopped before */
        fputs(": no ratings\n", all->text);
        return;
    }
    fprintf(all->text, other ? ": %+.2f" : ": %.2f", mean.mean);
    print_ends(all->text, "; t ", mean.low, mean.high);
    print_ends(all->text, "; bootstrap ", ends[0], ends[1]);
    if (!other)
        fprintf(all->text, "; median %.2f, quartiles %.2f to %.2f", median, low, high);
    else if (!isnan(holm))
        fprintf(all->text, "; p = %.4g, by Holm %.4g", mean.p_value, holm);
    fputc('\n', all->text);
}

/* Lists the estimates. Computes the p-values by Holm of the differences. */
static void list_estimates(struct results *results, double *values, double *holm)
{
    const size_t scores = results->scores.count;
    double p[ESTIMATES_MOST];
    for (size_t a = 0; a < scores; a++)
        results->estimates[results->count++] = (struct estimate){a, scores};
    for (size_t a = 0; a < scores; a++)
        for (size_t b = a + 1; b < scores; b++) {
            results->estimates[results->count] = (struct estimate){a, b};
            size_t count = values_of(results, results->count, values);
            p[results->count++] = count > 1 ? ratings_paired(values, count).p_value : NAN;
        }
    ratings_holm(p + scores, results->count - scores, holm + scores);
}

/* Adds "choices" and "pairs" of all listeners, or of those who are not flagged. */
static enum status add_results(const struct collect *all, bool without, json_t *report)
{
    struct results results = {.count = 0};
    const struct collect_scores *scores = &results.scores;
    double ends[ESTIMATES_MOST][2], holm[ESTIMATES_MOST];
    size_t tested = 0, differ = 0;
    TRY(collect_scores_init(all, without, &results.scores));
    list_estimates(&results, all->room, holm);
    enum status status = collect_bootstrap(scores->people, scores->sounds, BOOTSTRAP_DRAWS,
                                           means_of, &results, results.count, ends);
    json_object_update_new(report, json_pack("{s:[], s:[]}", "choices", "pairs"));
    for (size_t i = 0; status == STATUS_OK && i < results.count; i++) {
        const struct estimate *own = &results.estimates[i];
        bool is_pair = own->other < scores->count;
        add_estimate(all, collect_name(all, scores->choices[own->score]),
                     is_pair ? collect_name(all, scores->choices[own->other]) : NULL,
                     values_of(&results, i, all->room), holm[i], ends[i], report);
        tested += is_pair && !isnan(holm[i]);
        differ += is_pair && holm[i] <= 0.05;
    }
    if (tested > 0)
        fprintf(all->text, "%zu of %zu pairs differ beyond chance (5 %% level, Holm).%s", differ,
                tested,
                differ == tested ? "\n"
                                 : " For the others a difference was\n"
                                   "not shown; that does not prove that there is none.\n");
    free(scores->table);
    return status;
}

/* ---- flags ---- */

/* Flags a listener as ITU-R BS.1534-3 says: in more than 15 % of the trials the hidden reference
 * was rated below 90, or the anchor of 7 kHz above 90. */
static void flag_mushra(const struct collect *all, struct collect_person *person)
{
    size_t below = 0, above = 0;
    for (const struct collect_trial *t = all->trials; t < all->trials + all->trial_count; t++) {
        bool own = &all->persons[t->person] == person;
        below += own && t->ratings[all->reference] < 90;
        above += own && all->anchor != COLLECT_NONE && t->ratings[all->anchor] > 90;
    }
    person->flagged = 100 * below > 15 * person->trials || 100 * above > 15 * person->trials;
    json_object_update_new(person->row,
                           json_pack("{s:I, s:I}", "reference_below_90", (json_int_t)below,
                                     "anchor_above_90", (json_int_t)above));
    if (person->flagged)
        fprintf(all->text,
                "flagged (BS.1534-3: more than 15 %% of the trials): %s, of %zu trials\n"
                "  hidden reference below 90 in %zu, 7 kHz anchor above 90 in %zu\n",
                printable(person->who), person->trials, below, above);
}

/* Flags a listener as ITU-R BS.1116-3 says: a one-sided t-test does not show that the mean
 * difference grade is below 0. Equal grades have no such test; then a sign test takes its place. */
static void flag_bs1116(const struct collect *all, struct collect_person *person)
{
    double *grades = all->room;
    size_t count = 0;
    for (const struct collect_trial *t = all->trials; t < all->trials + all->trial_count; t++)
        for (size_t c = 0; &all->persons[t->person] == person && c < all->choices; c++)
            if (c != all->reference && !isnan(t->ratings[c]))
                grades[count++] = score_in(all, t, c);
    struct ratings_paired mean = ratings_paired(grades, count);
    double p = mean.mean < 0 ? mean.p_value / 2 : 1 - mean.p_value / 2;
    if (isnan(mean.low))
        p = mean.mean < 0 ? pow(0.5, (double)count) : 1;
    person->flagged = p > 0.05;
    json_object_update_new(person->row,
                           json_pack("{s:f, s:f}", "difference", mean.mean, "p_value", p));
    if (person->flagged)
        fprintf(all->text,
                "flagged: %s, who was not shown to hear a difference (mean %+.2f, p = %.4g)\n",
                printable(person->who), mean.mean, p);
}

enum status collect_ratings_report(struct collect *all)
{
    const char *drawn =
        json_array_size(all->sounds) < COLLECT_SOUNDS_LEAST ? "listeners" : "listeners and sounds";
    size_t flagged = 0;
    json_object_set_new(all->report, "drawn", json_string(drawn));
    fprintf(all->text,
            "%s, of %zu listener%s\n(95 %% confidence: Student's t; bootstrap over %s):\n",
            collect_kinds[all->kind].title, all->people, all->people > 1 ? "s" : "", drawn);
    fputs("who answered:", all->text);
    for (size_t i = 0; i < all->people; i++)
        fprintf(all->text, "%s %s", i > 0 ? "," : "", printable(all->persons[i].who));
    fputc('\n', all->text);
    TRY(add_results(all, false, all->report));
    if (all->kind == COLLECT_BS1116)
        fputs("A choice whose whole interval is below 0 sounded worse than the reference.\n",
              all->text);
    for (size_t i = 0; all->kind != COLLECT_RANKING && i < all->people; i++) {
        struct collect_person *person = &all->persons[i];
        (all->kind == COLLECT_MUSHRA ? flag_mushra : flag_bs1116)(all, person);
        json_object_set_new(person->row, "flagged", json_boolean(person->flagged));
        flagged += person->flagged;
    }
    if (flagged > 0 && flagged < all->people) {
        json_t *rest = json_object();
        json_object_set_new(all->report, "without_flagged", rest);
        fputs("without the flagged listeners:\n", all->text);
        TRY(add_results(all, true, rest));
    }
    if (all->people < 2)
        fputs("one listener: there are no intervals and no p-values for other listeners\n",
              all->text);
    return STATUS_OK;
}
