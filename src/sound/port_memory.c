/* Ports that keep a sound in memory or on disk. Compiled for each precision. */
#include "base/stop.h"
#include "signal/real.h"
#include "sound/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

struct memory_source {
    struct source source;
    const struct real_block *block;
    size_t position;
};

static enum status memory_read(struct source *source, real *const *planar, size_t frames,
                               size_t *got)
{
    struct memory_source *memory = (struct memory_source *)source;
    size_t left = memory->block->frames - memory->position;
    *got = frames < left ? frames : left;
    for (size_t c = 0; c < memory->block->channels; c++)
        memcpy(planar[c], memory->block->data[c] + memory->position, *got * sizeof(real));
    memory->position += *got;
    return STATUS_OK;
}

static enum status memory_seek(struct source *source, uint64_t frame)
{
    struct memory_source *memory = (struct memory_source *)source;
    memory->position = frame < memory->block->frames ? (size_t)frame : memory->block->frames;
    return STATUS_OK;
}

static void memory_source_close(struct source *source)
{
    free(source);
}

static const struct source_kind memory_source_kind = {
    .REAL(read) = memory_read, .seek = memory_seek, .close = memory_source_close};

enum status REAL(source_open_memory)(const struct real_block *block, uint32_t rate,
                                     struct source **result)
{
    struct memory_source *memory = calloc(1, sizeof *memory);
    if (!memory)
        return fail_memory("reading");
    memory->source = (struct source){.kind = &memory_source_kind,
                                     .name = "memory",
                                     .format = {.rate = rate, .channels = block->channels},
                                     .frames = (int64_t)block->frames,
                                     .seekable = true};
    memory->block = block;
    *result = &memory->source;
    return STATUS_OK;
}

struct memory_sink {
    struct sink sink;
    struct real_block block; /* block.frames is the number of frames written */
    size_t capacity;
};

static enum status grow(struct memory_sink *memory, size_t frames)
{
    if (frames <= memory->capacity)
        return STATUS_OK;
    size_t capacity = 2 * frames;
    for (size_t c = 0; c < memory->block.channels; c++) {
        real *data = realloc(memory->block.data[c], capacity * sizeof *data);
        if (!data)
            return fail_memory("writing");
        memory->block.data[c] = data;
    }
    memory->capacity = capacity;
    return STATUS_OK;
}

static enum status memory_write(struct sink *sink, const real *const *planar, size_t frames)
{
    struct memory_sink *memory = (struct memory_sink *)sink;
    TRY(grow(memory, memory->block.frames + frames));
    for (size_t c = 0; c < memory->block.channels; c++)
        memcpy(memory->block.data[c] + memory->block.frames, planar[c], frames * sizeof(real));
    memory->block.frames += frames;
    return STATUS_OK;
}

static enum status memory_commit(struct sink *sink)
{
    (void)sink;
    return STATUS_OK;
}

static void memory_sink_close(struct sink *sink)
{
    block_free(&((struct memory_sink *)sink)->block);
    free(sink);
}

static const struct sink_kind memory_sink_kind = {
    .REAL(write) = memory_write, .commit = memory_commit, .close = memory_sink_close};

enum status REAL(sink_open_memory)(size_t channels, struct sink **result)
{
    struct memory_sink *memory = calloc(1, sizeof *memory);
    if (!memory)
        return fail_memory("writing");
    memory->sink.kind = &memory_sink_kind;
    enum status status = block_init(&memory->block, channels, 0, "writing");
    if (status == STATUS_OK)
        *result = &memory->sink;
    else
        memory_sink_close(&memory->sink);
    return status;
}

const struct real_block *REAL(sink_memory)(const struct sink *sink)
{
    return &((const struct memory_sink *)sink)->block;
}

/* ---- disk ---- */

/* The file between sink and source. Freed when both are closed. */
struct spool {
    struct sink sink;
    struct source source;
    int users;
    FILE *file;
    size_t channels;
    uint64_t frames;
    uint64_t position; /* offset of the next read */
    size_t chunk;
    double scale; /* factor for samples that are read */
    char *folder; /* folder of the file; owned */
    bool is_beside;
    real *interleaved;
};

static struct spool *spool_of(struct source *source)
{
    return (struct spool *)((char *)source - offsetof(struct spool, source));
}

static void spool_leave(struct spool *spool)
{
    if (--spool->users > 0)
        return;
    if (spool->file)
        fclose(spool->file);
    free(spool->folder);
    free(spool->interleaved);
    free(spool);
}

static enum status spool_failed(const struct spool *spool, const char *what)
{
    if (stop_requested())
        return STATUS_INTERRUPTED;
    return fail_errno(errno, "cannot %s the temporary file of the first pass in %s (%s)", what,
                      spool->folder ? spool->folder : "memory",
                      spool->is_beside ? "the folder of OUT" : "TMPDIR selects another folder");
}

