#include "chain/chain_file.h"

#include "base/decimal.h"
#include "base/files_read.h"
#include "base/options.h"
#include "base/suggest.h"
#include "base/text_stream.h"
#include "chain/chain_options.h"
#include "chain/stage_paths.h"
#include "import/yaml_depth.h"
#include "import/yaml_library.h"

#include <errno.h>
#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STAGES_MOST = 256, BYTES_MOST = 1 << 20 };

/* ---- YAML ---- */

struct chain_reader {
    const char *path;
    yaml_document_t document;
};

/* A key that a mapping may have. The value is NULL if the mapping lacks the key. */
struct key {
    const char *name;
    const yaml_node_t *value;
};

__attribute__((format(printf, 3, 4))) static enum status
refuse(const struct chain_reader *reader, const yaml_node_t *node, const char *format, ...)
{
    char why[512];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return fail(CAUSE_DAMAGED, "cannot use chain %s: line %zu: %s", reader->path,
                node->start_mark.line + 1, why);
}

static const char *text_of(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static enum status expect(const struct chain_reader *reader, const yaml_node_t *node,
                          yaml_node_type_t type)
{
    static const char *const kinds[] = {[YAML_SCALAR_NODE] = "a single value",
                                        [YAML_SEQUENCE_NODE] = "a list",
                                        [YAML_MAPPING_NODE] = "keys with values"};
    return node->type == type ? STATUS_OK
                              : refuse(reader, node, "it has %s where %s should be",
                                       kinds[node->type], kinds[type]);
}

static enum status refuse_key(const struct chain_reader *reader, const yaml_node_t *key)
{
    static const char *const others[] = {CHAIN_MARK, "tempo", "stages", "live", "options",
                                         "or",       "mask",  "dry",    "gain"};
    struct suggest near;
    suggest_init(&near, text_of(key));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        suggest_offer(&near, others[i]);
    for (size_t i = 0; stage_ops_at(i); i++)
        suggest_offer(&near, stage_ops_at(i)->option);
    enum status status =
        refuse(reader, key, "there is no key '%.200s'%s", text_of(key), suggest_text(&near));
    suggest_free(&near);
    return status;
}

/* Read the values of a mapping's keys. The last element of `keys` has no name. */
static enum status read_keys(struct chain_reader *reader, const yaml_node_t *mapping,
                             struct key *keys)
{
    TRY(expect(reader, mapping, YAML_MAPPING_NODE));
    const yaml_node_pair_t *end = mapping->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < end; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&reader->document, pair->key);
        struct key *key = keys;
        TRY(expect(reader, name, YAML_SCALAR_NODE));
        while (key->name && strcmp(key->name, text_of(name)) != 0)
            key++;
        if (!key->name)
            return refuse_key(reader, name);
        if (key->value)
            return refuse(reader, name, "it has the key '%s' twice", key->name);
        key->value = yaml_document_get_node(&reader->document, pair->value);
    }
    return STATUS_OK;
}

/* Item `index` of a list, or NULL. */
static const yaml_node_t *item(struct chain_reader *reader, const yaml_node_t *list, size_t index)
{
    const yaml_node_item_t *items = list->data.sequence.items.start;
    return index < (size_t)(list->data.sequence.items.top - items)
               ? yaml_document_get_node(&reader->document, items[index])
               : NULL;
}

/* Read a number. If `node` is NULL, the number stays. */
static enum status read_number(const struct chain_reader *reader, const yaml_node_t *node,
                               double *value)
{
    if (!node)
        return STATUS_OK;
    TRY(expect(reader, node, YAML_SCALAR_NODE));
    return decimal_parse(text_of(node), value)
               ? STATUS_OK
               : refuse(reader, node, "'%.200s' is no number that can be there", text_of(node));
}

