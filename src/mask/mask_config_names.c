/* Which file a name in a configuration of another program stands for, and whether it may be read.
 */
#include "base/files_named.h"
#include "mask/mask_config.h"

#include <errno.h>
#include <limits.h>
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

/* Whether `path` leaves the allowed folders through a symbolic link in one of them, rather than by
 * its words. */
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

/* Why `path`, which is `real`, may not be read; NULL: it may. */
static const char *flaw_of(const struct mask_config *config, const char *path, const char *real)
{
    if (is_allowed(config, real))
        return NULL;
    if (config->options->distrusts_configs)
        return "lies outside of";
    return leads_out(config, path) ? "is a symbolic link out of" : NULL;
}

/* ---- finding it ---- */

struct search {
    const struct mask_config *config;
    const char *name;
    char *path;       /* NULL: not found */
    int reason;       /* errno, or: */
    const char *flaw; /* it may not be read */
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

/* JSON is read without its lines. */
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

/* Behind the next separator of a path; NULL: it was the last. */
static const char *next_part(const char *path)
{
    path += strcspn(path, "/");
    path += strspn(path, "/");
    return *path ? path : NULL;
}

/* What lies in a folder, "" or one beside the configuration, with as many of the last folders of a
 * path as there are. */
static enum status look_beside(struct search *search, const char *folder, const char *path,
                               char **found)
{
    for (const char *part = path; part && !search->path; part = next_part(part)) {
        size_t length = strcspn(part, "/");
        if (strncmp(part, "..", length) == 0) /* or "." */
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

/* The file that a path from another machine means: beside the configuration, or in one of the
 * folders where CamillaDSP, EasyEffects and others keep kernels. */
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
    bool is_whole_new = strchr(search->name, '\\'); /* else it was looked for */
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

/* Whether the NAME in NAME=>PATH is `owner`, perhaps "", followed by `name`. */
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
