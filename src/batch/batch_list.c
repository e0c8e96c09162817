#include "batch/batch_list.h"

#include "base/cache_file.h"
#include "base/options.h"
#include "base/plural.h"
#include "base/printable.h"
#include "batch/lines_read.h"
#include "render/output_names.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- shards ---- */

enum { SHARDS_MOST = 1000000 };

/* Read a scheduler's variable. If it is missing or empty, *value stays. */
static enum status read_variable(const char *key, size_t *value)
{
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "="), key);
    const char *text = getenv(name);
    return text && *text ? options_parse_number(key, text, 0, UINT32_MAX, value) : STATUS_OK;
}

/* Find the shard of a task of a Slurm array. All tasks must be submitted: with a part, it is
 * unknown whether they count from 0 or from 1. */
static enum status ask_slurm(size_t task, struct batch_shard *shard)
{
    size_t first = SIZE_MAX, last = SIZE_MAX, step = 1, count = 0;
    TRY(read_variable("SLURM_ARRAY_TASK_MIN=", &first));
    TRY(read_variable("SLURM_ARRAY_TASK_MAX=", &last));
    TRY(read_variable("SLURM_ARRAY_TASK_STEP=", &step));
    TRY(read_variable("SLURM_ARRAY_TASK_COUNT=", &count));
    if (first == SIZE_MAX || last == SIZE_MAX || count == 0)
        return fail(CAUSE_USAGE, "SLURM_ARRAY_TASK_ID is there without SLURM_ARRAY_TASK_MIN, _MAX "
                                 "and _COUNT; say which shard this is by --shard K/N");
    if (shard->count && shard->count != count)
        return fail(CAUSE_USAGE,
                    "--shard %zu, but the Slurm array has %zu task%s; submit all of them, or say "
                    "which shard this is by --shard K/%zu",
                    shard->count, count, plural_s(count), shard->count);
    if (step == 0 || last < first || (last - first) / step + 1 != count)
        return fail(CAUSE_USAGE,
                    "the Slurm array from %zu to %zu has gaps; submit all of it, or "
                    "say which shard this is by --shard K/N",
                    first, last);
    if (task < first || task > last || (task - first) % step != 0)
        return fail(CAUSE_USAGE, "SLURM_ARRAY_TASK_ID is %zu, but the tasks are %zu to %zu", task,
                    first, last);
    shard->number = (task - first) / step + 1;
    shard->count = count;
    return STATUS_OK;
}

static enum status ask_kubernetes(size_t index, struct batch_shard *shard)
{
    if (shard->count == 0)
        return fail(
            CAUSE_USAGE,
            "JOB_COMPLETION_INDEX gives no number of shards; give --shard N, where N is the "
            "number of completions");
    if (index >= shard->count)
        return fail(CAUSE_USAGE, "JOB_COMPLETION_INDEX is %zu, but of --shard %zu it is 0 to %zu",
                    index, shard->count, shard->count - 1);
    shard->number = index + 1;
    return STATUS_OK;
}

/* Get number and count from a scheduler. *variable is NULL if there is none. */
static enum status ask_scheduler(struct batch_shard *shard, const char **variable)
{
    size_t task = SIZE_MAX, index = SIZE_MAX;
    *variable = NULL;
    TRY(read_variable("SLURM_ARRAY_TASK_ID=", &task));
    if (task != SIZE_MAX) {
        *variable = "SLURM_ARRAY_TASK_ID";
        return ask_slurm(task, shard);
    }
    TRY(read_variable("JOB_COMPLETION_INDEX=", &index));
    if (index == SIZE_MAX)
        return STATUS_OK;
    *variable = "JOB_COMPLETION_INDEX";
    return ask_kubernetes(index, shard);
}

static enum status parse_shard(const char *text, struct batch_shard *shard)
{
    char number[32];
    const char *slash = strchr(text, '/');
    TRY(options_parse_number("shard", slash ? slash + 1 : text, 1, SHARDS_MOST, &shard->count));
    if (!slash)
        return STATUS_OK;
    snprintf(number, sizeof number, "%.*s", (int)(slash - text), text);
    return options_parse_number("shard", number, 1, shard->count, &shard->number);
}

