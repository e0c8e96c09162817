/* Some channels of a sound, in any order. */
#include "base/plural.h"
#include "sound/port.h"

#include <stdlib.h>

struct sound_channels {
    struct source source;
    struct source *inner;
    size_t *rows;        /* where each channel of the sound goes; beyond the chosen ones: unused */
    struct block unused; /* the rows of the others */
    struct block_in_double unused_in_double;
};

static void channels_close(struct source *source)
{
    struct sound_channels *channels = (struct sound_channels *)source;
    block_free(&channels->unused);
    block_free_in_double(&channels->unused_in_double);
    source_close(channels->inner);
    free(channels->rows);
    free(channels);
}

static size_t unused_count(const struct sound_channels *channels)
{
    return channels->inner->format.channels - channels->source.format.channels;
}

static enum status channels_read(struct source *source, float *const *planar, size_t frames,
                                 size_t *got)
{
    struct sound_channels *channels = (struct sound_channels *)source;
    size_t chosen = source->format.channels, all = channels->inner->format.channels;
    float *rows[all];
    if (frames > channels->unused.frames && unused_count(channels) > 0) {
        block_free(&channels->unused);
        TRY(block_init_unset(&channels->unused, unused_count(channels), frames, "reading"));
    }
    for (size_t c = 0; c < all; c++)
        rows[c] = channels->rows[c] < chosen ? planar[channels->rows[c]]
                                             : channels->unused.data[channels->rows[c] - chosen];
    return source_read(channels->inner, rows, frames, got);
}

static enum status channels_read_in_double(struct source *source, double *const *planar,
                                           size_t frames, size_t *got)
{
    struct sound_channels *channels = (struct sound_channels *)source;
    struct block_in_double *unused = &channels->unused_in_double;
    size_t chosen = source->format.channels, all = channels->inner->format.channels;
    double *rows[all];
    if (frames > unused->frames && unused_count(channels) > 0) {
        block_free_in_double(unused);
        TRY(block_init_unset_in_double(unused, unused_count(channels), frames, "reading"));
    }
    for (size_t c = 0; c < all; c++)
        rows[c] = channels->rows[c] < chosen ? planar[channels->rows[c]]
                                             : unused->data[channels->rows[c] - chosen];
    return source_read_in_double(channels->inner, rows, frames, got);
}

static enum status channels_seek(struct source *source, uint64_t frame)
{
    return source_seek(((struct sound_channels *)source)->inner, frame);
}

static const struct source_kind channels_kind = {.read = channels_read,
                                                 .read_in_double = channels_read_in_double,
                                                 .seek = channels_seek,
                                                 .close = channels_close};

/* Their positions, where they are in the order of the sound; a channel alone is for any. */
static struct channel_layout layout_of(const size_t *numbers, size_t count,
                                       struct channel_layout whole)
{
    struct channel_layout layout = {0};
    size_t channel = 0;
    if (count == 1 || whole.ambisonic != AMBISONIC_NONE)
        return channel_layout_implied(count == 1 ? 1 : 0);
    for (size_t i = 0; i < count; i++)
        if (numbers[i] > channel_layout_count(whole) || (i > 0 && numbers[i] <= numbers[i - 1]))
            return layout;
    for (uint32_t rest = whole.speakers; rest; rest &= rest - 1) {
        channel++;
        for (size_t i = 0; i < count; i++)
            layout.speakers |= numbers[i] == channel ? rest & -rest : 0;
    }
    return layout;
}

/* Gives each chosen channel its row, and the others those after them. */
static enum status choose(const size_t *numbers, size_t count, struct sound_channels *channels)
{
    size_t all = channels->inner->format.channels, next = count;
    for (size_t c = 0; c < all; c++)
        channels->rows[c] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == 0 || numbers[i] > all)
            return fail(CAUSE_USAGE, "%s has no channel %zu: it has %zu channel%s",
                        channels->source.name, numbers[i], all, plural_s(all));
        if (channels->rows[numbers[i] - 1] != SIZE_MAX)
            return fail(CAUSE_USAGE, "--channel has channel %zu twice", numbers[i]);
        channels->rows[numbers[i] - 1] = i;
    }
    for (size_t c = 0; c < all; c++)
        if (channels->rows[c] == SIZE_MAX)
            channels->rows[c] = next++;
    return STATUS_OK;
}

enum status source_open_channels(struct source *inner, const size_t *numbers, size_t count,
                                 struct source **result)
{
    struct sound_channels *channels = calloc(1, sizeof *channels);
    if (!channels) {
        source_close(inner);
        return fail_memory("reading");
    }
    channels->source = *inner;
    channels->source.kind = &channels_kind;
    channels->inner = inner;
    channels->rows = calloc(inner->format.channels, sizeof *channels->rows);
    enum status status = channels->rows ? choose(numbers, count, channels) : fail_memory("reading");
    if (status != STATUS_OK) {
        channels_close(&channels->source);
        return status;
    }
    channels->source.format.channels = count;
    channels->source.format.layout = layout_of(numbers, count, inner->format.layout);
    *result = &channels->source;
    return STATUS_OK;
}
