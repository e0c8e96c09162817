#include "base/plain_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    CTRL_Z = 0x1A, /* ends a text in DOS */
    PADDING_MOST = 128,
};

#define MARK "\xEF\xBB\xBF"

size_t plain_text_mark(const char *text)
{
    return strncmp(text, MARK, strlen(MARK)) == 0 ? strlen(MARK) : 0;
}

/* Text never begins with the first byte of the mark alone. */
void plain_text_skip_mark(FILE *stream)
{
    int first = getc(stream);
    if (first == (unsigned char)*MARK) {
        for (size_t i = 1; i < strlen(MARK); i++)
            (void)getc(stream);
    } else if (first != EOF) {
        (void)ungetc(first, stream);
    }
}

/* A source of text: bytes, or units of UTF-16. */
struct text_source {
    FILE *stream;
    bool is_wide, is_big_endian;
};

/* The next unit, or EOF. *is_torn: the file ends within a unit. */
static int32_t read_unit(const struct text_source *source, bool *is_torn)
{
    int first = getc(source->stream);
    if (!source->is_wide || first == EOF)
        return first;
    int second = getc(source->stream);
    *is_torn |= second == EOF;
    if (second == EOF)
        return EOF;
    return source->is_big_endian ? first << 8 | second : second << 8 | first;
}

static bool is_high(int32_t unit)
{
    return unit >= 0xD800 && unit < 0xDC00;
}

static bool is_low(int32_t unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

static void write_utf8(int32_t code, FILE *to)
{
    int32_t lead = code < 0x80 ? code : code < 0x800 ? 0xC0 : code < 0x10000 ? 0xE0 : 0xF0;
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    putc(more ? lead | code >> (6 * more) : code, to);
    while (more-- > 0)
        putc(0x80 | (code >> (6 * more) & 0x3F), to);
}

/* Whether only padding follows a Ctrl-Z. */
static bool only_padding_follows(const struct text_source *source, bool *is_torn)
{
    int32_t unit;
    do
        unit = read_unit(source, is_torn);
    while (unit == CTRL_Z || unit == 0 || unit == '\r' || unit == '\n');
    return unit == EOF;
}

/* Copies the text. False: it is not text, but a binary file that begins like UTF-16. */
static bool copy_text(const struct text_source *source, FILE *to)
{
    bool is_torn = false;
    for (;;) {
        int32_t unit = read_unit(source, &is_torn), low = 0;
        if (unit == EOF)
            return !is_torn;
        if (unit == CTRL_Z)
            return only_padding_follows(source, &is_torn) && !is_torn;
        if (unit < 0x20 && !isspace(unit))
            return false;
        if (!source->is_wide) {
            putc(unit, to);
            continue;
        }
        if (is_high(unit))
            low = read_unit(source, &is_torn);
        if (is_torn || is_low(unit) || (is_high(unit) && !is_low(low)))
            return false;
        write_utf8(is_high(unit) ? 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00) : unit, to);
    }
}

static bool ends_with_ctrl_z(FILE *stream)
{
    unsigned char tail[PADDING_MOST];
    bool found = fseeko(stream, 0, SEEK_END) == 0;
    off_t size = found ? ftello(stream) : 0, from = size > PADDING_MOST ? size - PADDING_MOST : 0;
    size_t count =
        found && fseeko(stream, from, SEEK_SET) == 0 ? fread(tail, 1, PADDING_MOST, stream) : 0;
    while (count > 0 && strchr("\r\n", tail[count - 1])) /* also skips zeros */
        count--;
    return count > 0 && tail[count - 1] == CTRL_Z;
}

/* Whether the file must be converted. Leaves the stream after UTF-16's byte order mark, if any. */
static bool needs_copy(struct text_source *source)
{
    bool ends_so = ends_with_ctrl_z(source->stream);
    (void)fseeko(source->stream, 0, SEEK_SET);
    int first = getc(source->stream), second = getc(source->stream);
    source->is_big_endian = first == 0xFE && second == 0xFF;
    source->is_wide = source->is_big_endian || (first == 0xFF && second == 0xFE);
    if (!source->is_wide)
        (void)fseeko(source->stream, 0, SEEK_SET);
    return source->is_wide || ends_so;
}

struct flaw plain_text_convert(FILE **stream)
{
    struct text_source source = {.stream = *stream};
    bool is_text = false;
    int error = 0;
    FILE *copy = NULL;
    if (needs_copy(&source)) {
        errno = 0;
        copy = tmpfile();
        if (copy)
            is_text = copy_text(&source, copy);
        if (!copy || fflush(copy) != 0 || ferror(copy))
            error = errno ? errno : EIO;
    }
    (void)fseeko(*stream, 0, SEEK_SET); /* rewind() would forget a read error */
    (void)fflush(*stream);              /* also moves the descriptor, which libraries read */
    if (copy && is_text && !error && !ferror(*stream)) {
        FILE *original = *stream;
        rewind(copy);
        *stream = copy;
        copy = original;
    }
    if (copy)
        fclose(copy);
    return error ? flaw_of_errno(error) : (struct flaw){0};
}
