#include "listen/collect.h"

#include "base/gnuplot.h"
#include "base/noise.h"
#include "base/printable.h"
#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- abx ---- */

static size_t hits_of(const struct collect *all, size_t person)
{
    size_t hits = 0;
    for (size_t t = 0; t < all->trial_count; t++)
        hits += all->trials[t].person == person && all->trials[t].first == all->trials[t].second;
    return hits;
}

static enum status report_abx(const struct collect *all, json_t *report)
{
    double *p = calloc(2 * all->people, sizeof *p);
    size_t hits = 0, index;
    json_t *person;
    if (!p)
        return fail_memory("a report");
    for (size_t i = 0; i < all->people; i++) {
        p[i] = binomial_p_value(hits_of(all, i), all->persons[i].trials);
        hits += hits_of(all, i);
    }
    ratings_holm(p, all->people, p + all->people);
    json_array_foreach(json_object_get(report, "listeners"), index, person)
    {
        json_object_set_new(person, "hits", json_integer((json_int_t)hits_of(all, index)));
        json_object_set_new(person, "p_value", json_real(p[index]));
        json_object_set_new(person, "p_holm", json_real(p[all->people + index]));
    }
    free(p);
    struct binomial_interval rate = binomial_interval(hits, all->trial_count);
    json_object_set_new(report, "group",
                        json_pack("{s:I, s:I, s:f, s:[f,f]}", "hits", (json_int_t)hits, "trials",
                                  (json_int_t)all->trial_count, "p_value",
                                  binomial_p_value(hits, all->trial_count), "rate_interval",
                                  rate.low, rate.high));
    return STATUS_OK;
}

static void print_abx(const json_t *report)
{
    size_t index, heard = 0;
    const json_t *person, *group = json_object_get(report, "group"),
                          *rate = json_object_get(group, "rate_interval");
    json_array_foreach(json_object_get(report, "listeners"), index, person)
    {
        printf("%s: %.0f of %.0f right; p = %.4g, by Holm %.4g\n",
               printable(collect_text(person, "listener")), collect_number(person, "hits"),
               collect_number(person, "trials"), collect_number(person, "p_value"),
               collect_number(person, "p_holm"));
        heard += collect_number(person, "p_holm") <= 0.05;
    }
    printf("all: %.0f of %.0f right; p = %.4g (exact binomial test, one-sided)\n"
           "true rate: %.1f to %.1f %% (95 %% confidence)\n",
           collect_number(group, "hits"), collect_number(group, "trials"),
           collect_number(group, "p_value"), 100 * json_number_value(json_array_get(rate, 0)),
           100 * json_number_value(json_array_get(rate, 1)));
    printf("%zu of %zu listeners heard the difference (5 %% level, Holm); the group %s.\n", heard,
           index,
           collect_number(group, "p_value") <= 0.05
               ? "heard it, too"
               : "did not show that it heard it.\nThat does not prove that nobody can hear it");
}

/* ---- preference ---- */

enum { STRENGTH_DRAWS = 1000 };

/* Counts of one listener, or of all. */
struct preference_counts {
    struct preference_pair pairs[COLLECT_PAIRS_MOST];
};

static void count_trial(const struct collect_trial *trial, struct preference_counts *counts)
{
    bool in_order = trial->first < trial->second;
    struct preference_pair *pair = counts->pairs;
    while (pair->first != (in_order ? trial->first : trial->second) ||
           pair->second != (in_order ? trial->second : trial->first))
        pair++;
    pair->first_wins += trial->preferred == pair->first;
    pair->second_wins += trial->preferred == pair->second;
    pair->ties += trial->preferred == COLLECT_NONE;
}

static void add_counts(size_t choices, const struct preference_counts *own,
                       struct preference_counts *sum)
{
    for (size_t i = 0; i < preference_pairs(choices); i++) {
        sum->pairs[i].first_wins += own->pairs[i].first_wins;
        sum->pairs[i].second_wins += own->pairs[i].second_wins;
        sum->pairs[i].ties += own->pairs[i].ties;
    }
}

