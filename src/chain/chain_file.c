#include "chain/chain_file.h"

#include "base/files_read.h"
#include "base/options.h"
#include "base/text_stream.h"
#include "chain/chain_schema.h"
#include "chain/chain_tempo.h"
#include "chain/stage_paths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The words of an entry, NULL-terminated, for free(); NULL: memory. */
static char **args_of(char *value, const struct chain_entry *entry)
{
    char **args = calloc(entry->options_count + 2, sizeof *args);
    if (args)
        args[0] = value;
    for (unsigned w = 0; args && w < entry->options_count; w++)
        args[w + 1] = entry->options[w];
    return args;
}

/* The spec for the command line: words separated by commas, with commas escaped. */
static char *join_spec(const struct stage_ops *ops, char *value, const struct chain_entry *entry,
                       char *folder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = text_stream_open(&text, &size);
    char **args = args_of(value, entry);
    bool failed = !stream || !args;
    for (unsigned w = 0; !failed && w <= entry->options_count; w++) {
        char *word = stage_paths_replace(ops, args, w, stage_path_from_folder, folder);
        failed = !word;
        if (w > 0)
            fputc(',', stream);
        for (const char *at = word; at && *at; at++) {
            if (*at == ',')
                fputc('\\', stream);
            fputc(*at, stream);
        }
        free(word);
    }
    failed |= text_stream_finish(stream) != 0;
    free(args);
    if (!failed)
        return text;
    free(text);
    return NULL;
}

/* The kind of stage that an entry is, and its value. */
static enum status kind_of(const struct chain_entry *entry, unsigned number, const char *path,
                           const struct stage_ops **ops, char **value)
{
    *ops = NULL;
    for (size_t k = 0; k < STAGE_KINDS_MOST; k++) {
        if (!entry->values[k])
            continue;
        if (*ops)
            return fail(STATUS_FAILED, "cannot use chain %s: stage %u is both %s and %s", path,
                        number, (*ops)->option, stage_ops_at(k)->option);
        *ops = stage_ops_at(k);
        *value = entry->values[k];
    }
    return *ops
               ? STATUS_OK
               : fail(STATUS_FAILED, "cannot use chain %s: stage %u has no kind (mask:, lv2:, ...)",
                      path, number);
}

/* `text` is taken over. */
static enum status add_other(const struct stage_ops *ops, char *text, unsigned number,
                             const char *path, const struct stage_list *list,
                             struct chain_live *live)
{
    size_t last = list->count - 1;
    bool follows = ops->has_choices && list->count > 0 && list->stages[last].ops == ops &&
                   (live->other_count == 0 || live->stage == last);
    const char **others =
        follows ? realloc(live->others, (live->other_count + 1) * sizeof *others) : NULL;
    if (!others) {
        free(text);
        return follows ? fail_memory("a chain")
                       : fail(STATUS_FAILED,
                              "cannot use chain %s: stage %u is an alternative (or: true), but "
                              "not to the mask before it; one mask can have them",
                              path, number);
    }
    live->others = others;
    live->others[live->other_count++] = text;
    live->stage = last;
    return STATUS_OK;
}

static enum status add_entry(const struct chain_entry *entry, unsigned number, const char *path,
                             char *folder, struct stage_list *list, struct chain_live *live)
{
    const struct stage_ops *ops;
    char *value = NULL;
    TRY(kind_of(entry, number, path, &ops, &value));
    char *text = join_spec(ops, value, entry, folder);
    if (!text)
        return fail_memory("a chain");
    if (entry->is_other && *entry->is_other)
        return add_other(ops, text, number, path, list, live);
    char origin[PATH_MAX + 64];
    snprintf(origin, sizeof origin, "chain %s, stage %u", path, number);
    enum status status = stage_list_add(list, ops, text, origin);
    free(text);
    return status;
}

static enum status read_live(const struct chain_live_entry *entry, const char *path,
                             struct chain_live *live)
{
    if (entry->mask)
        live->mask = *entry->mask;
    if (entry->gain)
        live->gain_db = *entry->gain;
    live->dry = entry->dry && *entry->dry;
    if (live->mask < 1 || live->mask > live->other_count + 1)
        return fail(STATUS_FAILED, "cannot use chain %s: it has no mask %zu to choose", path,
                    live->mask);
    if (!(fabs(live->gain_db) <= OPTIONS_DB_MOST))
        return fail(STATUS_FAILED, "cannot use chain %s: its gain is no number of dB up to %d",
                    path, OPTIONS_DB_MOST);
    return STATUS_OK;
}

/* The stage with alternatives gets the one that sounds. */
static enum status choose_mask(struct stage_list *list, const struct chain_live *live)
{
    if (live->mask == 1)
        return STATUS_OK;
    char *text = strdup(live->others[live->mask - 2]);
    if (!text)
        return fail_memory("a chain");
    free(list->stages[live->stage].text);
    list->stages[live->stage].text = text;
    return STATUS_OK;
}

