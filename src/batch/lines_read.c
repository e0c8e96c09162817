#include "batch/lines_read.h"

#include "base/files_read.h"
#include "base/plain_text.h"
#include "batch/zlib_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16 };

struct lines_read {
    const char *path;
    FILE *plain; /* or: */
    gzFile packed;
    char *line;
    size_t capacity, number;
    size_t at, end; /* in the buffer */
    char buffer[BUFFER_BYTES];
};

void lines_read_close(struct lines_read *lines)
{
    if (!lines)
        return;
    if (lines->packed)
        gzclose_r(lines->packed);
    if (lines->plain && lines->plain != stdin)
        fclose(lines->plain);
    free(lines->line);
    free(lines);
}

size_t lines_read_number(const struct lines_read *lines)
{
    return lines->number;
}

static enum status refuse_lines(const struct lines_read *lines, const char *why)
{
    return fail(STATUS_FAILED, "cannot read %s: %s", lines->path, why);
}

static enum status open_packed(struct lines_read *lines)
{
    TRY(library_open(&zlib_library));
    int fd = dup(fileno(lines->plain));
    lines->packed = fd < 0 || lseek(fd, 0, SEEK_SET) < 0 ? NULL : gzdopen(fd, "rb");
    if (lines->packed)
        return STATUS_OK;
    if (fd >= 0)
        close(fd);
    return refuse_lines(lines, "not enough memory");
}

static enum status open_lines(struct lines_read *lines)
{
    if (strcmp(lines->path, "-") == 0) {
        lines->plain = stdin;
        return STATUS_OK;
    }
    const char *flaw = files_read_open(lines->path, &lines->plain);
    if (flaw)
        return fail(STATUS_FAILED, "cannot open %s: %s", lines->path, flaw);
    int first = getc(lines->plain), second = getc(lines->plain);
    bool is_packed = first == 0x1f && second == 0x8b;
    rewind(lines->plain);
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

static enum status fill(struct lines_read *lines)
{
    int error = 0;
    lines->at = lines->end = 0;
    if (lines->packed) {
        int got = gzread(lines->packed, lines->buffer, BUFFER_BYTES);
        if (got < 0)
            return refuse_lines(lines, "it is damaged");
        (void)gzerror(lines->packed, &error);
        lines->end = (size_t)got;
        return got == 0 && error == Z_BUF_ERROR ? refuse_lines(lines, "it is cut off") : STATUS_OK;
    }
    lines->end = fread(lines->buffer, 1, BUFFER_BYTES, lines->plain);
    return ferror(lines->plain) ? refuse_lines(lines, strerror(errno)) : STATUS_OK;
}

/* Also a 0 behind it. */
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
        if (ended && end && length == 0) /* an empty line is one */
            break;
    }
    if (length > 0 && lines->line[length - 1] == '\r')
        lines->line[length - 1] = '\0';
    *line = lines->line + (lines->number++ == 0 ? plain_text_mark(lines->line) : 0);
    return STATUS_OK;
}