enum status batch_shard_choose(const char *text, struct batch_shard *shard)
{
    *shard = (struct batch_shard){0};
    if (text)
        TRY(parse_shard(text, shard));
    if (shard->number)
        return STATUS_OK;
    const char *variable;
    TRY(ask_scheduler(shard, &variable));
    if (!variable && shard->count)
        return fail(CAUSE_USAGE,
                    "--shard %s: which of them? It is K/N, or a scheduler gives K by "
                    "SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX",
                    text);
    if (!variable) {
        *shard = (struct batch_shard){1, 1};
        return STATUS_OK;
    }
    note("shard %zu of %zu, by %s", shard->number, shard->count, variable);
    return STATUS_OK;
}

/* The sum is mixed by MurmurHash3's finaliser, since its low bits depend on few bits of the id. */
bool batch_shard_has(const struct batch_shard *shard, uint64_t id_sum)
{
    uint64_t mixed = id_sum;
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xff51afd7ed558ccd);
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    mixed ^= mixed >> 33;
    return mixed % shard->count == shard->number - 1;
}

/* ---- the files that stages read ---- */

static enum status find_in_spec(const struct stage_ops *ops, char *const *spec,
                                struct job_reader *reader)
{
    for (size_t word = 0; spec[word]; word++) {
        struct stage_path path = {0};
        for (size_t at = 0; stage_path_in(ops, spec, word, at, &path);
             at = path.start + path.length)
            TRY(reader->found(reader, spec[word] + path.start, path.length));
    }
    return STATUS_OK;
}

/* Finds the files in the value of an option that adds stages. */
static enum status job_reads_find_for(const char *option, const char *value,
                                      struct job_reader *reader)
{
    const struct stage_ops *ops = stage_ops_named(option);
    if (strcmp(option, "chain") == 0)
        return reader->found(reader, value, strlen(value));
    if (!ops || !ops->files)
        return STATUS_OK;
    char **spec = spec_split(value);
    if (!spec)
        return fail_memory("a stage");
    enum status status = find_in_spec(ops, spec, reader);
    free(spec);
    return status;
}

/* Find the files in a value, or in each value of a list. */
static enum status find_in_member(const char *name, const json_t *value, struct job_reader *reader)
{
    size_t i;
    const json_t *item;
    if (json_is_string(value))
        return job_reads_find_for(name, json_string_value(value), reader);
    json_array_foreach(value, i, item) if (json_is_string(item))
        TRY(job_reads_find_for(name, json_string_value(item), reader));
    return STATUS_OK;
}

static enum status find_in_members(const json_t *object, struct job_reader *reader)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) TRY(find_in_member(name, value, reader));
    return STATUS_OK;
}

/* Finds the files of a job. Errors: memory, those of found(). */
static enum status job_reads_find(const json_t *job, struct job_reader *reader)
{
    size_t i;
    const json_t *stage;
    json_array_foreach(json_object_get(job, "stages"), i, stage)
        TRY(find_in_members(stage, reader));
    return find_in_members(job, reader);
}

enum status job_reads_find_in(const struct stage_list *stages, struct job_reader *reader)
{
    for (size_t i = 0; i < stages->count; i++)
        TRY(job_reads_find_for(stages->stages[i].ops->option, stages->stages[i].text, reader));
    return STATUS_OK;
}

/* ---- the list ---- */

/* The last folder that was looked up. It is likely to have the next file as well. */
struct batch_folder {
    char *path;
    uint64_t sum; /* sum that identifies the folder; 0: unknown */
};

#define ALL_JOBS SIZE_MAX

/* Two jobs that contradict each other, by their places: numbers of lines or of files, from 1. */
struct batch_clash {
    size_t one, other; /* 0: there are none */
};

