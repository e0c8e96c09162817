#include "base/atomic_file.h"
#include "base/gnuplot.h"
#include "listen/collect_rows.h"

#include <math.h>
#include <stdlib.h>

/* ---- the table ---- */

/* A field of a CSV file (RFC 4180), and what follows it. */
static void put(FILE *stream, const char *text, char after)
{
    putc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', stream);
        putc(*text, stream);
    }
    fprintf(stream, "\"%c", after);
}

static void put_row(const struct collect *all, const struct collect_trial *trial, size_t choice,
                    FILE *stream)
{
    put(stream, all->persons[trial->person].who, ',');
    put(stream, all->files[trial->file].path, ',');
    if (all->sounds)
        put(stream, collect_text(json_array_get(all->sounds, trial->sound), "name"), ',');
    fprintf(stream, "%zu,", trial->number);
    if (all->kind == COLLECT_ABX) {
        fprintf(stream, "%c,%c,%d,", "AB"[trial->first], "AB"[trial->second],
                trial->first == trial->second);
    } else if (all->kind == COLLECT_PREFERENCE) {
        put(stream, collect_name(all, trial->first), ',');
        put(stream, collect_name(all, trial->second), ',');
        put(stream, trial->preferred == COLLECT_NONE ? "" : collect_name(all, trial->preferred),
            ',');
    } else {
        put(stream, collect_name(all, choice), ',');
        fprintf(stream, "%.10g,", trial->ratings[choice]);
    }
    fprintf(stream, "%.3f%c", trial->seconds, all->sounds ? ',' : '\n');
    if (all->sounds)
        put(stream, trial->remark, '\n');
}

static void put_table(const struct collect *all, FILE *stream)
{
    size_t rows = collect_is_rated(all) ? all->choices : 1;
    fprintf(stream, "listener,test,%strial,%s,seconds%s\n", all->sounds ? "sound," : "",
            collect_kinds[all->kind].columns, all->sounds ? ",remark" : "");
    for (size_t t = 0; t < all->trial_count; t++)
        for (size_t c = 0; c < rows; c++)
            if (rows == 1 || !isnan(all->trials[t].ratings[c]))
                put_row(all, &all->trials[t], c, stream);
}

enum status collect_write_table(const struct collect *all, const char *path, bool force)
{
    struct atomic_file file;
    FILE *stream;
    TRY(atomic_text_open(&file, path, force, &stream));
    put_table(all, stream);
    return atomic_text_close(&file, path, stream, STATUS_OK);
}

/* ---- the plot ---- */

static void send_axis(const struct collect *all, const struct collect_scores *scores,
                      const char *title, FILE *commands)
{
    fprintf(commands, "set title '%s'\nset xrange [-0.6:%zu.6]\nset xtics rotate by -30 (", title,
            scores->count - 1);
    for (size_t i = 0; i < scores->count; i++) {
        fputs(i ? ", " : "", commands);
        gnuplot_send_quoted(commands, collect_name(all, scores->choices[i]));
        fprintf(commands, " %zu", i);
    }
    fputs(")\n", commands);
}

/* Sends a block for each listener: choice, score, reference or first score minus the score, place
 * beside others. Then the boxes: choice, low quartile, median, high quartile. */
static void send_data(const struct collect *all, const struct collect_scores *scores,
                      FILE *commands)
{
    const json_t *choices = json_object_get(all->report, "choices");
    size_t base = all->kind == COLLECT_BS1116      ? scores->count
                  : all->reference != COLLECT_NONE ? all->reference
                                                   : 0;
    fputs("$points << e\n", commands);
    for (size_t p = 0; p < scores->people; p++) {
        double place = 0.4 * (((double)p + 0.5) / (double)scores->people - 0.5);
        for (size_t i = 0; i < scores->count; i++) {
            double score = collect_score(scores, p, i, NULL);
            double less = collect_score(scores, p, base, NULL) - score;
            if (!isnan(less))
                fprintf(commands, "%zu %.10g %.10g %.4g\n", i, score, less, place);
        }
        fputc('\n', commands);
    }
    fputs("e\n$boxes << e\n", commands);
    for (size_t i = 0; i < scores->count; i++) {
        double median, ends[2];
        if (json_unpack(json_array_get(choices, i), "{s:F, s:[F,F]}", "median", &median,
                        "quartiles", &ends[0], &ends[1]) == 0)
            fprintf(commands, "%zu %.10g %.10g %.10g\n", i, ends[0], median, ends[1]);
    }
    fputs("e\n", commands);
}

enum status collect_draw(const struct collect *all, const char *path, bool force)
{
    struct gnuplot gnuplot;
    struct collect_scores scores;
    const struct gnuplot_settings settings = {
        .file = path, .force = force, .width = 1200, .height = 600};
    TRY(collect_scores_init(all, false, &scores));
    enum status status = gnuplot_open(&settings, &gnuplot);
    if (status == STATUS_OK) {
        FILE *commands = gnuplot.commands;
        send_data(all, &scores, commands);
        fputs("set multiplot layout 1,2\nunset key\nset grid ytics lt 1 lc rgb '#dddddd'\n"
              "set boxwidth 0.5\nset style fill solid 0.2\n",
              commands);
        send_axis(all, &scores,
                  all->kind == COLLECT_BS1116 ? "grades minus the reference" : "ratings", commands);
        fputs("plot $boxes using 1:2:2:4:4 with candlesticks lt 1 lc rgb '#3b528b', "
              "$boxes using 1:3:3:3:3 with candlesticks lt 1 lw 2 lc rgb '#3b528b', "
              "$points using ($1 + $4):2 with points pt 7 ps 0.4 lc rgb '#555555'\n",
              commands);
        send_axis(all, &scores,
                  all->reference != COLLECT_NONE ? "reference minus each, by listener"
                                                 : "first choice minus each, by listener",
                  commands);
        fputs("set xzeroaxis lt 1 lc rgb '#000000'\n"
              "plot $points using 1:3 with linespoints pt 7 ps 0.4 lt 1 lc rgb '#21918c'\n"
              "unset multiplot\n",
              commands);
    }
    status = gnuplot_close(&gnuplot, status);
    free(scores.table);
    return status;
}
