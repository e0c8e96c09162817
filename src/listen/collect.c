#include "listen/collect.h"

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "listen/trial.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A checked log. Its trials are read from its events, which were repeated and found right. */
struct collect_log {
    const char *path;
    const char *who; /* the listener, or the path */
    struct trial_replay replay;
    size_t trials;
    size_t person;        /* index of the listener */
    unsigned char *marks; /* ranking: the ratings of each trial by choice; abx: the answers, 0: A */
    double *seconds;      /* duration of each trial, from its first sound */
};

struct collect_person {
    const char *who;
    size_t trials;
    size_t hits;
    double means[RANKING_MASKS_MOST];
    double p_value, holm;
};

struct collect {
    size_t count;
    struct collect_log *logs;
    size_t people;
    struct collect_person *persons;
    bool abx;
    size_t choices; /* columns of marks: 1 for abx */
    size_t early;   /* number of logs whose tests were stopped early */
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static size_t x_of(const struct collect_log *log, size_t trial)
{
    return log->replay.trial->key.draws[trial] == 'B';
}

/* ---- the logs ---- */

static void take_rating(struct collect_log *log, const json_t *event, size_t trial, size_t choices)
{
    size_t letter = (size_t)(text_of(event, "sound")[0] - 'A');
    size_t choice = (size_t)(log->replay.trial->key.draws[trial * (choices + 1) + letter] - '1');
    log->marks[trial * choices + choice] =
        (unsigned char)json_integer_value(json_object_get(event, "rating"));
}

/* The last judgement before a trial's confirmation is the one that counts. */
static void take_events(struct collect_log *log, bool abx, size_t choices)
{
    size_t index, trial = 0;
    double began = NAN;
    const json_t *event;
    json_array_foreach(json_object_get(log->replay.root, "events"), index, event)
    {
        const char *name = text_of(event, "event");
        double time = json_number_value(json_object_get(event, "time"));
        if (trial == log->trials)
            return;
        if (strcmp(name, "answer") == 0)
            log->marks[trial] = text_of(event, "answer")[0] == 'B';
        else if (strcmp(name, "rate") == 0 && !abx)
            take_rating(log, event, trial, choices);
        else if (strcmp(name, "resume") == 0)
            began = NAN;
        else if ((strcmp(name, "listen") == 0 || strcmp(name, "switch") == 0) && isnan(began))
            began = time;
        if (strcmp(name, "confirm") == 0) {
            log->seconds[trial++] = time - began;
            began = NAN;
        }
    }
}

/* The name of a choice, without folders. */
static const char *base_name(const json_t *choice)
{
    const char *name = json_is_string(choice) ? json_string_value(choice) : text_of(choice, "name");
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

/* Whether two lists name the same choices. Folders and gains may differ: they depend on the machine
 * and its device. */
static bool same_choices(const json_t *a, const json_t *b)
{
    size_t index;
    const json_t *one;
    bool same = json_array_size(a) == json_array_size(b);
    json_array_foreach((json_t *)a, index, one)
    {
        const json_t *other = json_array_get(b, index);
        same = same && strcmp(base_name(one), base_name(other)) == 0 &&
               strcmp(text_of(one, "taps_sha256"), text_of(other, "taps_sha256")) == 0;
    }
    return same;
}

/* 0 for abx, whose logs have no such number. */
static json_int_t masks_of_log(const json_t *root)
{
    return json_integer_value(json_object_get(root, "masks"));
}

static bool has_file(json_t *files, const char *digest)
{
    const char *path;
    json_t *own;
    json_object_foreach(files, path, own)
    {
        if (strcmp(json_string_value(own) ? json_string_value(own) : "", digest) == 0)
            return true;
    }
    return false;
}

/* Whether two tests read the same files, in whatever folders, and have the same settings. */
static bool same_settings(const json_t *a, const json_t *b)
{
    static const char *const names[] = {"region", "match", "align"};
    const json_t *one = json_object_get(a, "settings"), *other = json_object_get(b, "settings");
    json_t *files = json_object_get(one, "files_sha256"), *digest,
           *others = json_object_get(other, "files_sha256");
    bool same = json_object_size(files) == json_object_size(others);
    const char *path;
    json_object_foreach(files, path, digest)
    {
        same = same && json_is_string(digest) && has_file(others, json_string_value(digest));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_t *its = json_object_get(one, names[i]);
        const json_t *theirs = json_object_get(other, names[i]);
        same = same && ((!its && !theirs) || json_equal(its, theirs));
    }
    return same;
}

static enum status check_log(const struct collect_log *log)
{
    const struct trial_replay *replay = &log->replay;
    if (replay->fault[0])
        return fail(CAUSE_DAMAGED, "%s was changed after the test: %s; leave it out", log->path,
                    replay->fault);
    if (!replay->finished)
        return fail(CAUSE_OTHER, "%s is incomplete; finish its test with --resume, or leave it out",
                    log->path);
    if (strcmp(replay->trial->kind->name, "preference") == 0)
        return fail(CAUSE_UNSUPPORTED, "%s is of --prefer; --collect reports --abx and --blind",
                    log->path);
    if (replay->trial->answered == 0)
        return fail(CAUSE_OTHER, "%s has no answers; leave it out", log->path);
    return STATUS_OK;
}

/* Checks that a log is of the test of the first log, and is not there twice. */
static enum status check_beside(const struct collect *all, size_t at)
{
    const struct collect_log *log = &all->logs[at];
    const json_t *root = log->replay.root, *first = all->logs[0].replay.root;
    for (size_t i = 0; i < at; i++)
        if (strcmp(trial_log_head(log->replay.log), trial_log_head(all->logs[i].replay.log)) == 0)
            return fail(CAUSE_OTHER, "%s is the same log as %s; leave one out", log->path,
                        all->logs[i].path);
    if (strcmp(text_of(root, "test"), text_of(first, "test")) != 0)
        return fail(CAUSE_OTHER, "%s is of another kind of test than %s; collect them apart",
                    log->path, all->logs[0].path);
    if (!same_choices(json_object_get(root, "choices"), json_object_get(first, "choices")) ||
        masks_of_log(root) != masks_of_log(first) || !same_settings(root, first))
        return fail(CAUSE_OTHER,
                    "%s has other sounds, masks or settings than %s; collect them apart", log->path,
                    all->logs[0].path);
    return STATUS_OK;
}

static enum status load(struct collect *all, size_t at, const char *path)
{
    struct collect_log *log = &all->logs[at];
    log->path = path;
    TRY(trial_replay_init(&log->replay, path, false));
    TRY(check_log(log));
    TRY(check_beside(all, at));
    const struct trial *trial = log->replay.trial;
    const char *who = text_of(log->replay.root, "listener");
    log->who = *who ? who : path;
    all->abx = strcmp(trial->kind->name, "abx") == 0;
    all->choices = all->abx ? 1 : (size_t)masks_of_log(log->replay.root);
    log->trials = trial->answered;
    all->early += trial->answered < trial->planned;
    log->marks = calloc(log->trials, all->choices);
    log->seconds = calloc(log->trials, sizeof *log->seconds);
    if (!log->marks || !log->seconds)
        return fail_memory("collecting logs");
    take_events(log, all->abx, all->choices);
    return STATUS_OK;
}

/* ---- the listeners ---- */

static void add_log(struct collect *all, struct collect_log *log)
{
    size_t at = 0;
    while (at < all->people && strcmp(all->persons[at].who, log->who) != 0)
        at++;
    all->people += at == all->people;
    struct collect_person *person = &all->persons[at];
    person->who = log->who;
    person->trials += log->trials;
    log->person = at;
    for (size_t t = 0; t < log->trials; t++) {
        person->hits += all->abx && log->marks[t] == x_of(log, t);
        for (size_t i = 0; i < all->choices; i++)
            person->means[i] += log->marks[t * all->choices + i];
    }
}

static enum status gather(struct collect *all)
{
    for (size_t i = 0; i < all->count; i++)
        add_log(all, &all->logs[i]);
    double *p = calloc(2 * all->people, sizeof *p);
    if (!p)
        return fail_memory("collecting logs");
    for (size_t i = 0; i < all->people; i++) {
        struct collect_person *person = &all->persons[i];
        for (size_t c = 0; c < all->choices; c++)
            person->means[c] /= (double)person->trials;
        p[i] = person->p_value = all->abx ? binomial_p_value(person->hits, person->trials) : 1;
    }
    ratings_holm(p, all->people, p + all->people);
    for (size_t i = 0; i < all->people; i++)
        all->persons[i].holm = p[all->people + i];
    free(p);
    return STATUS_OK;
}

/* ---- the report ---- */

static json_t *abx_json(const struct collect *all)
{
    size_t hits = 0, trials = 0;
    json_t *people = json_array();
    for (size_t i = 0; i < all->people; i++) {
        const struct collect_person *person = &all->persons[i];
        hits += person->hits;
        trials += person->trials;
        json_array_append_new(people,
                              json_pack("{s:o, s:I, s:I, s:f, s:f}", "listener",
                                        json_text(person->who), "hits", (json_int_t)person->hits,
                                        "trials", (json_int_t)person->trials, "p_value",
                                        person->p_value, "p_holm", person->holm));
    }
    struct binomial_interval rate = binomial_interval(hits, trials);
    return json_pack("{s:s, s:I, s:o, s:{s:I, s:I, s:f, s:[f,f]}}", "test", "abx", "stopped_early",
                     (json_int_t)all->early, "listeners", people, "group", "hits", (json_int_t)hits,
                     "trials", (json_int_t)trials, "p_value", binomial_p_value(hits, trials),
                     "rate_interval", rate.low, rate.high);
}

static double number_in(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void print_abx(const json_t *report)
{
    size_t index, heard = 0;
    const json_t *person, *group = json_object_get(report, "group"),
                          *rate = json_object_get(group, "rate_interval");
    json_array_foreach(json_object_get(report, "listeners"), index, person)
    {
        printf("%s: %.0f of %.0f right; p = %.4g, by Holm %.4g\n",
               printable(text_of(person, "listener")), number_in(person, "hits"),
               number_in(person, "trials"), number_in(person, "p_value"),
               number_in(person, "p_holm"));
        heard += number_in(person, "p_holm") <= 0.05;
    }
    printf("all: %.0f of %.0f right; p = %.4g (exact binomial test, one-sided)\n"
           "true rate: %.1f to %.1f %% (95 %% confidence)\n",
           number_in(group, "hits"), number_in(group, "trials"), number_in(group, "p_value"),
           100 * json_number_value(json_array_get(rate, 0)),
           100 * json_number_value(json_array_get(rate, 1)));
    printf("%zu of %zu listeners heard the difference (5 %% level, Holm); the group %s.\n", heard,
           index,
           number_in(group, "p_value") <= 0.05 ? "heard it, too" : "did not show that it heard it");
}

static double quantile(const double *sorted, size_t count, double share)
{
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

static json_t *choice_name(const struct collect *all, size_t at)
{
    json_t *choice = json_array_get(json_object_get(all->logs[0].replay.root, "choices"), at);
    json_t *name = json_is_object(choice) ? json_object_get(choice, "name") : choice;
    return json_is_string(name) ? json_incref(name) : json_sprintf("choice %zu", at + 1);
}

/* `other` SIZE_MAX: the ratings of `choice`; else how much higher it was rated than `other`. */
static struct ratings_paired over_people(const struct collect *all, size_t choice, size_t other,
                                         double *values)
{
    for (size_t i = 0; i < all->people; i++)
        values[i] =
            all->persons[i].means[choice] - (other == SIZE_MAX ? 0 : all->persons[i].means[other]);
    return ratings_paired(values, all->people);
}

static json_t *choices_report(const struct collect *all, double *values)
{
    json_t *choices = json_array();
    for (size_t c = 0; c < all->choices; c++) {
        struct ratings_paired mean = over_people(all, c, SIZE_MAX, values);
        if (isfinite(mean.low)) { /* within the scale, as in the report of one test */
            mean.low = fmax(mean.low, RATING_LEAST);
            mean.high = fmin(mean.high, RATING_MOST);
        }
        qsort(values, all->people, sizeof *values, ascending);
        json_array_append_new(choices,
                              json_pack("{s:o, s:f, s:[o,o], s:f, s:[f,f]}", "name",
                                        choice_name(all, c), "mean", mean.mean, "interval",
                                        trial_log_number(mean.low), trial_log_number(mean.high),
                                        "median", quantile(values, all->people, 0.5), "quartiles",
                                        quantile(values, all->people, 0.25),
                                        quantile(values, all->people, 0.75)));
    }
    return choices;
}

static json_t *pairs_report(const struct collect *all, double *values)
{
    enum { PAIRS_MOST = RANKING_MASKS_MOST * (RANKING_MASKS_MOST - 1) / 2 };
    double p[PAIRS_MOST], holm[PAIRS_MOST];
    size_t count = 0, index;
    json_t *pairs = json_array(), *pair;
    for (size_t a = 0; a < all->choices; a++)
        for (size_t b = a + 1; b < all->choices; b++) {
            struct ratings_paired mean = over_people(all, a, b, values);
            p[count++] = all->people > 1 ? mean.p_value : NAN;
            json_array_append_new(
                pairs, json_pack("{s:[o,o], s:f, s:[o,o], s:o}", "pair", choice_name(all, a),
                                 choice_name(all, b), "difference", mean.mean, "interval",
                                 trial_log_number(mean.low), trial_log_number(mean.high), "p_value",
                                 trial_log_number(p[count - 1])));
        }
    ratings_holm(p, count, holm);
    json_array_foreach(pairs, index, pair)
    {
        json_object_set_new(pair, "p_holm", trial_log_number(holm[index]));
    }
    return pairs;
}

static json_t *ranking_json(const struct collect *all)
{
    double *values = calloc(all->people, sizeof *values);
    if (!values)
        return NULL;
    json_t *choices = choices_report(all, values), *pairs = pairs_report(all, values);
    free(values);
    return json_pack("{s:s, s:I, s:I, s:o, s:o}", "test", "ranking", "stopped_early",
                     (json_int_t)all->early, "listeners", (json_int_t)all->people, "choices",
                     choices, "pairs", pairs);
}

static void print_interval(const json_t *object)
{
    const json_t *interval = json_object_get(object, "interval"),
                 *low = json_array_get(interval, 0);
    if (json_is_number(low))
        printf(" (%.2f to %.2f)", json_number_value(low),
               json_number_value(json_array_get(interval, 1)));
}

static void print_ranking(const json_t *report)
{
    size_t index;
    const json_t *row;
    double people = number_in(report, "listeners");
    printf("mean rating of %.0f listener%s, 1 to 5 (95 %% confidence, by Student's t):\n", people,
           people > 1 ? "s" : "");
    json_array_foreach(json_object_get(report, "choices"), index, row)
    {
        const json_t *quartiles = json_object_get(row, "quartiles");
        printf("%s: %.2f", printable(text_of(row, "name")), number_in(row, "mean"));
        print_interval(row);
        printf(", median %.2f, quartiles %.2f and %.2f\n", number_in(row, "median"),
               json_number_value(json_array_get(quartiles, 0)),
               json_number_value(json_array_get(quartiles, 1)));
    }
    json_array_foreach(json_object_get(report, "pairs"), index, row)
    {
        const json_t *pair = json_object_get(row, "pair");
        printf("%s - ", printable(json_string_value(json_array_get(pair, 0))));
        printf("%s: %+.2f", printable(json_string_value(json_array_get(pair, 1))),
               number_in(row, "difference"));
        print_interval(row);
        if (json_is_number(json_object_get(row, "p_value")))
            printf("; p = %.4g, by Holm %.4g", number_in(row, "p_value"), number_in(row, "p_holm"));
        putchar('\n');
    }
    if (people < 2)
        puts("one listener: there are no intervals and no p-values for other listeners");
}

static enum status print_report(const struct collect *all, bool json)
{
    json_t *report = all->abx ? abx_json(all) : ranking_json(all);
    if (json)
        return json_print(report, 0, "a report");
    if (!report)
        return fail_memory("a report");
    (all->abx ? print_abx : print_ranking)(report);
    if (all->early > 0)
        printf("note: %zu of %zu tests were stopped early\n", all->early, all->count);
    json_decref(report);
    return STATUS_OK;
}

/* ---- the table ---- */

/* A field of a CSV file (RFC 4180). */
static void put_field(FILE *stream, const char *text)
{
    putc('"', stream);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', stream);
        putc(*text, stream);
    }
    putc('"', stream);
}

static void put_log(const struct collect *all, const struct collect_log *log, FILE *stream)
{
    for (size_t row = 0; row < log->trials * all->choices; row++) {
        size_t trial = row / all->choices, x = all->abx ? x_of(log, trial) : 0;
        put_field(stream, log->who);
        fputc(',', stream);
        put_field(stream, log->path);
        fprintf(stream, ",%zu,", trial + 1);
        if (all->abx) {
            fprintf(stream, "%c,%c,%d", "AB"[x], "AB"[log->marks[row]], log->marks[row] == x);
        } else {
            json_t *name = choice_name(all, row % all->choices);
            put_field(stream, name ? json_string_value(name) : "");
            fprintf(stream, ",%d", log->marks[row]);
            json_decref(name);
        }
        fprintf(stream, ",%.3f\n", log->seconds[trial]);
    }
}

static enum status write_table(const struct collect *all, const char *path, bool force)
{
    struct atomic_file file;
    enum status status = atomic_file_open(&file, path, force);
    FILE *stream = status == STATUS_OK ? fdopen(file.fd, "w") : NULL;
    if (stream) {
        fputs(all->abx ? "listener,test,trial,x,answer,right,seconds\n"
                       : "listener,test,trial,choice,rating,seconds\n",
              stream);
        for (size_t i = 0; i < all->count; i++)
            put_log(all, &all->logs[i], stream);
        if (fflush(stream) != 0 || ferror(stream))
            status = fail_errno(errno, "cannot write %s", path);
        else
            status = atomic_file_keep(&file, path);
        fclose(stream);
    } else if (status == STATUS_OK) {
        status = fail_memory("a table");
        close(file.fd);
    }
    atomic_file_discard(&file);
    return status;
}

/* ---- all of it ---- */

static enum status collect(struct collect *all, const char *const *paths, bool json,
                           const char *csv, bool force)
{
    all->persons = calloc(all->count, sizeof *all->persons);
    if (!all->logs || !all->persons)
        return fail_memory("collecting logs");
    for (size_t i = 0; i < all->count; i++)
        TRY(load(all, i, paths[i]));
    TRY(gather(all));
    if (csv)
        TRY(write_table(all, csv, force));
    return print_report(all, json);
}

enum status collect_report(const char *const *paths, size_t count, bool json, const char *csv,
                           bool force)
{
    struct collect all = {.count = count, .logs = calloc(count, sizeof *all.logs)};
    enum status status = collect(&all, paths, json, csv, force);
    for (size_t i = 0; all.logs && i < count; i++) {
        trial_replay_free(&all.logs[i].replay);
        free(all.logs[i].marks);
        free(all.logs[i].seconds);
    }
    free(all.logs);
    free(all.persons);
    return status;
}
