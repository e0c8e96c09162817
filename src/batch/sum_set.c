#include "batch/sum_set.h"

#include "base/atomic_file.h"
#include "base/cache_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CAPACITY_LEAST = 1 << 10,
    CAPACITY_LARGE = 1 << 17,
    HUGE_PAGE = 1 << 21,
    HUGE_MOST = 1 << 23
};

/* Allocate places, in huge pages. Accesses are random: with small pages, each first access costs a
 * page fault, and most others a walk through the page tables. Not for large tables: see
 * huge_bytes() in samples.c. */
static struct sum_place *make_places(size_t capacity)
{
    size_t bytes = capacity * sizeof(struct sum_place);
    void *places;
    if (bytes < HUGE_PAGE || bytes > HUGE_MOST)
        return calloc(capacity, sizeof(struct sum_place));
    if (posix_memalign(&places, HUGE_PAGE, bytes) != 0)
        return NULL;
    (void)madvise(places, bytes, MADV_HUGEPAGE); /* the system may have huge pages switched off */
    return memset(places, 0, bytes);
}

static size_t first_place(const struct sum_set *set, uint64_t sum)
{
    return (size_t)(sum ^ sum >> 29) & (set->capacity - 1);
}

/* The place of a sum, or the empty place for it. */
static struct sum_place *find(const struct sum_set *set, uint64_t sum)
{
    size_t at = first_place(set, sum);
    while (set->places[at].sum && set->places[at].sum != sum)
        at = (at + 1) & (set->capacity - 1);
    return &set->places[at];
}

static enum status grow(struct sum_set *set)
{
    size_t growth = set->capacity < CAPACITY_LARGE ? 4 : 2;
    struct sum_set larger = {.count = set->count,
                             .capacity = set->capacity ? growth * set->capacity : CAPACITY_LEAST};
    larger.places = make_places(larger.capacity);
    if (!larger.places)
        return fail_memory("jobs");
    for (size_t i = 0; i < set->capacity; i++)
        if (set->places[i].sum)
            *find(&larger, set->places[i].sum) = set->places[i];
    free(set->places);
    *set = larger;
    return STATUS_OK;
}

enum status sum_set_add(struct sum_set *set, uint64_t sum, size_t place, size_t *earlier)
{
    if (3 * (set->count + 1) > 2 * set->capacity)
        TRY(grow(set));
    struct sum_place *at = find(set, sum);
    *earlier = at->sum == sum ? at->place : 0;
    if (*earlier > 0)
        return STATUS_OK;
    *at = (struct sum_place){sum, place};
    set->count++;
    return STATUS_OK;
}

void sum_set_expect(const struct sum_set *set, uint64_t sum)
{
    if (set->capacity > 0)
        __builtin_prefetch(&set->places[first_place(set, sum)], 1);
}

size_t sum_set_place(const struct sum_set *set, uint64_t sum)
{
    return sum && set->count > 0 ? find(set, sum)->place : 0;
}

void sum_set_free(struct sum_set *set)
{
    free(set->places);
    *set = (struct sum_set){0};
}

/* ---- the last output of each job ---- */

/* The entry of an id, or the empty entry for it. */
static struct done_entry *place_of(const struct done_table *table, uint64_t id)
{
    size_t at = (size_t)(id ^ id >> 29) & (table->capacity - 1);
    while (table->entries[at].digest[0] && table->entries[at].id != id)
        at = (at + 1) & (table->capacity - 1);
    return &table->entries[at];
}

static bool grow_table(struct done_table *table)
{
    struct done_table larger = {.capacity = table->capacity ? 2 * table->capacity : CAPACITY_LEAST};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < table->capacity; i++)
        if (table->entries[i].digest[0])
            *place_of(&larger, table->entries[i].id) = table->entries[i];
    larger.count = table->count;
    free(table->entries);
    *table = larger;
    return true;
}

bool done_table_add(struct done_table *table, const struct done_entry *entry)
{
    if (2 * (table->count + 1) > table->capacity && !grow_table(table))
        return false;
    struct done_entry *place = place_of(table, entry->id);
    bool is_new = !place->digest[0];
    table->count += is_new;
    if (is_new || place->at <= entry->at)
        *place = *entry;
    return true;
}

bool done_table_find(const struct done_table *table, uint64_t id, struct done_entry *entry)
{
    const struct done_entry *place = table->count ? place_of(table, id) : NULL;
    if (!place || !place->digest[0])
        return false;
    *entry = *place;
    return true;
}

void done_table_free(struct done_table *table)
{
    free(table->entries);
    *table = (struct done_table){0};
}

/* ---- the jobs of a list, on disk ---- */

#define ENDING ".jobs"

enum { DIGITS = JOB_SET_NAME - 1 };

static char *path_of(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/.halo-batch/%s" ENDING, folder, name) < 0 ? NULL : path;
}

static enum status write_sums(const struct job_set *set, const char *path)
{
    struct atomic_file file;
    FILE *stream;
    TRY(atomic_text_open(&file, path, true, &stream));
    for (size_t i = 0; i < set->count; i++)
        fprintf(stream, "%016" PRIx64 "\n", set->sums[i]);
    return atomic_text_close(&file, path, stream, STATUS_OK);
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

/* A sum of all ids in any order: no sorting is needed, since most runs find the file there. */
static uint64_t sum_of_all(const struct sum_set *ids)
{
    uint64_t all = ids->count;
    for (size_t i = 0; i < ids->capacity; i++)
        if (ids->places[i].sum)
            all += cache_file_sum(CACHE_FILE_SUM, (const char *)&ids->places[i].sum,
                                  sizeof ids->places[i].sum);
    return all;
}

/* Open and lock a file. -1: another run removed it. File systems without locks keep all files. */
static int hold(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    (void)flock(fd, LOCK_SH);
    if (fstat(fd, &about) == 0 && about.st_nlink > 0)
        return fd;
    close(fd);
    return -1;
}

enum status job_set_save(const struct sum_set *ids, const char *folder, char name[JOB_SET_NAME],
                         int *held)
{
    enum { TRIES = 100 };
    snprintf(name, JOB_SET_NAME, "%016" PRIx64, sum_of_all(ids));
    char *path = path_of(folder, name);
    enum status status = path ? STATUS_OK : fail_memory("jobs");
    *held = -1;
    for (int i = 0; i < TRIES && status == STATUS_OK && *held < 0; i++) {
        if (access(path, F_OK) != 0)
            status = write_sorted(ids, path);
        if (status == STATUS_OK)
            *held = hold(path);
    }
    free(path);
    return status;
}

static bool is_set(const char *file)
{
    return strspn(file, "0123456789abcdef") == DIGITS && strcmp(file + DIGITS, ENDING) == 0;
}

/* Lock and remove a file that no run holds. A run that waits for the lock notices the removal. */
static void remove_unless_held(int folder, const char *file)
{
    int fd = openat(folder, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(folder, file, 0);
    if (fd >= 0)
        close(fd);
}

void job_set_sweep(const char *folder, const char *name)
{
    char *place;
    if (asprintf(&place, "%s/.halo-batch", folder) < 0)
        return;
    DIR *directory = opendir(place);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (is_set(entry->d_name) && strncmp(entry->d_name, name, DIGITS) != 0)
            remove_unless_held(dirfd(directory), entry->d_name);
    if (directory)
        closedir(directory);
    free(place);
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
