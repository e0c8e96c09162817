#include "command/service_unit.h"

#include "base/atomic_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MOST = 64, PATH_BYTES = 4096 };

static const char mark[] = "# Written by halo service install.\n";

/* ---- where it is ---- */

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

enum status service_unit_init(struct service_unit *unit, const char *name)
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

void service_unit_free(struct service_unit *unit)
{
    free(unit->folder);
    free(unit->path);
    free(unit->link);
}

bool service_unit_exists(const struct service_unit *unit)
{
    return access(unit->path, F_OK) == 0;
}

enum status service_unit_check_ours(const struct service_unit *unit)
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

/* ---- its text ---- */

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

/* Relative paths among the arguments stay what they are here. */
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
    /* Also after wrong usage: arguments were checked, and a device that they name may come later.
     */
    fputs("\nRestart=on-failure\nRestartSec=2\n"
          "LimitRTPRIO=95\nLimitMEMLOCK=infinity\n\n[Install]\nWantedBy=default.target\n",
          file);
    return done ? STATUS_OK : fail_memory("a service");
}

/* ---- on the disk ---- */

/* With those above it. */
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

enum status service_unit_write(const struct service_unit *unit, const struct string_list *arguments,
                               bool force)
{
    struct atomic_file destination;
    if (service_unit_exists(unit) && !force)
        return fail(CAUSE_EXISTS, "%s is installed; --force replaces it, --name adds another",
                    unit->name);
    if (service_unit_exists(unit))
        TRY(service_unit_check_ours(unit));
    TRY(make_folder(unit->folder));
    TRY(atomic_file_open(&destination, unit->path, force));
    FILE *file = fdopen(destination.fd, "w");
    enum status status = file ? print_unit(file, unit, arguments) : fail_memory("a service");
    if (status == STATUS_OK && (fflush(file) != 0 || ferror(file)))
        status = fail_errno(errno, "cannot write %s", unit->path);
    if (status == STATUS_OK)
        status = atomic_file_keep(&destination, unit->path);
    if (file)
        fclose(file);
    atomic_file_discard(&destination);
    return status;
}

enum status service_unit_remove(const struct service_unit *unit)
{
    TRY(service_unit_check_ours(unit));
    if (unlink(unit->path) < 0)
        return fail_errno(errno, "cannot remove %s", unit->path);
    (void)unlink(unit->link);
    *strrchr(unit->link, '/') = '\0';
    (void)rmdir(unit->link); /* these fail where other units are */
    (void)rmdir(unit->folder);
    *strrchr(unit->folder, '/') = '\0';
    (void)rmdir(unit->folder);
    return STATUS_OK;
}

char *service_unit_command(const struct service_unit *unit)
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
