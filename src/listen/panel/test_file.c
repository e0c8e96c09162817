#include "listen/panel/test_file.h"

#include "base/printable.h"
#include "import/yaml_depth.h"
#include "import/yaml_library.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const test_kind_names[] = {"abx", "preference", "mushra", "bs1116", NULL};

static enum status refuse(const struct listening_test *test, const char *format, ...)
    PRINTF_LIKE(2, 3);
static enum status refuse(const struct listening_test *test, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail(CAUSE_USAGE, "cannot use the test %s: %s", test->path, text);
}

/* ---- YAML as JSON ---- */

enum {
    BYTES_MOST = 1 << 20,
    DEPTH_MOST = 16,
    NODES_MOST = 100000, /* an alias counts as what it stands for */
};

struct conversion {
    yaml_document_t document;
    size_t nodes;
    size_t line; /* line of the first fault; 0: none */
    const char *fault;
};

static json_t *refuse_node(struct conversion *conversion, const yaml_node_t *node,
                           const char *fault)
{
    if (!conversion->fault) {
        conversion->line = node->start_mark.line + 1;
        conversion->fault = fault;
    }
    return NULL;
}

/* Only true and false are truths: "no" is an answer. */
static json_t *convert_scalar(const yaml_node_t *node)
{
    const char *text = (const char *)node->data.scalar.value;
    char *end;
    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return json_stringn(text, node->data.scalar.length);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(*text == 't');
    if (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
        return json_null();
    bool is_number = strspn(text, "+-.0123456789eE") == strlen(text);
    long long integer = strtoll(text, &end, 10);
    if (is_number && !*end)
        return json_integer(integer);
    double real = strtod(text, &end);
    return is_number && !*end ? json_real(real) : json_stringn(text, node->data.scalar.length);
}

static json_t *convert(struct conversion *conversion, int index, size_t depth);

static json_t *convert_mapping(struct conversion *conversion, const yaml_node_t *node, size_t depth)
{
    json_t *object = json_object();
    const yaml_node_pair_t *end = node->data.mapping.pairs.top;
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < end; pair++) {
        const yaml_node_t *name = yaml_document_get_node(&conversion->document, pair->key);
        const char *text =
            name->type == YAML_SCALAR_NODE ? (const char *)name->data.scalar.value : "";
        if (!*text || json_object_get(object, text))
            refuse_node(conversion, name, *text ? "the name is there twice" : "a name is no text");
        json_t *value = convert(conversion, pair->value, depth + 1);
        if (value && json_object_set_new(object, text, value) != 0)
            refuse_node(conversion, name, "the name is no UTF-8");
    }
    return object;
}

static json_t *convert(struct conversion *conversion, int index, size_t depth)
{
    const yaml_node_t *node = yaml_document_get_node(&conversion->document, index);
    if (depth > DEPTH_MOST || ++conversion->nodes > NODES_MOST)
        return refuse_node(conversion, node, "it is nested too deeply, or too large");
    if (node->type == YAML_MAPPING_NODE)
        return convert_mapping(conversion, node, depth);
    if (node->type == YAML_SCALAR_NODE) {
        json_t *scalar = convert_scalar(node);
        return scalar ? scalar : refuse_node(conversion, node, "the text is no UTF-8");
    }
    json_t *array = json_array();
    const yaml_node_item_t *items = node->data.sequence.items.start;
    for (; items < node->data.sequence.items.top && !conversion->fault; items++)
        json_array_append_new(array, convert(conversion, *items, depth + 1));
    return array;
}

static enum status convert_text(struct listening_test *test, const char *text, size_t size)
{
    struct conversion conversion = {.nodes = 0};
    yaml_parser_t parser;
    enum status status = STATUS_OK;
    if (yaml_is_too_deep(text, size))
        return refuse(test, "it is nested too deeply");
    if (!yaml_parser_initialize(&parser))
        return fail_memory("a test");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    if (yaml_parser_load(&parser, &conversion.document)) {
        const yaml_node_t *root = yaml_document_get_root_node(&conversion.document);
        test->root = root ? convert(&conversion, 1, 0) : json_null();
        if (conversion.fault)
            status = refuse(test, "line %zu: %s", conversion.line, conversion.fault);
        yaml_document_delete(&conversion.document);
    } else {
        status = refuse(test, "line %zu: it is no valid YAML: %s", parser.problem_mark.line + 1,
                        parser.problem ? parser.problem : "it cannot be read");
    }
    yaml_parser_delete(&parser);
    return status;
}

