/* halo preset: the presets of halo live. */
#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"
#include "command/commands.h"
#include "live/session/preset.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

struct preset_settings {
    const char *name;
    bool json;
};

enum { REASON = 400, COLUMN_MOST = 40 };

/* ---- list ---- */

/* Loads a preset. NULL: it cannot be read, and `reason` says why. */
static struct preset *try_load(const char *name, char reason[REASON])
{
    static const struct chain_options none = CHAIN_OPTIONS_DEFAULTS;
    struct preset_source source = {.place = PRESET_SAVED, .mask = PRESET_OWN_MASK};
    struct preset *preset = NULL;
    snprintf(source.text, sizeof source.text, "%s", name);
    const struct log_keeper before = log_keep_in(reason, REASON);
    if (preset_load(&source, &none, &preset) != STATUS_OK)
        preset = NULL;
    log_keep_again(&before);
    return preset;
}

static size_t masks_of(const struct preset *preset)
{
    return preset->live.stage == SIZE_MAX ? 0 : preset->live.other_count + 1;
}

static void print_row(const char *name, int width)
{
    char reason[REASON];
    struct preset *preset = try_load(name, reason);
    printf("%-*s  ", width, printable(name));
    if (!preset) {
        printf("%s\n", printable(reason));
        return;
    }
    const struct chain_live *live = &preset->live;
    size_t stages = preset->options.stages.count;
    printf("%zu stage%s", stages, plural_s(stages));
    if (masks_of(preset) > 1)
        printf(", mask %zu of %zu", live->mask, masks_of(preset));
    printf(", gain %+.1f dB%s\n", live->gain_db, live->dry ? ", dry" : "");
    preset_destroy(preset);
}

static json_t *row_json(const char *name)
{
    char reason[REASON], path[PATH_MAX] = "";
    struct preset *preset = try_load(name, reason);
    if (preset_path(name, path) != STATUS_OK)
        path[0] = '\0';
    json_t *row = json_pack("{s:o, s:o}", "name", json_text(name), "path", json_text(path));
    if (!preset) {
        json_object_set_new(row, "error", json_text(reason));
        return row;
    }
    json_object_set_new(row, "stages", json_integer((json_int_t)preset->options.stages.count));
    json_object_set_new(row, "masks", json_integer((json_int_t)masks_of(preset)));
    json_object_set_new(row, "mask", json_integer((json_int_t)preset->live.mask));
    json_object_set_new(row, "dry", json_boolean(preset->live.dry));
    json_object_set_new(row, "gain_db", json_real(preset->live.gain_db));
    preset_destroy(preset);
    return row;
}

static enum status print_all_json(const struct preset_names *names)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < names->count; i++)
        json_array_append_new(rows, row_json(names->names[i]));
    return json_print(json_pack("{s:o}", "presets", rows), 0, "the presets");
}

static void print_all(const struct preset_names *names)
{
    int width = 0;
    for (size_t i = 0; i < names->count; i++) {
        int own = (int)strlen(names->names[i]);
        width = own > width && own <= COLUMN_MOST ? own : width;
    }
    for (size_t i = 0; i < names->count; i++)
        print_row(names->names[i], width);
    if (names->count == 0)
        note("there are no presets: halo live --save-preset NAME, or its key s, makes one");
}

static enum status run_list(void *options)
{
    struct preset_names names;
    enum status status = preset_names_init(&names);
    if (status == STATUS_OK && ((const struct preset_settings *)options)->json)
        status = print_all_json(&names);
    else if (status == STATUS_OK)
        print_all(&names);
    preset_names_free(&names);
    return status;
}

/* ---- one preset ---- */

static enum status run_show(void *options)
{
    const char *name = ((const struct preset_settings *)options)->name;
    char path[PATH_MAX], line[4096];
    TRY(preset_path(name, path));
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT)
        return preset_refuse(name);
    if (!file)
        return fail_errno(errno, "cannot open %s", path);
    while (fgets(line, sizeof line, file)) {
        size_t length = strcspn(line, "\n");
        bool has_end = line[length] == '\n';
        line[length] = '\0';
        printf("%s%s", printable(line), has_end ? "\n" : "");
    }
    bool failed = ferror(file);
    fclose(file);
    return failed ? fail(CAUSE_OTHER, "cannot read %s", path) : STATUS_OK;
}

static enum status run_remove(void *options)
{
    return preset_remove(((const struct preset_settings *)options)->name);
}

/* ---- commands ---- */

static const struct option_row list_rows[] = {
    OPT_FLAG("json", struct preset_settings, json, "print one JSON object"),
    {0},
};
static const struct option_row no_rows[] = {{0}};

static const struct command command_preset_list = {
    .name = "halo preset list",
    .summary = "list the presets of halo live",
    .usage = "usage: halo preset list [--json]\n\n"
             "List the presets, in the order of the keys p and P of halo live.",
    .groups = OPTION_GROUP(list_rows),
    .size = sizeof(struct preset_settings),
    .run = run_list,
};

static const struct command command_preset_show = {
    .name = "halo preset show",
    .summary = "print a preset",
    .usage = "usage: halo preset show NAME\n\n"
             "Print the file of a preset: a chain file with the masks to choose from and what is\n"
             "chosen.",
    .arguments = OPTION_ARGUMENTS(OPT_ARGUMENT("NAME", struct preset_settings, name, 1)),
    .groups = OPTION_GROUP(no_rows),
    .size = sizeof(struct preset_settings),
    .run = run_show,
};

static const struct command command_preset_remove = {
    .name = "halo preset remove",
    .summary = "remove a preset",
    .usage = "usage: halo preset remove NAME",
    .arguments = OPTION_ARGUMENTS(OPT_ARGUMENT("NAME", struct preset_settings, name, 1)),
    .groups = OPTION_GROUP(no_rows),
    .size = sizeof(struct preset_settings),
    .run = run_remove,
};

const struct command command_preset = {
    .name = "halo preset",
    .summary = "list, show and remove presets of halo live",
    .commands = (const struct command *const[]){&command_preset_list, &command_preset_show,
                                                &command_preset_remove, NULL},
};