/* Names of all jobs, to find duplicates. Files: by the number of the folder and the name in it. */
struct batch_names {
    struct job_reader reader; /* adds the files that stages read */
    size_t place;             /* place of the job with the stages; ALL_JOBS: stages of all jobs */
    struct sum_set ids, outputs, input_files, output_files;
    struct sum_set stage_paths, stage_files;  /* files of stages, by path as written and by place */
    struct batch_clash same_id, same_output;  /* first clash */
    struct batch_clash replaced, stage_loses; /* an output is an input, or a stage's file */
    struct batch_folder inputs_at, outputs_at, stages_at;
    char *path; /* buffer for the path of an output */
    size_t path_room;
};

/* Sums of the names of one job. */
struct job_sums {
    uint64_t id, output, input_file, output_file; /* sums of files are 0 if unknown */
};

static uint64_t text_sum(const struct job_text *text)
{
    return cache_file_sum(CACHE_FILE_SUM, text->text, text->length);
}

/* A sum of a path that does not exist. Two sums are equal only if the paths are written alike. */
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

/* A sum of a folder; parts that a job will create are added as text. Changes `path`. */
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

/* The sum of the folder that is `path` up to `length`, including the last slash. */
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

/* The sum of a file by folder and name. 0: unknown. */
static uint64_t place_sum(struct batch_folder *folder, const char *path, size_t length)
{
    const char *slash = memrchr(path, '/', length);
    size_t before = slash ? (size_t)(slash + 1 - path) : 0;
    uint64_t sum = folder_sum(folder, path, before);
    return sum ? cache_file_sum(sum, path + before, length - before) : 0;
}

static void keep_first(struct batch_clash *clash, size_t one, size_t other)
{
    if (clash->one == 0 && one > 0 && other > 0)
        *clash = (struct batch_clash){one, other};
}

static enum status add_sums(struct batch_names *names, const struct job_sums *sums, size_t place)
{
    size_t earlier;
    sum_set_expect(&names->ids, sums->id);
    sum_set_expect(&names->outputs, sums->output);
    sum_set_expect(&names->input_files, sums->input_file);
    sum_set_expect(&names->output_files, sums->output_file);
    TRY(sum_set_add(&names->ids, sums->id, place, &earlier));
    keep_first(&names->same_id, earlier, place);
    TRY(sum_set_add(&names->outputs, sums->output, place, &earlier));
    keep_first(&names->same_output, earlier, place);
    if (sums->input_file)
        TRY(sum_set_add(&names->input_files, sums->input_file, place, &earlier));
    if (sums->output_file)
        TRY(sum_set_add(&names->output_files, sums->output_file, place, &earlier));
    keep_first(&names->replaced, place, sum_set_place(&names->output_files, sums->input_file));
    keep_first(&names->replaced, sum_set_place(&names->input_files, sums->output_file), place);
    keep_first(&names->stage_loses, sum_set_place(&names->stage_files, sums->output_file), place);
    return STATUS_OK;
}

static enum status add_stage_file(struct job_reader *reader, const char *path, size_t length)
{
    struct batch_names *names = (struct batch_names *)reader;
    size_t earlier;
    TRY(sum_set_add(&names->stage_paths, cache_file_sum(CACHE_FILE_SUM, path, length), names->place,
                    &earlier));
    uint64_t sum = earlier ? 0 : place_sum(&names->stages_at, path, length);
    if (sum == 0)
        return STATUS_OK;
    keep_first(&names->stage_loses, names->place, sum_set_place(&names->output_files, sum));
    return sum_set_add(&names->stage_files, sum, names->place, &earlier);
}

/* Add the files that jobs without stages of their own read. */
static enum status add_stages_of_all(struct batch_names *names, const struct batch_options *options)
{
    names->place = ALL_JOBS;
    for (size_t i = 0; i < options->mask_list.count; i++)
        TRY(job_reads_find_for("mask", options->mask_list.values[i], &names->reader));
    return job_reads_find_in(&options->render.chain.stages, &names->reader);
}

static enum status add_names(struct batch_names *names, const struct batch_job *job, size_t place)
{
    const char *input = job->options.input;
    const struct job_sums sums = {
        .id = batch_id_sum(job->id),
        .output = batch_id_sum(job->name),
        .input_file = place_sum(&names->inputs_at, input, strlen(input)),
        .output_file = place_sum(&names->outputs_at, job->output, strlen(job->output))};
    TRY(add_sums(names, &sums, place));
    names->place = place;
    return job_reads_find(job->root, &names->reader);
}