static enum status read_yaml(struct listening_test *test)
{
    TRY(library_open(&yaml_library));
    FILE *file = fopen(test->path, "re");
    char *text = malloc(BYTES_MOST);
    size_t size = file && text ? fread(text, 1, BYTES_MOST, file) : 0;
    enum status status;
    if (!file || ferror(file))
        status = fail_errno(errno, "cannot read the test %s", test->path);
    else if (!text)
        status = fail_memory("a test");
    else if (size == BYTES_MOST)
        status = refuse(test, "it has more than 1 MiB");
    else
        status = convert_text(test, text, size);
    if (file)
        fclose(file);
    free(text);
    return status;
}

/* ---- members ---- */

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

enum member_type { ANY, TEXT, NUMBER, TRUTH, LIST };
static const char *const type_names[] = {
    [TEXT] = "text", [NUMBER] = "number", [TRUTH] = "true or false", [LIST] = "list"};

/* A member that an object may have. A list of them ends with the name NULL. */
struct member {
    const char *name;
    enum member_type type;
};

static bool is_of(const json_t *value, enum member_type type)
{
    return type == TEXT     ? json_is_string(value)
           : type == NUMBER ? json_is_number(value)
           : type == TRUTH  ? json_is_boolean(value)
           : type == LIST   ? json_is_array(value)
                            : true;
}

static enum status check_members(const struct listening_test *test, const json_t *object,
                                 const char *what, const struct member *members)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        const struct member *known = members;
        while (known->name && strcmp(known->name, name) != 0)
            known++;
        if (!known->name)
            return refuse(test, "'%s' is no member of %s", printable(name), what);
        if (!is_of(value, known->type))
            return refuse(test, "'%s' of %s must be a %s", name, what, type_names[known->type]);
    }
    return json_is_object(object) ? STATUS_OK : refuse(test, "%s is no list of members", what);
}

/* A text that listeners read. `optional`: it may be missing. */
static enum status check_text(const struct listening_test *test, const json_t *text,
                              const char *what, bool optional)
{
    const json_t *languages = json_object_get(test->root, "languages"), *language;
    size_t index;
    if (json_is_string(text) || (!text && optional))
        return STATUS_OK;
    json_array_foreach((json_t *)languages, index, language)
    {
        if (!json_is_string(json_object_get(text, json_string_value(language))))
            return refuse(test, "%s has no text in the language '%s'", what,
                          json_string_value(language));
    }
    return json_is_object(text) && languages
               ? STATUS_OK
               : refuse(test,
                        "%s is no text; texts in several languages need 'languages: [en, de]'",
                        what);
}

static enum status check_questions(const struct listening_test *test, const char *name)
{
    static const struct member members[] = {{"ask", ANY}, {"name", TEXT}, {"answers", LIST}, {0}};
    json_t *questions = json_object_get(test->root, name), *question, *answer;
    size_t index, at;
    json_array_foreach(questions, index, question)
    {
        TRY(check_members(test, question, "a question", members));
        TRY(check_text(test, json_object_get(question, "ask"), "'ask' of a question", false));
        if (!text_of(question, "name"))
            return refuse(test, "a question of '%s' has no 'name'", name);
        for (at = 0; at < index; at++)
            if (strcmp(text_of(json_array_get(questions, at), "name"), text_of(question, "name")) ==
                0)
                return refuse(test, "two questions have the name '%s'",
                              printable(text_of(question, "name")));
        json_array_foreach(json_object_get(question, "answers"), at, answer)
        {
            TRY(check_text(test, answer, "an answer", false));
        }
    }
    return STATUS_OK;
}

static enum status read_seconds(const struct listening_test *test, const json_t *object,
                                const char *name, double *seconds)
{
    const json_t *value = json_object_get(object, name);
    if (value && (!json_is_number(value) || json_number_value(value) < 0))
        return refuse(test, "'%s' of a sound is no time in seconds", name);
    *seconds = json_number_value(value);
    return STATUS_OK;
}

