/* Kinds of designs, and functions to parse their specifications. A family of kinds is a file with a
 * table; design.c lists the tables. A new kind is one function and one row. */
#ifndef HALO_DESIGN_KIND_H
#define HALO_DESIGN_KIND_H

#include "base/status.h"
#include "import/mask_load.h"
#include "signal/phase.h"

#include <stdint.h>
#include <stdio.h>

enum {
    DESIGN_TAPS_MOST = 1 << 20,
    DESIGN_RESPONSE_LEAST = 64, /* taps of a magnitude */
    DESIGN_RATE_LEAST = 1000,
    DESIGN_RATE_MOST = 10000000,
    DESIGN_OPTIONS_MOST = 16,
};

/* A mask while it is made: columns of taps in double precision. */
struct design {
    uint32_t rate; /* set before make is called */
    size_t columns;
    size_t taps;
    size_t origin;
    double *coefficients; /* column after column */
};

/* Errors: memory. */
MUST_CHECK enum status design_alloc(struct design *design, size_t columns, size_t taps);
void design_free(struct design *design);
double *design_column(const struct design *design, size_t column);

struct design_spec {
    const struct design_kind *kind;
    const char *value;                    /* after the colon, or NULL */
    const struct mask_load_options *load; /* of the masks that it names */
    size_t count;
    struct {
        const char *key, *value;
    } options[DESIGN_OPTIONS_MOST];
};

struct design_kind {
    const char *name;
    const char *example; /* for messages and help: "lowpass:1000" */
    const char *options; /* its own, besides rate: "taps, window", or "" */
    const char *help;
    bool names_file; /* its value; `make` settles a design rate of 0 */
    enum status (*make)(const struct design_spec *spec, struct design *design);
    /* Instead of make, for kinds that consist of masks: removes what it used from `spec`. A rate of
     * 0 in `design` is unknown. */
    enum status (*make_parts)(char **spec, const struct mask_load_options *load,
                              struct design *design);
};

/* Families; the last row of each has no name. */
extern const struct design_kind design_filters[], design_simple[], design_equalisers[],
    design_rooms[], design_combine[];

/* Errors of all the following: usage, if not stated.
 *
 * Move the value and options of spec->kind from `from` to `spec`; the rest stays in `from`. */
MUST_CHECK enum status design_parse_options(struct design_spec *spec, char **from);

enum design_unit { DESIGN_PLAIN, DESIGN_HZ, DESIGN_DB, DESIGN_SECONDS };
struct design_range {
    enum design_unit unit;
    double least, most;
};
#define DESIGN_RANGE(unit, least, most) ((struct design_range){DESIGN_##unit, least, most})

/* An option's value, or NULL. */
const char *design_option(const struct design_spec *spec, const char *key);

/* Numbers take units: 1k, 1kHz, -3dB, 10ms. *value is unchanged if the option is missing. The key
 * NULL is the value after the colon. */
MUST_CHECK enum status design_number(const struct design_spec *spec, const char *key,
                                     struct design_range range, double *value);
MUST_CHECK enum status design_count(const struct design_spec *spec, const char *key, size_t least,
                                    size_t most, size_t *value);
MUST_CHECK enum status design_choose(const struct design_spec *spec, const char *key,
                                     const char *const *names, size_t *choice);
MUST_CHECK enum status design_phase(const struct design_spec *spec, enum phase *phase);

/* A number at the start of `text`, in `range`; *end is the text after it. `what` names it. */
MUST_CHECK enum status design_parse(const struct design_spec *spec, const char *what,
                                    const char *text, struct design_range range, char **end,
                                    double *value);

/* A value after the colon is required, or not allowed. */
MUST_CHECK enum status design_need_value(const struct design_spec *spec);
MUST_CHECK enum status design_no_value(const struct design_spec *spec);

/* Print the help of a kind. */
void design_print_kind(FILE *stream, const struct design_kind *kind);

/* Whether it looks like a kind's name, alone or before a colon, and there is no such file; and the
 * error, with the names of `kinds` ("lowpass, highpass"), or the similar ones. */
bool design_is_misspelt(const char *word);
MUST_CHECK enum status design_refuse_kind(const char *word, const char *kinds);

#endif
