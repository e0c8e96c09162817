#include "import/mask_json.h"

#include "import/mask_config.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum status mask_json_refuse_for(enum cause cause, const struct mask_json *json, const char *format,
                                 ...)
{
    char fields[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fields, sizeof fields, format, arguments);
    va_end(arguments);
    return mask_config_refuse_for(cause, json->config, "%s%s%s", json->where,
                                  *json->where ? ": " : "", fields);
}

json_t *mask_json_get(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

const char *mask_json_unknown(const json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return key;
    }
    return NULL;
}

enum status mask_json_number(const struct mask_json *json, const json_t *object, const char *key,
                             double *value)
{
    const json_t *found = mask_json_get(object, key);
    if (found && !json_is_number(found))
        return mask_json_refuse(json, "'%.40s' must be a number", key);
    if (found)
        *value = json_number_value(found);
    return isfinite(*value) ? STATUS_OK : mask_json_refuse(json, "'%.40s' is too large", key);
}

enum status mask_json_count(const struct mask_json *json, const json_t *object, const char *key,
                            int64_t least, int64_t most, int64_t *value)
{
    const json_t *found = mask_json_get(object, key);
    if (!found)
        return STATUS_OK;
    const char *text = json_string_value(found); /* PipeWire allows quotes around properties */
    uint64_t quoted = 0;
    bool is_quoted = text && mask_config_count(text, &quoted) && quoted <= INT32_MAX;
    json_int_t count = is_quoted ? (json_int_t)quoted : json_integer_value(found);
    if (!(is_quoted || json_is_integer(found)) || count < least || count > most)
        return mask_json_refuse(json, "'%.40s' must be a whole number from %lld to %lld", key,
                                (long long)least, (long long)most);
    *value = count;
    return STATUS_OK;
}

enum status mask_json_bool(const struct mask_json *json, const json_t *object, const char *key,
                           bool *value)
{
    const json_t *found = mask_json_get(object, key);
    if (found && !json_is_boolean(found))
        return mask_json_refuse(json, "'%.40s' must be true or false", key);
    if (found)
        *value = json_is_true(found);
    return STATUS_OK;
}

enum status mask_json_text(const struct mask_json *json, const json_t *object, const char *key,
                           const char **value)
{
    const json_t *found = mask_json_get(object, key);
    if (found && !json_is_string(found))
        return mask_json_refuse(json, "'%.40s' must be text", key);
    if (found)
        *value = json_string_value(found);
    return STATUS_OK;
}

/* ---- SPA-JSON ---- */

enum { DEPTH_MOST = 64, SHOWN_MOST = 20 };

struct spa_text {
    struct mask_config *config; /* its `line` follows the text */
    const char *at;
    size_t depth;
    char *word; /* the last word read; has room for the whole text */
};

static enum status parse_value(struct spa_text *text, json_t **value);

static void skip_blanks(struct spa_text *text, const char *separators)
{
    for (;; text->at++) {
        if (*text->at == '#')
            text->at += strcspn(text->at, "\n");
        if (*text->at == '\n')
            text->config->line++;
        if (!*text->at || !(strchr(" \t\r\n,", *text->at) || strchr(separators, *text->at)))
            return;
    }
}

static enum status refuse(const struct spa_text *text, const char *expected)
{
    size_t length = strcspn(text->at, "\r\n");
    return mask_config_refuse(text->config, "%s, not '%.*s'", expected,
                              (int)(length < SHOWN_MOST ? length : SHOWN_MOST), text->at);
}

/* Writes a character as UTF-8, up to U+FFFF, as SPA does. */
static size_t put_character(unsigned long code, char *to)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xC0 | code >> 6);
        to[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    to[0] = (char)(0xE0 | code >> 12);
    to[1] = (char)(0x80 | (code >> 6 & 0x3F));
    to[2] = (char)(0x80 | (code & 0x3F));
    return 3;
}

/* Reads an escape after its backslash. False: there is no such escape. */
static bool unescape(struct spa_text *text, char *to, size_t *length)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char digits[5] = "", *end;
    const char *name = *text->at ? strchr(names, *text->at) : NULL;
    if (name) {
        to[(*length)++] = values[name - names];
        text->at++;
        return true;
    }
    if (*text->at != 'u')
        return false;
    strncpy(digits, text->at + 1, 4);
    unsigned long code = strtoul(digits, &end, 16);
    if (end != digits + 4 || !isxdigit((unsigned char)*digits) || code == 0)
        return false;
    *length += put_character(code, to + *length);
    text->at += 5;
    return true;
}

