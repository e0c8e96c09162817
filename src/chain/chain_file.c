#include "chain/chain_file.h"

#include "base/files_read.h"
#include "base/printable.h"
#include "base/text_stream.h"
#include "chain/chain_collect.h"
#include "chain/stage_paths.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1, STAGES_MOST = 256, BYTES_MOST = 1 << 20 };

/* A stage in the file: one of `values` is set, in the order of the kinds. */
struct chain_entry {
    char *values[STAGE_KINDS_MOST];
    char **options;
    unsigned options_count;
};

struct chain_document {
    unsigned version;
    struct chain_entry *stages;
    unsigned stages_count;
};

/* Points into itself: must not move. */
struct chain_schema {
    cyaml_schema_field_t entry_fields[STAGE_KINDS_MOST + 2];
    cyaml_schema_value_t entry;
    cyaml_schema_field_t document_fields[3];
    cyaml_schema_value_t document;
};

/* The first error reported by libcyaml, and its line. */
struct chain_error {
    char text[256];
    char line[64]; /* "line 3: " */
};

static const cyaml_schema_value_t option_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

static void schema_init(struct chain_schema *schema)
{
    size_t count = 0;
    *schema = (struct chain_schema){0};
    for (const struct stage_ops *ops; (ops = stage_ops_at(count)); count++)
        schema->entry_fields[count] = (cyaml_schema_field_t){
            .key = ops->option,
            .value = {.type = CYAML_STRING,
                      .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                      .data_size = sizeof(char),
                      .string = {.min = 0, .max = BYTES_MOST}},
            .data_offset = (uint32_t)(count * sizeof(char *)),
        };
    schema->entry_fields[count++] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "options", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_entry, options,
        &option_schema, 0, BYTES_MOST);
    schema->entry_fields[count] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->entry = (cyaml_schema_value_t){
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct chain_entry, schema->entry_fields)};
    schema->document_fields[0] = (cyaml_schema_field_t)CYAML_FIELD_UINT(
        "halo-chain", CYAML_FLAG_DEFAULT, struct chain_document, version);
    schema->document_fields[1] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "stages", CYAML_FLAG_POINTER, struct chain_document, stages, &schema->entry, 0,
        STAGES_MOST);
    schema->document_fields[2] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->document = (cyaml_schema_value_t){
        CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct chain_document, schema->document_fields)};
}

static void keep_error(cyaml_log_t level, void *context, const char *format, va_list args)
{
    (void)level;
    struct chain_error *error = context;
    char text[sizeof error->text];
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    unsigned line;
    const char *at = strstr(text, "line: ");
    if (at && !*error->line && sscanf(at, "line: %u", &line) == 1)
        snprintf(error->line, sizeof error->line, "line %u: ", line);
    const char *plain = strncmp(text, "Load: ", 6) == 0 ? text + 6 : text;
    if (!*error->text && strncmp(plain, "Backtrace", 9) != 0)
        snprintf(error->text, sizeof error->text, "%s", plain);
}

static cyaml_config_t config_for(struct chain_error *error)
{
    return (cyaml_config_t){.log_fn = keep_error,
                            .log_ctx = error,
                            .mem_fn = cyaml_mem,
                            .log_level = CYAML_LOG_WARNING,
                            .flags = CYAML_CFG_STYLE_BLOCK | CYAML_CFG_NO_ALIAS};
}

static enum status folder_of(const char *path, char folder[static PATH_MAX])
{
    if (strlen(path) >= PATH_MAX)
        return fail(STATUS_FAILED, "cannot open chain %.40s...: its name is too long", path);
    char copy[PATH_MAX];
    strcpy(copy, path);
    strcpy(folder, dirname(copy));
    return STATUS_OK;
}

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