static enum status read_truth(const struct chain_reader *reader, const yaml_node_t *node,
                              bool *truth)
{
    static const char *const words[] = {"false", "False", "FALSE", "no",  "off",
                                        "true",  "True",  "TRUE",  "yes", "on"};
    enum { WORDS = sizeof words / sizeof *words };
    size_t i = 0;
    if (!node)
        return STATUS_OK;
    TRY(expect(reader, node, YAML_SCALAR_NODE));
    while (i < WORDS && strcmp(text_of(node), words[i]) != 0)
        i++;
    *truth = i >= WORDS / 2;
    return i < WORDS ? STATUS_OK
                     : refuse(reader, node, "'%.200s' is neither true nor false", text_of(node));
}

static enum status parser_open(yaml_parser_t *parser, const char *text, size_t size)
{
    if (!yaml_parser_initialize(parser))
        return fail_memory("a chain");
    yaml_parser_set_input_string(parser, (const unsigned char *)text, size);
    return STATUS_OK;
}

/* Refuse aliases in the text: the parsed document does not show them. */
static enum status refuse_alias(const char *path, const char *text, size_t size)
{
    yaml_parser_t parser;
    yaml_event_t event = {.type = YAML_NO_EVENT};
    size_t line = 0; /* line of the first alias; 0: there is none */
    bool is_end = false;
    TRY(parser_open(&parser, text, size));
    while (!line && !is_end && yaml_parser_parse(&parser, &event)) {
        line = event.type == YAML_ALIAS_EVENT ? event.start_mark.line + 1 : 0;
        is_end = event.type == YAML_DOCUMENT_END_EVENT || event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return line
               ? fail(
                     CAUSE_UNSUPPORTED,
                     "cannot use chain %s: line %zu: it has an alias (*), which chains cannot have",
                     path, line)
               : STATUS_OK;
}

static enum status parse_text(const char *text, size_t size, struct chain_reader *reader)
{
    yaml_parser_t parser;
    TRY(library_open(&yaml_library));
    if (yaml_is_too_deep(text, size))
        return fail(CAUSE_DAMAGED, "cannot use chain %s: it is nested too deeply", reader->path);
    TRY(refuse_alias(reader->path, text, size));
    TRY(parser_open(&parser, text, size));
    enum status status = STATUS_OK;
    if (!yaml_parser_load(&parser, &reader->document)) {
        size_t line = parser.problem_mark.line + 1;
        for (size_t at = 0; parser.error == YAML_READER_ERROR && at < parser.problem_offset; at++)
            line += at < size && text[at] == '\n'; /* the parser gives the position in bytes */
        status = parser.error == YAML_MEMORY_ERROR
                     ? fail_memory("a chain")
                     : fail(CAUSE_DAMAGED, "cannot use chain %s: line %zu: it is no valid YAML: %s",
                            reader->path, line, parser.problem);
    }
    yaml_parser_delete(&parser);
    return status;
}

/* ---- stages ---- */

/* The words of an entry, NULL-terminated. The caller frees them. */
static enum status args_of(struct chain_reader *reader, const yaml_node_t *value,
                           const yaml_node_t *options, char ***args)
{
    size_t count = 1;
    if (options)
        TRY(expect(reader, options, YAML_SEQUENCE_NODE));
    while (options && item(reader, options, count - 1))
        count++;
    *args = calloc(count + 1, sizeof **args);
    if (!*args)
        return fail_memory("a chain");
    for (size_t w = 0; w < count; w++) {
        const yaml_node_t *word = w ? item(reader, options, w - 1) : value;
        TRY(expect(reader, word, YAML_SCALAR_NODE));
        (*args)[w] = (char *)word->data.scalar.value;
    }
    return STATUS_OK;
}

/* The spec for the command line: words separated by commas, with commas escaped. NULL: memory. */
static char *join_spec(const struct stage_ops *ops, char *const *args, char *folder)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = text_stream_open(&text, &size);
    bool failed = !stream;
    for (size_t w = 0; !failed && args[w]; w++) {
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
    if (!failed)
        return text;
    free(text);
    return NULL;
}

/* Find the kind of stage of an entry, and its value. */
static enum status kind_of(const struct key *keys, unsigned number, const char *path,
                           const struct stage_ops **ops, const yaml_node_t **value)
{
    *ops = NULL;
    for (size_t k = 0; stage_ops_at(k); k++) {
        if (!keys[k].value)
            continue;
        if (*ops)
            return fail(CAUSE_DAMAGED, "cannot use chain %s: stage %u is both %s and %s", path,
                        number, (*ops)->option, keys[k].name);
        *ops = stage_ops_at(k);
        *value = keys[k].value;
    }
    return *ops
               ? STATUS_OK
               : fail(CAUSE_DAMAGED, "cannot use chain %s: stage %u has no kind (mask:, lv2:, ...)",
                      path, number);
}

/* Add an alternative mask. Takes ownership of `text`. */
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
                       : fail(CAUSE_DAMAGED,
                              "cannot use chain %s: stage %u is an alternative (or: true), but "
                              "not to the mask before it; one mask can have them",
                              path, number);
    }
    live->others = others;
    live->others[live->other_count++] = text;
    live->stage = last;
    return STATUS_OK;
}

