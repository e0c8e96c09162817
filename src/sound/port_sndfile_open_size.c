/* Sounds whose header leaves their length open, as programs write it to a pipe. libsndfile refuses
 * such sizes, or takes them for an empty or a cut sound, or what follows the samples for samples:
 * it is shown the size that the header lacks. */
#include "sound/port_sndfile_source.h"

#include <stdlib.h>
#include <string.h>

static void put_size(unsigned char *bytes, size_t count, uint64_t size, bool big_endian)
{
    for (size_t i = 0; i < count; i++)
        bytes[big_endian ? count - 1 - i : i] = (unsigned char)(size >> 8 * i);
}

/* ---- a file ---- */

/* Of those containers whose chunks open_end.h knows. */
static void find_chunks(struct sound_source *sound, struct sound_bytes *bytes,
                        struct sound_claim *claim)
{
    struct sound_chunks chunks;
    if (!sound_chunks_begin(bytes, &chunks) ||
        (strcmp(chunks.layout->form, "WAVE") != 0 && strcmp(chunks.layout->magic, "FORM") != 0))
        return;
    uint64_t end = open_end_find(&sound->io.end, bytes, claim->start);
    if (sound->io.end.has_chunks) {
        claim->end = end;
        sound->layout = chunks.layout;
    }
}

void sound_source_show_size(struct sound_source *sound, struct sound_bytes *bytes,
                            struct sound_claim *claim)
{
    unsigned char head[12];
    claim->end = bytes->size;
    find_chunks(sound, bytes, claim);
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return;
    const struct chunk_layout *layout = sound_chunks_layout(head);
    if (layout && layout->whole_bytes == 8 && layout->size_bytes == 4)
        return; /* an RF64 has the size elsewhere, and libsndfile asks for that of the file */
    uint64_t size = claim->end - claim->start + (layout ? layout->counted : 0);
    bool big_endian = layout ? layout->big_endian : memcmp(head, ".snd", 4) == 0;
    if (claim->size_bytes == 4 && size >= UINT32_MAX)
        return; /* it has no right one, and is read as a stream */
    struct sound_patch *patch = &sound->io.patch;
    *patch = (struct sound_patch){.at = (int64_t)claim->size_at, .size = claim->size_bytes};
    put_size(patch->bytes, patch->size, size, big_endian);
}

void source_note_open_length(const char *name)
{
    note(
        "%s: its header leaves the length open, as those of pipes and beyond 4 GB do: read to the end "
        "of the file",
        name);
}

/* ---- a stream ---- */

static enum status refuse_long(const struct sound_source *sound)
{
    return fail(CAUSE_UNSUPPORTED,
                "cannot read %s: its samples begin behind more than %d bytes; use a file",
                sound->source.name, STREAM_HEAD);
}

static bool is_au(const unsigned char *head)
{
    return memcmp(head, ".snd", 4) == 0 || memcmp(head, "dns.", 4) == 0;
}

static enum status open_au_size(struct sound_source *sound, unsigned char *head)
{
    uint64_t (*number)(const unsigned char *, size_t) =
        head[0] == '.' ? metadata_big : metadata_little;
    uint64_t size = number(head + 8, 4);
    if (number(head + 4, 4) > STREAM_HEAD)
        return refuse_long(sound);
    bool is_open = size == 0 || sound_size_is_made_up(size, 0);
    if (!is_open && size > INT32_MAX) /* a negative one, for libsndfile */
        sound->io.shown = (int64_t)(number(head + 4, 4) + size);
    if (is_open || size > INT32_MAX)
        memset(head + 8, 0xFF, 4);
    return STATUS_OK;
}

/* Up to its samples. */
struct stream_head {
    FILE *stream;
    unsigned char *bytes; /* STREAM_HEAD */
    size_t size;
};

static bool read_to(struct stream_head *head, uint64_t size)
{
    if (size > STREAM_HEAD)
        return false;
    if (size > head->size)
        head->size += fread(head->bytes + head->size, 1, (size_t)size - head->size, head->stream);
    return head->size >= size;
}

struct stream_chunks {
    bool is_described, is_absurd, begins_again; /* see sound_chunks.h */
    bool is_long;                               /* the samples begin behind STREAM_HEAD */
};

/* With what the samples begin with, or what a chunk of the format has of channels and bits. */
static bool read_to_data(struct stream_head *head, const struct chunk_layout *layout,
                         struct sound_chunk *data, struct stream_chunks *found)
{
    enum { MORE = 20 };
    struct sound_bytes bytes = {.memory = head->bytes, .big_endian = layout->big_endian};
    struct sound_chunks chunks = {.bytes = &bytes, .layout = layout, .at = layout->first};
    do {
        found->is_long = chunks.at + layout->header > STREAM_HEAD;
        if (!read_to(head, chunks.at + layout->header))
            return false;
        (void)read_to(head, chunks.at + layout->header + MORE);
        bytes.size = head->size;
        if (!sound_chunks_next(&chunks, data))
            return false;
        found->begins_again = sound_chunk_begins_again(&chunks, data);
        found->is_absurd = data->is_absurd && !data->is_made_up;
        if (found->is_absurd)
            return false;
    } while (!data->is_data);
    found->is_described = chunks.is_described;
    return true;
}

/* Of a CAF, an AIFF or a W64. libsndfile reads an AIFF of no samples to the end of the stream. */
static enum status show_chunk_size(struct sound_source *sound, struct stream_head *head,
                                   const struct chunk_layout *layout)
{
    struct sound_chunk data;
    struct stream_chunks found = {0};
    bool is_aiff = strcmp(layout->magic, "FORM") == 0;
    bool is_there = read_to_data(head, layout, &data, &found);
    if (found.begins_again) /* which is refused later */
        return STATUS_OK;
    if (found.is_absurd)
        return fail(CAUSE_DAMAGED, SOUND_IMPOSSIBLE, sound->source.name);
    if (found.is_long)
        return refuse_long(sound);
    if (!is_there)
        return STATUS_OK;
    data.is_made_up |= sound->source.length_is_open;
    bool is_open = data.is_open || data.is_made_up || (is_aiff && data.size == 0);
    if (found.is_described && !is_open)
        sound->io.shown = (int64_t)(data.content + data.size);
    if (!is_open)
        return STATUS_OK;
    unsigned char *size = head->bytes + data.content - layout->header + layout->size_at;
    put_size(size, layout->size_bytes, is_aiff ? 0 : SIZE_MOST, layout->big_endian);
    if (!is_aiff)
        return STATUS_OK;
    sound->io.end.is_sought = sound->io.end.big_endian = true;
    sound->layout = layout;
    sound->next = sound->end = data.content;
    return STATUS_OK;
}

enum status sound_source_show_stream_size(struct sound_source *sound, const unsigned char start[12])
{
    struct stream_head head = {.stream = sound->stream, .bytes = malloc(STREAM_HEAD), .size = 12};
    const struct chunk_layout *layout = sound_chunks_layout(start);
    if (!head.bytes)
        return fail_memory("reading");
    memcpy(head.bytes, start, head.size);
    enum status status = STATUS_OK;
    if (is_au(start))
        status = open_au_size(sound, head.bytes);
    else if (layout)
        status = show_chunk_size(sound, &head, layout);
    sound_io_unread(&sound->io, head.bytes, head.size);
    free(head.bytes);
    return status;
}