/* Names a sound after its file, without folder and ending, unless it has a name. */
static enum status name_sound(const struct listening_test *test, json_t *object,
                              struct test_sound *sound)
{
    if (!text_of(object, "name")) {
        const char *slash = strrchr(sound->file, '/'), *base = slash ? slash + 1 : sound->file;
        const char *dot = strrchr(base, '.');
        size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
        json_object_set_new(object, "name", json_stringn(base, length));
    }
    sound->name = text_of(object, "name");
    for (size_t i = 0; sound->name && i < test->sound_count; i++)
        if (strcmp(test->sounds[i].name, sound->name) == 0)
            return refuse(test, "two sounds have the name '%s'", printable(sound->name));
    return sound->name ? STATUS_OK : fail_memory("a test");
}

static enum status read_sounds(struct listening_test *test)
{
    static const struct member members[] = {{"file", TEXT}, {"name", TEXT},      {"from", NUMBER},
                                            {"to", NUMBER}, {"training", TRUTH}, {0}};
    json_t *sounds = json_object_get(test->root, "sounds"), *object;
    size_t index, counting = 0;
    json_array_foreach(sounds, index, object)
    {
        if (json_is_string(object)) {
            json_array_set_new(sounds, index, json_pack("{s:O}", "file", object));
            object = json_array_get(sounds, index);
        }
        if (index == TEST_SOUNDS_MOST)
            return refuse(test, "it has more than %d sounds", TEST_SOUNDS_MOST);
        TRY(check_members(test, object, "a sound", members));
        struct test_sound *sound = &test->sounds[index];
        sound->file = text_of(object, "file");
        if (!sound->file)
            return refuse(test, "sound %zu has no 'file'", index + 1);
        TRY(name_sound(test, object, sound));
        TRY(read_seconds(test, object, "from", &sound->from));
        TRY(read_seconds(test, object, "to", &sound->to));
        if (sound->to > 0 && sound->to <= sound->from)
            return refuse(test, "the sound '%s' ends before it begins", printable(sound->name));
        sound->training = json_is_true(json_object_get(object, "training"));
        counting += !sound->training;
        test->sound_count++;
    }
    return counting > 0 ? STATUS_OK : refuse(test, "it has no 'sounds' that count");
}

/* ---- choices ---- */

static enum status add_choice(struct listening_test *test, const char *name, json_t *render,
                              double lowpass)
{
    for (size_t i = 0; i < test->choice_count; i++)
        if (strcmp(test->choices[i].name, name) == 0)
            return refuse(test, "two choices have the name '%s'", printable(name));
    if (test->choice_count == TEST_CHOICES_MOST)
        return refuse(test, "it has more than %d choices, with the reference and the anchors",
                      TEST_CHOICES_MOST);
    test->choices[test->choice_count++] = (struct test_choice){
        .name = name, .file = text_of(render, "file"), .render = render, .lowpass = lowpass};
    return STATUS_OK;
}

static enum status read_choices(struct listening_test *test)
{
    static const char *const own[] = {"in",    "out", "id",       "format", "rate",
                                      "start", "end", "duration", "tail"};
    json_t *choice;
    size_t index;
    json_array_foreach(json_object_get(test->root, "choices"), index, choice)
    {
        const char *name = text_of(choice, "name");
        if (!name || !*name)
            return refuse(test, "choice %zu has no 'name'", index + 1);
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (json_object_get(choice, own[i]))
                return refuse(test, "the choice '%s' has '%s', which the test sets",
                              printable(name), own[i]);
        TRY(add_choice(test, name, choice, 0));
    }
    return STATUS_OK;
}

static bool is_the_sound(const struct test_choice *choice)
{
    return json_object_size(choice->render) == 1; /* its name */
}

/* The other choices are aligned with the first one. */
static enum status put_reference_first(struct listening_test *test)
{
    struct test_choice reference = test->choices[test->reference];
    memmove(test->choices + 1, test->choices, test->reference * sizeof reference);
    test->choices[0] = reference;
    test->reference = 0;
    return STATUS_OK;
}