static enum status add_entry(struct chain_reader *reader, const yaml_node_t *entry, unsigned number,
                             char *folder, struct stage_list *list, struct chain_live *live)
{
    struct key keys[STAGE_KINDS_MOST + 3] = {0};
    size_t kinds = 0;
    while (stage_ops_at(kinds)) {
        keys[kinds].name = stage_ops_at(kinds)->option;
        kinds++;
    }
    struct key *options = &keys[kinds], *other = &keys[kinds + 1];
    options->name = "options";
    other->name = "or";
    const struct stage_ops *ops;
    const yaml_node_t *value = NULL;
    bool is_other = false;
    char **args = NULL;
    TRY(read_keys(reader, entry, keys));
    TRY(read_truth(reader, other->value, &is_other));
    TRY(kind_of(keys, number, reader->path, &ops, &value));
    enum status status = args_of(reader, value, options->value, &args);
    char *text = status == STATUS_OK ? join_spec(ops, args, folder) : NULL;
    free(args);
    TRY(status);
    if (!text)
        return fail_memory("a chain");
    if (is_other)
        return add_other(ops, text, number, reader->path, list, live);
    char origin[PATH_MAX + 64];
    snprintf(origin, sizeof origin, "chain %s, stage %u", reader->path, number);
    status = stage_list_add(list, ops, text, origin);
    free(text);
    return status;
}

static enum status read_live(struct chain_reader *reader, const yaml_node_t *mapping,
                             struct chain_live *live)
{
    struct key keys[] = {{.name = "mask"}, {.name = "dry"}, {.name = "gain"}, {0}};
    TRY(read_keys(reader, mapping, keys));
    double mask = 1;
    TRY(read_number(reader, keys[0].value, &mask));
    TRY(read_truth(reader, keys[1].value, &live->dry));
    TRY(read_number(reader, keys[2].value, &live->gain_db));
    if (!(mask >= 1 && mask <= (double)live->other_count + 1) || mask != floor(mask))
        return fail(CAUSE_DAMAGED, "cannot use chain %s: it has no mask %g to choose", reader->path,
                    mask);
    live->mask = (size_t)mask;
    if (!(fabs(live->gain_db) <= OPTIONS_DB_MOST))
        return fail(CAUSE_DAMAGED, "cannot use chain %s: its gain is no number of dB up to %d",
                    reader->path, OPTIONS_DB_MOST);
    return STATUS_OK;
}

/* Give the stage with alternatives the mask that plays. */
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

/* Settle the live settings for a command that is not live: make gain a stage, ignore `dry`. */
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

