#include "batch/batch_list.h"

#include "base/cache_file.h"
#include "batch/lines_read.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files are those of folders that are there, by the folder's number and their name in it. */
enum { OF_ID, OF_OUTPUT, OF_INPUT_FILE, OF_OUTPUT_FILE, SUMS };

/* The last one, which the next file is likely to be in as well. */
struct batch_folder {
    char *path;
    uint64_t sum; /* 0: not there */
};

/* Of all jobs, to find what occurs twice. */
struct batch_names {
    uint64_t *sums[SUMS];
    size_t count, capacity;
    struct batch_folder inputs, outputs;
};

/* `path` up to `length`, with its last slash. */
static uint64_t folder_sum(struct batch_folder *folder, const char *path, size_t length)
{
    struct stat about;
    if (folder->path && strlen(folder->path) == length && memcmp(folder->path, path, length) == 0)
        return folder->sum;
    free(folder->path);
    folder->path = strndup(path, length);
    folder->sum = 0;
    if (!folder->path || stat(length ? folder->path : ".", &about) != 0)
        return 0;
    const uint64_t number[] = {about.st_dev, about.st_ino};
    return folder->sum = cache_file_sum(CACHE_FILE_SUM, (const char *)number, sizeof number);
}

/* 0: its folder is not there. */
static uint64_t place_sum(struct batch_folder *folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint64_t sum = folder_sum(folder, path, (size_t)(name - path));
    return sum ? cache_file_sum(sum, name, strlen(name)) : 0;
}

static int compare_sums(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static bool occurs_twice(uint64_t *sums, size_t count)
{
    bool twice = false;
    qsort(sums, count, sizeof *sums, compare_sums);
    for (size_t i = 1; i < count; i++)
        twice = twice || sums[i - 1] == sums[i];
    return twice;
}

/* Sorts those of inputs. */
static bool replaces_input(struct batch_names *names)
{
    const uint64_t *outputs = names->sums[OF_OUTPUT_FILE];
    uint64_t *inputs = names->sums[OF_INPUT_FILE];
    bool replaces = false;
    if (names->count > 0)
        qsort(inputs, names->count, sizeof *inputs, compare_sums);
    for (size_t i = 0; i < names->count && !replaces; i++)
        replaces =
            outputs[i] && bsearch(&outputs[i], inputs, names->count, sizeof *inputs, compare_sums);
    return replaces;
}

static enum status grow_names(struct batch_names *names)
{
    size_t more = names->capacity ? 2 * names->capacity : 1024;
    for (size_t i = 0; i < SUMS; i++) {
        uint64_t *larger = realloc(names->sums[i], more * sizeof *larger);
        if (!larger)
            return fail_memory("jobs");
        names->sums[i] = larger;
    }
    names->capacity = more;
    return STATUS_OK;
}

static enum status add_names(struct batch_names *names, const struct batch_job *job)
{
    if (names->count == names->capacity)
        TRY(grow_names(names));
    size_t at = names->count++;
    names->sums[OF_ID][at] = batch_id_sum(job->id);
    names->sums[OF_OUTPUT][at] = batch_id_sum(job->name);
    names->sums[OF_INPUT_FILE][at] = place_sum(&names->inputs, job->options.input);
    names->sums[OF_OUTPUT_FILE][at] = place_sum(&names->outputs, job->output);
    return STATUS_OK;
}

static void free_names(struct batch_names *names)
{
    for (size_t i = 0; i < SUMS; i++)
        free(names->sums[i]);
    free(names->inputs.path);
    free(names->outputs.path);
}

static enum status check_names(struct batch_names *names)
{
    if (occurs_twice(names->sums[OF_OUTPUT], names->count))
        return fail(STATUS_USAGE, "two jobs have the same output; each needs its own \"out\", or "
                                  "a --name that keeps them apart");
    if (occurs_twice(names->sums[OF_ID], names->count))
        return fail(STATUS_USAGE, "two jobs have the same \"id\"");
    if (replaces_input(names))
        return fail(STATUS_USAGE,
                    "an output would replace the input of a job; choose another folder for -O");
    return STATUS_OK;
}

static enum status add_entry(struct batch_list *list, char *line, const char *original)
{
    if (list->count == list->capacity) {
        size_t more = list->capacity ? 2 * list->capacity : 1024;
        struct batch_entry *larger = realloc(list->entries, more * sizeof *larger);
        if (!larger)
            return fail_memory("jobs");
        list->entries = larger;
        list->capacity = more;
    }
    char *copy = original ? strdup(original) : NULL;
    if (original && !copy)
        return fail_memory("jobs");
    list->entries[list->count++] = (struct batch_entry){.line = line, .original = copy};
    return STATUS_OK;
}

/* Takes `line` over, also on failure. */
static enum status add_job(const struct batch_options *options, const struct batch_shard *shard,
                           char *line, const char *original, struct batch_names *names,
                           struct batch_list *list)
{
    struct batch_job job = {0};
    enum status status = batch_job_identify(options, line, &job);
    if (status == STATUS_OK)
        status = add_names(names, &job);
    list->all++;
    bool is_ours = status == STATUS_OK && batch_shard_has(shard, batch_id_sum(job.id));
    batch_job_free(&job);
    if (is_ours)
        status = add_entry(list, line, original);
    if (!is_ours || status != STATUS_OK)
        free(line);
    return status;
}

static enum status add_line(const struct batch_options *options, const struct batch_shard *shard,
                            const char *line, struct batch_names *names, struct batch_list *list)
{
    char *job = NULL;
    TRY(batch_line_to_job(options, line, &job));
    if (!job)
        return STATUS_OK;
    return add_job(options, shard, job, options->from == BATCH_FROM_JOBS ? NULL : line, names,
                   list);
}

static enum status read_list(const struct batch_options *options, const struct batch_shard *shard,
                             struct batch_names *names, struct batch_list *list)
{
    struct lines_read *lines;
    char *line, where[256];
    const char *path = options->segments ? options->segments : options->list;
    TRY(lines_read_open(path, &lines));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (status = lines_read_next(lines, &line)) == STATUS_OK && line) {
        snprintf(where, sizeof where, "%.200s line %zu", path, lines_read_number(lines));
        const char *before = log_prefix(where);
        status = add_line(options, shard, line, names, list);
        log_prefix(before);
    }
    lines_read_close(lines);
    return status;
}

