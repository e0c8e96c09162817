/* Reads the metadata of a sound file. It is a separate source file, so that plugins and libhalo,
 * which need no metadata, are linked without its libraries (tests/library_symbols.sh). */
#include "base/stop.h"
#include "sound/file/port_sndfile_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* *is_whole: all bytes of the file can be read at any time, from its first on. */
static enum status check_whole(const struct sound_source *sound, int fd, bool *is_whole)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return fail_errno(errno, "cannot read %s", sound->source.name);
    *is_whole = S_ISREG(about.st_mode) && !sound->is_in_part;
    return STATUS_OK;
}

/* The kept head of a stream, without chunks after the samples. Not called for WAV, whose metadata
 * before the samples has been read already. */
static struct sound_bytes bytes_of_head(const struct sound_source *sound)
{
    uint64_t kept = sound_io_kept(&sound->io);
    bool has_next = sound->layout && sound->next < kept;
    return (struct sound_bytes){
        .fd = -1, .memory = sound->io.head, .size = has_next ? sound->next : kept};
}

static enum status read_all(struct sound_source *sound, struct sound_bytes bytes)
{
    struct source *source = &sound->source;
    metadata_destroy(source->traits.metadata);
    source->traits.metadata = NULL;
    TRY(metadata_create(&source->traits.metadata));
    if (!bytes.error)
        TRY(metadata_read(&bytes, source->traits.metadata));
    struct flaw flaw = sound_flaw(bytes.error);
    return bytes.error ? fail(flaw.cause, "cannot read %s: %s", source->name, flaw.text)
                       : STATUS_OK;
}

enum status source_read_metadata(struct source *source)
{
    struct sound_source *sound = (struct sound_source *)source;
    if (source->kind != &sound_source_kind)
        return STATUS_OK;
    int fd = sound->stream ? fileno(sound->stream) : sound->fd;
    bool is_file = false;
    TRY(check_whole(sound, fd, &is_file));
    if (is_file) {
        struct sound_bytes chunks = open_end_chunks(&sound->io.end), all = sound_bytes_of_file(fd);
        if (!sound->stream && sound->io.length > (int64_t)all.size)
            all.size = (uint64_t)sound->io.length; /* missing bytes are an error */
        TRY(read_all(sound, all));
        if (!sound->stream && sound->io.end.has_chunks)
            TRY(metadata_read_after(&chunks, sound->layout, source->traits.metadata));
    } else if (!source->traits.metadata) {
        TRY(read_all(sound, bytes_of_head(sound)));
    }
    source->traits.metadata->more_follows = !is_file && sound->end > sound->next;
    if (!source->traits.metadata->more_follows)
        TRY(metadata_remove_unplaced(source->traits.metadata));
    return STATUS_OK;
}

/* most bytes that are read after the samples, and bytes of a read */
enum { AFTER_MOST = 1 << 24, AFTER_PART = 1 << 16 };

static enum status read_into(struct sound_source *sound, struct metadata_buffer *buffer,
                             uint64_t count)
{
    unsigned char *part = malloc(AFTER_PART);
    if (!part)
        return fail_memory("tags");
    for (size_t got = AFTER_PART; count > 0 && got == AFTER_PART && !buffer->failed; count -= got) {
        got = fread(part, 1, count < AFTER_PART ? (size_t)count : AFTER_PART, sound->stream);
        metadata_put(buffer, part, got);
    }
    free(part);
    if (stop_requested())
        return STATUS_INTERRUPTED;
    if (ferror(sound->stream))
        return fail_errno(errno, "cannot read %s after its samples", sound->source.name);
    return buffer->failed ? fail_memory("tags") : STATUS_OK;
}

/* Read the bytes after the samples. Bytes that the decoder has read are in the kept head. */
static enum status read_after(struct sound_source *sound, struct metadata_buffer *buffer)
{
    const struct sound_io *io = &sound->io;
    uint64_t passed = (uint64_t)io->passed, next = sound->next;
    uint64_t most = sound->end - next < AFTER_MOST ? sound->end - next : AFTER_MOST;
    bool ends_early =
        passed < next && next - passed >= AFTER_PART; /* the gap is more than padding */
    if (ends_early || (passed > next && passed > STREAM_HEAD))
        return STATUS_OK;
    if (passed < next) {
        struct metadata_buffer padding = {0};
        enum status status = read_into(sound, &padding, next - passed);
        free(padding.bytes);
        TRY(status);
    } else if (passed > next) {
        metadata_put(buffer, io->head + next,
                     (size_t)(passed - next < most ? passed - next : most));
    }
    return read_into(sound, buffer, most - buffer->size);
}

enum status source_read_metadata_after(struct source *source, struct sound_metadata *metadata)
{
    struct sound_source *sound = (struct sound_source *)source;
    struct metadata_buffer buffer = {0};
    if (sound->io.end.has_chunks) {
        struct sound_bytes chunks = open_end_chunks(&sound->io.end);
        return metadata_read_after(&chunks, sound->layout, metadata);
    }
    enum status status = read_after(sound, &buffer);
    struct sound_bytes bytes = {.fd = -1, .memory = buffer.bytes, .size = buffer.size};
    metadata->cut |= sound->end - sound->next > buffer.size + sound->layout->header;
    if (status == STATUS_OK && buffer.size > 0)
        status = metadata_read_after(&bytes, sound->layout, metadata);
    free(buffer.bytes);
    return status;
}