/* Write the path of an output into names->path. Returns its length; 0: no memory. */
static size_t make_path(struct batch_names *names, const char *folder, const struct job_text *out)
{
    size_t length = strlen(folder), ends = length > 0 && folder[length - 1] == '/';
    size_t whole = length + !ends + out->length;
    if (whole > names->path_room) {
        char *larger = realloc(names->path, 2 * whole);
        if (!larger)
            return 0;
        names->path = larger;
        names->path_room = 2 * whole;
    }
    memcpy(names->path, folder, length);
    names->path[length] = '/';
    memcpy(names->path + whole - out->length, out->text, out->length);
    return whole;
}

/* Add the names of a line that was scanned, not parsed. */
static enum status add_scanned(struct batch_names *names, const char *folder,
                               const struct job_line *job, uint64_t id, size_t place)
{
    size_t length = make_path(names, folder, &job->out);
    if (length == 0)
        return fail_memory("jobs");
    const struct job_sums sums = {
        .id = id,
        .output = text_sum(&job->out),
        .input_file = place_sum(&names->inputs_at, job->in.text, job->in.length),
        .output_file = place_sum(&names->outputs_at, names->path, length)};
    return add_sums(names, &sums, place);
}

static void free_names(struct batch_names *names)
{
    sum_set_free(&names->ids);
    sum_set_free(&names->outputs);
    sum_set_free(&names->input_files);
    sum_set_free(&names->output_files);
    sum_set_free(&names->stage_files);
    sum_set_free(&names->stage_paths);
    free(names->inputs_at.path);
    free(names->outputs_at.path);
    free(names->stages_at.path);
    free(names->path);
}

enum { WHOSE_BYTES = 32 };

static const char *name_place(char whose[WHOSE_BYTES], const char *unit, size_t place)
{
    if (place == ALL_JOBS)
        return "all jobs";
    snprintf(whose, WHOSE_BYTES, "%s %zu", unit, place);
    return whose;
}

/* Check that the report replaces no input, output or file of a stage. unit: see check_names. */
static enum status check_report(const struct batch_names *names, const char *unit,
                                const char *report)
{
    struct batch_folder folder = {0};
    if (batch_is_journal(report))
        return fail(CAUSE_USAGE, "--report %s is in the folder of a journal; choose another name",
                    report);
    char *real = realpath(report, NULL);
    const char *path = real ? real : report;
    uint64_t sum = place_sum(&folder, path, strlen(path));
    size_t input = sum ? sum_set_place(&names->input_files, sum) : 0;
    size_t output = sum ? sum_set_place(&names->output_files, sum) : 0;
    size_t stages = sum ? sum_set_place(&names->stage_files, sum) : 0;
    char whose[WHOSE_BYTES];
    free(folder.path);
    free(real);
    if (stages > 0)
        return fail(CAUSE_USAGE,
                    "--report %s would replace what the stages of %s read; choose another name",
                    report, name_place(whose, unit, stages));
    if (input == 0 && output == 0)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "--report %s would replace the %s of %s %zu; choose another name",
                report, input > 0 ? "input" : "output", unit, input > 0 ? input : output);
}

/* Report the first clash. unit: "line" or "file". */
static enum status check_names(const struct batch_names *names, const char *unit)
{
    const struct batch_clash *output = &names->same_output, *id = &names->same_id;
    if (output->one > 0)
        return fail(CAUSE_USAGE,
                    "%ss %zu and %zu have the same output; each job needs its own \"out\", or a "
                    "--name that keeps them apart, such as {dir}/{stem}.wav",
                    unit, output->one, output->other);
    if (id->one > 0)
        return fail(CAUSE_USAGE, "%ss %zu and %zu have the same \"id\"", unit, id->one, id->other);
    if (names->replaced.one > 0)
        return fail(CAUSE_USAGE,
                    "the output of %s %zu would replace the input of %s %zu; choose another folder "
                    "for -O",
                    unit, names->replaced.other, unit, names->replaced.one);
    const struct batch_clash *loses = &names->stage_loses;
    char whose[WHOSE_BYTES];
    if (loses->one == 0)
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "the output of %s %zu would replace what the stages of %s read; choose another "
                "folder for -O",
                unit, loses->other, name_place(whose, unit, loses->one));
}

