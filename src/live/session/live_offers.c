#include "live/session/live_offers.h"

#include "base/json_text.h"
#include "base/task.h"
#include "chain/stage_mask.h"
#include "plugin/scan/plugin_catalog.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- masks ---- */

static bool is_mask(const char *name)
{
    static const char *const endings[] = {".wav",  ".flac", ".w64", ".rf64", ".caf", ".aif",
                                          ".aiff", ".ogg",  ".txt", ".sofa", ".frd", ".cal"};
    const char *ending = strrchr(name, '.');
    bool found = false;
    for (size_t i = 0; ending && ending != name && i < sizeof endings / sizeof *endings; i++)
        found = found || strcasecmp(ending, endings[i]) == 0;
    return found;
}

/* The path of a file as a spec: commas begin options, so they are escaped. */
static char *spec_of(const char *folder, const char *name)
{
    char *spec = malloc(2 * (strlen(folder) + strlen(name)) + 2), *to = spec;
    const char *const parts[] = {folder, name};
    for (size_t i = 0; spec && i < 2; i++)
        for (const char *at = parts[i]; *at; at++) {
            if (*at == ',')
                *to++ = '\\';
            *to++ = *at;
        }
    if (spec)
        *to = '\0';
    return spec;
}

static bool is_listed(const json_t *masks, const char *text)
{
    size_t i;
    const json_t *one;
    json_array_foreach(masks, i, one) if (strcmp(json_string_value(json_object_get(one, "text")),
                                                 text) == 0) return true;
    return false;
}

/* `folder` ends with a slash, or is empty. */
static void add_folder(json_t *masks, const char *folder)
{
    struct dirent **entries;
    int count = scandir(*folder ? folder : ".", &entries, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char *text = is_mask(entries[i]->d_name) ? spec_of(folder, entries[i]->d_name) : NULL;
        if (text && json_array_size(masks) < OFFERS_MASKS_MOST && !is_listed(masks, text))
            json_array_append_new(masks, json_pack("{s:o, s:o}", "text", json_text(text), "name",
                                                   json_text(entries[i]->d_name)));
        free(text);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
}

static enum status add_folder_of(json_t *masks, const char *spec)
{
    char *file = NULL;
    TRY(stage_mask_file(spec, &file));
    char *slash = file ? strrchr(file, '/') : NULL;
    if (slash)
        slash[1] = '\0';
    if (file)
        add_folder(masks, slash ? file : "");
    free(file);
    return STATUS_OK;
}

/* ---- plugins, on a thread, since a first scan takes seconds ---- */

struct offered_plugins {
    struct task task;
    json_t *rows;
};

static void destroy_plugins(struct task *task)
{
    struct offered_plugins *plugins = (struct offered_plugins *)task;
    json_decref(plugins->rows);
    free(plugins);
}

static enum status list_plugins(struct task *task)
{
    struct offered_plugins *plugins = (struct offered_plugins *)task;
    struct plugin_scan scan = {0};
    enum status status = plugin_scan_init(&scan, NULL, 0);
    for (size_t i = 0; status == STATUS_OK && i < scan.count; i++) {
        const struct plugin_row *row = &scan.rows[i];
        if (!row->refusal && row->inputs > 0 && row->outputs > 0)
            json_array_append_new(plugins->rows,
                                  json_pack("{s:s, s:o, s:o}", "option", row->kind->name, "spec",
                                            json_text(row->id), "name", json_text(row->name)));
    }
    plugin_scan_free(&scan);
    return status;
}

static enum status start_plugins(struct live_session *session)
{
    struct offered_plugins *plugins = calloc(1, sizeof *plugins);
    if (!plugins)
        return fail_memory("a list of plugins");
    plugins->rows = json_array();
    TRY(task_start(&plugins->task, "halo plugins", "a list of plugins", list_plugins,
                   destroy_plugins));
    session->plugins = &plugins->task;
    return STATUS_OK;
}

enum status live_offers_begin(struct live_session *session)
{
    const struct live_chain *chain = &session->stream.chain;
    json_t *masks = json_array();
    session->offers = json_pack("{s:s, s:o, s:[]}", "event", "offers", "masks", masks, "plugins");
    if (!session->offers)
        return fail_memory("a list of masks");
    for (size_t i = 0; i < chain->choice_count; i++)
        TRY(add_folder_of(masks, chain->texts[i]));
    return start_plugins(session);
}

bool live_offers_advance(struct live_session *session)
{
    if (!session->plugins || !task_is_done(session->plugins))
        return false;
    json_object_set(session->offers, "plugins", ((struct offered_plugins *)session->plugins)->rows);
    task_release(session->plugins);
    session->plugins = NULL;
    return true;
}

void live_offers_end(struct live_session *session)
{
    task_release(session->plugins);
    session->plugins = NULL;
    json_decref(session->offers);
    session->offers = NULL;
}

/* ---- what is allowed ---- */

/* Whether a spec makes an equaliser of numbers alone, and so opens no file. */
static bool is_equaliser(const char *spec)
{
    static const char begin[] = "parametric:";
    static const char allowed[] = "0123456789.+-; PKLSHBNOpklshbno";
    if (strncmp(spec, begin, sizeof begin - 1) != 0)
        return false;
    spec += sizeof begin - 1;
    spec += strspn(spec, allowed);
    const char *gain = ",gain=";
    if (strncmp(spec, gain, strlen(gain)) == 0)
        spec += strlen(gain) + strspn(spec + strlen(gain), "0123456789.+-");
    return *spec == '\0';
}

static bool is_offered_plugin(const json_t *plugins, const struct live_command *command)
{
    size_t i;
    const json_t *one;
    json_array_foreach(plugins, i, one)
    {
        const char *option = json_string_value(json_object_get(one, "option"));
        const char *spec = json_string_value(json_object_get(one, "spec"));
        if (strcmp(option, command->value_text) == 0 && strcmp(spec, command->text) == 0)
            return true;
    }
    return false;
}

enum status live_offers_allow(const struct live_session *session,
                              const struct live_command *command)
{
    const json_t *masks = json_object_get(session->offers, "masks");
    bool adds = command->action == COMMAND_STAGE_ADD;
    bool is_of_mask =
        command->action == COMMAND_LOAD || (adds && strcmp(command->value_text, "mask") == 0);
    if (!command->is_remote || (!adds && command->action != COMMAND_LOAD))
        return STATUS_OK;
    bool allowed = is_of_mask
                       ? is_listed(masks, command->text) || is_equaliser(command->text)
                       : is_offered_plugin(json_object_get(session->offers, "plugins"), command);
    return allowed ? STATUS_OK
                   : fail(CAUSE_USAGE, "a page can add only what it was offered, not %s",
                          command->text);
}
