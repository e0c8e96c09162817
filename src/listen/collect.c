#include "listen/collect.h"

#include "base/gnuplot.h"
#include "base/printable.h"
#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>

/* ---- abx ---- */

static void report_group(const struct collect *all, size_t hits, size_t heard)
{
    double p = binomial_p_value(hits, all->trial_count);
    struct binomial_interval rate = binomial_interval(hits, all->trial_count);
    json_object_set_new(all->report, "group",
                        json_pack("{s:I, s:I, s:f, s:[f,f]}", "hits", (json_int_t)hits, "trials",
                                  (json_int_t)all->trial_count, "p_value", p, "rate_interval",
                                  rate.low, rate.high));
    fprintf(all->text,
            "all: %zu of %zu right; p = %.4g (exact binomial test, one-sided)\n"
            "true rate: %.1f to %.1f %% (95 %% confidence)\n"
            "%zu of %zu listeners heard the difference (5 %% level, Holm); the group %s.\n",
            hits, all->trial_count, p, 100 * rate.low, 100 * rate.high, heard, all->people,
            p <= 0.05 ? "heard it, too"
                      : "did not show that it heard it.\n"
                        "That does not prove that nobody can hear it");
}

static enum status report_abx(const struct collect *all)
{
    double *p = all->room, *holm = p + all->people;
    size_t sum = 0, heard = 0;
    for (size_t i = 0; i < all->people; i++)
        p[i] = binomial_p_value(all->persons[i].hits, all->persons[i].trials);
    ratings_holm(p, all->people, holm);
    for (size_t i = 0; i < all->people; i++) {
        const struct collect_person *person = &all->persons[i];
        json_object_update_new(person->row,
                               json_pack("{s:I, s:f, s:f}", "hits", (json_int_t)person->hits,
                                         "p_value", p[i], "p_holm", holm[i]));
        fprintf(all->text, "%s: %zu of %zu right; p = %.4g, by Holm %.4g\n", printable(person->who),
                person->hits, person->trials, p[i], holm[i]);
        sum += person->hits;
        heard += holm[i] <= 0.05;
    }
    report_group(all, sum, heard);
    return STATUS_OK;
}

/* ---- preference ---- */

enum { STRENGTH_DRAWS = 1000 };

/* Counts a trial `times` times. */
static void count(const struct collect_trial *trial, size_t times, struct preference_pair *pair)
{
    size_t low = trial->first < trial->second ? trial->first : trial->second;
    size_t high = trial->first + trial->second - low;
    while (pair->first != low || pair->second != high)
        pair++;
    pair->first_wins += trial->preferred == low ? times : 0;
    pair->second_wins += trial->preferred == high ? times : 0;
    pair->ties += trial->preferred == COLLECT_NONE ? times : 0;
}

static void strengths_of(const void *context, const double *people, const double *sounds,
                         double *strengths)
{
    const struct collect *all = context;
    struct preference_pair pairs[PREFERENCE_PAIRS_MOST];
    (void)sounds;
    preference_pairs_name(all->choices, pairs);
    for (size_t t = 0; t < all->trial_count; t++)
        count(&all->trials[t], people ? (size_t)people[all->trials[t].person] : 1, pairs);
    preference_strengths(pairs, all->choices, strengths);
}

/* Counts how many listeners prefer which of each pair. */
static void count_listeners(const struct collect *all, struct preference_pair *listeners)
{
    preference_pairs_name(all->choices, listeners);
    for (size_t p = 0; p < all->people; p++) {
        struct preference_pair own[PREFERENCE_PAIRS_MOST];
        preference_pairs_name(all->choices, own);
        for (size_t t = 0; t < all->trial_count; t++)
            count(&all->trials[t], all->trials[t].person == p, own);
        for (size_t i = 0; i < preference_pairs(all->choices); i++) {
            listeners[i].first_wins += own[i].first_wins > own[i].second_wins;
            listeners[i].second_wins += own[i].first_wins < own[i].second_wins;
        }
    }
}

static void report_pair(const struct collect *all, const struct preference_pair *pair,
                        const struct preference_pair *listeners)
{
    const char *one = collect_name(all, pair->first), *other = collect_name(all, pair->second);
    json_array_append_new(json_object_get(all->report, "pairs"),
                          json_pack("{s:[s,s], s:[I,I], s:I, s:[I,I], s:f, s:f}", "pair", one,
                                    other, "preferred", (json_int_t)pair->first_wins,
                                    (json_int_t)pair->second_wins, "ties", (json_int_t)pair->ties,
                                    "listeners", (json_int_t)listeners->first_wins,
                                    (json_int_t)listeners->second_wins, "p_value", pair->p_value,
                                    "p_holm", pair->p_holm));
    fprintf(all->text, "%s: %zu, ", printable(one), pair->first_wins);
    fprintf(all->text, "%s: %zu, neither: %zu; p = %.4g, by Holm %.4g; listeners: %zu to %zu\n",
            printable(other), pair->second_wins, pair->ties, pair->p_value, pair->p_holm,
            listeners->first_wins, listeners->second_wins);
}

