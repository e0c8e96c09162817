/* Kinds of designs, and functions to parse their specifications. A family of kinds is a file with a
 * table; design.c lists the tables. A new kind is one function and one row of a table. */
#ifndef HALO_DESIGN_KIND_H
#define HALO_DESIGN_KIND_H

#include "base/status.h"
#include "import/mask_load.h"
#include "signal/eq_bands.h"
#include "signal/phase.h"

#include <stdint.h>
#include <stdio.h>

enum {
    DESIGN_TAPS_MOST = 1 << 20,
    DESIGN_RESPONSE_LEAST = 64, /* least number of taps for a magnitude */
    DESIGN_RATE_LEAST = 1000,
    DESIGN_RATE_MOST = 10000000,
    DESIGN_OPTIONS_MOST = 16,
};

/* A mask that is being made: columns of taps in double precision. */
struct design {
    uint32_t rate; /* set before `make` is called */
    size_t columns;
    size_t taps;
    size_t origin;
    double *coefficients;   /* column after column */
    struct eq_bands *bands; /* bands of which the taps are the exact response; NULL: none */
    char *measured;         /* see struct mask, owned; NULL: none */
};

/* Errors: memory. */
MUST_CHECK enum status design_alloc(struct design *design, size_t columns, size_t taps);
void design_free(struct design *design);
double *design_column(const struct design *design, size_t column);

struct design_spec {
    const struct design_kind *kind;
    const char *value;                    /* text after the colon, or NULL */
    const struct mask_load_options *load; /* how masks that it names are loaded */
    size_t count;
    struct {
        const char *key, *value;
    } options[DESIGN_OPTIONS_MOST];
};

struct design_kind {
    const char *name;
    const char *example; /* for messages and help, such as "lowpass:1000" */
    const char *options; /* options besides rate, such as "taps, window"; "": none */
    const char *help;
    bool names_file;         /* the value names a file; a design rate of 0 is then set by `make` */
    bool names_files;        /* the value names files with * between */
    const char *file_option; /* option that names a file, such as "sweep="; NULL: none */
    const char *file_words;  /* its values that name no file, such as "flat tilt:"; NULL: none */
    enum status (*make)(const struct design_spec *spec, struct design *design);
    /* Used instead of `make` by kinds that consist of masks. Removes the words it used from `spec`.
     * A rate of 0 in `design` means unknown. */
    enum status (*make_parts)(char **spec, const struct mask_load_options *load,
                              struct design *design);
};

/* Families of kinds. The last row of each has no name. */
extern const struct design_kind design_filters[], design_simple[], design_equalisers[],
    design_rooms[], design_measure[], design_correct[], design_combine[];

/* ---- parsing; errors are usage unless stated otherwise ----
 *
 * Moves the value and options of spec->kind from `from` to `spec`. Other words stay.
 */
MUST_CHECK enum status design_parse_options(struct design_spec *spec, char **from);

enum design_unit { DESIGN_PLAIN, DESIGN_HZ, DESIGN_DB, DESIGN_SECONDS };
struct design_range {
    enum design_unit unit;
    double least, most;
};
#define DESIGN_RANGE(unit, least, most) ((struct design_range){DESIGN_##unit, least, most})

/* The value of an option. NULL: it is not given. */
const char *design_option(const struct design_spec *spec, const char *key);

/* Reads a number, which may have a unit: 1k, 1kHz, -3dB, 10ms. If the option is missing, *value
 * stays. Key NULL: the value after the colon. */
MUST_CHECK enum status design_number(const struct design_spec *spec, const char *key,
                                     struct design_range range, double *value);
MUST_CHECK enum status design_count(const struct design_spec *spec, const char *key, size_t least,
                                    size_t most, size_t *value);
MUST_CHECK enum status design_choose(const struct design_spec *spec, const char *key,
                                     const char *const *names, size_t *choice);
MUST_CHECK enum status design_phase(const struct design_spec *spec, enum phase *phase);

/* Reads a number in `range` at the start of `text`. *end: the text after it. `what`: for errors. */
MUST_CHECK enum status design_parse(const struct design_spec *spec, const char *what,
                                    const char *text, struct design_range range, char **end,
                                    double *value);

/* Refuse a SPEC without a value after the colon, or with one. */
MUST_CHECK enum status design_need_value(const struct design_spec *spec);
MUST_CHECK enum status design_no_value(const struct design_spec *spec);

/* Loads a mask that a kind's value names, which may be a SPEC. rate 0: unknown. Refuses masks with
 * their own routing. */
MUST_CHECK enum status design_load_part(const struct design_kind *kind, char **spec, uint32_t rate,
                                        const struct mask_load_options *load, struct mask **mask);

/* Prints the help of a kind. */
void design_print_kind(FILE *stream, const struct design_kind *kind);

/* design_is_misspelt: whether a word, alone or before a colon, looks like a kind's name and there
 * is no such file. design_refuse_kind: the error, with the names in `kinds` ("lowpass, highpass")
 * or with similar names. */
bool design_is_misspelt(const char *word);
MUST_CHECK enum status design_refuse_kind(const char *word, const char *kinds);

#endif
