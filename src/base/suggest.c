#include "base/suggest.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    WORD_MOST = 255, /* letters compared */
    WITHIN_LEAST = 3,
    FILES_MOST = 10000, /* files of a folder that are compared */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool same(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The distance of two words: optimal string alignment, with three rows of its table. It is
 * Levenshtein's distance, but exchanging two neighbours is one edit. */
static size_t edits(const char *a, const char *b)
{
    size_t rows[3][WORD_MOST + 1];
    size_t width = least(strlen(b), WORD_MOST), height = least(strlen(a), WORD_MOST);
    for (size_t j = 0; j <= width; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= height; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t replaced = above[j - 1] + !same(a[i - 1], b[j - 1]);
            row[j] = least(replaced, least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                row[j] = least(row[j], second[j - 2] + 1);
        }
    }
    return rows[height % 3][width];
}

static size_t file_start(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Opens the folder of a path. NULL: errno says why not. */
static DIR *open_folder(const char *path, char folder[PATH_MAX])
{
    size_t start = file_start(path);
    int length = start ? (int)start : 1;
    errno = ENAMETOOLONG;
    bool fits = snprintf(folder, PATH_MAX, "%.*s", length, start ? path : ".") < PATH_MAX;
    return fits ? opendir(folder) : NULL;
}

static void insert(struct suggest *near, size_t place, const char *name, size_t distance)
{
    char *copy = strdup(name);
    if (!copy)
        return;
    free(near->best[SUGGEST - 1].name);
    memmove(&near->best[place + 1], &near->best[place], (SUGGEST - 1 - place) * sizeof *near->best);
    near->best[place] = (struct near_name){copy, distance};
}

/* Whether the list has the name at this distance or nearer. Removes a farther one. */
static bool is_known(struct suggest *near, const char *name, size_t distance)
{
    size_t i = 0;
    while (i < SUGGEST && !(near->best[i].name && strcmp(near->best[i].name, name) == 0))
        i++;
    if (i == SUGGEST || near->best[i].distance <= distance)
        return i < SUGGEST;
    free(near->best[i].name);
    memmove(&near->best[i], &near->best[i + 1], (SUGGEST - 1 - i) * sizeof *near->best);
    near->best[SUGGEST - 1] = (struct near_name){0};
    return false;
}

void suggest_init(struct suggest *near, const char *word)
{
    *near = (struct suggest){.word = word};
}

void suggest_free(struct suggest *near)
{
    for (size_t i = 0; i < SUGGEST; i++)
        free(near->best[i].name);
}

void suggest_offer(struct suggest *near, const char *name)
{
    suggest_offer_as(near, name, name);
}

/* Whether the name has the word's parts between dashes, in their order. */
static bool has_parts(const char *name, const char *word)
{
    size_t letters = 0;
    while (name && *(word += strspn(word, "-"))) {
        char part[WORD_MOST + 1];
        size_t length = least(strcspn(word, "-"), WORD_MOST);
        memcpy(part, word, length);
        part[length] = '\0';
        name = strcasestr(name, part);
        name = name ? name + length : NULL;
        word += strcspn(word, "-");
        letters += length;
    }
    return name && letters >= WITHIN_LEAST;
}

/* Length of a file extension that both names have, which does not make them similar. */
static size_t same_extension(const char *a, const char *b)
{
    const char *one = strrchr(a, '.'), *other = strrchr(b, '.');
    return one && other && strcmp(one, other) == 0 ? strlen(one) : 0;
}

void suggest_offer_as(struct suggest *near, const char *name, const char *shown)
{
    size_t distance = edits(near->word, name);
    size_t letters = strlen(name) - same_extension(near->word, name);
    if (!*near->word || (distance > (letters + 2) / 3 && !has_parts(name, near->word)))
        return;
    if (is_known(near, shown, distance))
        return;
    for (size_t i = 0; i < SUGGEST; i++) {
        const struct near_name *other = &near->best[i];
        if (!other->name || distance < other->distance) {
            insert(near, i, shown, distance);
            return;
        }
    }
}

void suggest_offer_list(struct suggest *near, const char *list, const char *ending)
{
    while (*(list += strspn(list, ", |"))) {
        char name[WORD_MOST + 1];
        size_t length = strcspn(list, ", |");
        snprintf(name, sizeof name, "%.*s%s", (int)length, list, ending);
        suggest_offer(near, name);
        list += length;
    }
}

void suggest_offer_files(struct suggest *near, const char *path)
{
    char folder[PATH_MAX], shown[PATH_MAX];
    size_t start = file_start(path);
    DIR *stream = open_folder(path, folder);
    const struct dirent *entry;
    for (size_t i = 0; stream && i < FILES_MOST && (entry = readdir(stream)); i++) {
        char stem[sizeof entry->d_name];
        snprintf(stem, sizeof stem, "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
        int length = snprintf(shown, sizeof shown, "%.*s%s", (int)start, path, entry->d_name);
        if (!*stem || (size_t)length >= sizeof shown) /* a hidden file, or too long */
            continue;
        suggest_offer_as(near, entry->d_name, shown);
        suggest_offer_as(near, stem, shown);
    }
    if (stream)
        closedir(stream);
}

const char *suggest_text(struct suggest *near)
{
    size_t count = 0, length = 0;
    while (count < SUGGEST && near->best[count].name)
        count++;
    near->text[0] = '\0';
    for (size_t i = 0; i < count && length < sizeof near->text; i++)
        length += (size_t)snprintf(near->text + length, sizeof near->text - length, "%s%s%s",
                                   i == 0           ? "; did you mean "
                                   : i == count - 1 ? " or "
                                                    : ", ",
                                   near->best[i].name, i == count - 1 ? "?" : "");
    return near->text;
}

static const char *finish(char text[SUGGEST_TEXT], struct suggest *near)
{
    snprintf(text, SUGGEST_TEXT, "%s", suggest_text(near));
    suggest_free(near);
    return text;
}

const char *suggest_from(char text[SUGGEST_TEXT], const char *word, const char *const *names)
{
    struct suggest near;
    suggest_init(&near, word);
    for (; *names; names++)
        suggest_offer(&near, *names);
    return finish(text, &near);
}

const char *suggest_from_list(char text[SUGGEST_TEXT], const char *word, const char *list,
                              const char *ending)
{
    struct suggest near;
    suggest_init(&near, word);
    suggest_offer_list(&near, list, ending);
    return finish(text, &near);
}

const char *suggest_folder(char text[SUGGEST_TEXT], const char *path)
{
    char folder[PATH_MAX];
    DIR *stream = open_folder(path, folder);
    bool is_missing = !stream && errno == ENOENT;
    if (stream)
        closedir(stream);
    text[0] = '\0';
    if (is_missing)
        snprintf(text, SUGGEST_TEXT, "; there is no folder %.400s", folder);
    return text;
}

const char *suggest_file(char text[SUGGEST_TEXT], const char *path)
{
    struct stat about;
    struct suggest near;
    suggest_folder(text, path);
    if (*text || lstat(path, &about) == 0 || errno != ENOENT)
        return text;
    suggest_init(&near, path + file_start(path));
    suggest_offer_files(&near, path);
    return finish(text, &near);
}
