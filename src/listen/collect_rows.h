/* The parts of collect.h: reading files into rows, statistics of ratings, table and plot. Threads:
 * one. */
#ifndef HALO_COLLECT_ROWS_H
#define HALO_COLLECT_ROWS_H

#include "base/json_text.h"
#include "listen/trial.h"

#include <math.h>

enum collect_kind {
    COLLECT_ABX,
    COLLECT_RANKING,
    COLLECT_PREFERENCE,
    COLLECT_MUSHRA,
    COLLECT_BS1116,
    COLLECT_KINDS
};
enum { COLLECT_CHOICES_MOST = PREFERENCE_CHOICES_MOST, COLLECT_NONE = COLLECT_CHOICES_MOST };

struct collect_kind_row {
    const char *name;
    size_t shown;           /* sounds that a trial of a page hides; 0: all its choices */
    double least, most;     /* scale of the ratings; both 0: there are no ratings */
    double lowest, highest; /* scale of the scores (struct collect_scores) */
    const char *columns, *title;
};
extern const struct collect_kind_row collect_kinds[COLLECT_KINDS];

/* A log, a page's answers or a key. */
struct collect_file {
    const char *path;
    json_t *root;
    const char *kind, *mark;    /* kind of test; a text that identifies the listener's test */
    struct trial_replay replay; /* Only logs have one. It owns `root`. */
    bool is_answers, is_key;    /* neither: a log */
};

/* A trial that counts. Training trials do not. */
struct collect_trial {
    size_t file, person, sound;
    size_t number;  /* number of the trial in its file, from 1 */
    double seconds; /* duration */
    const char *remark;
    double ratings[COLLECT_CHOICES_MOST]; /* One for each choice. NaN: the trial lacks it. */
    size_t first, second; /* abx: X and the answer; preference: the choices in their places */
    size_t preferred;     /* preference: a choice, or COLLECT_NONE */
};

struct collect_person {
    const char *who;     /* the listener, or the path of the file */
    json_t *row;         /* the listener in the report, which owns it */
    size_t trials, hits; /* hits: abx only */
    bool flagged;        /* the results are also reported without this listener */
};

struct collect {
    size_t file_count;
    struct collect_file *files;
    const struct collect_file *model; /* the first file that is no key; all others must fit it */
    enum collect_kind kind;
    size_t choices;
    json_t *names;        /* Names of the choices. */
    size_t reference;     /* choice that is the hidden reference; COLLECT_NONE: none */
    size_t anchor;        /* choice that is the 7 kHz anchor; COLLECT_NONE: none */
    const json_t *sounds; /* The key's sounds. NULL: a log, which has a single sound. */
    size_t trial_count;
    struct collect_trial *trials;
    size_t people;
    struct collect_person *persons;
    size_t tests, early; /* Counts of all tests, and of those stopped early. */
    double *room;        /* Room for a number of each trial, or two of each listener. */
    json_t *report;      /* The report as JSON. It grows together with `text`. */
    FILE *text;
};

/* Text of a member; empty if there is none. */
static inline const char *collect_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static inline bool collect_is_rated(const struct collect *all)
{
    return collect_kinds[all->kind].most > 0;
}

static inline const char *collect_name(const struct collect *all, size_t choice)
{
    return json_string_value(json_array_get(all->names, choice));
}

/* ---- collect_read.c ---- */

/* Reads and checks the files. Call collect_free in any case. Errors: see collect.h. */
MUST_CHECK enum status collect_read(const char *const *paths, size_t count, struct collect *all);
void collect_free(struct collect *all);

/* ---- collect_ratings.c ---- */

/* What is rated: the choices, or for bs1116 the choices other than the reference. Their scores are
 * the ratings, or for bs1116 the differences from the reference. */
struct collect_scores {
    size_t people, sounds, count;
    size_t choices[COLLECT_CHOICES_MOST];
    struct collect_score {
        double sum, count;
    } *table; /* The order is: listener, sound, score. */
};

/* `without`: leaves out the flagged listeners. Errors: memory. */
MUST_CHECK enum status collect_scores_init(const struct collect *all, bool without,
                                           struct collect_scores *scores);

/* Mean score of a listener; NaN if there is none. `weights` of the sounds; NULL: all 1. The score
 * after the last one is 0. */
double collect_score(const struct collect_scores *scores, size_t person, size_t score,
                     const double *weights);

/* Statistics of drawn listeners and sounds. `people`, `sounds`: how often each was drawn. `sounds`
 * is NULL if sounds are not drawn. */
typedef void collect_statistic(const void *context, const double *people, const double *sounds,
                               double *values);
enum { COLLECT_SOUNDS_LEAST = 5 /* fewer sounds are not drawn */ };

/* Bootstrap intervals of 95 % of `count` values. NaN if all draws give the same value, since
 * nothing follows about other listeners. Errors: memory. */
MUST_CHECK enum status collect_bootstrap(size_t people, size_t sounds, size_t draws,
                                         collect_statistic *statistic, const void *context,
                                         size_t count, double (*ends)[2]);
json_t *collect_ends_json(double low, double high);

/* Adds the results to the report; flags listeners. Errors: memory. */
MUST_CHECK enum status collect_ratings_report(struct collect *all);

/* ---- collect_table.c ---- */

MUST_CHECK enum status collect_write_table(const struct collect *all, const char *path, bool force);
MUST_CHECK enum status collect_draw(const struct collect *all, const char *path, bool force);

#endif
