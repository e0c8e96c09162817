#include "base/files_named.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct named_file {
    struct named_file *next;
    char *by, *name, *path; /* `by` and `path` have no symbolic links */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct named_file *first;          /* protected by `lock`; in the order of addition */
static struct named_file **last = &first; /* protected by `lock` */

static bool is_same(const struct named_file *file, const struct named_file *other)
{
    return strcmp(file->by, other->by) == 0 && strcmp(file->name, other->name) == 0 &&
           strcmp(file->path, other->path) == 0;
}

static void discard(struct named_file *file)
{
    if (file) {
        free(file->by);
        free(file->name);
        free(file->path);
    }
    free(file);
}

bool files_named_add(const char *by, const char *name, const char *path)
{
    struct named_file *file = calloc(1, sizeof *file);
    if (file) {
        file->by = realpath(by, NULL);
        file->name = strdup(name);
        file->path = realpath(path, NULL);
    }
    if (!file || !file->by || !file->name || !file->path) {
        discard(file);
        return false;
    }
    pthread_mutex_lock(&lock);
    struct named_file *known = first;
    while (known && !is_same(known, file))
        known = known->next;
    if (!known) {
        *last = file;
        last = &file->next;
    }
    pthread_mutex_unlock(&lock);
    if (known)
        discard(file);
    return true;
}

bool files_named_at(const char *by, size_t index, const char **name, const char **path)
{
    pthread_mutex_lock(&lock);
    struct named_file *file = first;
    for (; file; file = file->next)
        if (strcmp(file->by, by) == 0 && index-- == 0)
            break;
    if (file) {
        *name = file->name;
        *path = file->path;
    }
    pthread_mutex_unlock(&lock);
    return file != NULL;
}
