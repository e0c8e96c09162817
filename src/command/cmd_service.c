/* halo service: halo live as a systemd user unit. */
#include "base/json_text.h"
#include "base/printable.h"
#include "command/commands.h"
#include "command/service_unit.h"
#include "live/live_options.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct service_settings {
    const char *name;
    struct string_list arguments; /* of halo live */
    bool force;
    bool json;
};

enum { ANSWER_BYTES = 64 };

/* The first word that systemctl prints; empty: there is none, as where no user manager runs. False:
 * it failed. The name was checked: a shell takes it as it is. */
static bool ask_systemd(const char *words, const char *name, char answer[ANSWER_BYTES])
{
    char line[256];
    snprintf(line, sizeof line, "systemctl --user %s %s%s </dev/null 2>/dev/null", words, name,
             *name ? ".service" : "");
    answer[0] = '\0';
    FILE *pipe = popen(line, "re");
    if (!pipe)
        return false;
    if (fgets(answer, ANSWER_BYTES, pipe))
        answer[strcspn(answer, " \n")] = '\0';
    while (fgetc(pipe) != EOF)
        ;
    return pclose(pipe) == 0;
}

static bool order_systemd(const char *words, const char *name)
{
    char answer[ANSWER_BYTES];
    return ask_systemd(words, name, answer);
}

/* ---- install ---- */

/* As halo live will refuse it later. */
static enum status check_arguments(const struct string_list *arguments)
{
    static char program[] = "halo live", check[] = "--check";
    char **words = calloc(arguments->count + 3, sizeof *words);
    if (!words)
        return fail_memory("arguments");
    words[0] = program;
    words[1] = check;
    for (size_t i = 0; i < arguments->count; i++)
        memcpy(&words[i + 2], &arguments->values[i], sizeof *words);
    enum status status = program_run(&command_live, (int)arguments->count + 2, words);
    free(words);
    return status;
}

static void start_it(const char *name)
{
    if (order_systemd("daemon-reload", "") && order_systemd("enable", name) &&
        order_systemd("restart", name)) {
        printf("%s runs now, and from each login on\n", name);
        return;
    }
    printf("systemd's user manager does not answer here. Where it runs, type:\n"
           "  systemctl --user daemon-reload\n"
           "  systemctl --user enable --now %s.service\n",
           name);
}

static enum status install(void *context)
{
    const struct service_settings *settings = context;
    struct service_unit unit;
    enum status status = service_unit_init(&unit, settings->name);
    if (status == STATUS_OK)
        status = check_arguments(&settings->arguments);
    if (status == STATUS_OK)
        status = service_unit_write(&unit, &settings->arguments, settings->force);
    if (status == STATUS_OK) {
        printf("%s\n", printable(unit.path));
        start_it(unit.name);
    }
    service_unit_free(&unit);
    return status;
}

/* ---- status ---- */

static enum status print_status_json(const struct service_unit *unit, const char *command,
                                     const char *enabled, const char *active)
{
    return json_print(json_pack("{s:s, s:o, s:b, s:o, s:o, s:o}", "name", unit->name, "unit",
                                json_text(unit->path), "installed", command != NULL, "enabled",
                                *enabled ? json_text(enabled) : json_null(), "active",
                                *active ? json_text(active) : json_null(), "command",
                                command ? json_text(command) : json_null()),
                      0, "the service");
}

static enum status show(void *context)
{
    const struct service_settings *settings = context;
    struct service_unit unit;
    char enabled[ANSWER_BYTES] = "", active[ANSWER_BYTES] = "";
    enum status status = service_unit_init(&unit, settings->name);
    if (status != STATUS_OK) {
        service_unit_free(&unit);
        return status;
    }
    char *command = service_unit_command(&unit);
    if (command) {
        (void)ask_systemd("is-enabled", unit.name, enabled);
        (void)ask_systemd("is-active", unit.name, active);
    }
    if (settings->json)
        status = print_status_json(&unit, command, enabled, active);
    else if (!command)
        printf("%s is not installed\n", unit.name);
    else
        printf("%s is installed, %s, %s\n  %s\n  %s\n", unit.name,
               *enabled ? enabled : "not known to systemd",
               *active ? active : "state unknown (systemd's user manager does not answer)",
               printable(unit.path), printable(command));
    free(command);
    service_unit_free(&unit);
    return status;
}

/* ---- remove ---- */

static enum status remove_it(void *context)
{
    const struct service_settings *settings = context;
    struct service_unit unit;
    enum status status = service_unit_init(&unit, settings->name);
    if (status == STATUS_OK)
        status = service_unit_check_ours(&unit); /* no other's is stopped */
    if (status == STATUS_OK) {
        (void)order_systemd("disable --now", unit.name);
        status = service_unit_remove(&unit);
    }
    if (status == STATUS_OK) {
        (void)order_systemd("daemon-reload", "");
        printf("%s is removed\n", unit.name);
    }
    service_unit_free(&unit);
    return status;
}

/* ---- the commands ---- */

#define NAME_ROW                                                                                   \
    OPT_STRING("name", "NAME", struct service_settings, name, "of the service; default: halo")
#define SERVICE_DEFAULTS &(const struct service_settings){.name = "halo"}

static const struct option_row install_rows[] = {
    NAME_ROW,
    OPT_FLAG("force", struct service_settings, force, "replace a service of that name",
             .letter = 'f'),
    {0},
};

static const struct option_row status_rows[] = {
    NAME_ROW,
    OPT_FLAG("json", struct service_settings, json, "print one JSON object"),
    {0},
};

static const struct option_row remove_rows[] = {NAME_ROW, {0}};

const struct command command_service_install = {
    .name = "halo service install",
    .summary = "run halo live from each login on",
    .usage = "usage: halo service install [options] -- [arguments of halo live]\n\n"
             "Write a systemd user unit that runs halo live with these arguments in this folder,\n"
             "enable and start it. Masks, plugins and options are checked first. It prints what\n"
             "spoils the sound to the journal, waits for a device that is lost, and is started\n"
             "again after a failure.",
    .ending = "example: halo service install -- --mask room.wav --gain -3",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENTS("ARGUMENTS", struct service_settings, arguments, 0)),
    .groups = OPTION_GROUP(install_rows),
    .size = sizeof(struct service_settings),
    .defaults = SERVICE_DEFAULTS,
    .run = install,
};

const struct command command_service_status = {
    .name = "halo service status",
    .summary = "show whether the service is installed and runs",
    .usage = "usage: halo service status [options]\n\n"
             "Show the unit, whether it is enabled and runs, and its command.",
    .groups = OPTION_GROUP(status_rows),
    .size = sizeof(struct service_settings),
    .defaults = SERVICE_DEFAULTS,
    .run = show,
};

const struct command command_service_remove = {
    .name = "halo service remove",
    .summary = "stop the service and remove its unit",
    .usage = "usage: halo service remove [options]\n\n"
             "Stop and disable the service, and remove its unit.",
    .groups = OPTION_GROUP(remove_rows),
    .size = sizeof(struct service_settings),
    .defaults = SERVICE_DEFAULTS,
    .run = remove_it,
};
