#include "batch/job_set.h"

#include "base/atomic_file.h"
#include "base/cache_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path_of(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/.halo-batch/%s.jobs", folder, name) < 0 ? NULL : path;
}

static enum status write_sums(const struct job_set *set, const char *path)
{
    struct atomic_file file = {.fd = -1, .held = -1};
    TRY(atomic_file_open(&file, path, true));
    FILE *stream = fdopen(file.fd, "w");
    bool failed = !stream;
    for (size_t i = 0; i < set->count && !failed; i++)
        failed = fprintf(stream, "%016" PRIx64 "\n", set->sums[i]) < 0;
    failed = failed || fflush(stream) != 0;
    enum status status = failed ? fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(errno))
                                : atomic_file_keep(&file, path);
    if (stream)
        fclose(stream);
    atomic_file_discard(&file);
    return status;
}

static int compare_sums(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static enum status write_sorted(const struct sum_set *ids, const char *path)
{
    struct job_set set = {.sums = calloc(ids->count + 1, sizeof *set.sums)};
    if (!set.sums)
        return fail_memory("jobs");
    for (size_t i = 0; i < ids->capacity; i++)
        if (ids->places[i].sum)
            set.sums[set.count++] = ids->places[i].sum;
    qsort(set.sums, set.count, sizeof *set.sums, compare_sums);
    enum status status = write_sums(&set, path);
    job_set_free(&set);
    return status;
}

/* In whatever order they came, and not sorted: most runs find the file there. */
static uint64_t sum_of_all(const struct sum_set *ids)
{
    uint64_t all = ids->count;
    for (size_t i = 0; i < ids->capacity; i++)
        if (ids->places[i].sum)
            all += cache_file_sum(CACHE_FILE_SUM, (const char *)&ids->places[i].sum,
                                  sizeof ids->places[i].sum);
    return all;
}

enum status job_set_save(const struct sum_set *ids, const char *folder, char name[JOB_SET_NAME])
{
    snprintf(name, JOB_SET_NAME, "%016" PRIx64, sum_of_all(ids));
    char *path = path_of(folder, name);
    if (!path)
        return fail_memory("jobs");
    enum status status = access(path, F_OK) == 0 ? STATUS_OK : write_sorted(ids, path);
    free(path);
    return status;
}

bool job_set_load(struct job_set *set, const char *folder, const char *name)
{
    char *path = path_of(folder, name);
    FILE *stream = path ? fopen(path, "re") : NULL;
    size_t capacity = 0;
    bool is_whole = stream;
    uint64_t sum;
    *set = (struct job_set){0};
    free(path);
    while (is_whole && fscanf(stream, "%16" SCNx64, &sum) == 1) {
        if (set->count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            uint64_t *larger = realloc(set->sums, capacity * sizeof *larger);
            is_whole = larger;
            set->sums = larger ? larger : set->sums;
        }
        if (is_whole)
            set->sums[set->count++] = sum;
    }
    is_whole = is_whole && feof(stream);
    if (stream)
        fclose(stream);
    if (!is_whole)
        job_set_free(set);
    return is_whole;
}

bool job_set_has(const struct job_set *set, uint64_t sum)
{
    return set->count > 0 && bsearch(&sum, set->sums, set->count, sizeof sum, compare_sums);
}

void job_set_free(struct job_set *set)
{
    free(set->sums);
    *set = (struct job_set){0};
}
