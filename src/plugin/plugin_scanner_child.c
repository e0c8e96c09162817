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

struct found_plugins {
    const struct plugin_kind *kind;
    const char *reason; /* of the last failure */
    json_t *plugins, *refused;
};

static void describe_found(void *context, const char *id)
{
    struct found_plugins *found = context;
    struct plugin_info *info;
    if (found->kind->describe(id, &info) == STATUS_OK) {
        json_array_append_new(found->plugins, plugin_info_object(info));
        plugin_info_destroy(info);
    } else {
        json_array_append_new(found->refused, json_pack("{s:o, s:o}", "id", json_text(id), "reason",
                                                        json_text(found->reason)));
    }
}

static json_t *look(const struct plugin_kind *kind, const char *holder, const char *reason)
{
    struct found_plugins found = {kind, reason, json_array(), json_array()};
    if (kind->open(holder, describe_found, &found) == STATUS_OK)
        return json_pack("{s:o, s:o}", "plugins", found.plugins, "refused", found.refused);
    json_decref(found.plugins);
    json_decref(found.refused);
    return NULL;
}

/* Many plugins report their latency only after some blocks. */
static void run(struct plugin *plugin, json_t *answer)
{
    struct block in, out = {0};
    if (block_init(&in, plugin->inputs, BLOCK, "a plugin") == STATUS_OK &&
        block_init(&out, plugin->outputs, BLOCK, "a plugin") == STATUS_OK) {
        plugin->kind->reset(plugin);
        for (size_t i = 0; i < BLOCKS; i++)
            plugin->kind->process(plugin, (const float *const *)in.data, out.data);
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

static json_t *describe(const struct plugin_kind *kind, const char *id, bool measured,
                        const char *reason)
{
    struct plugin_info *info;
    if (kind->describe(id, &info) != STATUS_OK)
        return NULL;
    json_t *answer = json_pack("{s:o}", "plugin", plugin_info_object(info));
    if (measured)
        measure(info, reason, answer);
    plugin_info_destroy(info);
    return answer;
}

static json_t *answer_to(const json_t *question, const char *reason)
{
    const char *name = json_string_value(json_object_get(question, "kind"));
    const char *holder = json_string_value(json_object_get(question, "holder"));
    const char *id = json_string_value(json_object_get(question, "id"));
    const struct plugin_kind *kind = name ? plugin_kind_named(name) : NULL;
    if (kind && holder)
        return look(kind, holder, reason);
    if (kind && id)
        return describe(kind, id, json_is_true(json_object_get(question, "measured")), reason);
    return NULL;
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
    FILE *answers = socket >= 0 ? fdopen(dup(socket), "w") : NULL;
    if (!questions || !answers)
        return fail(STATUS_FAILED, "this command is internal: halo runs it to scan plugins");
    char reason[PLUGIN_TROUBLE];
    log_capture(reason, sizeof reason);
    json_t *question;
    while ((question = json_loadf(questions, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        reason[0] = '\0';
        json_t *answer = answer_to(question, reason);
        if (!answer)
            answer = json_pack("{s:o}", "error", json_text(reason));
        int error = json_write(answer, JSON_COMPACT | PLUGIN_INFO_DIGITS, answers);
        json_decref(question);
        if (error)
            break;
    }
    fclose(questions);
    fclose(answers);
    return STATUS_OK;
}
