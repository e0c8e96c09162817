#include "chain/chain_schema.h"

#include "base/suggest.h"
#include "chain/chain_tempo.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>

static const cyaml_schema_value_t option_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

/* A misspelt one is an error; libcyaml's own booleans take it for true. */
static const cyaml_strval_t truths[] = {
    {"false", false}, {"False", false}, {"FALSE", false}, {"no", false}, {"off", false},
    {"true", true},   {"True", true},   {"TRUE", true},   {"yes", true}, {"on", true},
};

enum { TRUTHS = sizeof truths / sizeof *truths };

void chain_schema_init(struct chain_schema *schema)
{
    size_t count = 0;
    *schema = (struct chain_schema){0};
    for (const struct stage_ops *ops; (ops = stage_ops_at(count)); count++)
        schema->entry_fields[count] = (cyaml_schema_field_t){
            .key = ops->option,
            .value = {.type = CYAML_STRING,
                      .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                      .data_size = sizeof(char),
                      .string = {.min = 0, .max = CHAIN_BYTES_MOST}},
            .data_offset = (uint32_t)(count * sizeof(char *)),
        };
    schema->entry_fields[count++] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "options", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_entry, options,
        &option_schema, 0, CHAIN_BYTES_MOST);
    schema->entry_fields[count++] = (cyaml_schema_field_t)CYAML_FIELD_ENUM_PTR(
        "or", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT, struct chain_entry,
        is_other, truths, TRUTHS);
    schema->entry_fields[count] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->entry = (cyaml_schema_value_t){
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct chain_entry, schema->entry_fields)};
    schema->live_fields[0] = (cyaml_schema_field_t)CYAML_FIELD_UINT_PTR(
        "mask", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_live_entry, mask);
    schema->live_fields[1] = (cyaml_schema_field_t)CYAML_FIELD_ENUM_PTR(
        "dry", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT,
        struct chain_live_entry, dry, truths, TRUTHS);
    schema->live_fields[2] = (cyaml_schema_field_t)CYAML_FIELD_FLOAT_PTR(
        "gain", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_live_entry, gain);
    schema->live_fields[3] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->document_fields[0] = (cyaml_schema_field_t)CYAML_FIELD_UINT(
        CHAIN_MARK, CYAML_FLAG_DEFAULT, struct chain_document, version);
    schema->document_fields[1] = (cyaml_schema_field_t)CYAML_FIELD_STRING_PTR(
        "tempo", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_document, tempo, 0,
        CHAIN_TEMPO_TEXT);
    schema->document_fields[2] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "stages", CYAML_FLAG_POINTER, struct chain_document, stages, &schema->entry, 0,
        CHAIN_STAGES_MOST);
    schema->document_fields[3] = (cyaml_schema_field_t)CYAML_FIELD_MAPPING_PTR(
        "live", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_document, live,
        schema->live_fields);
    schema->document_fields[4] = (cyaml_schema_field_t)CYAML_FIELD_END;
    schema->document = (cyaml_schema_value_t){
        CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct chain_document, schema->document_fields)};
}

/* ---- what libcyaml reports, in plain words ---- */

static const struct {
    const char *reported, *plain;
} kinds_of_value[] = {{"MAPPING", "keys with values"},
                      {"SEQUENCE", "a list"},
                      {"SCALAR", "a single value"},
                      {"ALIAS", "an alias"}};

static const char *describe_value(const char *reported)
{
    for (size_t i = 0; i < sizeof kinds_of_value / sizeof *kinds_of_value; i++)
        if (strncmp(reported, kinds_of_value[i].reported, strlen(kinds_of_value[i].reported)) == 0)
            return kinds_of_value[i].plain;
    return "a single value";
}

/* The quotes that some messages have are removed. */
static const char *unquote(char *text)
{
    size_t length = strlen(text);
    if (length < 2 || text[0] != '\'' || text[length - 1] != '\'')
        return text;
    text[length - 1] = '\0';
    return text + 1;
}

static void write_unknown_key(const char *key, char *plain, size_t size)
{
    static const char *const others[] = {CHAIN_MARK, "tempo", "stages", "live", "options",
                                         "or",       "mask",  "dry",    "gain"};
    struct suggest near;
    suggest_init(&near, key);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        suggest_offer(&near, others[i]);
    for (size_t i = 0; stage_ops_at(i); i++)
        suggest_offer(&near, stage_ops_at(i)->option);
    snprintf(plain, size, "there is no key '%s'%s", key, suggest_text(&near));
    suggest_free(&near);
}

static void write_plainly(char *reported, char *plain, size_t size)
{
    static const struct {
        const char *begins, *before, *after;
    } forms[] = {
        {"libyaml: ", "it is no valid YAML: ", ""},
        {"Missing required mapping field: ", "it has no key '", "'"},
        {"Mapping field already seen: ", "it has the key '", "' twice"},
        {"Invalid ENUM value: ", "'", "' is neither true nor false"},
        {"Invalid UINT value: ", "'", "' is no number that can be there"},
        {"Invalid uint64_t value: ", "'", "' is no number that can be there"},
        {"Invalid FLOAT value: ", "'", "' is no number that can be there"},
        {"STRING length > ", "a text is longer than ", ""},
        {"Excessive entries (", "there are too many entries (", ""},
    };
    char *got = strstr(reported, ", got event: ");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strncmp(reported, forms[i].begins, strlen(forms[i].begins)) == 0) {
            const char *what = unquote(reported + strlen(forms[i].begins));
            snprintf(plain, size, "%s%s%s", forms[i].before, what, forms[i].after);
            return;
        }
    if (strncmp(reported, "Unexpected key: ", 16) == 0)
        write_unknown_key(reported + 16, plain, size);
    else if (strncmp(reported, "Expecting ", 10) == 0 && got)
        snprintf(plain, size, "it has %s where %s should be", describe_value(got + 13),
                 describe_value(reported + 10));
    else
        snprintf(plain, size, "%s", reported);
}

/* A line that begins with blanks says where, and no more. */
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
    char *reported = strncmp(text, "Load: ", 6) == 0 ? text + 6 : text;
    if (!*error->text && *reported != ' ' && strncmp(reported, "Backtrace", 9) != 0)
        write_plainly(reported, error->text, sizeof error->text);
}

cyaml_config_t chain_schema_config(struct chain_error *error)
{
    return (cyaml_config_t){.log_fn = keep_error,
                            .log_ctx = error,
                            .mem_fn = cyaml_mem,
                            .log_level = CYAML_LOG_WARNING,
                            .flags = CYAML_CFG_STYLE_BLOCK | CYAML_CFG_NO_ALIAS};
}

enum status chain_schema_folder(const char *path, char folder[static PATH_MAX])
{
    if (strlen(path) >= PATH_MAX)
        return fail(STATUS_FAILED, "cannot open chain %.40s...: its name is too long", path);
    char copy[PATH_MAX];
    strcpy(copy, path);
    strcpy(folder, dirname(copy));
    return STATUS_OK;
}
