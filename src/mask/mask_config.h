/* A configuration of another program that names masks, while it is read.
 *
 * Its text is held whole (CONFIG_BYTES_MOST), the masks it names are read once each. Names are
 * relative to `folder`; files outside the fence (the folder of the configuration, or the one
 * allowed with folder=) are not read. For a foreign path such as C:\Filters\left.wav a file of that
 * name beside the configuration is used, with a note. Failures print the file and, unless it is 0,
 * the line.
 */
#ifndef HALO_MASK_CONFIG_H
#define HALO_MASK_CONFIG_H

#include "mask/mask.h"

enum { CONFIG_BYTES_MOST = 1 << 20 };

struct mask_config_file;
struct mask_config {
    const char *file;
    const struct mask_load_options *options;
    char *text; /* zero-terminated, without a byte order mark */
    char *next; /* what mask_config_line has not handed out yet */
    size_t line;
    char *home;    /* the folder of the configuration */
    char *folder;  /* where names begin: home, until /cd or the like */
    char *fence;   /* nothing outside is read; without links */
    uint32_t rate; /* of the masks so far; 0: none says */
    struct mask_config_file *files;
};

/* False: too long or no text, so that it is no configuration; nothing is printed. */
bool mask_config_open(struct mask_config *config, const char *file, FILE *stream,
                      const struct mask_load_options *options);
void mask_config_close(struct mask_config *config);

/* The next line without its end, or NULL; counts config->line. */
char *mask_config_line(struct mask_config *config);

MUST_CHECK enum status mask_config_refuse(const struct mask_config *config, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* Names are looked for in `folder` from now on: absolute, or below the configuration's own.
 * Errors: memory. */
MUST_CHECK enum status mask_config_enter(struct mask_config *config, const char *folder);

/* The path of a file that is named, for free(). Errors: there is none, it is outside. */
MUST_CHECK enum status mask_config_find(const struct mask_config *config, const char *name,
                                        char **path);

/* A mask that is named; `raw` NULL: the file says what it is. It stays the configuration's.
 * All must be of one rate. */
MUST_CHECK enum status mask_config_mask(struct mask_config *config, const char *name,
                                        const struct raw_layout *raw, const struct mask **mask);

/* All masks are of this rate, or are refused. */
MUST_CHECK enum status mask_config_rate(struct mask_config *config, uint32_t rate);

/* Words of a line, in place: the next one, or NULL; quotes hold words together. */
char *mask_config_word(char **rest);

/* A word as a number; false: it is none. */
bool mask_config_number(const char *word, double *value);
bool mask_config_count(const char *word, uint64_t *value);

#endif