/* Read the whole file. The caller frees *text. */
static enum status read_file(const char *path, char **text, size_t *size)
{
    FILE *stream;
    struct flaw flaw = files_read_open(path, &stream);
    if (flaw.text)
        return fail(flaw.cause, "cannot open chain %s: %s", path, flaw.text);
    enum status status = STATUS_OK;
    *text = malloc(BYTES_MOST + 1);
    *size = *text ? fread(*text, 1, BYTES_MOST + 1, stream) : 0;
    if (!*text)
        status = fail_memory("a chain");
    else if (ferror(stream))
        status = fail_errno(errno, "cannot read chain %s", path);
    else if (*size == 0)
        status = fail(CAUSE_DAMAGED, "cannot use chain %s: it is empty", path);
    else if (*size > BYTES_MOST)
        status = fail(CAUSE_UNSUPPORTED, "cannot use chain %s: it is larger than %d bytes", path,
                      BYTES_MOST);
    fclose(stream);
    return status;
}

static enum status read_stages(struct chain_reader *reader, const yaml_node_t *stages,
                               struct stage_list *list, struct chain_live *live)
{
    char folder[PATH_MAX];
    const yaml_node_t *entry;
    TRY(chain_file_folder(reader->path, folder));
    TRY(expect(reader, stages, YAML_SEQUENCE_NODE));
    if (item(reader, stages, STAGES_MOST))
        return refuse(reader, stages, "there are too many entries (%d at most)", STAGES_MOST);
    for (unsigned i = 0; (entry = item(reader, stages, i)); i++)
        TRY(add_entry(reader, entry, i + 1, folder, list, live));
    return STATUS_OK;
}

static enum status read_document(struct chain_reader *reader, struct stage_list *list,
                                 struct chain_live *live)
{
    struct key keys[] = {
        {.name = CHAIN_MARK}, {.name = "tempo"}, {.name = "stages"}, {.name = "live"}, {0}};
    const struct key *mark = &keys[0], *tempo = &keys[1], *stages = &keys[2], *lives = &keys[3];
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    double version = 0;
    if (!root)
        return fail(CAUSE_DAMAGED, "cannot use chain %s: it has no content", reader->path);
    TRY(read_keys(reader, root, keys));
    if (!mark->value || !stages->value)
        return refuse(reader, root, "it has no key '%s'", (mark->value ? stages : mark)->name);
    TRY(read_number(reader, mark->value, &version));
    if (version != CHAIN_VERSION)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot use chain %s: it has version %g, this halo reads version %d",
                    reader->path, version, CHAIN_VERSION);
    if (tempo->value) {
        TRY(expect(reader, tempo->value, YAML_SCALAR_NODE));
        TRY(chain_tempo_take(text_of(tempo->value), reader->path, list));
    }
    TRY(read_stages(reader, stages->value, list, live));
    return lives->value ? read_live(reader, lives->value, live) : STATUS_OK;
}

enum status chain_file_folder(const char *path, char folder[static PATH_MAX])
{
    if (strlen(path) >= PATH_MAX)
        return fail(CAUSE_UNSUPPORTED, "cannot open chain %.40s...: its name is too long", path);
    char copy[PATH_MAX];
    strcpy(copy, path);
    strcpy(folder, dirname(copy));
    return STATUS_OK;
}

enum status chain_file_load(const char *path, struct stage_list *list, struct chain_live *live)
{
    struct chain_reader reader = {.path = path};
    struct chain_live own = {.stage = SIZE_MAX, .mask = 1};
    char *text = NULL;
    size_t size = 0;
    enum status status = read_file(path, &text, &size);
    if (status == STATUS_OK && !memmem(text, size, CHAIN_MARK, strlen(CHAIN_MARK)))
        status =
            fail(CAUSE_DAMAGED,
                 "cannot use chain %s: it is no chain file, which begins with " CHAIN_MARK ": %d",
                 path, CHAIN_VERSION);
    bool is_parsed = status == STATUS_OK && (status = parse_text(text, size, &reader)) == STATUS_OK;
    free(text);
    if (is_parsed) {
        status = read_document(&reader, list, &own);
        yaml_document_delete(&reader.document);
    }
    if (status == STATUS_OK && !live)
        status = settle_live(path, list, &own);
    if (live)
        *live = own;
    else
        chain_live_free(&own);
    return status;
}