static enum status add_entry(struct batch_list *list, char *line, const char *original,
                             const char *flaw)
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
    list->entries[list->count++] =
        (struct batch_entry){.line = line, .original = copy, .flaw = flaw};
    return STATUS_OK;
}

/* Add a job. The list owns `line`, also on failure. flaw: see struct batch_entry. */
static enum status add_job(const struct batch_options *options, const struct batch_shard *shard,
                           char *line, const char *original, const char *flaw, size_t place,
                           struct batch_names *names, struct batch_list *list)
{
    struct batch_job job = {0};
    enum status status = batch_job_identify(options, line, &job);
    if (status == STATUS_OK)
        status = add_names(names, &job, place);
    list->all++;
    bool is_ours = status == STATUS_OK && batch_shard_has(shard, batch_id_sum(job.id));
    size_t earlier;
    list->own += is_ours && batch_job_has_stages(job.root);
    if (is_ours)
        status = sum_set_add(&list->outputs, batch_id_sum(job.name), place, &earlier);
    batch_job_free(&job);
    if (is_ours && status == STATUS_OK)
        status = add_entry(list, line, original, flaw);
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
    return add_job(options, shard, job, options->from == BATCH_FROM_JOBS ? NULL : line, NULL, place,
                   names, list);
}

/* Whether a line belongs to another shard; only its names are needed then. */
static bool is_of_others(const struct batch_options *options, const struct batch_shard *shard,
                         const char *line, struct job_line *job, uint64_t *id)
{
    if (shard->count == 1 || options->from != BATCH_FROM_JOBS || !job_line_scan(line, job))
        return false;
    *id = text_sum(&job->id);
    return !batch_shard_has(shard, *id);
}

static enum status read_line(const struct batch_options *options, const struct batch_shard *shard,
                             const char *path, const char *line, size_t number,
                             struct batch_names *names, struct batch_list *list)
{
    struct job_line job;
    uint64_t id;
    if (is_of_others(options, shard, line, &job, &id)) {
        list->all++;
        return add_scanned(names, options->render.out_dir, &job, id, number);
    }
    char where[256];
    snprintf(where, sizeof where, "%.200s line %zu", path, number);
    const char *before = log_prefix(where);
    enum status status = add_line(options, shard, line, number, names, list);
    log_prefix(before);
    return status;
}

static enum status read_list(const struct batch_options *options, const struct batch_shard *shard,
                             struct batch_names *names, struct batch_list *list)
{
    struct lines_read *lines;
    char *line;
    const char *path = options->segments ? options->segments : options->list;
    TRY(lines_read_open(path, &lines));
    enum status status = STATUS_OK;
    while (status == STATUS_OK && (status = lines_read_next(lines, &line)) == STATUS_OK && line)
        status = read_line(options, shard, path, line, lines_read_number(lines), names, list);
    lines_read_close(lines);
    return status;
}

/* Whether a text is UTF-8, which JSON requires. */
static bool is_utf8(const char *text)
{
    for (size_t length; *text; text += length)
        if ((length = printable_utf8(text)) == 0)
            return false;
    return true;
}

struct found_files {
    const struct batch_options *options;
    const struct batch_shard *shard;
    struct batch_names *names;
    struct batch_list *list;
    size_t count;
};

/* Name the output of a file, by its path `within` a folder. */
static enum status name_found(const struct batch_options *options, const char *within, char **out)
{
    const struct render_options *render = &options->render;
    char *pattern = batch_name_pattern(render->name ? render->name : OUTPUT_NAMES_USUAL, within);
    bool has_place = render->name && strstr(render->name, "{id}");
    enum status status = STATUS_OK;
    if (!pattern)
        status = fail_memory("jobs");
    else if (has_place) /* the id has the sub-folder */
        status = output_name(render->out_dir, pattern, within, 0, 1, out);
    else
        status = output_name_within(render->out_dir, pattern, within, 0, 1, out);
    free(pattern);
    if (status == STATUS_OK) {
        const char *name = *out + strlen(render->out_dir);
        name += strspn(name, "/");
        memmove(*out, name, strlen(name) + 1);
    }
    return status;
}