/* Where nothing can be changed, the gain is a stage, and all stages are heard. */
static enum status settle_live(const char *path, struct stage_list *list,
                               const struct chain_live *live)
{
    char gain[32], origin[PATH_MAX + 64];
    TRY(choose_mask(list, live));
    if (live->dry)
        note("chain %s: it says dry: true, which is for presets; its stages are heard", path);
    if (live->gain_db == 0)
        return STATUS_OK;
    snprintf(gain, sizeof gain, "%.9g", live->gain_db);
    snprintf(origin, sizeof origin, "chain %s, gain:", path);
    return stage_list_add(list, stage_ops_named("gain"), gain, origin);
}

void chain_live_free(struct chain_live *live)
{
    for (size_t i = 0; i < live->other_count; i++)
        free((void *)live->others[i]);
    free(live->others);
    *live = (struct chain_live){0};
}

/* The whole text, for free(). */
static enum status read_file(const char *path, char **text, size_t *size)
{
    FILE *stream;
    const char *flaw = files_read_open(path, &stream);
    if (flaw)
        return fail(STATUS_FAILED, "cannot open chain %s: %s", path, flaw);
    enum status status = STATUS_OK;
    *text = malloc(CHAIN_BYTES_MOST + 1);
    *size = *text ? fread(*text, 1, CHAIN_BYTES_MOST + 1, stream) : 0;
    if (!*text)
        status = fail_memory("a chain");
    else if (ferror(stream))
        status = fail(STATUS_FAILED, "cannot read chain %s: %s", path, strerror(errno));
    else if (*size == 0)
        status = fail(STATUS_FAILED, "cannot use chain %s: it is empty", path);
    else if (*size > CHAIN_BYTES_MOST)
        status = fail(STATUS_FAILED, "cannot use chain %s: it is larger than %d bytes", path,
                      CHAIN_BYTES_MOST);
    fclose(stream);
    return status;
}

/* cyaml_free of the schema frees the document. */
static enum status parse_file(const char *path, const struct chain_schema *schema,
                              struct chain_document **document)
{
    struct chain_error error = {0};
    const cyaml_config_t config = chain_schema_config(&error);
    char *text = NULL;
    size_t size = 0;
    enum status status = read_file(path, &text, &size);
    cyaml_err_t result = CYAML_OK;
    if (status == STATUS_OK && !memmem(text, size, CHAIN_MARK, strlen(CHAIN_MARK)))
        status =
            fail(STATUS_FAILED,
                 "cannot use chain %s: it is no chain file, which begins with " CHAIN_MARK ": %d",
                 path, CHAIN_VERSION);
    if (status == STATUS_OK)
        result = cyaml_load_data((const uint8_t *)text, size, &config, &schema->document,
                                 (cyaml_data_t **)document, NULL);
    free(text);
    TRY(status);
    if (result != CYAML_OK)
        return fail(STATUS_FAILED, "cannot use chain %s: %s%s", path, error.line,
                    *error.text                 ? error.text
                    : result == CYAML_ERR_ALIAS ? "it has an alias (*), which chains cannot have"
                                                : cyaml_strerror(result));
    return *document ? STATUS_OK
                     : fail(STATUS_FAILED, "cannot use chain %s: it has no content", path);
}

static enum status read_document(const struct chain_document *document, const char *path,
                                 struct stage_list *list, struct chain_live *live)
{
    char folder[PATH_MAX];
    TRY(chain_schema_folder(path, folder));
    if (document->version != CHAIN_VERSION)
        return fail(STATUS_FAILED,
                    "cannot use chain %s: it has version %u, this halo reads version %d", path,
                    document->version, CHAIN_VERSION);
    TRY(chain_tempo_take(document->tempo, path, list));
    for (unsigned i = 0; i < document->stages_count; i++)
        TRY(add_entry(&document->stages[i], i + 1, path, folder, list, live));
    return document->live ? read_live(document->live, path, live) : STATUS_OK;
}

enum status chain_file_load(const char *path, struct stage_list *list, struct chain_live *live)
{
    struct chain_schema schema;
    struct chain_error error = {0};
    struct chain_document *document = NULL;
    struct chain_live own = {.stage = SIZE_MAX, .mask = 1};
    chain_schema_init(&schema);
    enum status status = library_open(&cyaml_library);
    const cyaml_config_t config = chain_schema_config(&error);
    if (status == STATUS_OK)
        status = parse_file(path, &schema, &document);
    if (status == STATUS_OK)
        status = read_document(document, path, list, &own);
    if (status == STATUS_OK && !live)
        status = settle_live(path, list, &own);
    if (document)
        cyaml_free(&config, &schema.document, document, 0);
    if (live)
        *live = own;
    else
        chain_live_free(&own);
    return status;
}
