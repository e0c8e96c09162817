#include "chain_file.h"

#include "chain_words.h"
#include "new_file.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS_MOST = 8, VERSION = 1, FILE_BYTES_MOST = 1 << 20, STAGES_MOST = 256 };

/* ---- the schema ---- */

/* A stage as it stands in the file: one of `values` is there, by the kinds' order. */
struct entry {
    char *values[KINDS_MOST];
    char **options;
    unsigned options_count;
};

struct document {
    unsigned version;
    struct entry *stages;
    unsigned stages_count;
};

static const cyaml_schema_value_t option_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

/* The kinds are specs.c's: a row for each. */
struct schema {
    cyaml_schema_field_t entry_fields[KINDS_MOST + 2];
    cyaml_schema_value_t entry;
    cyaml_schema_field_t document_fields[3];
    cyaml_schema_value_t document;
};

static void schema_init(struct schema *schema)
{
    size_t count = 0;
    *schema = (struct schema){0};
    for (const struct stage_kind *kind; (kind = stage_kind_at(count)) && count < KINDS_MOST;
         count++)
        schema->entry_fields[count] = (cyaml_schema_field_t){
            .key = kind->option,
            .value = {.type = CYAML_STRING,
                      .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                      .data_size = sizeof(char),
                      .string = {.min = 0, .max = FILE_BYTES_MOST}},
            .data_offset = (uint32_t)(count * sizeof(char *)),
        };
    schema->entry_fields[count++] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "options", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct entry, options, &option_schema,
        0, FILE_BYTES_MOST);
    schema->entry_fields[count] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->entry = (cyaml_schema_value_t){
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct entry, schema->entry_fields)};
    schema->document_fields[0] = (cyaml_schema_field_t)CYAML_FIELD_UINT(
        "halo-chain", CYAML_FLAG_DEFAULT, struct document, version);
    schema->document_fields[1] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "stages", CYAML_FLAG_POINTER, struct document, stages, &schema->entry, 0, STAGES_MOST);
    schema->document_fields[2] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->document = (cyaml_schema_value_t){
        CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct document, schema->document_fields)};
}

/* ---- what the library says ---- */

struct said {
    char text[256]; /* the first error */
    char line[64];  /* the first "(line: N, ...)" after it */
};

static void hear(cyaml_log_t level, void *context, const char *format, va_list args)
{
    (void)level;
    struct said *said = context;
    char text[sizeof said->text];
    vsnprintf(text, sizeof text, format, args);
    text[strcspn(text, "\n")] = '\0';
    unsigned line;
    const char *at = strstr(text, "line: ");
    if (at && !*said->line && sscanf(at, "line: %u", &line) == 1)
        snprintf(said->line, sizeof said->line, "line %u: ", line);
    const char *plain = strncmp(text, "Load: ", 6) == 0 ? text + 6 : text;
    if (!*said->text && strncmp(plain, "Backtrace", 9) != 0)
        snprintf(said->text, sizeof said->text, "%s", plain);
}

static cyaml_config_t config_for(struct said *said)
{
    return (cyaml_config_t){.log_fn = hear,
                            .log_ctx = said,
                            .mem_fn = cyaml_mem,
                            .log_level = CYAML_LOG_WARNING,
                            .flags = CYAML_CFG_STYLE_BLOCK | CYAML_CFG_NO_ALIAS};
}

/* ---- reading ---- */