/* Add a job for a file. Its path `within` the folder is the id. */
static enum status add_file(void *context, const char *path, const char *within)
{
    struct found_files *files = context;
    const char *flaw = is_utf8(path) ? NULL : "its name is not UTF-8; rename it";
    const char *id = flaw ? NULL : within;
    char *out = NULL;
    if (id)
        TRY(name_found(files->options, id, &out));
    json_t *job =
        json_pack("{s:s, s:s*, s:s*}", "in", flaw ? printable(path) : path, "id", id, "out", out);
    char *line = job ? json_dumps(job, JSON_COMPACT) : NULL;
    json_decref(job);
    free(out);
    return line ? add_job(files->options, files->shard, line, NULL, flaw, ++files->count,
                          files->names, files->list)
                : fail_memory("jobs");
}

static enum status read_folder(const struct batch_options *options, const struct batch_shard *shard,
                               struct batch_names *names, struct batch_list *list)
{
    struct found_files files = {options, shard, names, list, 0};
    return input_folder_read(options->list, options->render.out_dir, add_file, &files);
}

static enum status read_glob(const struct batch_options *options, const struct batch_shard *shard,
                             struct batch_names *names, struct batch_list *list)
{
    glob_t found = {0};
    int failed = glob(options->glob, 0, NULL, &found);
    enum status status = STATUS_OK;
    if (failed)
        status = failed == GLOB_NOSPACE
                     ? fail_memory("the files of a pattern")
                     : fail(failed == GLOB_NOMATCH ? CAUSE_MISSING : CAUSE_OTHER, "--glob '%s': %s",
                            options->glob,
                            failed == GLOB_NOMATCH ? "no such files" : "cannot read the folder");
    struct found_files files = {options, shard, names, list, 0};
    for (size_t i = 0; status == STATUS_OK && i < found.gl_pathc; i++)
        status = add_file(&files, found.gl_pathv[i], NULL);
    globfree(&found);
    return status;
}

/* Read the list of masks: the last word of each line. */
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
        status = fail(CAUSE_USAGE, "--masks %s: it has none", options->masks);
    return status;
}

enum status batch_list_load(struct batch_options *options, const struct batch_shard *shard,
                            struct batch_list *list)
{
    struct batch_names names = {.reader = {add_stage_file}};
    bool is_folder =
        options->list && options->from == BATCH_FROM_JOBS && input_folder_is(options->list);
    const char *place = options->glob || is_folder ? "file" : "line";
    if (options->list && !is_folder && sound_format_is_of_name(options->list))
        return fail(CAUSE_USAGE,
                    "%s is a sound: halo batch takes a list of jobs, or a folder; halo render "
                    "filters one sound",
                    options->list);
    if (options->masks)
        TRY(read_masks(options));
    if (options->segments)
        TRY(kaldi_recordings_load(options->list, &options->recordings));
    enum status status = add_stages_of_all(&names, options);
    if (status == STATUS_OK)
        status = (options->glob ? read_glob
                  : is_folder   ? read_folder
                                : read_list)(options, shard, &names, list);
    if (status == STATUS_OK)
        status = check_names(&names, place);
    if (status == STATUS_OK && options->report)
        status = check_report(&names, place, options->report);
    if (status == STATUS_OK && list->own > 0 &&
        (options->render.chain.stages.count > 0 || options->mask_list.count > 0))
        note("%zu of %zu job%s %s stages of %s own, not the stages of the command line", list->own,
             list->count, plural_s(list->count), list->own == 1 ? "has" : "have",
             list->own == 1 ? "its" : "their");
    list->ids = names.ids;
    names.ids = (struct sum_set){0};
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
    sum_set_free(&list->outputs);
    sum_set_free(&list->ids);
    *list = (struct batch_list){0};
}
