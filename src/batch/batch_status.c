/* halo batch status: what the journals of a folder say. */
#include "base/json_text.h"
#include "base/plural.h"
#include "batch/batch_journal.h"
#include "batch/done_table.h"

#include <stdlib.h>
#include <string.h>

struct status_options {
    const char *folder;
    bool json;
};

struct shard_status {
    char name[32]; /* K/N, of the last run */
    size_t jobs;
    bool ended;
};

struct batch_status {
    struct done_table last; /* what became of each job: with no bytes, it failed */
    struct shard_status *shards;
    size_t shard_count;
};

static struct shard_status *shard_named(struct batch_status *all, const char *name)
{
    for (size_t i = 0; i < all->shard_count; i++)
        if (strcmp(all->shards[i].name, name) == 0)
            return &all->shards[i];
    struct shard_status *larger = realloc(all->shards, (all->shard_count + 1) * sizeof *larger);
    if (!larger)
        return NULL;
    all->shards = larger;
    struct shard_status *shard = &larger[all->shard_count++];
    *shard = (struct shard_status){0};
    snprintf(shard->name, sizeof shard->name, "%s", name);
    return shard;
}

static void count_line(void *context, const json_t *line)
{
    struct batch_status *all = context;
    const char *run = json_string_value(json_object_get(line, "run"));
    const char *name = json_string_value(json_object_get(line, "shard"));
    const char *id = json_string_value(json_object_get(line, "id"));
    struct shard_status *shard = run && name ? shard_named(all, name) : NULL;
    if (shard) {
        shard->jobs = (size_t)json_integer_value(json_object_get(line, "jobs"));
        shard->ended = strcmp(run, "ended") == 0;
    }
    if (!id)
        return;
    struct done_entry entry = {.id = batch_id_sum(id),
                               .digest = "x",
                               .bytes = json_integer_value(json_object_get(line, "bytes")),
                               .at = json_integer_value(json_object_get(line, "at_ms"))};
    done_table_add(&all->last, &entry);
}

static enum status print_status(const struct status_options *options,
                                const struct batch_status *all)
{
    size_t done = 0, failed = 0, jobs = 0, running = 0;
    for (size_t i = 0; i < all->last.capacity; i++) {
        bool is_one = all->last.entries[i].digest[0];
        done += is_one && all->last.entries[i].bytes > 0;
        failed += is_one && all->last.entries[i].bytes == 0;
    }
    for (size_t i = 0; i < all->shard_count; i++) {
        jobs += all->shards[i].jobs;
        running += !all->shards[i].ended;
    }
    if (options->json)
        return json_print(json_pack("{s:I, s:I, s:I, s:I, s:I}", "jobs", (json_int_t)jobs, "done",
                                    (json_int_t)done, "failed", (json_int_t)failed, "shards",
                                    (json_int_t)all->shard_count, "shards_not_ended",
                                    (json_int_t)running),
                          JSON_INDENT(2), "the status");
    printf("%zu of %zu job%s done, %zu failed; %zu shard%s, %zu of them not ended\n", done, jobs,
           plural_s(jobs), failed, all->shard_count, plural_s(all->shard_count), running);
    return STATUS_OK;
}

static enum status run_status(void *context)
{
    const struct status_options *options = context;
    struct batch_status all = {0};
    enum status status = batch_journal_read_all(options->folder, count_line, &all);
    if (status == STATUS_OK)
        status = print_status(options, &all);
    done_table_free(&all.last);
    free(all.shards);
    return status;
}

static const struct option_row rows[] = {
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