static enum status read_glob(const struct batch_options *options, const struct batch_shard *shard,
                             struct batch_names *names, struct batch_list *list)
{
    glob_t found = {0};
    int failed = glob(options->glob, 0, NULL, &found);
    enum status status = STATUS_OK;
    if (failed)
        status = fail(STATUS_FAILED, "--glob '%s': %s", options->glob,
                      failed == GLOB_NOMATCH ? "no such files" : "cannot read the folder");
    for (size_t i = 0; status == STATUS_OK && i < found.gl_pathc; i++) {
        json_t *job = json_pack("{s:s}", "in", found.gl_pathv[i]);
        char *line = job ? json_dumps(job, JSON_COMPACT) : NULL;
        json_decref(job);
        status = line ? add_job(options, shard, line, NULL, names, list)
                      : fail(STATUS_FAILED, "%s: its name is not UTF-8", found.gl_pathv[i]);
    }
    globfree(&found);
    return status;
}

/* The last word of each line. */
static enum status read_masks(struct batch_options *options)
{
    struct lines_read *lines;
    char *line;
    TRY(lines_read_open(options->masks, &lines));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (status = lines_read_next(lines, &line)) == STATUS_OK && line) {
        struct string_list *list = &options->mask_list;
        size_t length = strlen(line);
        while (length > 0 && strchr(" \t", line[length - 1]))
            line[--length] = '\0';
        const char *word = strpbrk(line, " \t"), *mask = word ? word + strspn(word, " \t") : line;
        if (!*mask)
            continue;
        const char **larger = realloc(list->values, (list->count + 1) * sizeof *larger);
        list->values = larger ? larger : list->values;
        char *copy = larger ? strdup(mask) : NULL;
        if (copy)
            list->values[list->count++] = copy;
        else
            status = fail_memory("masks");
    }
    lines_read_close(lines);
    if (status == STATUS_OK && options->mask_list.count == 0)
        status = fail(STATUS_USAGE, "--masks %s: it has none", options->masks);
    return status;
}

enum status batch_list_load(struct batch_options *options, const struct batch_shard *shard,
                            struct batch_list *list)
{
    struct batch_names names = {0};
    if (options->masks)
        TRY(read_masks(options));
    if (options->segments)
        TRY(kaldi_recordings_load(options->list, &options->recordings));
    enum status status = (options->glob ? read_glob : read_list)(options, shard, &names, list);
    if (status == STATUS_OK)
        status = check_names(&names);
    free_names(&names);
    return status;
}

void batch_list_free(struct batch_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->entries[i].line);
        free(list->entries[i].original);
    }
    free(list->entries);
    *list = (struct batch_list){0};
}
