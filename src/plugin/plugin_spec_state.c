/* A plugin's state and what else it may read: @state=FOLDER, @reads=PATH. */
#include "plugin/plugin_spec.h"

#include "base/files_read.h"
#include "plugin/plugin_state_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum status plugin_spec_take_state(struct plugin_spec *spec, const struct plugin_info *info,
                                   const char *folder)
{
    if (!info->keeps_state)
        return fail(CAUSE_USAGE, "%s keeps no state beyond its controls", info->id);
    struct stat entry;
    if (stat(folder, &entry) == 0 && !S_ISDIR(entry.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot read the state %s: it is not a folder", folder);
    if (access(folder, R_OK | X_OK) != 0)
        return fail_errno(errno, "cannot read the state %s", folder);
    free(spec->state);
    spec->state = strdup(folder);
    return spec->state ? STATUS_OK : fail_memory("a plugin");
}

enum status plugin_spec_take_reads(struct plugin_spec *spec, const char *path)
{
    struct stat entry;
    char **reads = realloc(spec->reads, (spec->read_count + 1) * sizeof *reads);
    if (!reads)
        return fail_memory("a plugin");
    spec->reads = reads;
    if (access(path, R_OK) != 0 || stat(path, &entry) != 0)
        return fail_errno(errno, "cannot read %s", path);
    /* Of a folder it is not known which files are read; the output may lie there, too. */
    bool added = S_ISDIR(entry.st_mode) || files_read_add(path);
    reads[spec->read_count] = strdup(path);
    if (!reads[spec->read_count])
        return fail_memory("a plugin");
    spec->read_count++;
    return added ? STATUS_OK : fail_memory("a plugin");
}

static enum status refuse_link(void *folder, const char *link, const char *target)
{
    return fail(CAUSE_NOT_PERMITTED,
                "cannot use the state %s: %s in it is a link to %s, which nobody named; "
                "@reads=%s lets the plugin read that",
                (const char *)folder, link + strlen(folder) + 1, target, target);
}

enum status plugin_spec_check_state(const struct plugin_spec *spec, char *const *named)
{
    struct plugin_reads reads;
    if (!spec->state)
        return STATUS_OK;
    TRY(plugin_reads_init(&reads, named));
    enum status status = plugin_state_links(spec->state, &reads, refuse_link, spec->state);
    plugin_reads_free(&reads);
    if (status == STATUS_OK && !files_read_add_below(spec->state))
        status = fail_memory("a plugin");
    return status;
}
