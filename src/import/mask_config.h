/* A configuration file of another program that names masks, while it is read.
 *
 * Each mask it names is read once. Names are relative to `folder`. For a foreign path such as
 * C:\Filters\left.wav what lies beside the configuration is used, with a note: a file of that name,
 * or one in as many of its last folders as there are; or the same in coeffs/ or irs/, beside it or
 * beside its folder. Errors are printed with the file and, unless
 * it is 0, the line.
 *
 * What it may name is decided here, for all kinds. The user named the configuration, and it names
 * files: any regular file is read, and only as taps or as further configuration. Refused are
 * devices, FIFOs and the like, and a symbolic link in the configuration's folder that leads out of
 * it: an archive may hold one, and its name does not show what is read. With trust-config=no all
 * files must lie in the folder of the configuration or below. Another folder is allowed, for links
 * as well, with folder=: that is the fence. file= gives one file for one name; the user chose both.
 */
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
    bool has_cr_ends; /* its lines ended with CR alone, and were several */
    size_t line;
    char *home;                 /* the folder of the configuration */
    char *real_home;            /* the same without links */
    char *folder;               /* that names are relative to: home until mask_config_enter */
    const char *called;         /* by the file, what is found next; NULL: as it is asked for */
    const char *second;         /* where names are looked for that are not there; NULL: nowhere */
    char *fence;                /* the real path of folder=, or of home */
    uint32_t rate;              /* of the masks so far; 0: unknown */
    struct mask_matrix *matrix; /* the reader's, destroyed by mask_config_close; NULL until then */
    struct mask_config_file *files;
};

/* *is_open false: not text, or longer than CONFIG_BYTES_MOST; nothing is to be closed then, or
 * after an error. Errors: memory. */
MUST_CHECK enum status mask_config_open(struct mask_config *config, const char *file, FILE *stream,
                                        const struct mask_load_options *options, bool *is_open);
void mask_config_close(struct mask_config *config);

/* The next line without its terminator, or NULL; increments config->line. */
char *mask_config_line(struct mask_config *config);

#define mask_config_refuse(config, ...) mask_config_refuse_for(CAUSE_DAMAGED, config, __VA_ARGS__)
MUST_CHECK enum status mask_config_refuse_for(enum cause cause, const struct mask_config *config,
                                              const char *format, ...) PRINTF_LIKE(3, 4);

/* Whether a stage that is no filter is left out (skip=nonlinear), which is said then. */
bool mask_config_skips(const struct mask_config *config, const char *stage);
#define MASK_CONFIG_SKIP_ADVICE "skip=nonlinear leaves it out"

/* Change the folder of later names: absolute, or relative to that of the configuration. Errors:
 * memory. */
MUST_CHECK enum status mask_config_enter(struct mask_config *config, const char *folder);

/* The path that file= gives for a name, of the form "FILE:NAME" if it holds in one file only, by
 * its base name; NULL: none. */
const char *mask_config_given(const struct mask_config *config, const char *name);

/* The path of a named file, to be freed; files_named.h remembers it. Errors: no such file, it may
 * not be read. */
MUST_CHECK enum status mask_config_find(const struct mask_config *config, const char *name,
                                        char **path);

/* A named mask, owned by the configuration; `raw` NULL: the format is detected. Errors: those of
 * mask_load_with, another rate than that of the masks before. */
MUST_CHECK enum status mask_config_mask(struct mask_config *config, const char *name,
                                        const struct raw_layout *raw, const struct mask **mask);

/* A named mask of any rate. */
MUST_CHECK enum status mask_config_mask_any_rate(struct mask_config *config, const char *name,
                                                 const struct raw_layout *raw,
                                                 const struct mask **mask);

/* Set the rate. Errors: another one is set. */
MUST_CHECK enum status mask_config_rate(struct mask_config *config, uint32_t rate);

/* The rate that the user or the sound asks for; 0: none. */
uint32_t mask_config_wanted_rate(const struct mask_config *config);

/* Where no file has set a rate, set the wanted one, or else 48000 Hz, with a note. */
MUST_CHECK enum status mask_config_settle_rate(struct mask_config *config);

/* Split the next word off a line, in place; quotes keep words together. NULL: none left. */
char *mask_config_word(char **rest);

/* The rest of a line as a file name, with or without quotes, in place; it may be empty. */
char *mask_config_name(char *rest);

/* False: the word is not a number. */
bool mask_config_number(const char *word, double *value);
bool mask_config_count(const char *word, uint64_t *value);

#endif