static json_t *pairs_json(const struct collect *all, const struct preference_counts *people,
                          const struct preference_counts *sum)
{
    json_t *list = json_array();
    for (size_t i = 0; i < preference_pairs(all->choices); i++) {
        const struct preference_pair *pair = &sum->pairs[i];
        size_t first = 0, second = 0;
        for (size_t p = 0; p < all->people; p++) {
            first += people[p].pairs[i].first_wins > people[p].pairs[i].second_wins;
            second += people[p].pairs[i].first_wins < people[p].pairs[i].second_wins;
        }
        json_array_append_new(
            list,
            json_pack("{s:[s,s], s:[I,I], s:I, s:[I,I], s:f, s:f}", "pair",
                      collect_name(all, pair->first), collect_name(all, pair->second), "preferred",
                      (json_int_t)pair->first_wins, (json_int_t)pair->second_wins, "ties",
                      (json_int_t)pair->ties, "listeners", (json_int_t)first, (json_int_t)second,
                      "p_value", pair->p_value, "p_holm", pair->p_holm));
    }
    return list;
}

/* Strengths of random draws of the listeners, by choice. */
static void draw_strengths(const struct collect *all, const struct preference_counts *people,
                           double *drawn)
{
    uint64_t counter = RATINGS_SEED;
    for (size_t d = 0; d < STRENGTH_DRAWS; d++) {
        double strengths[COLLECT_CHOICES_MOST] = {0};
        struct preference_counts sum = {0};
        preference_pairs_name(all->choices, sum.pairs);
        for (size_t p = 0; p < all->people; p++)
            add_counts(all->choices, &people[(noise_hash(counter++) >> 32) * all->people >> 32],
                       &sum);
        preference_strengths(sum.pairs, all->choices, strengths);
        for (size_t c = 0; c < all->choices; c++)
            drawn[c * STRENGTH_DRAWS + d] = strengths[c];
    }
}

static json_t *strengths_json(const struct collect *all, const struct preference_counts *sum,
                              double *drawn)
{
    double strengths[COLLECT_CHOICES_MOST] = {0}, low, high;
    json_t *list = json_array();
    preference_strengths(sum->pairs, all->choices, strengths);
    for (size_t c = 0; c < all->choices; c++) {
        collect_interval(drawn + c * STRENGTH_DRAWS, STRENGTH_DRAWS, &low, &high);
        json_array_append_new(list, json_pack("{s:s, s:f, s:o}", "name", collect_name(all, c),
                                              "strength", strengths[c], "bootstrap",
                                              collect_interval_json(low, high)));
    }
    return list;
}

static enum status report_preference(const struct collect *all, json_t *report)
{
    struct preference_counts sum = {0}, *people = calloc(all->people, sizeof *people);
    double *drawn = calloc(all->choices * STRENGTH_DRAWS, sizeof *drawn);
    preference_pairs_name(all->choices, sum.pairs);
    for (size_t i = 0; people && i < all->people; i++) {
        preference_pairs_name(all->choices, people[i].pairs);
        for (size_t t = 0; t < all->trial_count; t++)
            if (all->trials[t].person == i)
                count_trial(&all->trials[t], &people[i]);
        add_counts(all->choices, &people[i], &sum);
    }
    preference_test(sum.pairs, preference_pairs(all->choices));
    bool done = people && drawn;
    if (done) {
        draw_strengths(all, people, drawn);
        json_object_set_new(report, "pairs", pairs_json(all, people, &sum));
        json_object_set_new(report, "strengths", strengths_json(all, &sum, drawn));
    }
    free(people);
    free(drawn);
    return done ? STATUS_OK : fail_memory("a report");
}

static double number_at(const json_t *object, const char *name, size_t index)
{
    return json_number_value(json_array_get(json_object_get(object, name), index));
}

