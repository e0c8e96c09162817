/* What surrounds the samples of a sound file. A file of its own: plugins, which need none of it,
 * are linked without its libraries. */
#include "sound/port_sndfile_source.h"
#include "sound/sink_metadata.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Whether its bytes are there at any time, from the first of the file on. */
static bool is_whole_file(const struct sound_source *sound, int fd, struct stat *about)
{
    return fstat(fd, about) == 0 && S_ISREG(about->st_mode) && !sound->is_in_part;
}

/* Of a stream, what is before the samples of a WAV has been read; of another its head is kept. */
enum status source_read_metadata(struct source *source)
{
    struct sound_source *sound = (struct sound_source *)source;
    if (source->kind != &sound_source_kind)
        return STATUS_OK;
    struct sound_bytes bytes = {.fd = sound->stream ? fileno(sound->stream) : sound->fd};
    struct stat about;
    bool known = true, is_file = is_whole_file(sound, bytes.fd, &about);
    if (source->traits.metadata && !is_file)
        return STATUS_OK;
    metadata_destroy(source->traits.metadata);
    source->traits.metadata = NULL;
    TRY(metadata_create(&source->traits.metadata));
    bytes.size = is_file                          ? (uint64_t)about.st_size
                 : sound->io.passed < STREAM_HEAD ? (uint64_t)sound->io.passed
                                                  : STREAM_HEAD;
    if (!is_file) {
        bytes.fd = -1;
        bytes.memory = sound->io.head;
    }
    TRY(metadata_read(&bytes, source->traits.metadata, &known));
    if (bytes.error)
        return fail(STATUS_FAILED, "cannot read %s: %s", source->name, strerror(bytes.error));
    return known ? STATUS_OK : sound_tags_read(sound->file, source->traits.metadata);
}
