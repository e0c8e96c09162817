#include "import/mask_config.h"

#include "base/decimal.h"
#include "base/files_named.h"
#include "base/plain_text.h"
#include "import/mask_matrix.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status join(const char *folder, const char *name, char **path)
{
    int length = *name == '/' ? asprintf(path, "%s", name) : asprintf(path, "%s/%s", folder, name);
    if (length >= 0)
        return STATUS_OK;
    *path = NULL;
    return fail_memory("a mask");
}

enum status mask_config_enter(struct mask_config *config, const char *folder)
{
    char *entered;
    TRY(join(config->home, folder, &entered));
    free(config->folder);
    config->folder = entered;
    return STATUS_OK;
}

/* ---- what may be read ---- */

static bool is_inside(const char *folder, const char *path)
{
    size_t length = strlen(folder);
    return strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || !path[length] || (length == 1 && *folder == '/'));
}

static bool is_allowed(const struct mask_config *config, const char *path)
{
    return is_inside(config->real_home, path) || is_inside(config->fence, path);
}

/* Whether a symbolic link in the allowed folders leads `path` out of them (".." does not count). */
static bool leads_out(const struct mask_config *config, const char *path)
{
    char start[PATH_MAX], real[PATH_MAX];
    bool was_inside = false;
    for (const char *end = path; *end;) {
        const char *word = end + strspn(end, "/");
        end = word + strcspn(word, "/");
        if (end - path >= PATH_MAX)
            return true;
        memcpy(start, path, (size_t)(end - path));
        start[end - path] = '\0';
        bool is_inside_now = realpath(start, real) && is_allowed(config, real);
        if (was_inside && !is_inside_now && strncmp(word, "..", (size_t)(end - word)) != 0)
            return true;
        was_inside = is_inside_now;
    }
    return false;
}

/* Why a path may not be read; NULL: it may. `real`: the path without symbolic links. */
static const char *flaw_of(const struct mask_config *config, const char *path, const char *real)
{
    if (is_allowed(config, real))
        return NULL;
    if (config->options->distrusts_configs)
        return "lies outside of";
    return leads_out(config, path) ? "is a symbolic link out of" : NULL;
}

/* ---- the file that a name stands for ---- */

struct search {
    const struct mask_config *config;
    const char *name;
    char *path;       /* NULL: not found */
    int reason;       /* errno of the last failure, unless `flaw` */
    const char *flaw; /* why the file may not be read; NULL: it may */
};

static enum status look_in(struct search *search, const char *folder, const char *name)
{
    char *wanted;
    TRY(join(folder, name, &wanted));
    search->path = realpath(wanted, NULL);
    if (!search->path)
        search->reason = errno;
    else if ((search->flaw = flaw_of(search->config, wanted, search->path))) {
        free(search->path);
        search->path = NULL;
    }
    free(wanted);
    return STATUS_OK;
}

/* Prints a note on a found file. JSON is read without line numbers, so then the note has none. */
static PRINTF_LIKE(2, 3) void note_found(const struct mask_config *config, const char *format, ...)
{
    char text[1024], line[32] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (config->line > 0)
        snprintf(line, sizeof line, "line %zu: ", config->line);
    note("mask %s: %susing %s", config->file, line, text);
}

static enum status refuse_name(const struct search *search)
{
    const struct mask_config *config = search->config;
    if (!search->flaw)
        return mask_config_refuse_for(cause_of_errno(search->reason), config, "cannot open %s: %s",
                                      search->name, strerror(search->reason));
    return mask_config_refuse_for(CAUSE_NOT_PERMITTED, config,
                                  "%s %s %s%s; put the file itself there, or allow its folder with "
                                  "folder=",
                                  search->name, search->flaw, config->real_home,
                                  config->options->distrusts_configs ? " (trust-config=no)" : "");
}

/* The part of a path after its next separator. NULL: there is none. */
static const char *next_part(const char *path)
{
    path += strcspn(path, "/");
    path += strspn(path, "/");
    return *path ? path : NULL;
}

/* Looks for the longest end of the path in a folder: "", or one beside the configuration. */
static enum status look_beside(struct search *search, const char *folder, const char *path,
                               char **found)
{
    for (const char *part = path; part && !search->path; part = next_part(part)) {
        size_t length = strcspn(part, "/");
        if (strncmp(part, "..", length) == 0) /* also skips "." */
            continue;
        free(*found);
        *found = NULL;
        if (asprintf(found, "%s%s", folder, part) < 0) {
            *found = NULL;
            return fail_memory("a mask");
        }
        TRY(look_in(search, search->config->home, *found));
    }
    return STATUS_OK;
}