static enum status report_preference(const struct collect *all)
{
    double strengths[COLLECT_CHOICES_MOST], ends[COLLECT_CHOICES_MOST][2];
    struct preference_pair sum[PREFERENCE_PAIRS_MOST], listeners[PREFERENCE_PAIRS_MOST];
    size_t uneven = 0, pairs = preference_pairs(all->choices);
    preference_pairs_name(all->choices, sum);
    for (size_t t = 0; t < all->trial_count; t++)
        count(&all->trials[t], 1, sum);
    preference_test(sum, pairs);
    count_listeners(all, listeners);
    strengths_of(all, NULL, NULL, strengths);
    TRY(collect_bootstrap(all->people, 0, STRENGTH_DRAWS, strengths_of, all, all->choices, ends));
    json_object_update_new(all->report, json_pack("{s:[], s:[]}", "pairs", "strengths"));
    fputs("times preferred:\n", all->text);
    for (size_t i = 0; i < pairs; i++) {
        report_pair(all, &sum[i], &listeners[i]);
        uneven += sum[i].p_holm <= 0.05;
    }
    fprintf(all->text,
            "%zu of %zu pairs are uneven beyond chance (exact sign test, two-sided, without ties; "
            "5 %% level, Holm).\nThe test takes each trial as independent. If few listeners did "
            "many trials, it says little\nabout other listeners; the intervals below do.\n"
            "strength (Bradley-Terry, log odds; 0 is the average; 95 %% bootstrap over "
            "listeners):\n",
            uneven, pairs);
    for (size_t c = 0; c < all->choices; c++) {
        json_array_append_new(json_object_get(all->report, "strengths"),
                              json_pack("{s:s, s:f, s:o}", "name", collect_name(all, c), "strength",
                                        strengths[c], "bootstrap",
                                        collect_ends_json(ends[c][0], ends[c][1])));
        fprintf(all->text, "%s: %+.2f", printable(collect_name(all, c)), strengths[c]);
        if (!isnan(ends[c][0]))
            fprintf(all->text, " (%+.2f to %+.2f)", ends[c][0], ends[c][1]);
        fputc('\n', all->text);
    }
    return STATUS_OK;
}

/* ---- all kinds ---- */

static enum status report(struct collect *all, const struct collect_settings *settings)
{
    if (settings->plot)
        TRY(gnuplot_check_file(settings->plot));
    TRY(collect_read(settings->paths, settings->count, all));
    if (settings->plot && !collect_is_rated(all))
        return fail(CAUSE_USAGE, "--plot draws ratings; %s has none", all->model->path);
    json_object_update_new(all->report,
                           json_pack("{s:s, s:I}", "test", collect_kinds[all->kind].name,
                                     "stopped_early", (json_int_t)all->early));
    for (size_t i = 0; i < all->people; i++)
        json_object_set_new(all->persons[i].row, "trials",
                            json_integer((json_int_t)all->persons[i].trials));
    TRY(all->kind == COLLECT_ABX          ? report_abx(all)
        : all->kind == COLLECT_PREFERENCE ? report_preference(all)
                                          : collect_ratings_report(all));
    if (all->early > 0)
        fprintf(all->text, "note: %zu of %zu tests were stopped early\n", all->early, all->tests);
    if (settings->csv)
        TRY(collect_write_table(all, settings->csv, settings->force));
    return settings->plot ? collect_draw(all, settings->plot, settings->force) : STATUS_OK;
}

enum status collect_report(const struct collect_settings *settings)
{
    char *text = NULL;
    size_t size = 0;
    struct collect all = {.report = json_pack("{s:[]}", "listeners"),
                          .text = open_memstream(&text, &size)};
    enum status status = all.report && all.text ? report(&all, settings) : fail_memory("a report");
    if (all.text && fclose(all.text) != 0 && status == STATUS_OK)
        status = fail_memory("a report");
    if (status == STATUS_OK && settings->json)
        status = json_print(json_incref(all.report), 0, "a report");
    else if (status == STATUS_OK)
        fputs(text, stdout);
    collect_free(&all);
    free(text);
    return status;
}