/* Without a name, the reference is the choice that is the sound itself; it is added if missing. */
static enum status read_reference(struct listening_test *test)
{
    const char *name = text_of(test->root, "reference");
    bool needed = test->kind == TEST_MUSHRA || test->kind == TEST_BS1116;
    test->reference = SIZE_MAX;
    if (!needed)
        return name ? refuse(test, "only mushra and bs1116 have a reference") : STATUS_OK;
    for (size_t i = 0; i < test->choice_count && test->reference == SIZE_MAX; i++)
        if (name ? strcmp(test->choices[i].name, name) == 0 : is_the_sound(&test->choices[i]))
            test->reference = i;
    if (test->reference != SIZE_MAX)
        return put_reference_first(test);
    if (name)
        return refuse(test, "the reference '%s' is none of the choices", printable(name));
    json_t *reference = json_pack("{s:s}", "name", "reference");
    json_object_set_new(test->root, "added", reference);
    test->reference = test->choice_count;
    TRY(reference ? add_choice(test, "reference", reference, 0) : fail_memory("a test"));
    return put_reference_first(test);
}

static enum status read_anchors(struct listening_test *test)
{
    json_t *anchors = json_object_get(test->root, "anchors"), *names = json_array(), *anchor;
    size_t index;
    if (anchors && test->kind != TEST_MUSHRA)
        return json_decref(names), refuse(test, "only mushra has anchors");
    if (!anchors && test->kind == TEST_MUSHRA)
        json_object_set_new(test->root, "anchors", anchors = json_pack("[i, i]", 3500, 7000));
    json_object_set_new(test->root, "anchor_names", names);
    json_array_foreach(anchors, index, anchor)
    {
        double cutoff = json_number_value(anchor);
        if (cutoff < 20 || cutoff > 20000)
            return refuse(test, "'anchors' are frequencies of a low-pass, 20 to 20000 Hz");
        json_array_append_new(names, json_sprintf("anchor %g Hz", cutoff));
        TRY(add_choice(test, json_string_value(json_array_get(names, index)), NULL, cutoff));
    }
    return STATUS_OK;
}

static enum status check_choice_count(const struct listening_test *test)
{
    size_t count = test->choice_count;
    if (test->kind == TEST_ABX && count != 2)
        return refuse(test, "abx compares two choices, not %zu", count);
    return count < 2 ? refuse(test, "it has nothing to compare: %zu choice%s", count,
                              count == 1 ? "" : "s")
                     : STATUS_OK;
}

/* ---- the whole test ---- */

static enum status read_kind(struct listening_test *test)
{
    const char *kind = text_of(test->root, "test");
    while (kind && test_kind_names[test->kind] && strcmp(kind, test_kind_names[test->kind]) != 0)
        test->kind++;
    return kind && test_kind_names[test->kind]
               ? STATUS_OK
               : refuse(test, "'test' is none of abx, preference, mushra and bs1116");
}

/* Whether browsers take a text as a language (BCP 47): letters, then parts after hyphens. */
static bool is_language(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t length = text ? strspn(text, letters) : 0;
    while (length >= 2 && length <= 8 && text[length] == '-') {
        text += length + 1;
        length = strspn(text, letters);
        length += strspn(text + length, "0123456789");
    }
    return length >= 2 && length <= 8 && !text[length];
}

static enum status read_texts(const struct listening_test *test)
{
    json_t *languages = json_object_get(test->root, "languages"), *item;
    size_t index;
    json_array_foreach(languages, index, item)
    {
        if (!is_language(json_string_value(item)))
            return refuse(test, "'languages' is a list such as [en, de, pt-BR]");
    }
    json_array_foreach(json_object_get(test->root, "listeners"), index, item)
    {
        if (!json_is_string(item))
            return refuse(test, "'listeners' is a list of names");
    }
    TRY(check_text(test, json_object_get(test->root, "title"), "'title'", true));
    TRY(check_text(test, json_object_get(test->root, "instructions"), "'instructions'", true));
    TRY(check_questions(test, "before"));
    return check_questions(test, "after");
}

