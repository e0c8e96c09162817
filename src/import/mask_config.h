/* A configuration file of another program that names masks, while it is read.
 *
 * Each mask is read once. Names are relative to `folder`. A path from another machine, such as
 * C:\Filters\left.wav, means a file beside the configuration. halo notes which file it took: one
 * with the longest possible end of the path, in the configuration's folder, or in coeffs/ or irs/
 * beside the configuration or beside its folder. Errors are printed with the file and, unless it is
 * 0, the line.
 *
 * This file decides which files a configuration may name, for all kinds of configurations. The user
 * named the configuration, so any regular file that it names is read, but only as taps or as
 * further configuration. Refused are devices, FIFOs and the like. Also refused is a symbolic link
 * in the configuration's folder that leads out of it, since an archive may hold one and its name
 * does not show which file is read. With trust-config=no all files must lie in the configuration's
 * folder or below. With folder= they may lie in that folder, too, even through links. file= gives
 * one file for one name; both are the user's choice. */
#ifndef HALO_MASK_CONFIG_H
#define HALO_MASK_CONFIG_H

#include "import/mask_reader.h"

enum { CONFIG_BYTES_MOST = 1 << 20 };

struct mask_config_file;
struct mask_matrix;
struct mask_config {
    const char *file;
    const struct mask_load_options *options;
    char *text;       /* zero-terminated, without a byte order mark */
    char *next;       /* the rest of the text, for mask_config_line */
    bool has_cr_ends; /* the lines ended with CR alone, and there were several */
    size_t line;
    char *home;         /* folder of the configuration */
    char *real_home;    /* `home` without symbolic links */
    char *folder;       /* folder that names are relative to; `home` until mask_config_enter */
    const char *called; /* name of the next file in the configuration; NULL: as in the call */
    const char *second; /* second folder to look for names in; NULL: none */
    char *fence;        /* real path of folder= or, without it, of `home` */
    uint32_t rate;      /* rate of the masks so far; 0: unknown */
    struct mask_matrix *matrix; /* created by the reader, or NULL; mask_config_close destroys it */
    struct mask_config_file *files;
};

/* Reads the configuration. *is_open is false if it is not text, or longer than CONFIG_BYTES_MOST.
 * Close it only if *is_open, and not after an error. Errors: memory. */
MUST_CHECK enum status mask_config_open(struct mask_config *config, const char *file, FILE *stream,
                                        const struct mask_load_options *options, bool *is_open);
void mask_config_close(struct mask_config *config);

/* The next line without its terminator. NULL: the end. Increments config->line. */
char *mask_config_line(struct mask_config *config);

#define mask_config_refuse(config, ...) mask_config_refuse_for(CAUSE_DAMAGED, config, __VA_ARGS__)
MUST_CHECK enum status mask_config_refuse_for(enum cause cause, const struct mask_config *config,
                                              const char *format, ...) PRINTF_LIKE(3, 4);

/* Whether to leave out a stage that is not linear (skip=nonlinear). If so, prints a note. */
bool mask_config_skips(const struct mask_config *config, const char *stage);
#define MASK_CONFIG_SKIP_ADVICE "skip=nonlinear leaves it out"

/* Changes the folder of later names; relative: to the configuration's folder. Errors: memory. */
MUST_CHECK enum status mask_config_enter(struct mask_config *config, const char *folder);

/* The path that file= gives a name. "FILE:NAME": only in a configuration named FILE. NULL: none. */
const char *mask_config_given(const struct mask_config *config, const char *name);

/* Finds and records (files_named.h) a file. Free the path. Errors: no such file, or forbidden. */
MUST_CHECK enum status mask_config_find(const struct mask_config *config, const char *name,
                                        char **path);

/* Loads a named mask, which the configuration owns. `raw` NULL: the format is detected. Errors:
 * those of mask_load_with; a rate that differs from earlier masks. */
MUST_CHECK enum status mask_config_mask(struct mask_config *config, const char *name,
                                        const struct raw_layout *raw, const struct mask **mask);

MUST_CHECK enum status mask_config_mask_any_rate(struct mask_config *config, const char *name,
                                                 const struct raw_layout *raw,
                                                 const struct mask **mask);

/* Sets the rate. Errors: another rate is set. */
MUST_CHECK enum status mask_config_rate(struct mask_config *config, uint32_t rate);

/* The rate that the user asks for or that the sound has; 0: none. */
uint32_t mask_config_wanted_rate(const struct mask_config *config);

/* If no file has set a rate, sets the wanted one. If there is none, sets 48000 Hz and notes it. */
MUST_CHECK enum status mask_config_settle_rate(struct mask_config *config);

/* Splits the next word off a line, in place. Quotes keep words together. NULL: no word is left. */
char *mask_config_word(char **rest);

/* The rest of a line as a file name, with or without quotes, in place; it may be empty. */
char *mask_config_name(char *rest);

/* Parse a whole word as a number. False: it is not one. */
bool mask_config_number(const char *word, double *value);
bool mask_config_count(const char *word, uint64_t *value);

#endif
