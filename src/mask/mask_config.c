#include "mask/mask_config.h"
#include "base/decimal.h"
#include "base/plain_text.h"
#include "mask/mask_matrix.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { RATE_USUAL = 48000 /* Hz */, FILES_MOST = 1024 };

struct mask_config_file {
    struct mask_config_file *next;
    char *path;
    struct raw_layout raw;
    struct mask *mask;
};

/* False: not text, too much of it, or it cannot be read. */
static bool read_text(struct mask_config *config, FILE *stream)
{
    size_t size = fread(config->text, 1, CONFIG_BYTES_MOST + 1, stream);
    bool cut = ferror(stream);
    mask_file_restart(stream);
    if (size == 0 || cut || size > CONFIG_BYTES_MOST || memchr(config->text, 0, size))
        return false;
    config->text[size] = '\0';
    size_t mark = plain_text_mark(config->text);
    memmove(config->text, config->text + mark, size + 1 - mark);
    bool is_old_mac = !strchr(config->text, '\n'); /* whose lines end with CR alone */
    for (char *at = config->text; is_old_mac && (at = strchr(at, '\r'));) {
        *at++ = '\n';
        config->has_cr_ends |= *at != '\0';
    }
    config->next = config->text;
    return true;
}

/* False: a folder is not there. */
static enum status find_folders(struct mask_config *config, bool *found)
{
    const char *file = config->file, *within = config->options->folder;
    const char *slash = strrchr(file, '/');
    config->home = slash ? strndup(file, slash == file ? 1 : (size_t)(slash - file)) : strdup(".");
    config->folder = config->home ? strdup(config->home) : NULL;
    config->real_home = config->home ? realpath(config->home, NULL) : NULL;
    bool has_memory = config->folder && (config->real_home || errno != ENOMEM);
    config->fence = has_memory ? realpath(within ? within : config->home, NULL) : NULL;
    *found = config->real_home && (config->fence || within);
    return has_memory && (config->fence || errno != ENOMEM) ? STATUS_OK : fail_memory("a mask");
}

enum status mask_config_open(struct mask_config *config, const char *file, FILE *stream,
                             const struct mask_load_options *options, bool *is_open)
{
    *config = (struct mask_config){.file = file, .options = options};
    config->text = malloc(CONFIG_BYTES_MOST + 1);
    *is_open = config->text && read_text(config, stream);
    enum status status = config->text ? STATUS_OK : fail_memory("a mask");
    if (*is_open)
        status = find_folders(config, is_open);
    if (status != STATUS_OK || !*is_open)
        mask_config_close(config);
    return status;
}

void mask_config_close(struct mask_config *config)
{
    while (config->files) {
        struct mask_config_file *file = config->files;
        config->files = file->next;
        mask_destroy(file->mask);
        free(file->path);
        free(file);
    }
    mask_matrix_destroy(config->matrix);
    free(config->fence);
    free(config->folder);
    free(config->real_home);
    free(config->home);
    free(config->text);
    *config = (struct mask_config){0};
}

char *mask_config_line(struct mask_config *config)
{
    char *line = config->next;
    if (!line || !*line)
        return NULL;
    size_t length = strcspn(line, "\n");
    config->next = line[length] ? line + length + 1 : line + length;
    line[length] = '\0';
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    config->line++;
    return line;
}

enum status mask_config_refuse_for(enum cause cause, const struct mask_config *config,
                                   const char *format, ...)
{
    char fields[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fields, sizeof fields, format, arguments);
    va_end(arguments);
    if (config->line == 0)
        return fail(cause, "cannot read mask %s: %s", config->file, fields);
    return fail(cause, "cannot read mask %s: line %zu: %s", config->file, config->line, fields);
}

bool mask_config_skips(const struct mask_config *config, const char *stage)
{
    if (config->options->skips_nonlinear)
        note("mask %s: %s is no filter and is left out (skip=nonlinear)", config->file, stage);
    return config->options->skips_nonlinear;
}

enum status mask_config_rate(struct mask_config *config, uint32_t rate)
{
    if (rate && config->rate && rate != config->rate)
        return mask_config_refuse(config, "a rate of %u Hz, where it was %u before", rate,
                                  config->rate);
    if (rate)
        config->rate = rate;
    return STATUS_OK;
}

static enum status load_file(struct mask_config *config, struct mask_config_file *file)
{
    struct mask_load_options options = *config->options;
    struct failure failure;
    options.raw = file->raw;
    options.is_named = true;
    const struct log_keeper before = log_keep_failure(&failure);
    const char *where = log_prefix(NULL); /* the outer message has it */
    enum status status = mask_load_with(file->path, &options, &file->mask);
    log_prefix(where);
    log_keep_again(&before);
    return status == STATUS_OK
               ? STATUS_OK
               : mask_config_refuse_for(failure.cause, config, "%s", failure.message);
}

enum status mask_config_mask_any_rate(struct mask_config *config, const char *name,
                                      const struct raw_layout *raw, const struct mask **mask)
{
    static const struct raw_layout unknown = {0};
    size_t count = 0;
    char *path;
    if (!raw)
        raw = &unknown;
    TRY(mask_config_find(config, name, &path));
    for (struct mask_config_file *file = config->files; file; file = file->next, count++)
        if (strcmp(file->path, path) == 0 && file->raw.format == raw->format &&
            file->raw.skip == raw->skip && file->raw.most == raw->most &&
            file->raw.channels == raw->channels) {
            free(path);
            *mask = file->mask;
            return STATUS_OK;
        }
    struct mask_config_file *file = count < FILES_MOST ? calloc(1, sizeof *file) : NULL;
    if (!file) {
        free(path);
        return count < FILES_MOST ? fail_memory("a mask")
                                  : mask_config_refuse(config, "more than %d files", FILES_MOST);
    }
    *file = (struct mask_config_file){.next = config->files, .path = path, .raw = *raw};
    config->files = file;
    TRY(load_file(config, file));
    *mask = file->mask;
    return STATUS_OK;
}

enum status mask_config_mask(struct mask_config *config, const char *name,
                             const struct raw_layout *raw, const struct mask **mask)
{
    TRY(mask_config_mask_any_rate(config, name, raw, mask));
    return mask_config_rate(config, (*mask)->rate);
}

uint32_t mask_config_wanted_rate(const struct mask_config *config)
{
    const struct mask_load_options *options = config->options;
    return options->raw.rate ? options->raw.rate : options->sound.rate;
}

enum status mask_config_settle_rate(struct mask_config *config)
{
    uint32_t rate = mask_config_wanted_rate(config);
    if (config->rate)
        return STATUS_OK;
    if (!rate)
        note("mask %s is made for %d Hz; rate= makes it for another rate", config->file,
             RATE_USUAL);
    return mask_config_rate(config, rate ? rate : RATE_USUAL);
}

char *mask_config_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    if (!*word)
        return NULL;
    char *end;
    if (*word == '"' && (end = strchr(word + 1, '"')))
        word++;
    else
        end = word + strcspn(word, " \t");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

char *mask_config_name(char *rest)
{
    rest += strspn(rest, " \t");
    char *end = *rest == '"' ? strchr(rest + 1, '"') : NULL;
    if (end) {
        *end = '\0';
        return rest + 1;
    }
    for (size_t length = strlen(rest); length > 0 && strchr(" \t", rest[length - 1]);)
        rest[--length] = '\0';
    return rest;
}

bool mask_config_number(const char *word, double *value)
{
    return decimal_parse(word, value) && isfinite(*value);
}

bool mask_config_count(const char *word, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(word, &end, 10);
    return isdigit((unsigned char)*word) && !*end && !errno;
}
