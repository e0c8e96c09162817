/* Prints a chain's file. */
#include "base/plural.h"
#include "chain/chain_file.h"

#include "base/printable.h"
#include "chain/chain_collect.h"
#include "chain/chain_schema.h"
#include "chain/chain_state.h"
#include "chain/chain_tempo.h"
#include "chain/stage_paths.h"

#include <stdlib.h>
#include <string.h>

static void print_comment(const struct stage *stage, size_t number, FILE *stream)
{
    const struct stage_info info = stage_describe(stage);
    fprintf(stream, "# %zu: ", number);
    if (info.name)
        fprintf(stream, "%s, ", printable(info.name)); /* one line, too */
    fprintf(stream, "%zu channel%s in, %zu out", stage->inputs, plural_s(stage->inputs),
            stage->outputs);
    if (info.taps > 0)
        fprintf(stream, ", %zu tap%s", info.taps, plural_s(info.taps));
    fprintf(stream, "\n");
}

struct printer {
    struct chain_schema schema;
    FILE *stream;
    char folder[PATH_MAX];       /* of the chain */
    bool names_whole_paths;      /* not relative to the folder */
    struct chain_copies *copies; /* those to name; NULL: the files themselves */
};

/* The words of a stage for the chain, each for free(), NULL-terminated. */
static enum status args_for(struct printer *printer, const struct stage *stage, char ***result)
{
    char **spec = spec_split(stage->text);
    size_t count = 0, done = 0;
    while (spec && spec[count])
        count++;
    char **args = spec ? calloc(count + 1, sizeof *args) : NULL;
    while (args && done < count &&
           (args[done] = stage_paths_replace(stage->ops, spec, done,
                                             printer->names_whole_paths ? stage_path_whole
                                                                        : stage_path_to_folder,
                                             printer->folder)))
        done++;
    free(spec);
    *result = args;
    return args && done == count ? STATUS_OK : fail_memory("a chain");
}

static void free_args(char **args)
{
    for (char **word = args; args && *word; word++)
        free(*word);
    free(args);
}

static size_t count_args(char *const *args)
{
    size_t count = 0;
    while (args && args[count])
        count++;
    return count;
}

static bool has_option(char *const *args, const char *word)
{
    for (size_t i = 0; args && args[i]; i++)
        if (strcmp(args[i], word) == 0)
            return true;
    return false;
}

/* The entry of a stage takes the args and the words of `state`, which replace an older state; NULL:
 * there is none. */
static enum status make_entry(const struct stage *stage, char **args, char **state,
                              struct chain_entry *entry)
{
    size_t kind = 0, count = count_args(args), all = count + count_args(state);
    while (stage_ops_at(kind) != stage->ops)
        kind++;
    entry->options = all > 1 ? calloc(all, sizeof *entry->options) : NULL;
    if (!entry->options && all > 1)
        return fail_memory("a chain");
    entry->values[kind] = args[0];
    for (size_t w = 1; w < count; w++)
        if (state && (strncmp(args[w], "@state=", 7) == 0 || has_option(state, args[w])))
            free(args[w]);
        else
            entry->options[entry->options_count++] = args[w];
    args[0] = NULL; /* the entry has them all */
    for (size_t w = 0; state && state[w]; w++)
        entry->options[entry->options_count++] = state[w];
    if (state)
        state[0] = NULL;
    return STATUS_OK;
}

static enum status print_entry(const struct printer *printer, struct chain_entry *entry)
{
    const cyaml_schema_value_t one = {
        CYAML_VALUE_SEQUENCE(CYAML_FLAG_POINTER, struct chain_entry, &printer->schema.entry, 1, 1)};
    struct chain_error error = {0};
    TRY(library_open(&cyaml_library));
    const cyaml_config_t config = chain_schema_config(&error);
    char *text = NULL;
    size_t length = 0;
    if (cyaml_save_data(&text, &length, &config, &one, entry, 1) != CYAML_OK)
        return fail(STATUS_FAILED, "cannot write a chain: %s", error.text);
    fprintf(printer->stream, "%.*s%s", (int)length, text, text[length - 1] == '\n' ? "" : "\n");
    config.mem_fn(NULL, text, 0);
    return STATUS_OK;
}

static enum status print_stage(struct printer *printer, const struct stage *stage, char **state,
                               bool is_other)
{
    struct chain_entry entry = {.is_other = is_other ? &is_other : NULL};
    char **args = NULL;
    enum status status = printer->copies
                             ? chain_collect_args(printer->copies, stage, printer->folder, &args)
                             : args_for(printer, stage, &args);
    if (status == STATUS_OK)
        status = make_entry(stage, args, state, &entry);
    free_args(args);
    if (status == STATUS_OK)
        status = print_entry(printer, &entry);
    for (size_t k = 0; k < STAGE_KINDS_MOST; k++)
        free(entry.values[k]);
    for (unsigned w = 0; w < entry.options_count; w++)
        free(entry.options[w]);
    free(entry.options);
    return status;
}

static void print_head(const struct stage_list *list, FILE *stream)
{
    fprintf(stream, "halo-chain: %d\n", CHAIN_VERSION);
    chain_tempo_print(list, stream);
    fprintf(stream, "stages:%s\n", list->count ? "" : " []");
}

enum status chain_file_print(const struct stage_list *list, const char *path, const char *states,
                             struct chain_copies *copies, FILE *stream)
{
    struct printer printer = {.stream = stream, .copies = copies};
    enum status status = chain_schema_folder(path, printer.folder);
    chain_schema_init(&printer.schema);
    fputs("# A chain of halo: the stages that sound goes through, in this order.\n"
          "#   halo render IN OUT --chain THIS      halo chain check THIS\n"
          "# A stage's options are those of the command line. Paths are from this folder.\n",
          stream);
    print_head(list, stream);
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        const struct stage *stage = &list->stages[i];
        char **state = NULL;
        print_comment(stage, i + 1, stream);
        if (states && stage_describe(stage).keeps_state)
            status = chain_state_args(stage, i + 1, path, states, &state);
        if (status == STATUS_OK)
            status = print_stage(&printer, stage, state, false);
        chain_state_free(state);
    }
    return status;
}

static enum status print_others(struct printer *printer, const struct stage *first,
                                const struct chain_live *live)
{
    struct stage other = *first;
    for (size_t i = 0; i < live->other_count; i++) {
        other.text = (char *)live->others[i];
        TRY(print_stage(printer, &other, NULL, true));
    }
    return STATUS_OK;
}

enum status chain_file_print_live(const struct stage_list *list, const struct chain_live *live,
                                  FILE *stream)
{
    struct printer printer = {.stream = stream, .names_whole_paths = true};
    chain_schema_init(&printer.schema);
    fputs("# A preset of halo live: a chain, the masks to choose from (or: true), and what is\n"
          "# chosen. It is a chain file, too: halo render IN OUT --chain THIS\n",
          stream);
    print_head(list, stream);
    for (size_t i = 0; i < list->count; i++) {
        print_comment(&list->stages[i], i + 1, stream);
        TRY(print_stage(&printer, &list->stages[i], NULL, false));
        if (i == live->stage)
            TRY(print_others(&printer, &list->stages[i], live));
    }
    fprintf(stream, "live:\n  mask: %zu\n  dry: %s\n  gain: %.9g\n", live->mask,
            live->dry ? "true" : "false", live->gain_db);
    return STATUS_OK;
}
