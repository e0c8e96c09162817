#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/options.h"
#include "base/printable.h"
#include "command/commands.h"
#include "live/session/live_options.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct service_unit {
    const char *name; /* name of the service as the user gives it, such as "halo" */
    char *folder;     /* ~/.config/systemd/user, or systemd/user in $XDG_CONFIG_HOME */
    char *path;       /* path of the unit */
    char *link;       /* link by which systemd starts the unit at login */
};

/* ---- the unit of systemd ---- */

enum { NAME_MOST = 64, PATH_BYTES = 4096 };

static const char mark[] = "# Written by halo service install.\n";

/* ---- paths ---- */

static enum status check_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MOST || strspn(name, allowed) != length || name[0] == '.' ||
        name[0] == '-')
        return fail(CAUSE_USAGE,
                    "--name takes up to %d letters, digits, '-', '_' and '.', not '%s'", NAME_MOST,
                    name);
    return STATUS_OK;
}

/* Errors: the name, no home folder, memory. Call service_unit_free in any case. */
static enum status service_unit_init(struct service_unit *unit, const char *name)
{
    *unit = (struct service_unit){.name = name};
    TRY(check_name(name));
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    bool is_set = config && config[0] == '/';
    if (!is_set && (!home || home[0] != '/'))
        return fail(CAUSE_MISSING, "there is no home folder: set HOME or XDG_CONFIG_HOME");
    if (asprintf(&unit->folder, "%s%s/systemd/user", is_set ? config : home,
                 is_set ? "" : "/.config") < 0) {
        unit->folder = NULL;
        return fail_memory("a service");
    }
    if (asprintf(&unit->path, "%s/%s.service", unit->folder, name) < 0)
        unit->path = NULL;
    if (asprintf(&unit->link, "%s/default.target.wants/%s.service", unit->folder, name) < 0)
        unit->link = NULL;
    return unit->path && unit->link ? STATUS_OK : fail_memory("a service");
}

static void service_unit_free(struct service_unit *unit)
{
    free(unit->folder);
    free(unit->path);
    free(unit->link);
}

static bool service_unit_exists(const struct service_unit *unit)
{
    return access(unit->path, F_OK) == 0;
}

/* Checks that the unit exists and was written by halo. Errors: it was not. */
static enum status service_unit_check_ours(const struct service_unit *unit)
{
    if (!service_unit_exists(unit))
        return fail(CAUSE_MISSING, "%s is not installed", unit->name);
    char line[sizeof mark] = "";
    FILE *file = fopen(unit->path, "r");
    if (!file)
        return fail_errno(errno, "cannot read %s", unit->path);
    bool is_ours = fgets(line, sizeof line, file) && strcmp(line, mark) == 0;
    fclose(file);
    return is_ours ? STATUS_OK
                   : fail(CAUSE_EXISTS, "%s is not halo's; choose another --name", unit->path);
}

/* ---- the text of the unit ---- */

char *service_unit_quote(const char *word, bool is_program)
{
    char *quoted = malloc(4 * strlen(word) + 3), *to = quoted;
    if (!quoted)
        return NULL;
    *to++ = '"';
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (c < ' ' || c == 0x7f)
            to += sprintf(to, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            to += sprintf(to, "\\%c", c);
        else if (c == '%' || (c == '$' && !is_program))
            to += sprintf(to, "%c%c", c, c);
        else
            *to++ = (char)c;
    }
    strcpy(to, "\"");
    return quoted;
}

static bool print_word(FILE *file, const char *word, bool is_program)
{
    char *quoted = service_unit_quote(word, is_program);
    bool done = quoted && fprintf(file, "%s%s", is_program ? "" : " ", quoted) > 0;
    free(quoted);
    return done;
}

/* Finds the path of halo and the current folder. The unit runs there, so that relative paths among
 * the arguments keep their meaning. */
static enum status find_places(char *program, char *folder)
{
    ssize_t length = readlink("/proc/self/exe", program, PATH_BYTES - 1);
    if (length < 0)
        return fail_errno(errno, "cannot find halo's own path");
    program[length] = '\0';
    if (!getcwd(folder, PATH_BYTES))
        return fail_errno(errno, "cannot find the current folder");
    if (folder[strcspn(folder, "\n\r")] || strchr(" \t\\", folder[strlen(folder) - 1]))
        return fail(CAUSE_UNSUPPORTED, "systemd cannot run in a folder of this name; install from "
                                       "another one");
    return STATUS_OK;
}

