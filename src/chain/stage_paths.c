#include "chain/stage_paths.h"

#include "base/text_stream.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool stage_path_rest(struct stage_path *path, const char *word, size_t start,
                     enum stage_path_use use)
{
    *path = (struct stage_path){.start = start, .length = strlen(word + start), .use = use};
    return path->length > 0;
}

/* The path in a word, without escapes. The caller frees it. NULL: memory. */
static char *read_path(const char *word, const struct stage_path *about)
{
    char *path = malloc(about->length + 1), *to = path;
    for (const char *at = word + about->start; path && at < word + about->start + about->length;
         at++)
        if (!about->quoted || at[0] != '\\' || at[1] != about->quoted)
            *to++ = *at;
    if (path)
        *to = '\0';
    return path;
}

static void write_path(const char *path, char quoted, FILE *stream)
{
    for (; *path; path++) {
        if (*path == quoted)
            fputc('\\', stream);
        fputc(*path, stream);
    }
}

char *stage_paths_replace(const struct stage_ops *ops, char *const *spec, size_t word,
                          char *(*replace)(void *context, const char *path,
                                           const struct stage_path *about),
                          void *context)
{
    char *text = NULL;
    size_t size = 0, from = 0;
    struct stage_path about = {0};
    FILE *stream = text_stream_open(&text, &size);
    bool failed = !stream;
    while (!failed && stage_path_in(ops, spec, word, from, &about)) {
        char *path = read_path(spec[word], &about);
        char *other = path ? replace(context, path, &about) : NULL;
        failed = !other;
        fprintf(stream, "%.*s", (int)(about.start - from), spec[word] + from);
        if (about.slashed && other && !strchr(other, '/'))
            fputs("./", stream);
        write_path(other ? other : "", about.quoted, stream);
        from = about.start + about.length;
        about = (struct stage_path){0};
        free(other);
        free(path);
    }
    if (stream)
        fputs(spec[word] + from, stream);
    failed |= text_stream_finish(stream) != 0;
    if (!failed)
        return text;
    free(text);
    return NULL;
}

/* The relative path from an absolute folder to an absolute path. */
static void relative(const char *from, const char *to, char way[static PATH_MAX])
{
    size_t common = 0, at = 0;
    for (; from[at] && from[at] == to[at]; at++)
        if (from[at] == '/')
            common = at + 1;
    if (!from[at] && to[at] == '/') /* `to` is below `from` */
        common = at + 1;
    size_t used = 0;
    for (const char *left = from + (common > strlen(from) ? strlen(from) : common); *left;) {
        used += (size_t)snprintf(way + used, PATH_MAX - used, "../");
        left = strchr(left, '/');
        if (!left || used + 4 > PATH_MAX)
            break;
        left++;
    }
    snprintf(way + used, PATH_MAX - used, "%s", to + common);
}

char *stage_path_near(const char *folder, const char *path)
{
    char there[PATH_MAX], base[PATH_MAX], way[PATH_MAX];
    if (!realpath(path, there) || !realpath(folder, base))
        return NULL;
    size_t first = strcspn(there + 1, "/") + 1;
    if (strncmp(there, base, first) != 0 || (base[first] && base[first] != '/'))
        return strdup(there);
    relative(base, there, way);
    return strdup(way);
}

/* A missing file counts as in the working folder. */
char *stage_path_whole(void *unused, const char *path, const struct stage_path *about)
{
    (void)unused;
    char here[PATH_MAX], *whole = NULL;
    if (*path == '/' || (about->perhaps && access(path, F_OK) != 0))
        return strdup(path);
    if ((whole = realpath(path, NULL)))
        return whole;
    if (!getcwd(here, sizeof here) || asprintf(&whole, "%s/%s", here, path) < 0)
        return NULL;
    return whole;
}

char *stage_path_to_folder(void *folder, const char *path, const struct stage_path *about)
{
    char there[PATH_MAX], base[PATH_MAX], way[PATH_MAX];
    if (*path == '/' || (about->perhaps && access(path, F_OK) != 0) || !realpath(path, there) ||
        !realpath(folder, base))
        return strdup(path);
    relative(base, there, way);
    return strdup(way);
}

char *stage_path_from_folder(void *folder, const char *path, const struct stage_path *about)
{
    const char *base = folder, *slash = base[strlen(base) - 1] == '/' ? "" : "/";
    char *moved;
    if (*path == '/' || strcmp(base, ".") == 0)
        return strdup(path);
    if (asprintf(&moved, "%s%s%s", base, slash, path) < 0)
        return NULL;
    if (!about->perhaps || access(moved, F_OK) == 0)
        return moved;
    free(moved);
    return strdup(path);
}

/* ---- records of the files that a stage depends on ---- */

static void print_file(const char *path, bool is_here, FILE *text)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        fprintf(text, "absent\n");
        return;
    }
    if (is_here)
        fprintf(text, "%ju %ju ", (uintmax_t)about.st_dev, (uintmax_t)about.st_ino);
    fprintf(text, "%jd %jd.%09ld\n", (intmax_t)about.st_size, (intmax_t)about.st_mtim.tv_sec,
            about.st_mtim.tv_nsec);
}

static void print_spec(const struct stage_ops *ops, char *const *spec, bool is_here, FILE *text)
{
    fprintf(text, "--%s\n", ops->option);
    for (size_t word = 0; spec[word]; word++) {
        struct stage_path path = {0};
        fprintf(text, "%s\n", spec[word]);
        for (size_t at = 0; stage_path_in(ops, spec, word, at, &path);
             at = path.start + path.length) {
            char *file = strndup(spec[word] + path.start, path.length);
            if (file)
                print_file(file, is_here, text);
            free(file);
        }
    }
}

void stage_files_print_one(const char *path, FILE *text)
{
    print_file(path, false, text);
}

void stage_files_print(const struct stage_ops *ops, char *const *spec, FILE *text)
{
    print_spec(ops, spec, true, text);
}

enum status stage_files_print_all(const struct stage_list *list, FILE *text)
{
    for (size_t i = 0; i < list->count; i++) {
        char **spec = spec_split(list->stages[i].text);
        if (!spec)
            return fail_memory("a stage");
        print_spec(list->stages[i].ops, spec, false, text);
        free(spec);
    }
    return STATUS_OK;
}
