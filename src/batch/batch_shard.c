#include "batch/batch_shard.h"

#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS_MOST = 1000000 };

/* Of a scheduler's environment; false: it is not there, or no number. */
static bool read_variable(const char *name, size_t *value)
{
    const char *text = getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9')
        return false;
    *value = strtoul(text, &end, 10);
    return *end == '\0';
}

/* Number and count, which stays where it is not known. Returns the variable. */
static const char *ask_scheduler(struct batch_shard *shard)
{
    size_t task, first = 0, step = 1, count = 0;
    if (read_variable("SLURM_ARRAY_TASK_ID", &task)) {
        (void)read_variable("SLURM_ARRAY_TASK_MIN", &first);
        (void)read_variable("SLURM_ARRAY_TASK_STEP", &step);
        if (read_variable("SLURM_ARRAY_TASK_COUNT", &count) && shard->count == 0)
            shard->count = count;
        shard->number = (task >= first ? task - first : 0) / (step ? step : 1) + 1;
        return "SLURM_ARRAY_TASK_ID";
    }
    if (read_variable("JOB_COMPLETION_INDEX", &task)) {
        shard->number = task + 1;
        return "JOB_COMPLETION_INDEX";
    }
    return NULL;
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
    const char *variable = ask_scheduler(shard);
    if (!variable && shard->count)
        return fail(STATUS_USAGE,
                    "--shard %s: which of them? It is K/N, or a scheduler gives K by "
                    "SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX",
                    text);
    if (!variable) {
        *shard = (struct batch_shard){1, 1};
        return STATUS_OK;
    }
    if (shard->count == 0)
        return fail(STATUS_USAGE, "%s gives no number of shards; give it by --shard N", variable);
    if (shard->number > shard->count)
        return fail(STATUS_USAGE, "%s is shard %zu, of %zu", variable, shard->number, shard->count);
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
