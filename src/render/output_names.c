#include "render/output_names.h"

#include "base/plural.h"
#include "sound/file/sound_format.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the pattern ---- */

struct input_name {
    const char *path;
    size_t index, count;
};

static void print_folder(const char *path, FILE *text)
{
    const char *slash = strrchr(path, '/');
    while (*path == '/')
        path++;
    if (slash && slash > path)
        fprintf(text, "%.*s", (int)(slash - path), path);
    else
        putc('.', text);
}

/* Print a field of the pattern. False: there is no such field. */
static bool print_field(const struct input_name *input, const char *field, size_t length,
                        FILE *text)
{
    static const char *const fields[] = {"name", "stem", "ext", "dir", "index"};
    enum { NAME, STEM, EXT, DIR_OF, INDEX, FIELDS };
    size_t which = 0;
    while (which < FIELDS &&
           (strlen(fields[which]) != length || memcmp(fields[which], field, length) != 0))
        which++;
    const char *slash = strrchr(input->path, '/'), *name = slash ? slash + 1 : input->path;
    const char *dot = strrchr(name, '.'), *end = dot && dot > name ? dot : name + strlen(name);
    if (which == NAME)
        fputs(name, text);
    else if (which == STEM)
        fprintf(text, "%.*s", (int)(end - name), name);
    else if (which == EXT)
        fputs(*end ? end + 1 : end, text);
    else if (which == DIR_OF)
        print_folder(input->path, text);
    else if (which == INDEX)
        fprintf(text, "%0*zu", snprintf(NULL, 0, "%zu", input->count), input->index + 1);
    return which < FIELDS;
}

static enum status print_name(const char *pattern, const struct input_name *input, FILE *text)
{
    for (const char *at = pattern; *at; at++) {
        size_t length = *at == '{' ? strcspn(at + 1, "}") : 0;
        if (*at != '{') {
            putc(*at, text);
        } else if (at[1] == '{') {
            putc(*at++, text);
        } else if (!at[1 + length] || !print_field(input, at + 1, length, text)) {
            return fail(CAUSE_USAGE,
                        "--name has {name}, {stem}, {ext}, {dir} and {index}, not '%.*s' in '%s'",
                        (int)length + 2, at, pattern);
        } else {
            at += length + 1;
        }
    }
    return STATUS_OK;
}

static bool leads_out(const char *name)
{
    for (const char *at = name; *at; at += strcspn(at, "/"), at += *at == '/')
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return true;
    return name[0] == '/';
}

/* Remove "." and empty parts of a path, so that a file has one name. Returns the path's end. */
static const char *tidy_name(char *name)
{
    char *end = name;
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, "/");
        if (length > 0 && (length > 1 || *at != '.')) {
            bool goes_on = at[length] == '/';
            memmove(end, at, length + goes_on);
            end += length + goes_on;
        }
        at += length + (at[length] == '/');
    }
    *end = '\0';
    return end;
}

enum status output_within(const char *folder, const char *name, char **path)
{
    bool ends = folder[0] && folder[strlen(folder) - 1] == '/';
    if (asprintf(path, "%s%s%s", folder, ends ? "" : "/", name) < 0) {
        *path = NULL;
        return fail_memory("names");
    }
    char *within = *path + strlen(folder) + !ends;
    const char *end = tidy_name(within);
    if (!leads_out(name) && end > within && end[-1] != '/')
        return STATUS_OK;
    free(*path);
    *path = NULL;
    return fail(CAUSE_USAGE, "the output '%s' is not a file within %s", name, folder);
}

enum status output_name(const char *folder, const char *pattern, const char *input, size_t index,
                        size_t count, char **path)
{
    char *name = NULL;
    size_t size;
    const struct input_name from = {input, index, count};
    FILE *text = open_memstream(&name, &size);
    if (!text)
        return fail_memory("names");
    enum status status = print_name(pattern, &from, text);
    *path = NULL;
    if (fclose(text) != 0 && status == STATUS_OK)
        status = fail_memory("names");
    if (status == STATUS_OK)
        status = output_within(folder, name, path);
    free(name);
    return status;
}

enum status output_name_within(const char *folder, const char *pattern, const char *within,
                               size_t index, size_t count, char **path)
{
    char *inside = NULL;
    *path = NULL;
    if (!strstr(pattern, "{dir}") && asprintf(&inside, "{dir}/%s", pattern) < 0)
        return fail_memory("names");
    enum status status = output_name(folder, inside ? inside : pattern, within, index, count, path);
    free(inside);
    return status;
}

