/* A sound kept on disk between two passes, as raw interleaved float32. */
#include "sound/port.h"

#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK_SAMPLES = 1 << 15 };

struct spool {
    FILE *file;
    int users;
    size_t channels;
    uint64_t frames;
    size_t chunk;
    float *interleaved;
};

struct spool_sink {
    struct sink sink;
    struct spool *spool;
};

struct spool_source {
    struct source source;
    struct spool *spool;
    uint64_t position;
};

static void spool_leave(struct spool *spool)
{
    if (!spool || --spool->users > 0)
        return;
    if (spool->file)
        fclose(spool->file);
    free(spool->interleaved);
    free(spool);
}

static enum status spool_failed(const char *what)
{
    if (stop_requested())
        return STATUS_INTERRUPTED;
    return fail(STATUS_FAILED, "cannot %s the temporary file that --normalize needs: %s", what,
                strerror(errno));
}

static enum status spool_write(struct sink *sink, const float *const *planar, size_t frames)
{
    struct spool *spool = ((struct spool_sink *)sink)->spool;
    for (size_t done = 0; done < frames;) {
        size_t part = frames - done < spool->chunk ? frames - done : spool->chunk;
        audio_interleave(planar, done, spool->channels, part, spool->interleaved);
        size_t count = part * spool->channels;
        if (fwrite(spool->interleaved, sizeof(float), count, spool->file) != count)
            return spool_failed("write");
        done += part;
        spool->frames += part;
    }
    return STATUS_OK;
}

static enum status spool_commit(struct sink *sink)
{
    struct spool *spool = ((struct spool_sink *)sink)->spool;
    if (fflush(spool->file) != 0 || fseeko(spool->file, 0, SEEK_SET) != 0)
        return spool_failed("write");
    return STATUS_OK;
}

static void spool_sink_close(struct sink *sink)
{
    spool_leave(((struct spool_sink *)sink)->spool);
    free(sink);
}

static const struct sink_kind spool_sink_kind = {
    .write = spool_write,
    .commit = spool_commit,
    .close = spool_sink_close,
};

static enum status spool_read(struct source *source, float *const *planar, size_t frames,
                              size_t *got)
{
    struct spool_source *reader = (struct spool_source *)source;
    struct spool *spool = reader->spool;
    for (*got = 0; *got < frames && reader->position < spool->frames;) {
        size_t part = frames - *got < spool->chunk ? frames - *got : spool->chunk;
        if (part > spool->frames - reader->position)
            part = (size_t)(spool->frames - reader->position);
        size_t count = part * spool->channels;
        if (fread(spool->interleaved, sizeof(float), count, spool->file) != count)
            return spool_failed("read");
        audio_deinterleave(spool->interleaved, spool->channels, part, planar, *got);
        *got += part;
        reader->position += part;
    }
    return STATUS_OK;
}

static enum status spool_seek(struct source *source, uint64_t frame)
{
    struct spool_source *reader = (struct spool_source *)source;
    off_t offset = (off_t)(frame * reader->spool->channels * sizeof(float));
    if (fseeko(reader->spool->file, offset, SEEK_SET) != 0)
        return spool_failed("seek in");
    reader->position = frame;
    return STATUS_OK;
}

static void spool_source_close(struct source *source)
{
    spool_leave(((struct spool_source *)source)->spool);
    free(source);
}

static const struct source_kind spool_source_kind = {
    .read = spool_read,
    .seek = spool_seek,
    .close = spool_source_close,
};

/* A file without a name in the folder of `beside`, where there is room for OUT. */
static FILE *open_nameless(const char *beside)
{
    const char *folder = getenv("TMPDIR");
    char *path = NULL;
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    if (beside)
        path = slash ? strndup(beside, (size_t)(slash - beside) + 1) : strdup(".");
    else
        path = strdup(folder && *folder ? folder : "/var/tmp");
    char *template = NULL;
    if (!path || asprintf(&template, "%s/.halo.XXXXXX", path) < 0)
        template = NULL;
    free(path);
    int fd = template ? mkostemp(template, O_CLOEXEC) : -1;
    if (fd >= 0)
        unlink(template);
    free(template);
    return fd < 0 ? NULL : fdopen(fd, "w+b");
}

enum status spool_open(const char *beside, const struct source *like, size_t channels,
                       struct sink **sink, struct source **source)
{
    struct spool *spool = calloc(1, sizeof *spool);
    struct spool_sink *writer = calloc(1, sizeof *writer);
    struct spool_source *reader = calloc(1, sizeof *reader);
    enum status status = STATUS_OK;
    if (spool && writer && reader) {
        spool->users = 1;
        spool->channels = channels;
        spool->chunk = channels < CHUNK_SAMPLES ? CHUNK_SAMPLES / channels : 1;
        spool->interleaved = audio_alloc(spool->chunk * channels);
        spool->file = open_nameless(beside);
        if (!spool->file)
            status = spool_failed("make");
    }
    if (!spool || !writer || !reader || !spool->interleaved)
        status = fail_memory("a temporary file");
    if (status != STATUS_OK) {
        spool_leave(spool);
        free(writer);
        free(reader);
        return status;
    }
    spool->users = 2;
    writer->sink.kind = &spool_sink_kind;
    writer->spool = spool;
    reader->source = (struct source){
        .kind = &spool_source_kind,
        .name = like->name,
        .format = {.rate = like->format.rate, .channels = channels},
        .frames = FRAMES_UNKNOWN,
        .seekable = true,
    };
    reader->spool = spool;
    *sink = &writer->sink;
    *source = &reader->source;
    return STATUS_OK;
}
