#include "chain/chain_schema.h"

#include <stdio.h>
#include <string.h>

enum { STAGES_MOST = 256 };

static const cyaml_schema_value_t option_schema = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED)};

/* The kinds are specs.c's: a row for each. */
void chain_schema_init(struct chain_schema *schema)
{
    size_t count = 0;
    *schema = (struct chain_schema){0};
    for (const struct stage_kind *kind; (kind = stage_kind_at(count)) && count < CHAIN_KINDS_MOST;
         count++)
        schema->entry_fields[count] = (cyaml_schema_field_t){
            .key = kind->option,
            .value = {.type = CYAML_STRING,
                      .flags = CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
                      .data_size = sizeof(char),
                      .string = {.min = 0, .max = CHAIN_BYTES_MOST}},
            .data_offset = (uint32_t)(count * sizeof(char *)),
        };
    schema->entry_fields[count++] = (cyaml_schema_field_t)CYAML_FIELD_SEQUENCE(
        "options", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct chain_entry, options,
        &option_schema, 0, CHAIN_BYTES_MOST);
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

static void feed(cyaml_log_t level, void *context, const char *format, va_list args)
{
    (void)level;
    struct chain_said *said = context;
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

cyaml_config_t chain_schema_config(struct chain_said *said)
{
    return (cyaml_config_t){.log_fn = feed,
                            .log_ctx = said,
                            .mem_fn = cyaml_mem,
                            .log_level = CYAML_LOG_WARNING,
                            .flags = CYAML_CFG_STYLE_BLOCK | CYAML_CFG_NO_ALIAS};
}