static enum status add_entry(const struct chain_entry *entry, unsigned number, const char *path,
                             char *folder, struct stage_list *list)
{
    const struct stage_ops *ops = NULL;
    char *value = NULL;
    for (size_t k = 0; k < STAGE_KINDS_MOST; k++) {
        if (!entry->values[k])
            continue;
        if (ops)
            return fail(STATUS_FAILED, "cannot use chain %s: stage %u is both %s and %s", path,
                        number, ops->option, stage_ops_at(k)->option);
        ops = stage_ops_at(k);
        value = entry->values[k];
    }
    if (!ops)
        return fail(STATUS_FAILED, "cannot use chain %s: stage %u has no kind (mask:, lv2:, ...)",
                    path, number);
    char *text = join_spec(ops, value, entry, folder);
    if (!text)
        return fail_memory("a chain");
    char origin[PATH_MAX + 64];
    snprintf(origin, sizeof origin, "chain %s, stage %u", path, number);
    enum status status = stage_list_add(list, ops, text, origin);
    free(text);
    return status;
}

/* The whole text, for free(). */
static enum status read_file(const char *path, char **text, size_t *size)
{
    FILE *stream;
    const char *flaw = files_read_open(path, &stream);
    if (flaw)
        return fail(STATUS_FAILED, "cannot open chain %s: %s", path, flaw);
    enum status status = STATUS_OK;
    *text = malloc(BYTES_MOST + 1);
    *size = *text ? fread(*text, 1, BYTES_MOST + 1, stream) : 0;
    if (!*text)
        status = fail_memory("a chain");
    else if (ferror(stream))
        status = fail(STATUS_FAILED, "cannot read chain %s: %s", path, strerror(errno));
    else if (*size == 0)
        status = fail(STATUS_FAILED, "cannot use chain %s: it is empty", path);
    else if (*size > BYTES_MOST)
        status = fail(STATUS_FAILED, "cannot use chain %s: it is larger than %d bytes", path,
                      BYTES_MOST);
    fclose(stream);
    return status;
}

/* cyaml_free of the schema frees the document. */
static enum status parse_file(const char *path, const struct chain_schema *schema,
                              struct chain_document **document)
{
    struct chain_error error = {0};
    const cyaml_config_t config = config_for(&error);
    char *text = NULL;
    size_t size = 0;
    enum status status = read_file(path, &text, &size);
    cyaml_err_t result = CYAML_OK;
    if (status == STATUS_OK)
        result = cyaml_load_data((const uint8_t *)text, size, &config, &schema->document,
                                 (cyaml_data_t **)document, NULL);
    free(text);
    TRY(status);
    if (result != CYAML_OK)
        return fail(STATUS_FAILED, "cannot use chain %s: %s%s", path, error.line,
                    *error.text ? error.text : cyaml_strerror(result));
    return *document ? STATUS_OK
                     : fail(STATUS_FAILED, "cannot use chain %s: it has no content", path);
}

enum status chain_file_load(const char *path, struct stage_list *list)
{
    struct chain_schema schema;
    struct chain_error error = {0};
    struct chain_document *document = NULL;
    char folder[PATH_MAX];
    schema_init(&schema);
    const cyaml_config_t config = config_for(&error);
    TRY(folder_of(path, folder));
    TRY(parse_file(path, &schema, &document));
    enum status status = STATUS_OK;
    if (document->version != VERSION)
        status = fail(STATUS_FAILED,
                      "cannot use chain %s: it has version %u, this halo reads version %d", path,
                      document->version, VERSION);
    for (unsigned i = 0; i < document->stages_count && status == STATUS_OK; i++)
        status = add_entry(&document->stages[i], i + 1, path, folder, list);
    cyaml_free(&config, &schema.document, document, 0);
    return status;
}

static void print_comment(const struct stage *stage, size_t number, FILE *stream)
{
    const struct stage_info info = stage_describe(stage);
    fprintf(stream, "# %zu: ", number);
    if (info.name)
        fprintf(stream, "%s, ", printable(info.name)); /* one line, too */
    fprintf(stream, "%zu channel%s in, %zu out", stage->inputs, stage->inputs == 1 ? "" : "s",
            stage->outputs);
    if (info.taps > 0)
        fprintf(stream, ", %zu tap%s", info.taps, info.taps == 1 ? "" : "s");
    fprintf(stream, "\n");
}

