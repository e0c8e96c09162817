/* States: the bytes of a .vstpreset file, and such files. */
#include "plugin/vst3/plugin_vst3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A head of 48 bytes: "VST3", a version, the class in hexadecimal digits, the offset of the list.
 * Then the chunks. Then the list: "List", the number of chunks, and for each chunk its name, offset
 * and length. Numbers begin with their lowest byte. */
enum { HEAD = 48, LIST_HEAD = 8, ENTRY = 20, CHUNKS = 2, CHUNKS_MOST = 128 };

static const char chunk_names[CHUNKS][5] = {"Comp", "Cont"};

static void put_number(struct plugin_bytes *file, uint64_t number, size_t bytes)
{
    unsigned char text[8];
    for (size_t i = 0; i < bytes; i++)
        text[i] = (unsigned char)(number >> (8 * i));
    plugin_bytes_write(file, text, bytes);
}

static uint64_t get_number(const unsigned char *text, size_t bytes)
{
    uint64_t number = 0;
    for (size_t i = bytes; i > 0; i--)
        number = number << 8 | text[i - 1];
    return number;
}

bool vst3_preset_take(const struct vst3_handle *handle, const struct vst3_id *cid,
                      struct plugin_bytes *file)
{
    struct vst3_stream parts[CHUNKS] = {vst3_stream((struct plugin_bytes){0}),
                                        vst3_stream((struct plugin_bytes){0})};
    char hex[VST3_HEX];
    size_t at = HEAD;
    bool taken = handle->component->calls->get_state(handle->component, &parts[0]) == VST3_OK;
    if (handle->controller)
        handle->controller->calls->get_state(handle->controller, &parts[1]);
    vst3_hex(cid, hex);
    *file = (struct plugin_bytes){0};
    plugin_bytes_write(file, "VST3\1\0\0", 8);
    plugin_bytes_write(file, hex, VST3_HEX - 1);
    put_number(file, HEAD + parts[0].bytes.size + parts[1].bytes.size, 8);
    for (size_t i = 0; i < CHUNKS; i++)
        plugin_bytes_write(file, parts[i].bytes.data, parts[i].bytes.size);
    plugin_bytes_write(file, "List\2\0\0", 8);
    for (size_t i = 0; i < CHUNKS; at += parts[i++].bytes.size) {
        plugin_bytes_write(file, chunk_names[i], 4);
        put_number(file, at, 8);
        put_number(file, parts[i].bytes.size, 8);
        taken &= file->size ==
                 HEAD + parts[0].bytes.size + parts[1].bytes.size + LIST_HEAD + ENTRY * (i + 1);
    }
    for (size_t i = 0; i < CHUNKS; i++)
        free(parts[i].bytes.data);
    file->at = 0;
    return taken;
}

/* Find the parts of the file that are named like chunks. False: the file is damaged. */
static bool find_chunks(const struct plugin_bytes *file, struct plugin_bytes chunks[CHUNKS])
{
    uint64_t list = get_number(file->data + HEAD - 8, 8);
    if (list < HEAD || list > file->size - LIST_HEAD || memcmp(file->data + list, "List", 4) != 0)
        return false;
    uint64_t count = get_number(file->data + list + 4, 4);
    if (count > CHUNKS_MOST || count > (file->size - list - LIST_HEAD) / ENTRY)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        const unsigned char *entry = file->data + list + LIST_HEAD + ENTRY * i;
        uint64_t at = get_number(entry + 4, 8), size = get_number(entry + 12, 8);
        if (at > file->size || size > file->size - at)
            return false;
        for (size_t c = 0; c < CHUNKS; c++)
            if (memcmp(entry, chunk_names[c], 4) == 0)
                chunks[c] = (struct plugin_bytes){.data = file->data + at, .size = (size_t)size};
    }
    return true;
}

/* A plugin without state of its own may not implement the call. */
static bool is_taken(int32_t result)
{
    return result == VST3_OK || result == VST3_NOT_IMPLEMENTED;
}

static bool give_chunks(const struct vst3_handle *handle, struct plugin_bytes chunks[CHUNKS])
{
    struct vst3_component *component = handle->component;
    struct vst3_edit_controller *controller = handle->controller;
    struct vst3_stream parts[] = {vst3_stream(chunks[0]), vst3_stream(chunks[0]),
                                  vst3_stream(chunks[1])};
    if (chunks[0].size > 0 && !is_taken(component->calls->set_state(component, &parts[0])))
        return false;
    if (controller && chunks[0].size > 0)
        controller->calls->set_component_state(controller, &parts[1]);
    if (controller && chunks[1].size > 0)
        controller->calls->set_state(controller, &parts[2]);
    return true;
}

struct flaw vst3_preset_give(const struct vst3_handle *handle, const struct vst3_id *cid,
                             const struct plugin_bytes *file)
{
    struct plugin_bytes chunks[CHUNKS] = {{0}};
    char hex[VST3_HEX];
    vst3_hex(cid, hex);
    if (file->size < HEAD + LIST_HEAD || memcmp(file->data, "VST3", 4) != 0)
        return (struct flaw){CAUSE_DAMAGED, "it is not a .vstpreset file"};
    if (strncasecmp((const char *)file->data + 8, hex, VST3_HEX - 1) != 0)
        return (struct flaw){CAUSE_UNSUPPORTED, "it is the state of another plugin"};
    if (!find_chunks(file, chunks))
        return (struct flaw){CAUSE_DAMAGED, "it is damaged"};
    if (!chunks[0].data && !chunks[1].data)
        return (struct flaw){CAUSE_UNSUPPORTED, "it has no state of the plugin"};
    return (struct flaw){CAUSE_OTHER, give_chunks(handle, chunks) ? NULL : "the plugin refuses it"};
}

/* ---- files ---- */

static const char STATE_FILE[] = "state.vstpreset";

enum status vst3_state_save(const struct vst3_handle *handle, const struct vst3_id *cid,
                            const char *name, const char *folder)
{
    struct plugin_bytes bytes;
    enum status status =
        vst3_preset_take(handle, cid, &bytes)
            ? plugin_bytes_save(&bytes, name, folder, STATE_FILE)
            : fail(CAUSE_OTHER, "cannot save the state of %s: the plugin failed", name);
    free(bytes.data);
    return status;
}

static struct flaw read_file(FILE *file, struct plugin_bytes *bytes)
{
    unsigned char piece[4096];
    for (size_t count; (count = fread(piece, 1, sizeof piece, file)) > 0;)
        if (plugin_bytes_write(bytes, piece, count) < 0)
            return flaw_of_errno(EFBIG);
    return ferror(file) ? flaw_of_errno(errno) : (struct flaw){CAUSE_OTHER, NULL};
}

enum status vst3_state_load_file(const struct vst3_handle *handle, const struct vst3_id *cid,
                                 const char *path)
{
    struct plugin_bytes bytes = {0};
    FILE *file = fopen(path, "r");
    struct flaw flaw = file ? read_file(file, &bytes) : flaw_of_errno(errno);
    if (!flaw.text)
        flaw = vst3_preset_give(handle, cid, &bytes);
    if (file)
        fclose(file);
    free(bytes.data);
    return flaw.text ? fail(flaw.cause, "cannot load %s: %s", path, flaw.text) : STATUS_OK;
}

enum status vst3_state_load(const struct vst3_handle *handle, const struct vst3_id *cid,
                            const char *folder)
{
    char *path;
    if (asprintf(&path, "%s/%s", folder, STATE_FILE) < 0)
        return fail_memory("a plugin's state");
    enum status status = vst3_state_load_file(handle, cid, path);
    free(path);
    return status;
}
