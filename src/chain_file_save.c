#include "chain_file.h"

#include "chain_schema.h"
#include "chain_words.h"
#include "new_file.h"
#include "stage_plugin.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Where the state of the number-th stage is kept; false: it has none. */
static bool state_folder(const struct stage *stage, const char *path, size_t number,
                         char folder[static PATH_MAX])
{
    if (!stage->plugin || !stage->plugin->info->keeps_state)
        return false;
    return snprintf(folder, PATH_MAX, "%s.state/%zu", path, number) < PATH_MAX;
}

static char *state_word(const struct stage_kind *kind, const char *state, const char *folder)
{
    char word[PATH_MAX + 16];
    snprintf(word, sizeof word, "@state=%s", state);
    return chain_words_for_folder(kind, word, 1, folder);
}

/* The words of a stage as they are to stand in the file; options are words from the second on. An
 * older state gives way to `state`, unless that is NULL. */
static enum status make_entry(const struct stage *stage, const char *folder, const char *state,
                              struct chain_entry *entry)
{
    size_t kind = 0, count = 0;
    char **words = specs_split(stage->text);
    if (!words)
        return fail_memory("a chain");
    while (stage_kind_at(kind) != stage->kind)
        kind++;
    while (words[count])
        count++;
    entry->options = count > 1 || state ? calloc(count, sizeof *entry->options) : NULL;
    bool failed = !entry->options && (count > 1 || state);
    for (size_t w = 0; w < count && !failed; w++) {
        if (state && strncmp(words[w], "@state=", 7) == 0)
            continue;
        char *word = chain_words_for_folder(stage->kind, words[w], w, folder);
        failed = !word;
        if (w == 0)
            entry->values[kind] = word;
        else
            entry->options[entry->options_count++] = word;
    }
    free(words);
    if (state && !failed)
        failed = !(entry->options[entry->options_count++] = state_word(stage->kind, state, folder));
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

static enum status print_chain(const struct stage_list *list, const char *path, const char *folder,
                               FILE *stream)
{
    struct chain_schema schema;
    char state[PATH_MAX];
    enum status status = STATUS_OK;
    chain_schema_init(&schema);
    fprintf(stream,
            "# A chain of halo: the stages that sound goes through, in this order.\n"
            "#   halo render IN OUT --chain THIS      halo chain check THIS\n"
            "# A stage's options are those of the command line. Paths are from this folder.\n"
            "halo-chain: %d\nstages:%s\n",
            CHAIN_VERSION, list->count ? "" : " []");
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        print_comment(&list->stages[i], i + 1, stream);
        bool kept = state_folder(&list->stages[i], path, i + 1, state);
        status = print_stage(&schema, &list->stages[i], folder, kept ? state : NULL, stream);
    }
    return status;
}

/* ---- the plugins' states ---- */

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

/* An empty folder for states, where a stage has one to keep. */
static enum status make_folder(const char *path, bool force)
{
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s.state", path);
    if (length >= PATH_MAX)
        return fail(STATUS_FAILED, "cannot write %s.state: its name is too long", path);
    if (force && nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT)
        return fail(STATUS_FAILED, "cannot replace %s: %s", folder, strerror(errno));
    if (mkdir(folder, 0777) == 0)
        return STATUS_OK;
    if (errno == EEXIST)
        return fail(STATUS_FAILED, "%s exists; --force replaces it", folder);
    return fail(STATUS_FAILED, "cannot make the folder %s: %s", folder, strerror(errno));
}

static enum status save_states(const char *path, bool force, const struct stage_list *list)
{
    char folder[PATH_MAX];
    bool made = false;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        const struct stage *stage = &list->stages[i];
        if (!state_folder(stage, path, i + 1, folder))
            continue;
        if (!made)
            status = make_folder(path, force);
        made = true;
        if (status == STATUS_OK)
            status = plugin_filter_save(stage->filter, folder);
    }
    return status;
}

enum status chain_file_save(const char *path, bool force, const struct stage_list *list)
{
    struct new_file file;
    char folder[PATH_MAX];
    enum status status = chain_folder_of(path, folder);
    if (status != STATUS_OK)
        return status;
    status = new_file_open(&file, path, force, NULL);
    if (status != STATUS_OK) {
        new_file_discard(&file);
        return status;
    }
    FILE *stream = fdopen(file.fd, "w");
    status = stream ? save_states(path, force, list) : fail_memory("a chain");
    if (status == STATUS_OK)
        status = print_chain(list, path, folder, stream);
    if (stream ? fclose(stream) != 0 : close(file.fd) != 0)
        if (status == STATUS_OK)
            status = fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(errno));
    int error = status == STATUS_OK ? new_file_keep(&file) : 0;
    if (error)
        status = fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(error));
    new_file_discard(&file);
    return status;
}