static enum status read_settings(struct listening_test *test)
{
    static const size_t usual[] = {
        [TEST_ABX] = 16, [TEST_PREFERENCE] = 2, [TEST_MUSHRA] = 1, [TEST_BS1116] = 1};
    const json_t *trials = json_object_get(test->root, "trials");
    const char *match = text_of(test->root, "match");
    json_int_t repeats = trials ? json_integer_value(trials) : (json_int_t)usual[test->kind];
    if (repeats < 1 || repeats > TEST_REPEATS_MOST)
        return refuse(test, "'trials' is a number from 1 to %d", TEST_REPEATS_MOST);
    test->repeats = (size_t)repeats;
    test->align = !json_is_false(json_object_get(test->root, "align"));
    test->match = !match || strcmp(match, "r128") == 0 ? LEVEL_MATCH_R128
                  : strcmp(match, "rms") == 0          ? LEVEL_MATCH_RMS
                                                       : LEVEL_MATCH_NONE;
    return test->match == LEVEL_MATCH_NONE && strcmp(match, "none") != 0
               ? refuse(test, "'match' is r128, rms or none")
               : STATUS_OK;
}

enum status test_file_read(const char *path, struct listening_test *test)
{
    static const struct member members[] = {
        {"test", TEXT},      {"title", ANY},     {"instructions", ANY}, {"languages", LIST},
        {"sounds", LIST},    {"choices", LIST},  {"reference", TEXT},   {"anchors", LIST},
        {"trials", NUMBER},  {"remarks", TRUTH}, {"before", LIST},      {"after", LIST},
        {"listeners", LIST}, {"match", TEXT},    {"align", TRUTH},      {0}};
    *test = (struct listening_test){.path = path};
    TRY(read_yaml(test));
    TRY(check_members(test, test->root, "a test", members));
    TRY(read_kind(test));
    TRY(read_texts(test));
    TRY(read_settings(test));
    TRY(read_sounds(test));
    TRY(read_choices(test));
    TRY(read_reference(test));
    TRY(read_anchors(test));
    return check_choice_count(test);
}

void test_file_free(struct listening_test *test)
{
    json_decref(test->root);
    test->root = NULL;
}

/* ---- trials ---- */

struct trial_list {
    const struct listening_test *test;
    struct test_trial *trials; /* NULL: they are counted */
    size_t count;
};

static void add(struct trial_list *list, size_t sound, size_t pair, size_t round,
                const size_t *choices, size_t count)
{
    struct test_trial *trial = list->trials ? &list->trials[list->count] : NULL;
    list->count++;
    if (!trial)
        return;
    *trial = (struct test_trial){sound, count, {0}, pair, round};
    memcpy(trial->choices, choices, count * sizeof *choices);
}

static void add_pairs(struct trial_list *list, size_t sound, size_t round)
{
    size_t pair = 0;
    for (size_t a = 0; a < list->test->choice_count; a++)
        for (size_t b = a + 1; b < list->test->choice_count; b++)
            add(list, sound, pair++, round, (const size_t[]){a, b}, 2);
}

static void add_grades(struct trial_list *list, size_t sound, size_t round)
{
    size_t reference = list->test->reference, pair = 0;
    for (size_t i = 0; i < list->test->choice_count; i++)
        if (i != reference)
            add(list, sound, pair++, round, (const size_t[]){reference, i}, 2);
}

static void add_all(struct trial_list *list, size_t sound, size_t round)
{
    size_t choices[TEST_CHOICES_MOST];
    for (size_t i = 0; i < list->test->choice_count; i++)
        choices[i] = i;
    add(list, sound, 0, round, choices, list->test->choice_count);
}

static void list_trials(struct trial_list *list, bool training)
{
    static void (*const adders[])(struct trial_list *, size_t,
                                  size_t) = {[TEST_ABX] = add_all,
                                             [TEST_PREFERENCE] = add_pairs,
                                             [TEST_MUSHRA] = add_all,
                                             [TEST_BS1116] = add_grades};
    const struct listening_test *test = list->test;
    for (size_t round = 0; round < (training ? 1 : test->repeats); round++)
        for (size_t i = 0; i < test->sound_count; i++)
            if (test->sounds[i].training == training)
                adders[test->kind](list, i, round);
}

enum status test_trials(const struct listening_test *test, struct test_trial **trials,
                        size_t *count)
{
    struct trial_list list = {.test = test};
    list_trials(&list, true);
    list_trials(&list, false);
    list.trials = calloc(list.count, sizeof *list.trials);
    *trials = list.trials;
    *count = list.count;
    list.count = 0;
    if (!list.trials)
        return fail_memory("a test");
    list_trials(&list, true);
    list_trials(&list, false);
    return STATUS_OK;
}
