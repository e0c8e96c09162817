#include "plugin/plugin_scanner.h"

#include "base/json_text.h"
#include "plugin/plugin_info_json.h"
#include "plugin/plugin_isolated.h"
#include "signal/audio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATE = 48000, BLOCK = 1024, BLOCKS = 16 };

/* The socket to halo, and why the last call failed. */
struct scanner_child {
    FILE *answers;
    struct failure failure; /* the last one */
    bool is_cut;            /* an answer could not be sent */
};

static void answer(struct scanner_child *child, json_t *object)
{
    child->is_cut |= json_write(object, JSON_COMPACT | PLUGIN_INFO_DIGITS, child->answers) != 0;
}

/* ---- what a holder contains ---- */

static json_t *contents(const struct plugin_kind *kind, const char *holder, bool computes)
{
    struct plugin_contents found = {0};
    json_t *object = NULL;
    if (kind->contents && kind->contents(holder, computes, &found) == STATUS_OK)
        object = plugin_contents_object(&found);
    plugin_contents_free(&found);
    return object;
}

/* ---- all plugins of a holder ---- */

struct look {
    struct scanner_child *child;
    const struct plugin_kind *kind;
    const json_t *skipped;
};

static bool is_skipped(const struct look *look, const char *id)
{
    json_t *text = json_text(id);
    bool is = false;
    for (size_t i = 0; i < json_array_size(look->skipped); i++)
        is = is || json_equal(text, json_array_get(look->skipped, i));
    json_decref(text);
    return is;
}

/* First describe it, which names its library. */
static void look_at(void *context, const char *id)
{
    const struct look *look = context;
    struct plugin_info *info = NULL;
    if (is_skipped(look, id))
        return;
    look->child->failure.message[0] = '\0';
    answer(look->child, json_pack("{s:o}", "at", json_text(id)));
    enum status status = look->kind->describe(id, &info);
    if (status == STATUS_OK) {
        answer(look->child,
               json_pack("{s:o, s:o}", "at", json_text(id), "file", json_text(info->file)));
        status = look->kind->probe && !info->refusal ? look->kind->probe(id) : STATUS_OK;
    }
    if (status == STATUS_OK) {
        const struct plugin_row row = plugin_row_of_info(info);
        answer(look->child, json_pack("{s:o}", "plugin", plugin_row_object(&row)));
    } else
        answer(look->child, json_pack("{s:{s:o, s:o}}", "refused", "id", json_text(id), "reason",
                                      json_text(look->child->failure.message)));
    plugin_info_destroy(info);
}

static json_t *look(struct scanner_child *child, const struct plugin_kind *kind, const char *holder,
                    const json_t *skipped)
{
    struct look look = {child, kind, skipped};
    return kind->open(holder, look_at, &look) == STATUS_OK ? json_pack("{s:b}", "end", 1) : NULL;
}

/* ---- one plugin ---- */

/* Many plugins report their latency only after some blocks. */
static void run(struct plugin *plugin, json_t *answer)
{
    struct block in, out = {0};
    if (block_init(&in, plugin->inputs, BLOCK, "a plugin") == STATUS_OK &&
        block_init(&out, plugin->outputs, BLOCK, "a plugin") == STATUS_OK) {
        plugin->kind->reset(plugin);
        for (size_t i = 0; i < BLOCKS; i++)
            plugin->kind->process(plugin, (const float *const *)in.data, out.data, BLOCK);
        json_object_set_new(answer, "latency", json_integer((json_int_t)plugin_latency(plugin)));
    }
    block_free(&in);
    block_free(&out);
}

static void measure(const struct plugin_info *info, const char *reason, json_t *answer)
{
    struct plugin *plugin;
    const struct plugin_settings settings = {.rate = RATE, .block = BLOCK};
    if (plugin_create(info, &settings, &plugin) == STATUS_OK) {
        run(plugin, answer);
        plugin_destroy(plugin);
    } else {
        json_object_set_new(answer, "failure", json_text(reason));
    }
}

static json_t *describe(struct scanner_child *child, const struct plugin_kind *kind, const char *id,
                        bool measured)
{
    struct plugin_info *info;
    if (kind->describe(id, &info) != STATUS_OK)
        return NULL;
    json_t *object = json_pack("{s:o}", "plugin", plugin_info_object(info));
    if (measured)
        measure(info, child->failure.message, object);
    plugin_info_destroy(info);
    return object;
}

/* ---- questions ---- */

/* Each question begins without the holders of earlier ones, which cannot spoil it then. */
static enum status use(const struct plugin_kind *kind, const json_t *holders)
{
    size_t count = json_array_size(holders);
    if (kind->forget)
        kind->forget();
    if (!kind->use)
        return STATUS_OK;
    char **paths = calloc(count + 1, sizeof *paths);
    if (!paths)
        return fail_memory("a list of plugins");
    for (size_t i = 0; i < count; i++)
        paths[i] = (char *)json_string_value(json_array_get(holders, i));
    enum status status = kind->use(paths, count);
    free(paths);
    return status;
}

static json_t *answer_to(struct scanner_child *child, const json_t *question)
{
    const char *what = json_string_value(json_object_get(question, "ask"));
    const char *name = json_string_value(json_object_get(question, "kind"));
    const char *holder = json_string_value(json_object_get(question, "holder"));
    const char *id = json_string_value(json_object_get(question, "id"));
    const struct plugin_kind *kind = name ? plugin_kind_named(name) : NULL;
    if (!what || !kind)
        return NULL;
    if (strcmp(what, "contents") == 0 && holder)
        return contents(kind, holder, json_is_true(json_object_get(question, "computes")));
    if (use(kind, json_object_get(question, "holders")) != STATUS_OK)
        return NULL;
    if (strcmp(what, "look") == 0 && holder)
        return look(child, kind, holder, json_object_get(question, "skipped"));
    bool measured = json_is_true(json_object_get(question, "measured"));
    return id ? describe(child, kind, id, measured) : NULL;
}

/* Before anything of a plugin is read. */
static bool enter_sandbox(int argc, char **argv)
{
    enum { SANDBOX = 1, ID, COUNT };
    struct plugin_sandbox sandbox;
    char **named;
    if (argc < COUNT || !plugin_sandbox_read(argv[SANDBOX], &sandbox) ||
        isolated_named_make(argv[ID], &(struct plugin_settings){0}, &named) != STATUS_OK)
        return false;
    bool entered = plugin_sandbox_enter(&sandbox, named) == STATUS_OK;
    isolated_named_free(named);
    return entered;
}

/* Move the socket away from standard input, which plugins could read. */
static int settle(void)
{
    int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 ? socket : -1;
}

enum status cmd_plugin_scanner(int argc, char **argv)
{
    int socket = enter_sandbox(argc, argv) ? settle() : -1;
    FILE *questions = socket >= 0 ? fdopen(socket, "r") : NULL;
    struct scanner_child child = {.answers = socket >= 0 ? fdopen(dup(socket), "w") : NULL};
    if (!questions || !child.answers)
        return fail(CAUSE_OTHER, "this command is internal: halo runs it to scan plugins");
    const struct log_keeper before = log_keep_failure(&child.failure);
    (void)before; /* until the process ends */
    json_t *question;
    while (!child.is_cut &&
           (question = json_loadf(questions, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        child.failure = (struct failure){0};
        json_t *object = answer_to(&child, question);
        answer(&child, object ? object
                              : json_pack("{s:o, s:i}", "error", json_text(child.failure.message),
                                          "cause", child.failure.cause));
        json_decref(question);
    }
    fclose(questions);
    fclose(child.answers);
    return STATUS_OK;
}
