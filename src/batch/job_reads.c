#include "batch/job_reads.h"

#include <stdlib.h>
#include <string.h>

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

enum status job_reads_find_for(const char *option, const char *value, struct job_reader *reader)
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

/* One value, or a list of them. */
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

enum status job_reads_find(const json_t *job, struct job_reader *reader)
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