/* As on the command line: words separated by commas, their own escaped. */
static char *join_words(const struct stage_kind *kind, const char *value, const struct entry *entry,
                        const char *folder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool failed = !stream;
    for (unsigned w = 0; !failed && w <= entry->options_count; w++) {
        char *word = chain_words_from_folder(kind, w ? entry->options[w - 1] : value, w, folder);
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
    if (stream)
        failed |= fclose(stream) != 0;
    if (!failed)
        return text;
    free(text);
    return NULL;
}

static enum status take_entry(const struct entry *entry, unsigned number, const char *path,
                              const char *folder, struct stage_list *list)
{
    const struct stage_kind *kind = NULL;
    const char *value = NULL;
    for (size_t k = 0; k < KINDS_MOST; k++) {
        if (!entry->values[k])
            continue;
        if (kind)
            return fail(STATUS_FAILED, "cannot use chain %s: stage %u is both %s and %s", path,
                        number, kind->option, stage_kind_at(k)->option);
        kind = stage_kind_at(k);
        value = entry->values[k];
    }
    if (!kind)
        return fail(STATUS_FAILED, "cannot use chain %s: stage %u is of no kind (mask:, lv2:, ...)",
                    path, number);
    char *text = join_words(kind, value, entry, folder);
    if (!text)
        return fail_memory("a chain");
    enum status status = stage_list_add(list, kind, text);
    free(text);
    return status;
}

static enum status check_file(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) != 0)
        return fail(STATUS_FAILED, "cannot open chain %s: %s", path, strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return fail(STATUS_FAILED, "cannot open chain %s: it is a directory", path);
    if (!S_ISREG(facts.st_mode))
        return fail(STATUS_FAILED, "cannot open chain %s: it is no regular file", path);
    if (facts.st_size == 0)
        return fail(STATUS_FAILED, "cannot use chain %s: it is empty", path);
    if (facts.st_size > FILE_BYTES_MOST)
        return fail(STATUS_FAILED, "cannot use chain %s: it has more than %d bytes, so it is none",
                    path, FILE_BYTES_MOST);
    if (access(path, R_OK) != 0)
        return fail(STATUS_FAILED, "cannot open chain %s: %s", path, strerror(errno));
    return STATUS_OK;
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

enum status chain_file_load(const char *path, struct stage_list *list)
{
    struct schema schema;
    struct said said = {0};
    struct document *document = NULL;
    char folder[PATH_MAX];
    schema_init(&schema);
    const cyaml_config_t config = config_for(&said);
    enum status status = check_file(path);
    if (status == STATUS_OK)
        status = folder_of(path, folder);
    if (status != STATUS_OK)
        return status;
    cyaml_err_t error =
        cyaml_load_file(path, &config, &schema.document, (cyaml_data_t **)&document, NULL);
    if (error != CYAML_OK)
        return fail(STATUS_FAILED, "cannot use chain %s: %s%s", path, said.line,
                    *said.text ? said.text : cyaml_strerror(error));
    if (!document)
        return fail(STATUS_FAILED, "cannot use chain %s: there is nothing in it", path);
    if (document->version != VERSION)
        status = fail(STATUS_FAILED,
                      "cannot use chain %s: it is of version %u, and this halo knows "
                      "version %d",
                      path, document->version, VERSION);
    for (unsigned i = 0; i < document->stages_count && status == STATUS_OK; i++)
        status = take_entry(&document->stages[i], i + 1, path, folder, list);
    cyaml_free(&config, &schema.document, document, 0);
    return status;
}

/* ---- writing ---- */

static void print_comment(const struct stage *stage, size_t number, FILE *stream)
{
    if (stage->mask)
        fprintf(stream, "# %zu: %s, %zu channels in, %zu out, %zu taps\n", number,
                stage->mask->name, stage->inputs, stage->outputs, stage->mask->taps);
    else
        fprintf(stream, "# %zu: %zu channels in, %zu out\n", number, stage->inputs, stage->outputs);
}

/* The words of a stage as they are to stand in the file; options are words from the second on. */
static enum status make_entry(const struct stage *stage, const char *folder, struct entry *entry)
{
    size_t kind = 0, count = 0;
    char **words = specs_split(stage->text);
    if (!words)
        return fail_memory("a chain");
    while (stage_kind_at(kind) != stage->kind)
        kind++;
    while (words[count])
        count++;
    entry->options = count > 1 ? calloc(count, sizeof *entry->options) : NULL;
    bool failed = count > 1 && !entry->options;
    for (size_t w = 0; w < count && !failed; w++) {
        char *word = chain_words_for_folder(stage->kind, words[w], w, folder);
        failed = !word;
        if (w == 0)
            entry->values[kind] = word;
        else
            entry->options[entry->options_count++] = word;
    }
    free(words);
    return failed ? fail_memory("a chain") : STATUS_OK;
}

static void entry_free(struct entry *entry)
{
    for (size_t k = 0; k < KINDS_MOST; k++)
        free(entry->values[k]);
    for (unsigned w = 0; w < entry->options_count; w++)
        free(entry->options[w]);
    free(entry->options);
}

static enum status print_stage(const struct schema *schema, const struct stage *stage,
                               const char *folder, FILE *stream)
{
    const cyaml_schema_value_t one = {
        CYAML_VALUE_SEQUENCE(CYAML_FLAG_POINTER, struct entry, &schema->entry, 1, 1)};
    struct said said = {0};
    const cyaml_config_t config = config_for(&said);
    struct entry entry = {0};
    char *text = NULL;
    size_t length = 0;
    enum status status = make_entry(stage, folder, &entry);
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

static enum status print_chain(const struct stage_list *list, const char *folder, FILE *stream)
{
    struct schema schema;
    enum status status = STATUS_OK;
    schema_init(&schema);
    fprintf(stream,
            "# A chain of halo: the stages that sound goes through, in this order.\n"
            "#   halo render IN OUT --chain THIS      halo chain check THIS\n"
            "# A stage's options are those of the command line. Paths are from this folder.\n"
            "halo-chain: %d\nstages:%s\n",
            VERSION, list->count ? "" : " []");
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        print_comment(&list->stages[i], i + 1, stream);
        status = print_stage(&schema, &list->stages[i], folder, stream);
    }
    return status;
}

enum status chain_file_save(const char *path, bool force, const struct stage_list *list)
{
    struct new_file file;
    char folder[PATH_MAX];
    enum status status = folder_of(path, folder);
    if (status == STATUS_OK)
        status = new_file_open(&file, path, force, NULL);
    if (status != STATUS_OK)
        return status;
    FILE *stream = fdopen(file.fd, "w");
    status = stream ? print_chain(list, folder, stream) : fail_memory("a chain");
    if (stream ? fclose(stream) != 0 : close(file.fd) != 0)
        if (status == STATUS_OK)
            status = fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(errno));
    int error = status == STATUS_OK ? new_file_keep(&file) : 0;
    if (error)
        status = fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(error));
    new_file_discard(&file);
    return status;
}