/* The words of a stage for a chain in `folder`, each for free(), NULL-terminated. */
static enum status args_for(const struct stage *stage, char *folder, char ***result)
{
    char **spec = spec_split(stage->text);
    size_t count = 0, done = 0;
    while (spec && spec[count])
        count++;
    char **args = spec ? calloc(count + 1, sizeof *args) : NULL;
    while (args && done < count &&
           (args[done] = stage_paths_replace(stage->ops, spec, done, stage_path_to_folder, folder)))
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

/* The entry of a stage takes the args; `state`, unless NULL, replaces an older state. */
static enum status make_entry(const struct stage *stage, char **args, const char *state,
                              struct chain_entry *entry)
{
    size_t kind = 0, count = 0;
    while (stage_ops_at(kind) != stage->ops)
        kind++;
    while (args[count])
        count++;
    entry->options = count > 1 || state ? calloc(count, sizeof *entry->options) : NULL;
    if (!entry->options && (count > 1 || state))
        return fail_memory("a chain");
    entry->values[kind] = args[0];
    for (size_t w = 1; w < count; w++)
        if (state && strncmp(args[w], "@state=", 7) == 0)
            free(args[w]);
        else
            entry->options[entry->options_count++] = args[w];
    args[0] = NULL; /* the entry has them all */
    if (state && !(entry->options[entry->options_count] = strdup(state)))
        return fail_memory("a chain");
    entry->options_count += state != NULL;
    return STATUS_OK;
}

/* `copies`: those to name; NULL: the files themselves. */
static enum status print_stage(const struct chain_schema *schema, const struct stage *stage,
                               char *folder, struct chain_copies *copies, const char *state,
                               FILE *stream)
{
    const cyaml_schema_value_t one = {
        CYAML_VALUE_SEQUENCE(CYAML_FLAG_POINTER, struct chain_entry, &schema->entry, 1, 1)};
    struct chain_error error = {0};
    const cyaml_config_t config = config_for(&error);
    struct chain_entry entry = {0};
    char *text = NULL, **args = NULL;
    size_t length = 0;
    enum status status =
        copies ? chain_collect_args(copies, stage, folder, &args) : args_for(stage, folder, &args);
    if (status == STATUS_OK)
        status = make_entry(stage, args, state, &entry);
    free_args(args);
    if (status == STATUS_OK &&
        cyaml_save_data(&text, &length, &config, &one, &entry, 1) != CYAML_OK)
        status = fail(STATUS_FAILED, "cannot write a chain: %s", error.text);
    if (status == STATUS_OK)
        fprintf(stream, "%.*s%s", (int)length, text, text[length - 1] == '\n' ? "" : "\n");
    if (text)
        config.mem_fn(NULL, text, 0);
    for (size_t k = 0; k < STAGE_KINDS_MOST; k++)
        free(entry.values[k]);
    for (unsigned w = 0; w < entry.options_count; w++)
        free(entry.options[w]);
    free(entry.options);
    return status;
}

enum status chain_file_print(const struct stage_list *list, const char *path,
                             struct chain_copies *copies, FILE *stream)
{
    struct chain_schema schema;
    char folder[PATH_MAX], state[PATH_MAX];
    const char *slash = strrchr(path, '/');
    enum status status = folder_of(path, folder);
    schema_init(&schema);
    fprintf(stream,
            "# A chain of halo: the stages that sound goes through, in this order.\n"
            "#   halo render IN OUT --chain THIS      halo chain check THIS\n"
            "# A stage's options are those of the command line. Paths are from this folder.\n"
            "halo-chain: %d\nstages:%s\n",
            VERSION, list->count ? "" : " []");
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        const struct stage *stage = &list->stages[i];
        print_comment(stage, i + 1, stream);
        snprintf(state, sizeof state, "@state=%s.state/%zu", slash ? slash + 1 : path, i + 1);
        bool keeps_state = stage_describe(stage).keeps_state;
        status = print_stage(&schema, stage, folder, copies, keeps_state ? state : NULL, stream);
    }
    return status;
}
