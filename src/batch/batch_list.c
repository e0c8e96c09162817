#include "batch/batch_list.h"

#include "base/cache_file.h"
#include "batch/lines_read.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files by their folder's number and their name in it. */
enum { OF_ID, OF_OUTPUT, OF_INPUT_FILE, OF_OUTPUT_FILE, SUMS };

/* The last one, which the next file is likely to be in as well. */
struct batch_folder {
    char *path;
    uint64_t sum; /* 0: not known */
};

struct batch_name {
    uint64_t sum;
    size_t place; /* of the job: its line, or its file's number */
};

/* Of all jobs, to find what occurs twice. */
struct batch_names {
    struct batch_name *all[SUMS];
    size_t count, capacity;
    struct batch_folder inputs, outputs;
    const char *unit; /* of places: "line" or "file" */
};

/* Of what is not there, as far as it is written in the same way. */
static uint64_t add_missing(uint64_t sum, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        bool is_part = length > 0 && !(length == 1 && *path == '.');
        if (is_part)
            sum = cache_file_sum(cache_file_sum(sum, "/", 1), path, length);
        path += length + (path[length] == '/');
    }
    return sum;
}

/* Of the folder that is there, which may have others that a job makes. Changes `path`. */
static uint64_t sum_of_folder(char *path)
{
    struct stat about;
    size_t length = strlen(path), all = length;
    char after = '\0';
    while (stat(length > 0 ? path : ".", &about) != 0) {
        path[length] = after;
        while (length > 0 && path[length - 1] == '/')
            length--;
        while (length > 0 && path[length - 1] != '/')
            length--;
        if (length == all)
            return 0;
        all = length;
        after = path[length];
        path[length] = '\0';
    }
    const uint64_t number[] = {about.st_dev, about.st_ino};
    uint64_t sum = cache_file_sum(CACHE_FILE_SUM, (const char *)number, sizeof number);
    path[length] = after;
    return add_missing(sum, path + length);
}

/* `path` up to `length`, with its last slash. */
static uint64_t folder_sum(struct batch_folder *folder, const char *path, size_t length)
{
    if (folder->path && strlen(folder->path) == length && memcmp(folder->path, path, length) == 0)
        return folder->sum;
    free(folder->path);
    folder->path = strndup(path, length);
    char *copy = strndup(path, length);
    folder->sum = folder->path && copy ? sum_of_folder(copy) : 0;
    free(copy);
    return folder->sum;
}

/* 0: not known. */
static uint64_t place_sum(struct batch_folder *folder, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint64_t sum = folder_sum(folder, path, (size_t)(name - path));
    return sum ? cache_file_sum(sum, name, strlen(name)) : 0;
}

static int compare_sums(const void *a, const void *b)
{
    const struct batch_name *one = a, *other = b;
    return (one->sum > other->sum) - (one->sum < other->sum);
}

static int compare_names(const void *a, const void *b)
{
    const struct batch_name *one = a, *other = b;
    int order = compare_sums(a, b);
    return order ? order : (one->place > other->place) - (one->place < other->place);
}

/* The first of two that are the same, or NULL. */
static const struct batch_name *find_twice(struct batch_name *names, size_t count)
{
    const struct batch_name *found = NULL;
    if (count > 0)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++)
        if (names[i - 1].sum == names[i].sum && (!found || names[i - 1].place < found->place))
            found = &names[i - 1];
    return found;
}

/* An output that is an input, or NULL. Sorts those of inputs. */
static const struct batch_name *find_replaced(struct batch_names *names,
                                              const struct batch_name **replacing)
{
    const struct batch_name *outputs = names->all[OF_OUTPUT_FILE], *found = NULL;
    struct batch_name *inputs = names->all[OF_INPUT_FILE];
    if (names->count > 0)
        qsort(inputs, names->count, sizeof *inputs, compare_names);
    for (size_t i = 0; i < names->count && !found; i++) {
        *replacing = &outputs[i];
        if (outputs[i].sum)
            found = bsearch(&outputs[i], inputs, names->count, sizeof *inputs, compare_sums);
    }
    return found;
}