static void print_folder(FILE *file, const char *folder)
{
    fputs("WorkingDirectory=", file);
    for (; *folder; folder++)
        fprintf(file, *folder == '%' ? "%%%%" : "%c", *folder);
    fputs("\n", file);
}

static enum status print_unit(FILE *file, const struct service_unit *unit,
                              const struct string_list *arguments)
{
    static char program[PATH_BYTES], folder[PATH_BYTES];
    TRY(find_places(program, folder));
    fprintf(file,
            "%s[Unit]\nDescription=halo live (%s)\n"
            "After=pipewire.service wireplumber.service pipewire-pulse.service "
            "pulseaudio.service\nStartLimitIntervalSec=0\n\n[Service]\n",
            mark, unit->name);
    print_folder(file, folder);
    fprintf(file, "Environment=HALO_SERVICE=%s\nExecStart=", unit->name);
    bool done = print_word(file, program, true);
    fputs(" live --quiet --plain --reconnect", file);
    for (size_t i = 0; i < arguments->count && done; i++)
        done = print_word(file, arguments->values[i], false);
    /* restart even after wrong usage: the arguments were checked, and a device that they name may
     * appear later */
    fputs("\nRestart=on-failure\nRestartSec=2\n"
          "LimitRTPRIO=95\nLimitMEMLOCK=infinity\n\n[Install]\nWantedBy=default.target\n",
          file);
    return done ? STATUS_OK : fail_memory("a service");
}

/* ---- files ---- */

/* Creates a folder, with those above it. */
static enum status make_folder(const char *folder)
{
    char *path = strdup(folder);
    if (!path)
        return fail_memory("a folder");
    int error = 0;
    for (char *at = path + 1; at && error == 0; *at++ = '/') {
        at = strchrnul(at, '/');
        bool is_last = !*at;
        *at = '\0';
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            error = errno;
        if (is_last)
            break;
    }
    free(path);
    return error ? fail_errno(error, "cannot make the folder %s", folder) : STATUS_OK;
}

static enum status service_unit_write(const struct service_unit *unit,
                                      const struct string_list *arguments, bool force)
{
    struct atomic_file destination;
    FILE *file;
    if (service_unit_exists(unit) && !force)
        return fail(CAUSE_EXISTS, "%s is installed; --force replaces it, --name adds another",
                    unit->name);
    if (service_unit_exists(unit))
        TRY(service_unit_check_ours(unit));
    TRY(make_folder(unit->folder));
    TRY(atomic_text_open(&destination, unit->path, force, &file));
    return atomic_text_close(&destination, unit->path, file, print_unit(file, unit, arguments));
}

/* Removes the unit, its link, and folders that are then empty. Errors: the unit does not exist or
 * is not halo's. */
static enum status service_unit_remove(const struct service_unit *unit)
{
    TRY(service_unit_check_ours(unit));
    if (unlink(unit->path) < 0)
        return fail_errno(errno, "cannot remove %s", unit->path);
    (void)unlink(unit->link);
    *strrchr(unit->link, '/') = '\0';
    (void)rmdir(unit->link); /* rmdir fails if the folder has other units */
    (void)rmdir(unit->folder);
    *strrchr(unit->folder, '/') = '\0';
    (void)rmdir(unit->folder);
    return STATUS_OK;
}

/* The line of the unit that starts halo; the caller frees it. NULL: there is none. */
static char *service_unit_command(const struct service_unit *unit)
{
    static const char key[] = "ExecStart=";
    char *line = NULL, *command = NULL;
    size_t size = 0;
    FILE *file = fopen(unit->path, "r");
    while (file && !command && getline(&line, &size, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, key, sizeof key - 1) == 0)
            command = strdup(line + sizeof key - 1);
    }
    if (file)
        fclose(file);
    free(line);
    return command;
}

/* ---- the commands ---- */

struct service_settings {
    const char *name;
    struct string_list arguments; /* options for halo live */
    bool force;
    bool json;
};

enum { ANSWER_BYTES = 64 };

/* Runs systemctl and gets the first word that it prints; empty if there is none, for example if no
 * user manager runs. Returns false if it failed. `name` was checked, so the shell does not change
 * it. */
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

/* Checks the arguments, so that halo live will not refuse them later. */
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
        status = service_unit_check_ours(&unit); /* do not stop another program's service */
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
