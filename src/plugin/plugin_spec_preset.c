/* Presets in a specification: preset=URI, its name, or a file for plugins that load such. */
#include "plugin/plugin_spec.h"

#include "base/files_read.h"
#include "base/short_list.h"
#include "base/suggest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char in_file[] = "file:", in_plugin[] = "plugin:", key_mark[] = "?key=";

const struct plugin_preset *plugin_spec_find_preset(const struct plugin_info *info,
                                                    const char *text)
{
    const struct plugin_preset *named = NULL;
    for (size_t i = 0; i < info->preset_count; i++) {
        const struct plugin_preset *preset = &info->presets[i];
        if (strcmp(preset->uri, text) == 0)
            return preset;
        if (!named && preset->name && strcasecmp(preset->name, text) == 0)
            named = preset;
    }
    return named;
}

size_t plugin_spec_preset_path(const char *text, size_t *start)
{
    *start = strncmp(text, in_file, sizeof in_file - 1) == 0 ? sizeof in_file - 1 : 0;
    if (strncmp(text + *start, "//", 2) == 0)
        *start += 2;
    const char *key = strstr(text + *start, key_mark);
    return key ? (size_t)(key - text) - *start : strlen(text + *start);
}

/* The URI of a file, for free(); NULL: there is no such file (errno), or memory. */
static char *uri_of_file(const char *text)
{
    char path[PATH_MAX], real[PATH_MAX], *uri = NULL;
    struct stat about;
    size_t start, length = plugin_spec_preset_path(text, &start);
    if ((size_t)snprintf(path, sizeof path, "%.*s", (int)length, text + start) >= sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (!realpath(path, real) || access(real, R_OK) != 0 || stat(real, &about) != 0)
        return NULL;
    if (!S_ISREG(about.st_mode)) {
        errno = S_ISDIR(about.st_mode) ? EISDIR : EINVAL;
        return NULL;
    }
    if (!files_read_add(real)) {
        errno = ENOMEM;
        return NULL;
    }
    return asprintf(&uri, "%s%s%s", in_file, real, text + start + length) < 0 ? NULL : uri;
}

static enum status refuse(const struct plugin_info *info, const char *text)
{
    struct short_list list = {0};
    struct suggest near;
    suggest_init(&near, text);
    for (size_t i = 0; i < info->preset_count; i++) {
        const struct plugin_preset *preset = &info->presets[i];
        short_list_add(&list, preset->name ? preset->name : preset->uri);
        suggest_offer(&near, preset->name ? preset->name : preset->uri);
    }
    enum status status =
        fail(CAUSE_USAGE, "%s has no preset '%s'; its presets: %s%s%s%s", info->id, text,
             short_list_text(&list, "; halo plugins info lists all"),
             info->loads_presets ? "; a file is named with its folder, such as ./" : "",
             info->loads_presets ? text : "", suggest_text(&near));
    suggest_free(&near);
    return status;
}

enum status plugin_spec_take_preset(struct plugin_spec *spec, const struct plugin_info *info,
                                    const char *text)
{
    const struct plugin_preset *preset = plugin_spec_find_preset(info, text);
    free(spec->preset);
    spec->preset = NULL;
    bool is_inside = strncmp(text, in_plugin, sizeof in_plugin - 1) == 0;
    if (preset || (is_inside && info->loads_presets)) {
        spec->preset = strdup(preset ? preset->uri : text);
        return spec->preset ? STATUS_OK : fail_memory("a plugin");
    }
    if (!info->loads_presets || !strchr(text, '/')) /* perhaps a name */
        return refuse(info, text);
    spec->preset = uri_of_file(text);
    return spec->preset ? STATUS_OK : fail_errno(errno, "cannot read the preset %s", text);
}
