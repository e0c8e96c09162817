#include "batch/batch_shard.h"

#include "base/options.h"
#include "base/plural.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS_MOST = 1000000 };

/* `*value` stays where a scheduler's variable is not there, or empty. */
static enum status read_variable(const char *key, size_t *value)
{
    char name[40];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "="), key);
    const char *text = getenv(name);
    return text && *text ? options_parse_number(key, text, 0, UINT32_MAX, value) : STATUS_OK;
}

/* The tasks of an array in order, all of which must have been submitted: of a part of them nobody
 * knows whether they count from 0 or from 1. */
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
        return fail(CAUSE_USAGE, "SLURM_ARRAY_TASK_ID is %zu, which is no task from %zu to %zu",
                    task, first, last);
    shard->number = (task - first) / step + 1;
    shard->count = count;
    return STATUS_OK;
}

static enum status ask_kubernetes(size_t index, struct batch_shard *shard)
{
    if (shard->count == 0)
        return fail(CAUSE_USAGE, "JOB_COMPLETION_INDEX gives no number of shards; give it, which "
                                 "is that of the completions, by --shard N");
    if (index >= shard->count)
        return fail(CAUSE_USAGE, "JOB_COMPLETION_INDEX is %zu, but of --shard %zu it is 0 to %zu",
                    index, shard->count, shard->count - 1);
    shard->number = index + 1;
    return STATUS_OK;
}

/* Number and count. `*variable` is NULL where there is no scheduler. */
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

/* The sum's low bits depend on few bits of the id: mixed, as by MurmurHash3's finaliser. */
bool batch_shard_has(const struct batch_shard *shard, uint64_t id_sum)
{
    uint64_t mixed = id_sum;
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xff51afd7ed558ccd);
    mixed = (mixed ^ mixed >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    mixed ^= mixed >> 33;
    return mixed % shard->count == shard->number - 1;
}
