/* halo batch status: counts the jobs in the journals of a folder. */
#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "batch/batch_journal.h"
#include "batch/sum_set.h"

#include <stdlib.h>
#include <string.h>

struct status_options {
    const char *folder;
    bool failed, json;
};

struct shard_status {
    size_t number, count;
    size_t all; /* number of jobs in the run's list, in all shards */
    int64_t at; /* time of the last line, in ms */
    bool ended;
    char set[JOB_SET_NAME]; /* name of the set of the list's jobs; empty: unknown */
};

struct failed_job {
    char *id, *reason;
    int64_t at;
};

struct batch_status {
    struct job_set jobs;         /* jobs of the last list */
    bool knows_jobs;             /* `jobs` was found; false: all jobs in the journals count */
    struct done_table last;      /* last result of each job; 0 bytes: it failed */
    struct shard_status *shards; /* includes shards of earlier runs with other counts */
    size_t shard_count;
    struct failed_job *failures; /* failures; the jobs may have succeeded later */
    size_t failure_count;
    bool no_memory;
};

static struct shard_status *shard_of(struct batch_status *all, size_t number, size_t count)
{
    for (size_t i = 0; i < all->shard_count; i++)
        if (all->shards[i].number == number && all->shards[i].count == count)
            return &all->shards[i];
    struct shard_status *larger = realloc(all->shards, (all->shard_count + 1) * sizeof *larger);
    if (!larger) {
        all->no_memory = true;
        return NULL;
    }
    all->shards = larger;
    larger[all->shard_count] = (struct shard_status){.number = number, .count = count};
    return &larger[all->shard_count++];
}

static void learn_run(struct batch_status *all, const json_t *line)
{
    const char *run = json_string_value(json_object_get(line, "run"));
    const char *name = json_string_value(json_object_get(line, "shard"));
    int64_t at = json_integer_value(json_object_get(line, "at_ms"));
    size_t number, count;
    if (!run || !name || sscanf(name, "%zu/%zu", &number, &count) != 2)
        return;
    struct shard_status *shard = shard_of(all, number, count);
    if (!shard || at < shard->at)
        return;
    shard->all = (size_t)json_integer_value(json_object_get(line, "all"));
    shard->ended = strcmp(run, "ended") == 0;
    shard->at = at;
    const char *set = json_string_value(json_object_get(line, "list"));
    snprintf(shard->set, sizeof shard->set, "%s", set && !strchr(set, '/') ? set : "");
}

static void learn_failure(struct batch_status *all, const char *id, const char *reason, int64_t at)
{
    struct failed_job *larger = realloc(all->failures, (all->failure_count + 1) * sizeof *larger);
    char *id_copy = strdup(id), *reason_copy = strdup(reason);
    all->failures = larger ? larger : all->failures;
    if (larger && id_copy && reason_copy) {
        larger[all->failure_count++] = (struct failed_job){id_copy, reason_copy, at};
        return;
    }
    free(id_copy);
    free(reason_copy);
    all->no_memory = true;
}

static void learn_line(void *context, const json_t *line)
{
    struct batch_status *all = context;
    const char *id = json_string_value(json_object_get(line, "id"));
    const char *reason = json_string_value(json_object_get(line, "failed"));
    if (!id) {
        learn_run(all, line);
        return;
    }
    struct done_entry entry = {.id = batch_id_sum(id),
                               .digest = "x",
                               .bytes = json_integer_value(json_object_get(line, "bytes")),
                               .at = json_integer_value(json_object_get(line, "at_ms"))};
    all->no_memory = !done_table_add(&all->last, &entry) || all->no_memory;
    if (reason)
        learn_failure(all, id, reason, entry.at);
}

/* Count the shards of the last run's division only: other divisions had the same jobs. */
static void count_shards(const struct batch_status *all, struct shard_status *last, size_t *begun,
                         size_t *running)
{
    *last = (struct shard_status){0};
    *begun = *running = 0;
    for (size_t i = 0; i < all->shard_count; i++)
        if (all->shards[i].at >= last->at)
            *last = all->shards[i];
    for (size_t i = 0; i < all->shard_count; i++) {
        bool is_one = all->shards[i].count == last->count;
        *begun += is_one;
        *running += is_one && !all->shards[i].ended;
    }
}

