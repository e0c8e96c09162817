#include "chain/chain_print.h"

#include "chain/chain_schema.h"
#include "chain/chain_paths.h"
#include "chain/stage_plugin.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void print_comment(const struct stage *stage, size_t number, FILE *stream)
{
    fprintf(stream, "# %zu: ", number);
    if (stage->plugin)
        fprintf(stream, "%s, ", stage->plugin->info->name);
    fprintf(stream, "%zu channel%s in, %zu out", stage->inputs, stage->inputs == 1 ? "" : "s",
            stage->outputs);
    if (stage->mask)
        fprintf(stream, ", %zu tap%s", stage->mask->taps, stage->mask->taps == 1 ? "" : "s");
    fprintf(stream, "\n");
}

bool chain_keeps_state(const struct stage *stage)
{
    return stage->plugin && stage->plugin->info->keeps_state;
}

/* The words of a stage as they are to stand in the file; options are words from the second on. An
 * older state gives way to `state`, unless that is NULL. */
static enum status make_entry(const struct stage *stage, const char *folder, const char *state,
                              struct chain_entry *entry)
{
    size_t kind = 0, count = 0;
    char **spec = specs_split(stage->text);
    if (!spec)
        return fail_memory("a chain");
    while (stage_kind_at(kind) != stage->kind)
        kind++;
    while (spec[count])
        count++;
    entry->options = count > 1 || state ? calloc(count, sizeof *entry->options) : NULL;
    bool failed = !entry->options && (count > 1 || state);
    for (size_t w = 0; w < count && !failed; w++) {
        if (state && strncmp(spec[w], "@state=", 7) == 0)
            continue;
        char *word = chain_paths_for_folder(stage->kind, spec[w], w, folder);
        failed = !word;
        if (w == 0)
            entry->values[kind] = word;
        else
            entry->options[entry->options_count++] = word;
    }
    free(spec);
    if (state && !failed)
        failed = !(entry->options[entry->options_count++] = strdup(state));
    return failed ? fail_memory("a chain") : STATUS_OK;
}

static void entry_free(struct chain_entry *entry)
{
    for (size_t k = 0; k < CHAIN_KINDS_MOST; k++)
        free(entry->values[k]);
    for (unsigned w = 0; w < entry->options_count; w++)
        free(entry->options[w]);
    free(entry->options);
}

static enum status print_stage(const struct chain_schema *schema, const struct stage *stage,
                               const char *folder, const char *state, FILE *stream)
{
    const cyaml_schema_value_t one = {
        CYAML_VALUE_SEQUENCE(CYAML_FLAG_POINTER, struct chain_entry, &schema->entry, 1, 1)};
    struct chain_said said = {0};
    const cyaml_config_t config = chain_schema_config(&said);
    struct chain_entry entry = {0};
    char *text = NULL;
    size_t length = 0;
    enum status status = make_entry(stage, folder, state, &entry);
    if (status == STATUS_OK &&
        cyaml_save_data(&text, &length, &config, &one, &entry, 1) != CYAML_OK)
        status = fail(STATUS_FAILED, "cannot write a chain: %s", said.text);
    if (status == STATUS_OK)
        fprintf(stream, "%.*s%s", (int)length, text, text[length - 1] == '\n' ? "" : "\n");
    if (text)
        config.mem_fn(NULL, text, 0);
    entry_free(&entry);
    return status;
}

enum status chain_print(const struct stage_list *list, const char *path, FILE *stream)
{
    struct chain_schema schema;
    char folder[PATH_MAX], state[PATH_MAX];
    const char *slash = strrchr(path, '/');
    enum status status = chain_folder_of(path, folder);
    chain_schema_init(&schema);
    fprintf(stream,
            "# A chain of halo: the stages that sound goes through, in this order.\n"
            "#   halo render IN OUT --chain THIS      halo chain check THIS\n"
            "# A stage's options are those of the command line. Paths are from this folder.\n"
            "halo-chain: %d\nstages:%s\n",
            CHAIN_VERSION, list->count ? "" : " []");
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        const struct stage *stage = &list->stages[i];
        print_comment(stage, i + 1, stream);
        snprintf(state, sizeof state, "@state=%s.state/%zu", slash ? slash + 1 : path, i + 1);
        status =
            print_stage(&schema, stage, folder, chain_keeps_state(stage) ? state : NULL, stream);
    }
    return status;
}