/* Finds the file that a path of another machine means: beside the configuration, or in a folder
 * where CamillaDSP, EasyEffects and others keep kernels. */
static enum status find_beside(struct search *search)
{
    static const char *const folders[] = {"", "coeffs/", "irs/", "../coeffs/", "../irs/"};
    const struct mask_config *config = search->config;
    struct search beside = {.config = config};
    char *found = NULL;
    char *path = strdup(search->name);
    if (!path)
        return fail_memory("a mask");
    for (char *at = path; (at = strchr(at, '\\'));)
        *at = '/';
    /* otherwise the whole name was looked for before */
    bool is_whole_new = strchr(search->name, '\\');
    const char *rest = *path == '/' ? path + 1 : path;
    enum status status = STATUS_OK;
    size_t count = search->flaw ? 1 : sizeof folders / sizeof *folders;
    for (size_t i = 0; i < count && !beside.path && status == STATUS_OK; i++)
        status = look_beside(&beside, folders[i], i > 0 || is_whole_new ? rest : next_part(path),
                             &found);
    if (status == STATUS_OK && beside.path)
        note_found(config, "%s beside it for %s", found, search->name);
    free(found);
    free(path);
    search->path = beside.path;
    return status != STATUS_OK || beside.path ? status : refuse_name(search);
}

/* Whether the NAME in NAME=>PATH is `owner`, which may be "", followed by `name`. */
static bool gives(const char *text, const char *path, const char *owner, const char *name)
{
    size_t size = (size_t)(path - text) - strlen(MASK_FILE_GIVES), head = strlen(owner);
    return size == head + strlen(name) && memcmp(text, owner, head) == 0 &&
           memcmp(text + head, name, size - head) == 0;
}

const char *mask_config_given(const struct mask_config *config, const char *name)
{
    const char *slash = strrchr(config->file, '/'), *found = NULL;
    char owner[NAME_MAX + 2];
    snprintf(owner, sizeof owner, "%s:", slash ? slash + 1 : config->file);
    for (size_t i = 0; i < config->options->file_count; i++) {
        const char *text = config->options->files[i], *path = mask_file_given(text);
        if (gives(text, path, owner, name))
            return path;
        if (!found && gives(text, path, "", name))
            found = path;
    }
    return found;
}

static enum status find_given(const struct mask_config *config, const char *name, const char *given,
                              char **path)
{
    *path = realpath(given, NULL);
    return *path ? STATUS_OK
                 : mask_config_refuse_for(cause_of_errno(errno), config,
                                          "cannot open %s, which file= gives for %s: %s", given,
                                          name, strerror(errno));
}

static enum status find_name(const struct mask_config *config, const char *name, char **path)
{
    struct search search = {.config = config, .name = name};
    if (!config->fence)
        return fail(CAUSE_USAGE, "there is no folder %s", config->options->folder);
    TRY(look_in(&search, config->folder, name));
    if (!search.path && !search.flaw && config->second) {
        TRY(look_in(&search, config->second, name));
        if (search.path)
            note_found(config, "%s/%s, since it is not beside the configuration", config->second,
                       name);
    }
    if (!search.path)
        TRY(find_beside(&search));
    *path = search.path;
    return STATUS_OK;
}

enum status mask_config_find(const struct mask_config *config, const char *name, char **path)
{
    const char *called = config->called ? config->called : name;
    const char *given = mask_config_given(config, called);
    TRY(given ? find_given(config, called, given, path) : find_name(config, name, path));
    if (files_named_add(config->file, called, *path))
        return STATUS_OK;
    free(*path);
    *path = NULL;
    return fail_memory("a mask");
}

/* ---- the configuration ---- */

enum { RATE_USUAL = 48000 /* Hz */, FILES_MOST = 1024 };

struct mask_config_file {
    struct mask_config_file *next;
    char *path;
    struct raw_layout raw;
    struct mask *mask;
};

/* Reads the configuration's text. False: it is not text, too long, or cannot be read. */
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
    bool is_old_mac = !strchr(config->text, '\n'); /* lines end with CR alone */
    for (char *at = config->text; is_old_mac && (at = strchr(at, '\r'));) {
        *at++ = '\n';
        config->has_cr_ends |= *at != '\0';
    }
    config->next = config->text;
    return true;
}

/* Finds `home` and the other folders. False: a folder is missing. */
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
    const char *where = log_prefix(NULL); /* the outer message has the prefix */
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
