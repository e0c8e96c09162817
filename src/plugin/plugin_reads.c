#include "plugin/plugin_reads.h"

#include "base/cache_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Not all of /etc and /proc: keys of the machine and other processes are there. */
static const char *const system_places[] = {
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/opt",
    "/app",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/fftw",
    "/etc/drirc",
    "/etc/group",
    "/etc/gtk-2.0",
    "/etc/gtk-3.0",
    "/etc/locale.alias",
    "/etc/locale.conf",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/timezone",
    "/etc/xdg",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/proc/version",
    "/sys/devices/system",
    "/sys/kernel/mm/transparent_hugepage",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
};
static const char *const home_places[] = {
    "~/.lv2",
    "~/.ladspa",
    "~/.clap",
    "~/.fonts",
    "~/.local/share/fonts",
    "~/.config/fontconfig",
    "~/.cache/fontconfig",
};
/* Lists of folders, separated by colons. */
static const char *const variables[] = {"LV2_PATH", "LADSPA_PATH", "CLAP_PATH", "LD_LIBRARY_PATH",
                                        "FONTCONFIG_PATH"};

static enum status add_path(struct plugin_reads *reads, const char *path, size_t length)
{
    char **more = realloc(reads->paths, (reads->count + 1) * sizeof *more);
    if (!more)
        return fail_memory("the files of a plugin");
    reads->paths = more;
    const char *home = length >= 2 && path[0] == '~' && path[1] == '/' ? getenv("HOME") : NULL;
    int made = home ? asprintf(&more[reads->count], "%s%.*s", home, (int)length - 1, path + 1)
                    : asprintf(&more[reads->count], "%.*s", (int)length, path);
    if (made < 0)
        return fail_memory("the files of a plugin");
    reads->count++;
    return STATUS_OK;
}

static enum status add_variable(struct plugin_reads *reads, const char *name)
{
    const char *list = getenv(name);
    for (size_t length; list && *list; list += length + (list[length] == ':')) {
        length = strcspn(list, ":");
        if (length > 0)
            TRY(add_path(reads, list, length));
    }
    return STATUS_OK;
}

/* The masks installed with this program, which are presets of halo.lv2 and halo.clap. */
static enum status add_masks(struct plugin_reads *reads)
{
    char program[PATH_MAX], masks[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program);
    while (length > 0 && program[length - 1] != '/')
        length--;
    int size = snprintf(masks, sizeof masks, "%.*s../share/halo/filters", (int)length, program);
    return length > 0 ? add_path(reads, masks, (size_t)size) : STATUS_OK;
}

static enum status add_all(struct plugin_reads *reads, char *const *named)
{
    char cache[CACHE_FILE_PATH];
    for (size_t i = 0; i < sizeof system_places / sizeof *system_places; i++)
        TRY(add_path(reads, system_places[i], strlen(system_places[i])));
    for (size_t i = 0; i < sizeof home_places / sizeof *home_places; i++)
        TRY(add_path(reads, home_places[i], strlen(home_places[i])));
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        TRY(add_variable(reads, variables[i]));
    if (cache_file_path(cache, "")) /* what halo.lv2 measured */
        TRY(add_path(reads, cache, strlen(cache)));
    TRY(add_masks(reads));
    for (; *named; named++)
        if (**named)
            TRY(add_path(reads, *named, strlen(*named)));
    return STATUS_OK;
}

enum status plugin_reads_init(struct plugin_reads *reads, char *const *named)
{
    *reads = (struct plugin_reads){0};
    enum status status = add_all(reads, named);
    if (status != STATUS_OK)
        plugin_reads_free(reads);
    return status;
}

void plugin_reads_free(struct plugin_reads *reads)
{
    for (size_t i = 0; i < reads->count; i++)
        free(reads->paths[i]);
    free(reads->paths);
    *reads = (struct plugin_reads){0};
}

bool plugin_reads_include(const struct plugin_reads *reads, const char *path)
{
    char real[PATH_MAX], place[PATH_MAX];
    if (!realpath(path, real))
        return false;
    for (size_t i = 0; i < reads->count; i++) {
        size_t length = realpath(reads->paths[i], place) ? strlen(place) : 0;
        if (length > 1 && strncmp(real, place, length) == 0 &&
            (real[length] == '\0' || real[length] == '/'))
            return true;
    }
    return false;
}
