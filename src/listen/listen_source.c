#include "listen/listen_source.h"

#include "live/device.h"

#include <string.h>

enum { CHUNK = 64 /* frames */, TAP = 1 << 17 /* frames that may wait */ };

enum status listen_source_init(struct listen_source *source, struct player *player,
                               struct live *live, size_t channels, size_t recent)
{
    *source = (struct listen_source){.player = player, .live = live, .channels = channels};
    if (player)
        return block_init(&source->played, channels, DEVICE_FRAMES_MOST, "a player");
    enum status status = ring_create(channels * sizeof(float), TAP, "an input", &source->tap);
    return status == STATUS_OK ? block_init(&source->recent, channels, recent, "an input") : status;
}

void listen_source_free(struct listen_source *source)
{
    block_free(&source->played);
    block_free(&source->recent);
    ring_destroy(source->tap);
}

static void tap(struct listen_source *source, const float *const *in, size_t frames)
{
    float chunk[CHUNK * LIVE_CHANNELS_MOST];
    for (size_t at = 0; at < frames; at += CHUNK) {
        size_t part = frames - at < CHUNK ? frames - at : CHUNK;
        audio_interleave(in, at, source->channels, part, chunk);
        ring_write(source->tap, chunk, part);
    }
}

void listen_source_step(void *context, const float *const *in, float *const *out, size_t frames,
                        bool lost)
{
    struct listen_source *source = context;
    if (source->player) {
        player_read(source->player, source->played.data, frames);
        in = (const float *const *)source->played.data;
    } else {
        tap(source, in, frames);
    }
    live_step(source->live, in, out, frames, lost);
}

void listen_source_update(struct listen_source *source)
{
    float chunk[CHUNK * LIVE_CHANNELS_MOST];
    size_t got, capacity = source->recent.frames;
    if (source->player)
        return;
    do {
        size_t at = (size_t)(source->taken % capacity);
        got = ring_read(source->tap, chunk, capacity - at < CHUNK ? capacity - at : CHUNK);
        audio_deinterleave(chunk, source->channels, got, source->recent.data, at);
        source->taken += got;
    } while (got > 0);
}

bool listen_source_recent(const struct listen_source *source, struct block *block)
{
    size_t capacity = source->recent.frames, oldest = (size_t)(source->taken % capacity);
    if (source->taken < capacity)
        return false;
    for (size_t c = 0; c < source->channels; c++) {
        const float *from = source->recent.data[c];
        memcpy(block->data[c], from + oldest, (capacity - oldest) * sizeof *from);
        memcpy(block->data[c] + capacity - oldest, from, oldest * sizeof *from);
    }
    return true;
}
