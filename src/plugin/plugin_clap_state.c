/* The state of a CLAP plugin: bytes of its own, in a file with a line before them that says whose
 * they are and how many. */
#include "plugin/plugin_clap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { STATE_MOST = 1 << 30, HEAD_MOST = CLAP_TEXT_MOST + 64 };

static const char STATE_FILE[] = "state.clap";

static int64_t write_bytes(const struct clap_ostream *stream, const void *from, uint64_t size)
{
    struct clap_bytes *bytes = stream->ctx;
    if (size > STATE_MOST - bytes->size)
        return -1;
    unsigned char *more = realloc(bytes->data, bytes->size + size + 1);
    if (!more)
        return -1;
    bytes->data = more;
    memcpy(more + bytes->size, from, size);
    bytes->size += size;
    return (int64_t)size;
}

static int64_t read_bytes(const struct clap_istream *stream, void *to, uint64_t size)
{
    struct clap_bytes *bytes = stream->ctx;
    size_t left = bytes->size - bytes->at, some = size < left ? (size_t)size : left;
    memcpy(to, bytes->data + bytes->at, some);
    bytes->at += some;
    return (int64_t)some;
}

bool clap_state_take(struct clap_instance *instance, struct clap_bytes *bytes)
{
    *bytes = (struct clap_bytes){.data = malloc(1)};
    const struct clap_ostream stream = {.ctx = bytes, .write = write_bytes};
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    bool saved = bytes->data && instance->state->save(instance->handle, &stream);
    clap_enter(before);
    return saved;
}

bool clap_state_give(struct clap_instance *instance, struct clap_bytes *bytes)
{
    const struct clap_istream stream = {.ctx = bytes, .read = read_bytes};
    enum clap_role before = clap_enter(CLAP_MAIN_THREAD);
    bool loaded = instance->state->load(instance->handle, &stream);
    clap_enter(before);
    return loaded;
}

static bool write_file(const char *path, const char *id, const struct clap_bytes *bytes)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fprintf(file, "CLAP state of %s: %zu bytes\n", id, bytes->size);
    fwrite(bytes->data, 1, bytes->size, file);
    bool written = !ferror(file);
    return fclose(file) == 0 && written;
}

enum status clap_state_save(struct clap_instance *instance, const char *folder)
{
    const char *name = instance->plugin.info->id;
    struct clap_bytes bytes;
    char *path = NULL;
    enum status status = STATUS_OK;
    bool taken = clap_state_take(instance, &bytes);
    if (!taken)
        status = fail(CAUSE_OTHER, "cannot save the state of %s: the plugin failed", name);
    else if (asprintf(&path, "%s/%s", folder, STATE_FILE) < 0)
        path = NULL, status = fail_memory("a plugin's state");
    else if ((mkdir(folder, 0777) != 0 && errno != EEXIST) ||
             !write_file(path, instance->id, &bytes))
        status = fail_errno(errno, "cannot save the state of %s in %s", name, folder);
    free(bytes.data);
    free(path);
    return status;
}

/* ---- loading ---- */

/* Whether the head is one, and its numbers. */
static bool read_head(FILE *file, char *id, size_t *size)
{
    static const char before[] = "CLAP state of ";
    char line[HEAD_MOST];
    if (!fgets(line, sizeof line, file) || strncmp(line, before, sizeof before - 1) != 0)
        return false;
    char *end = strrchr(line, ':');
    if (!end || sscanf(end, ": %zu bytes", size) != 1 || *size > STATE_MOST)
        return false;
    *end = '\0';
    memcpy(id, line + sizeof before - 1, strlen(line + sizeof before - 1) + 1);
    return true;
}

static struct flaw read_state(FILE *file, const char *id, struct clap_bytes *bytes)
{
    char owner[HEAD_MOST];
    size_t size;
    if (!read_head(file, owner, &size))
        return (struct flaw){CAUSE_DAMAGED, "it is not the state of a CLAP plugin"};
    if (strcmp(owner, id) != 0)
        return (struct flaw){CAUSE_UNSUPPORTED, "it is the state of another plugin"};
    *bytes = (struct clap_bytes){.data = malloc(size + 1)};
    if (!bytes->data)
        return flaw_of_errno(ENOMEM);
    bytes->size = fread(bytes->data, 1, size, file);
    bool is_whole = bytes->size == size && fgetc(file) == EOF;
    return (struct flaw){CAUSE_DAMAGED, is_whole ? NULL : "it is damaged"};
}

enum status clap_state_load(struct clap_instance *instance, const char *folder)
{
    struct clap_bytes bytes = {0};
    char *path;
    if (!instance->state)
        return fail(CAUSE_UNSUPPORTED, "cannot load %s: %s keeps no state", folder,
                    instance->plugin.info->id);
    if (asprintf(&path, "%s/%s", folder, STATE_FILE) < 0)
        return fail_memory("a plugin's state");
    FILE *file = fopen(path, "r");
    struct flaw flaw = file ? read_state(file, instance->id, &bytes) : flaw_of_errno(errno);
    if (!flaw.text && !clap_state_give(instance, &bytes))
        flaw = (struct flaw){CAUSE_OTHER, instance->side.trouble[0] ? instance->side.trouble
                                                                    : "the plugin refuses it"};
    enum status status =
        flaw.text ? fail(flaw.cause, "cannot load %s: %s", path, flaw.text) : STATUS_OK;
    if (file)
        fclose(file);
    free(bytes.data);
    free(path);
    return status;
}