static bool is_listed(const struct batch_status *all, uint64_t id)
{
    return !all->knows_jobs || job_set_has(&all->jobs, id);
}

/* Whether a failure is the last result of its job, and the job is in the last list. */
static bool is_last(const struct batch_status *all, const struct failed_job *failure)
{
    struct done_entry entry;
    uint64_t id = batch_id_sum(failure->id);
    return is_listed(all, id) && done_table_find(&all->last, id, &entry) && entry.bytes == 0 &&
           entry.at == failure->at;
}

static json_t *list_failures(const struct batch_status *all)
{
    json_t *list = json_object();
    for (size_t i = 0; i < all->failure_count; i++)
        if (is_last(all, &all->failures[i]))
            json_object_set_new(list, all->failures[i].id, json_text(all->failures[i].reason));
    return list;
}

struct counts {
    size_t done, failed;
    size_t others; /* jobs of earlier lists */
};

static struct counts count_jobs(const struct batch_status *all)
{
    struct counts counts = {0};
    for (size_t i = 0; i < all->last.capacity; i++) {
        const struct done_entry *entry = &all->last.entries[i];
        bool is_one = entry->digest[0], is_ours = is_one && is_listed(all, entry->id);
        counts.done += is_ours && entry->bytes > 0;
        counts.failed += is_ours && entry->bytes == 0;
        counts.others += is_one && !is_ours;
    }
    return counts;
}

static void print_text(const struct batch_status *all, const struct shard_status *last,
                       size_t begun, size_t running)
{
    const struct counts counts = count_jobs(all);
    printf("%zu of %zu job%s done, %zu failed; %zu of %zu shard%s begun, %zu not ended",
           counts.done, last->all, plural_s(last->all), counts.failed, begun, last->count,
           plural_s(last->count), running);
    if (counts.others > 0)
        printf("; %zu job%s of earlier lists", counts.others, plural_s(counts.others));
    putchar('\n');
}

static enum status print_status(const struct status_options *options, struct batch_status *all)
{
    struct shard_status last;
    size_t begun, running;
    count_shards(all, &last, &begun, &running);
    if (*last.set)
        all->knows_jobs = job_set_load(&all->jobs, options->folder, last.set);
    const struct counts counts = count_jobs(all);
    if (options->json)
        return json_print(json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o*}", "jobs",
                                    (json_int_t)last.all, "done", (json_int_t)counts.done, "failed",
                                    (json_int_t)counts.failed, "others", (json_int_t)counts.others,
                                    "shards", (json_int_t)last.count, "shards_begun",
                                    (json_int_t)begun, "shards_not_ended", (json_int_t)running,
                                    "failures", options->failed ? list_failures(all) : NULL),
                          JSON_INDENT(2), "the status");
    print_text(all, &last, begun, running);
    for (size_t i = 0; options->failed && i < all->failure_count; i++)
        if (is_last(all, &all->failures[i]))
            printf("%s: %s\n", printable(all->failures[i].id), printable(all->failures[i].reason));
    return STATUS_OK;
}

static void free_status(struct batch_status *all)
{
    for (size_t i = 0; i < all->failure_count; i++) {
        free(all->failures[i].id);
        free(all->failures[i].reason);
    }
    free(all->failures);
    job_set_free(&all->jobs);
    done_table_free(&all->last);
    free(all->shards);
}

static enum status run_status(void *context)
{
    const struct status_options *options = context;
    struct batch_status all = {0};
    enum status status = batch_journal_read_all(options->folder, learn_line, &all);
    if (status == STATUS_OK && all.no_memory)
        status = fail_memory("what is done");
    if (status == STATUS_OK)
        status = print_status(options, &all);
    free_status(&all);
    return status;
}

static const struct option_row rows[] = {
    OPT_FLAG("failed", struct status_options, failed, "list the jobs that failed last, and why"),
    OPT_FLAG("json", struct status_options, json, "print it as JSON"),
    {0},
};

const struct command command_batch_status = {
    .name = "halo batch status",
    .summary = "what is done of the jobs of a folder",
    .usage = "usage: halo batch status DIR\n\n"
             "Say how many jobs of the batches in DIR are done or have failed, by their journals.\n"
             "Other runs may be at work.",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENT("DIR", struct status_options, folder, 1, .is_file = true)),
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct status_options),
    .run = run_status,
};
