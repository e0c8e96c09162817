/* libFuzzer target for .vstpreset files: what they give to a plugin lies within them. */
#include "fuzz.h"
#include "plugin/vst3/plugin_vst3.h"

static size_t room;

static int32_t set_state(void *self, void *from)
{
    struct vst3_bstream *stream = from;
    char piece[16];
    size_t all = 0;
    (void)self;
    for (int32_t done = 1; done > 0; all += (size_t)done)
        if (stream->calls->read(stream, piece, sizeof piece, &done) != VST3_OK)
            abort();
    if (all == 0 || all > room || stream->calls->write(stream, piece, 1, NULL) == VST3_OK)
        abort();
    return VST3_OK;
}

static int32_t get_state(void *self, void *to)
{
    struct vst3_bstream *stream = to;
    (void)self;
    return stream->calls->write(stream, (char[]){"state"}, 5, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct vst3_component_calls calls = {.set_state = set_state,
                                                      .get_state = get_state};
    static const struct vst3_id cid = {{0}};
    struct vst3_component component = {&calls};
    const struct vst3_handle handle = {.component = &component};
    unsigned char *copy = malloc(size + 1);
    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    const struct plugin_bytes bytes = {.data = copy, .size = size};
    struct plugin_bytes again;
    room = size;
    (void)vst3_preset_give(&handle, &cid, &bytes);
    if (!vst3_preset_take(&handle, &cid, &again) ||
        (room = again.size, vst3_preset_give(&handle, &cid, &again).text))
        abort();
    free(again.data);
    free(copy);
    return 0;
}