static void print_preference(const json_t *report)
{
    size_t index, uneven = 0;
    const json_t *row;
    puts("times preferred:");
    json_array_foreach(json_object_get(report, "pairs"), index, row)
    {
        const json_t *pair = json_object_get(row, "pair");
        printf("%s: %.0f, ", printable(json_string_value(json_array_get(pair, 0))),
               number_at(row, "preferred", 0));
        printf("%s: %.0f, neither: %.0f; p = %.4g, by Holm %.4g; listeners: %.0f to %.0f\n",
               printable(json_string_value(json_array_get(pair, 1))),
               number_at(row, "preferred", 1), collect_number(row, "ties"),
               collect_number(row, "p_value"), collect_number(row, "p_holm"),
               number_at(row, "listeners", 0), number_at(row, "listeners", 1));
        uneven += collect_number(row, "p_holm") <= 0.05;
    }
    printf("%zu of %zu pairs are uneven beyond chance (exact sign test, two-sided, without ties; "
           "5 %% level, Holm).\nThe test takes each trial as independent. If few listeners did "
           "many trials, it says little\nabout other listeners; the intervals below do.\n",
           uneven, index);
    puts("strength (Bradley-Terry, log odds; 0 is the average; 95 % bootstrap over listeners):");
    json_array_foreach(json_object_get(report, "strengths"), index, row)
    {
        printf("%s: %+.2f", printable(collect_text(row, "name")), collect_number(row, "strength"));
        if (json_is_number(json_array_get(json_object_get(row, "bootstrap"), 0)))
            printf(" (%+.2f to %+.2f)", number_at(row, "bootstrap", 0),
                   number_at(row, "bootstrap", 1));
        putchar('\n');
    }
}

/* ---- all kinds ---- */

static json_t *listeners_json(const struct collect *all)
{
    json_t *list = json_array();
    for (size_t i = 0; i < all->people; i++) {
        const struct collect_person *person = &all->persons[i];
        json_t *own = json_pack("{s:o, s:I}", "listener", json_text(person->who), "trials",
                                (json_int_t)person->trials);
        if (person->before)
            json_object_set(own, "before", (json_t *)person->before);
        if (person->after)
            json_object_set(own, "after", (json_t *)person->after);
        json_array_append_new(list, own);
    }
    return list;
}

static enum status write_all(struct collect *all, const struct collect_settings *settings,
                             json_t *report)
{
    TRY(all->kind == COLLECT_ABX          ? report_abx(all, report)
        : all->kind == COLLECT_PREFERENCE ? report_preference(all, report)
                                          : collect_ratings_report(all, report));
    if (settings->csv)
        TRY(collect_write_table(all, settings->csv, settings->force));
    if (settings->plot)
        TRY(collect_draw(all, report, settings->plot, settings->force));
    if (settings->json)
        return json_print(json_incref(report), 0, "a report");
    if (all->kind == COLLECT_ABX)
        print_abx(report);
    else if (all->kind == COLLECT_PREFERENCE)
        print_preference(report);
    else
        collect_ratings_print(all, report);
    if (all->early > 0)
        printf("note: %zu of %zu tests were stopped early\n", all->early, all->tests);
    return STATUS_OK;
}

static enum status collect(struct collect *all, const struct collect_settings *settings)
{
    if (settings->plot)
        TRY(gnuplot_check_file(settings->plot));
    TRY(collect_read(settings->paths, settings->count, all));
    if (settings->plot && !collect_is_rated(all))
        return fail(CAUSE_USAGE, "--plot draws ratings; %s has none", all->model->path);
    json_t *report =
        json_pack("{s:s, s:I, s:o}", "test", collect_kind_names[all->kind], "stopped_early",
                  (json_int_t)all->early, "listeners", listeners_json(all));
    enum status status = report ? write_all(all, settings, report) : fail_memory("a report");
    json_decref(report);
    return status;
}

enum status collect_report(const struct collect_settings *settings)
{
    struct collect all = {0};
    enum status status = collect(&all, settings);
    collect_free(&all);
    return status;
}
