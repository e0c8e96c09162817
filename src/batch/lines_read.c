#include "batch/lines_read.h"

#include "base/files_read.h"
#include "base/plain_text.h"
#include "batch/zlib_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 1 << 16,
    GZIP_FIRST = 0x1f, /* first bytes of a gzip part */
    GZIP_SECOND = 0x8b,
};

/* A gzip file, which may have several parts, as "cat a.gz b.gz" makes. */
struct packed_lines {
    z_stream stream;
    bool has_ended; /* a part has ended; another may follow */
    unsigned char buffer[BUFFER_BYTES];
};

struct lines_read {
    const char *path;
    FILE *file;
    struct packed_lines *packed; /* NULL: the file is not compressed */
    char *line;
    size_t capacity, number;
    size_t at, end; /* bytes of the buffer that are not used yet */
    char buffer[BUFFER_BYTES];
};

void lines_read_close(struct lines_read *lines)
{
    if (!lines)
        return;
    if (lines->packed)
        (void)inflateEnd(&lines->packed->stream);
    free(lines->packed);
    if (lines->file && lines->file != stdin)
        fclose(lines->file);
    free(lines->line);
    free(lines);
}

size_t lines_read_number(const struct lines_read *lines)
{
    return lines->number;
}

static enum status refuse_lines(const struct lines_read *lines, const char *why)
{
    return fail(CAUSE_DAMAGED, "cannot read %s: %s", lines->path, why);
}

static enum status check_read(const struct lines_read *lines)
{
    return ferror(lines->file) ? fail_errno(errno, "cannot read %s", lines->path) : STATUS_OK;
}

static enum status open_packed(struct lines_read *lines)
{
    enum { GZIP = 16 }; /* expect the header of gzip, not of zlib */
    TRY(library_open(&zlib_library));
    struct packed_lines *packed = calloc(1, sizeof *packed);
    if (packed && inflateInit2(&packed->stream, MAX_WBITS + GZIP) == Z_OK) {
        lines->packed = packed;
        return STATUS_OK;
    }
    free(packed);
    return fail_memory("a list");
}

static enum status open_lines(struct lines_read *lines)
{
    if (strcmp(lines->path, "-") == 0) {
        lines->file = stdin;
        return STATUS_OK;
    }
    struct flaw flaw = files_read_open(lines->path, &lines->file);
    if (flaw.text)
        return fail(flaw.cause, "cannot open %s: %s", lines->path, flaw.text);
    int first = getc(lines->file), second = getc(lines->file);
    bool is_packed = first == GZIP_FIRST && second == GZIP_SECOND;
    rewind(lines->file);
    return is_packed ? open_packed(lines) : STATUS_OK;
}

enum status lines_read_open(const char *path, struct lines_read **result)
{
    struct lines_read *lines = calloc(1, sizeof *lines);
    if (!lines)
        return fail_memory("a list");
    lines->path = path;
    enum status status = open_lines(lines);
    if (status != STATUS_OK)
        lines_read_close(lines);
    else
        *result = lines;
    return status;
}

static enum status read_packed(struct lines_read *lines)
{
    struct packed_lines *packed = lines->packed;
    z_stream *stream = &packed->stream;
    stream->next_in = packed->buffer;
    stream->avail_in = (unsigned)fread(packed->buffer, 1, BUFFER_BYTES, lines->file);
    return check_read(lines);
}

/* Begin the next part. Zeros between parts, which fill blocks of tapes, are skipped. */
static enum status begin_part(struct lines_read *lines)
{
    z_stream *stream = &lines->packed->stream;
    for (; stream->avail_in > 0 && *stream->next_in == 0; stream->avail_in--)
        stream->next_in++;
    if (stream->avail_in == 0)
        return STATUS_OK;
    if (*stream->next_in != GZIP_FIRST)
        return refuse_lines(lines, "after its compressed part follows one that is not");
    lines->packed->has_ended = inflateReset(stream) != Z_OK;
    return STATUS_OK;
}

/* Unpack until there are bytes, or the file has ended. */
static enum status unpack(struct lines_read *lines)
{
    struct packed_lines *packed = lines->packed;
    z_stream *stream = &packed->stream;
    stream->next_out = (unsigned char *)lines->buffer;
    stream->avail_out = BUFFER_BYTES;
    while (stream->avail_out == BUFFER_BYTES) {
        if (stream->avail_in == 0)
            TRY(read_packed(lines));
        if (stream->avail_in == 0 && !packed->has_ended)
            return refuse_lines(lines, "it is cut off");
        if (stream->avail_in == 0)
            break;
        if (packed->has_ended)
            TRY(begin_part(lines));
        int code = packed->has_ended ? Z_OK : inflate(stream, Z_NO_FLUSH);
        if (code == Z_MEM_ERROR)
            return fail_memory("a list");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return refuse_lines(lines, "it is damaged");
        packed->has_ended = packed->has_ended || code == Z_STREAM_END;
    }
    lines->end = BUFFER_BYTES - stream->avail_out;
    return STATUS_OK;
}

static enum status fill(struct lines_read *lines)
{
    lines->at = lines->end = 0;
    if (lines->packed)
        return unpack(lines);
    lines->end = fread(lines->buffer, 1, BUFFER_BYTES, lines->file);
    return check_read(lines);
}

/* Append text to the line, and a zero byte after it. */
static enum status append(struct lines_read *lines, size_t length, const char *text, size_t size)
{
    if (memchr(text, 0, size))
        return refuse_lines(lines, "it is not text");
    if (length + size > LINES_READ_MOST)
        return refuse_lines(lines, "a line is longer than 4 MiB");
    if (length + size + 1 > lines->capacity) {
        size_t more = 2 * (length + size + 1);
        char *larger = realloc(lines->line, more);
        if (!larger)
            return fail_memory("a list");
        lines->line = larger;
        lines->capacity = more;
    }
    memcpy(lines->line + length, text, size);
    lines->line[length + size] = '\0';
    return STATUS_OK;
}

enum status lines_read_next(struct lines_read *lines, char **line)
{
    size_t length = 0;
    *line = NULL;
    for (bool ended = false; !ended;) {
        if (lines->at == lines->end)
            TRY(fill(lines));
        size_t there = lines->end - lines->at;
        if (there == 0 && length == 0)
            return STATUS_OK;
        const char *from = lines->buffer + lines->at, *end = memchr(from, '\n', there);
        size_t size = end ? (size_t)(end - from) : there;
        TRY(append(lines, length, from, size));
        length += size;
        lines->at += size + (end != NULL);
        ended = end || there == 0;
        if (ended && end && length == 0) /* an empty line counts as a line */
            break;
    }
    if (length > 0 && lines->line[length - 1] == '\r')
        lines->line[length - 1] = '\0';
    *line = lines->line + (lines->number++ == 0 ? plain_text_mark(lines->line) : 0);
    return STATUS_OK;
}