/* ---- collisions ---- */

struct named_output {
    const char *path, *input;
};

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct named_output *)a)->path, ((const struct named_output *)b)->path);
}

struct file_number {
    dev_t device;
    ino_t number;
    const char *path;
};

static int compare_files(const void *a, const void *b)
{
    const struct file_number *one = a, *other = b;
    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

static enum status check_twice(const char *const *inputs, char *const *outputs, size_t count)
{
    struct named_output *named = calloc(count + 1, sizeof *named);
    enum status status = named ? STATUS_OK : fail_memory("names");
    for (size_t i = 0; named && i < count; i++)
        named[i] = (struct named_output){outputs[i], inputs[i]};
    if (named)
        qsort(named, count, sizeof *named, compare_paths);
    for (size_t i = 1; named && i < count && status == STATUS_OK; i++)
        if (strcmp(named[i - 1].path, named[i].path) == 0)
            status = fail(CAUSE_USAGE,
                          "%s and %s would both be written to %s; --name with {index} or {dir} "
                          "keeps them apart",
                          named[i - 1].input, named[i].input, named[i].path);
    free(named);
    return status;
}

/* Check that no output is an input, even under another name. */
static enum status check_inputs(const char *const *inputs, char *const *outputs, size_t count)
{
    struct file_number *files = calloc(count + 1, sizeof *files);
    enum status status = files ? STATUS_OK : fail_memory("names");
    struct stat about;
    size_t found = 0;
    for (size_t i = 0; files && i < count; i++)
        if (stat(inputs[i], &about) == 0)
            files[found++] = (struct file_number){about.st_dev, about.st_ino, inputs[i]};
    if (files)
        qsort(files, found, sizeof *files, compare_files);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (stat(outputs[i], &about) != 0)
            continue;
        const struct file_number wanted = {about.st_dev, about.st_ino, NULL};
        const struct file_number *same =
            bsearch(&wanted, files, found, sizeof *files, compare_files);
        if (same)
            status =
                fail(CAUSE_USAGE,
                     "the output of %s would replace the input %s; choose another -O or --name",
                     inputs[i], same->path);
    }
    free(files);
    return status;
}

enum status output_names_check(const char *const *inputs, char *const *outputs, size_t count)
{
    TRY(check_twice(inputs, outputs, count));
    return check_inputs(inputs, outputs, count);
}

enum status output_make_folders(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return fail_memory("names");
    enum status status = STATUS_OK;
    for (char *slash = copy + 1; status == STATUS_OK && (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = fail_errno(errno, "cannot make the folder %s", copy);
        *slash = '/';
    }
    free(copy);
    return status;
}

/* ---- the inputs of a folder ---- */

bool input_folder_is(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int compare(const FTSENT **one, const FTSENT **other)
{
    return strcmp((*one)->fts_name, (*other)->fts_name);
}

static bool is_left_out(const FTSENT *entry, const struct stat *without)
{
    bool is_output = entry->fts_info == FTS_D && entry->fts_statp->st_ino == without->st_ino &&
                     entry->fts_statp->st_dev == without->st_dev;
    return entry->fts_level > 0 && (entry->fts_name[0] == '.' || is_output);
}

enum status input_folder_read(const char *folder, const char *without,
                              enum status (*found)(void *context, const char *path,
                                                   const char *within),
                              void *context)
{
    struct stat outputs = {0};
    char *roots[] = {(char *)folder, NULL};
    size_t files = 0, start = strlen(folder);
    (void)stat(without, &outputs);
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare);
    enum status status = tree ? STATUS_OK : fail_memory("names");
    for (FTSENT *entry; status == STATUS_OK && (entry = fts_read(tree));) {
        const char *within = entry->fts_path + start + strspn(entry->fts_path + start, "/");
        if (is_left_out(entry, &outputs))
            fts_set(tree, entry, FTS_SKIP);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR)
            status = fail_errno(entry->fts_errno, "cannot read the folder %s", entry->fts_path);
        else if (entry->fts_info == FTS_F && sound_format_is_of_name(entry->fts_path)) {
            status = found(context, entry->fts_path, within);
            files++;
        }
    }
    if (tree)
        fts_close(tree);
    TRY(status);
    if (files == 0)
        return fail(CAUSE_MISSING, "%s has no sound files", folder);
    note("%s: %zu sound file%s", folder, files, plural_s(files));
    return STATUS_OK;
}