static enum status grow_names(struct batch_names *names)
{
    size_t more = names->capacity ? 2 * names->capacity : 1024;
    for (size_t i = 0; i < SUMS; i++) {
        struct batch_name *larger = realloc(names->all[i], more * sizeof *larger);
        if (!larger)
            return fail_memory("jobs");
        names->all[i] = larger;
    }
    names->capacity = more;
    return STATUS_OK;
}

static enum status add_names(struct batch_names *names, const struct batch_job *job, size_t place)
{
    if (names->count == names->capacity)
        TRY(grow_names(names));
    size_t at = names->count++;
    const uint64_t sums[SUMS] = {
        [OF_ID] = batch_id_sum(job->id),
        [OF_OUTPUT] = batch_id_sum(job->name),
        [OF_INPUT_FILE] = place_sum(&names->inputs, job->options.input),
        [OF_OUTPUT_FILE] = place_sum(&names->outputs, job->output),
    };
    for (size_t i = 0; i < SUMS; i++)
        names->all[i][at] = (struct batch_name){sums[i], place};
    return STATUS_OK;
}

static void free_names(struct batch_names *names)
{
    for (size_t i = 0; i < SUMS; i++)
        free(names->all[i]);
    free(names->inputs.path);
    free(names->outputs.path);
}

static enum status check_names(struct batch_names *names)
{
    const char *unit = names->unit;
    const struct batch_name *one = find_twice(names->all[OF_OUTPUT], names->count), *other;
    if (one)
        return fail(STATUS_USAGE,
                    "%ss %zu and %zu have the same output; each job needs its own \"out\", or a "
                    "--name that keeps them apart",
                    unit, one[0].place, one[1].place);
    one = find_twice(names->all[OF_ID], names->count);
    if (one)
        return fail(STATUS_USAGE, "%ss %zu and %zu have the same \"id\"", unit, one[0].place,
                    one[1].place);
    one = find_replaced(names, &other);
    if (one)
        return fail(STATUS_USAGE,
                    "the output of %s %zu would replace the input of %s %zu; choose another folder "
                    "for -O",
                    unit, other->place, unit, one->place);
    return STATUS_OK;
}

/* Of names that are sorted. */
static enum status keep_ids(const struct batch_names *names, struct job_set *ids)
{
    ids->sums = calloc(names->count + 1, sizeof *ids->sums);
    if (!ids->sums)
        return fail_memory("jobs");
    ids->count = names->count;
    for (size_t i = 0; i < names->count; i++)
        ids->sums[i] = names->all[OF_ID][i].sum;
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
                           char *line, const char *original, size_t place,
                           struct batch_names *names, struct batch_list *list)
{
    struct batch_job job = {0};
    enum status status = batch_job_identify(options, line, &job);
    if (status == STATUS_OK)
        status = add_names(names, &job, place);
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
                            const char *line, size_t place, struct batch_names *names,
                            struct batch_list *list)
{
    char *job = NULL;
    TRY(batch_line_to_job(options, line, &job));
    if (!job)
        return STATUS_OK;
    return add_job(options, shard, job, options->from == BATCH_FROM_JOBS ? NULL : line, place,
                   names, list);
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
        status = add_line(options, shard, line, lines_read_number(lines), names, list);
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
        status = line ? add_job(options, shard, line, NULL, i + 1, names, list)
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
    struct batch_names names = {.unit = options->glob ? "file" : "line"};
    if (options->masks)
        TRY(read_masks(options));
    if (options->segments)
        TRY(kaldi_recordings_load(options->list, &options->recordings));
    enum status status = (options->glob ? read_glob : read_list)(options, shard, &names, list);
    if (status == STATUS_OK)
        status = check_names(&names);
    if (status == STATUS_OK)
        status = keep_ids(&names, &list->ids);
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
    job_set_free(&list->ids);
    *list = (struct batch_list){0};
}