static enum status spool_write(struct sink *sink, const real *const *planar, size_t frames)
{
    struct spool *spool = (struct spool *)sink;
    for (size_t done = 0; done < frames;) {
        size_t part = frames - done < spool->chunk ? frames - done : spool->chunk;
        audio_interleave(planar, done, spool->channels, part, spool->interleaved);
        size_t count = part * spool->channels;
        if (fwrite(spool->interleaved, sizeof(real), count, spool->file) != count)
            return spool_failed(spool, "write");
        done += part;
        spool->frames += part;
    }
    return STATUS_OK;
}

static enum status spool_commit(struct sink *sink)
{
    struct spool *spool = (struct spool *)sink;
    if (fflush(spool->file) != 0 || fseeko(spool->file, 0, SEEK_SET) != 0)
        return spool_failed(spool, "write");
    return STATUS_OK;
}

static void spool_sink_close(struct sink *sink)
{
    spool_leave((struct spool *)sink);
}

static const struct sink_kind spool_sink_kind = {
    .REAL(write) = spool_write, .commit = spool_commit, .close = spool_sink_close};

static enum status spool_read(struct source *source, real *const *planar, size_t frames,
                              size_t *got)
{
    struct spool *spool = spool_of(source);
    for (*got = 0; *got < frames && spool->position < spool->frames;) {
        size_t part = frames - *got < spool->chunk ? frames - *got : spool->chunk;
        if (part > spool->frames - spool->position)
            part = (size_t)(spool->frames - spool->position);
        size_t count = part * spool->channels;
        if (fread(spool->interleaved, sizeof(real), count, spool->file) != count)
            return spool_failed(spool, "read");
        for (size_t i = 0; spool->scale != 1 && i < count; i++)
            spool->interleaved[i] = (real)(spool->interleaved[i] * spool->scale);
        audio_deinterleave(spool->interleaved, spool->channels, part, planar, *got);
        *got += part;
        spool->position += part;
    }
    return STATUS_OK;
}

static enum status spool_seek(struct source *source, uint64_t frame)
{
    struct spool *spool = spool_of(source);
    if (fseeko(spool->file, (off_t)(frame * spool->channels * sizeof(real)), SEEK_SET) != 0)
        return spool_failed(spool, "seek in");
    spool->position = frame;
    return STATUS_OK;
}

static void spool_source_close(struct source *source)
{
    spool_leave(spool_of(source));
}

static const struct source_kind spool_source_kind = {
    .REAL(read) = spool_read, .seek = spool_seek, .close = spool_source_close};

/* Create a file and unlink it, for file systems without nameless files. */
static int open_unlinked(const char *folder)
{
    char *template = NULL;
    if (asprintf(&template, "%s/.halo.XXXXXX", folder) < 0)
        return -1;
    int fd = mkostemp(template, O_CLOEXEC);
    if (fd >= 0 && unlink(template) != 0) {
        int error = errno;
        close(fd);
        fd = -1;
        errno = error;
    }
    free(template);
    return fd;
}

/* Create a nameless file in the folder of `beside`, where OUT will be, so there is space. */
static FILE *open_nameless(struct spool *spool, const char *beside)
{
    const char *folder = getenv("TMPDIR");
    const char *slash = beside ? strrchr(beside, '/') : NULL;
    spool->is_beside = beside;
    if (beside)
        spool->folder = slash ? strndup(beside, (size_t)(slash - beside) + 1) : strdup(".");
    else
        spool->folder = strdup(folder && *folder ? folder : "/var/tmp");
    if (!spool->folder)
        return NULL;
    int fd = open(spool->folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = open_unlinked(spool->folder);
    return fd < 0 ? NULL : fdopen(fd, "w+b");
}

enum status REAL(spool_open)(const char *beside, const struct source *like, size_t channels,
                             struct sink **sink, struct source **source)
{
    struct spool *spool = calloc(1, sizeof *spool);
    if (!spool)
        return fail_memory("a temporary file");
    enum status status = STATUS_OK;
    spool->users = 1;
    spool->channels = channels;
    spool->scale = 1;
    spool->chunk = audio_chunk_frames(channels);
    spool->interleaved = audio_alloc(spool->chunk * channels);
    if (!spool->interleaved)
        status = fail_memory("a temporary file");
    else if (!(spool->file = open_nameless(spool, beside)))
        status = spool_failed(spool, "create");
    if (status != STATUS_OK) {
        spool_leave(spool);
        return status;
    }
    spool->users = 2;
    spool->sink.kind = &spool_sink_kind;
    spool->source = (struct source){.kind = &spool_source_kind,
                                    .name = like->name,
                                    .format = {.rate = like->format.rate, .channels = channels},
                                    .frames = FRAMES_UNKNOWN,
                                    .seekable = true};
    *sink = &spool->sink;
    *source = &spool->source;
    return STATUS_OK;
}

void REAL(spool_scale)(struct source *source, double factor)
{
    spool_of(source)->scale = factor;
}