static enum status parse_string(struct spa_text *text)
{
    size_t length = 0;
    for (text->at++; *text->at && *text->at != '"';) {
        if (*text->at == '\n')
            return mask_config_refuse(text->config, "a string has no end");
        if (*text->at != '\\')
            text->word[length++] = *text->at++;
        else if (text->at++, !unescape(text, text->word, &length))
            return mask_config_refuse(text->config, "there is no escape \\%.1s", text->at);
    }
    if (*text->at != '"')
        return mask_config_refuse(text->config, "a string has no end");
    text->at++;
    text->word[length] = '\0';
    return STATUS_OK;
}

static enum status parse_bare(struct spa_text *text)
{
    size_t length = strcspn(text->at, " \t\r\n\"#{[:,=]}\\");
    if (length == 0)
        return refuse(text, "there must be a word or a value");
    memcpy(text->word, text->at, length);
    text->word[length] = '\0';
    text->at += length;
    return STATUS_OK;
}

static bool is_integer(const char *word, json_int_t *value)
{
    const char *digits = word + (*word == '-');
    char *end;
    errno = 0;
    *value = strtoll(word, &end, 10);
    return isdigit((unsigned char)*digits) && !*end && !errno;
}

static json_t *bare_value(const char *word)
{
    json_int_t integer;
    double number;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        return json_boolean(*word == 't');
    if (strcmp(word, "null") == 0)
        return json_null();
    if (is_integer(word, &integer))
        return json_integer(integer);
    return mask_config_number(word, &number) ? json_real(number) : json_string_nocheck(word);
}

static enum status parse_pair(struct spa_text *text, json_t *object)
{
    json_t *value = NULL;
    TRY(*text->at == '"' ? parse_string(text) : parse_bare(text));
    if (json_object_get(object, text->word))
        return mask_config_refuse(text->config, "'%.100s' is given twice", text->word);
    char *key = strdup(text->word);
    skip_blanks(text, ":=");
    enum status status = key ? parse_value(text, &value) : fail_memory("a mask");
    if (status == STATUS_OK && json_object_set_new_nocheck(object, key, value) != 0)
        status = fail_memory("a mask");
    free(key);
    return status;
}

static enum status parse_item(struct spa_text *text, json_t *array)
{
    json_t *value;
    TRY(parse_value(text, &value));
    return json_array_append_new(array, value) == 0 ? STATUS_OK : fail_memory("a mask");
}

/* Parses members up to `end`, which is a bracket, or 0 for the end of the text. */
static enum status parse_members(struct spa_text *text, char end, json_t *into)
{
    enum status status = STATUS_OK;
    if (!into)
        return fail_memory("a mask");
    for (;;) {
        skip_blanks(text, "");
        if (status != STATUS_OK || !*text->at || *text->at == end)
            break;
        status = json_is_array(into) ? parse_item(text, into) : parse_pair(text, into);
    }
    if (status == STATUS_OK && *text->at != end)
        status = mask_config_refuse(text->config, "there is no '%c' at the end", end);
    if (status == STATUS_OK && end)
        text->at++;
    return status;
}

static enum status parse_container(struct spa_text *text, json_t **value)
{
    bool is_array = *text->at == '[';
    if (++text->depth > DEPTH_MOST)
        return mask_config_refuse(text->config, "brackets are nested deeper than %d", DEPTH_MOST);
    text->at++;
    json_t *into = is_array ? json_array() : json_object();
    enum status status = parse_members(text, is_array ? ']' : '}', into);
    text->depth--;
    if (status != STATUS_OK)
        json_decref(into);
    else
        *value = into;
    return status;
}

static enum status parse_value(struct spa_text *text, json_t **value)
{
    if (*text->at == '{' || *text->at == '[')
        return parse_container(text, value);
    bool is_quoted = *text->at == '"';
    TRY(is_quoted ? parse_string(text) : parse_bare(text));
    *value = is_quoted ? json_string_nocheck(text->word) : bare_value(text->word);
    return *value ? STATUS_OK : fail_memory("a mask");
}

/* Parses a document with or without braces around the whole. */
static enum status parse_document(struct spa_text *text, json_t **document)
{
    skip_blanks(text, "");
    if (*text->at != '{') {
        *document = json_object();
        return parse_members(text, '\0', *document);
    }
    TRY(parse_container(text, document));
    skip_blanks(text, "");
    return *text->at ? refuse(text, "the text must end after its last brace") : STATUS_OK;
}

enum status spa_json_parse(struct mask_config *config, json_t **document)
{
    struct spa_text text = {.config = config, .at = config->text};
    text.word = malloc(strlen(config->text) + 1);
    if (!text.word)
        return fail_memory("a mask");
    *document = NULL;
    config->line = 1;
    enum status status = parse_document(&text, document);
    free(text.word);
    if (status != STATUS_OK) {
        json_decref(*document);
        return status;
    }
    config->line = 0;
    return STATUS_OK;
}
