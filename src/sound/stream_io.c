#include "sound/stream_io.h"

#include "base/stop.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Unknown length: large, but far from overflow in libsndfile. */
#define LENGTH_UNKNOWN ((sf_count_t)1 << 60)

void stream_io_begin(struct stream_io *io, FILE *stream)
{
    io->stream = stream;
    io->position = io->consumed = 0;
}

void stream_io_unread(struct stream_io *io, const void *bytes, size_t count)
{
    memcpy(io->head, bytes, count);
    io->consumed = (int64_t)count;
}

static sf_count_t stream_read(void *buffer, sf_count_t count, void *user)
{
    struct stream_io *io = user;
    unsigned char *bytes = buffer;
    sf_count_t done = 0;
    if (io->position < io->consumed && io->position < STREAM_HEAD) {
        int64_t kept = io->consumed < STREAM_HEAD ? io->consumed : STREAM_HEAD;
        done = kept - io->position < count ? kept - io->position : count;
        memcpy(bytes, io->head + io->position, (size_t)done);
        io->position += done;
    }
    if (done == count || io->position != io->consumed)
        return done;
    sf_count_t more = (sf_count_t)fread(bytes + done, 1, (size_t)(count - done), io->stream);
    if (io->consumed < STREAM_HEAD) {
        int64_t capacity = STREAM_HEAD - io->consumed;
        memcpy(io->head + io->consumed, bytes + done, (size_t)(more < capacity ? more : capacity));
    }
    io->consumed += more;
    io->position += more;
    return done + more;
}

static sf_count_t stream_seek(sf_count_t offset, int whence, void *user)
{
    struct stream_io *io = user;
    sf_count_t target = whence == SEEK_SET   ? offset
                        : whence == SEEK_CUR ? io->position + offset
                                             : -1;
    if (target == io->position)
        return target;
    /* Decoders that look beyond the sound would consume it: only the head is seekable, and only
     * while all of it is kept. */
    if (target < 0 || target > STREAM_HEAD || io->consumed > STREAM_HEAD)
        return -1;
    if (target <= io->consumed) {
        io->position = target;
        return target;
    }
    char scrap[4096];
    io->position = io->consumed;
    while (io->position < target) {
        sf_count_t part = target - io->position;
        if (part > (sf_count_t)sizeof scrap)
            part = sizeof scrap;
        if (stream_read(scrap, part, io) < part)
            return -1;
    }
    return target;
}

static sf_count_t stream_length(void *user)
{
    (void)user;
    return LENGTH_UNKNOWN;
}

static sf_count_t stream_tell(void *user)
{
    return ((struct stream_io *)user)->position;
}

SF_VIRTUAL_IO stream_io_functions = {
    .get_filelen = stream_length,
    .seek = stream_seek,
    .read = stream_read,
    .tell = stream_tell,
};

static sf_count_t output_write(const void *buffer, sf_count_t count, void *user)
{
    struct stream_output *output = user;
    sf_count_t done = 0;
    while (done < count) {
        ssize_t part = write(output->fd, (const char *)buffer + done, (size_t)(count - done));
        if (part < 0 && errno == EINTR && !stop_requested())
            continue;
        if (part <= 0)
            break;
        done += part;
    }
    output->position += done;
    return done;
}

static sf_count_t output_seek(sf_count_t offset, int whence, void *user)
{
    const struct stream_output *output = user;
    sf_count_t target = whence == SEEK_SET ? offset : output->position + offset;
    return target == output->position ? target : -1;
}

static sf_count_t output_tell(void *user)
{
    return ((const struct stream_output *)user)->position;
}

SF_VIRTUAL_IO stream_output_functions = {
    .get_filelen = output_tell,
    .seek = output_seek,
    .write = output_write,
    .tell = output_tell,
};
