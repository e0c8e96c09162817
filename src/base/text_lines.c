#include "base/text_lines.h"

#include "base/decimal.h"
#include "base/plain_text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MOST = 1 << 19, /* bytes: a row of the widest two-dimensional mask */
    WORD_MOST = 63,
    DECIMALS_SURE = 4, /* a comma before so many digits is a decimal comma */
};

enum status text_lines_init(struct text_lines *lines, const char *file, FILE *stream)
{
    *lines = (struct text_lines){.file = file, .stream = stream, .line = malloc(LINE_MOST)};
    return lines->line ? STATUS_OK : fail_memory("a mask");
}

void text_lines_free(struct text_lines *lines)
{
    free(lines->line);
    lines->line = NULL;
}

enum status text_lines_refuse(const struct text_lines *lines, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return fail(CAUSE_DAMAGED, "cannot read mask %s: line %zu: %s", lines->file, lines->number,
                text);
}

/* rewind() would forget an error. */
void text_lines_restart(struct text_lines *lines)
{
    (void)fseeko(lines->stream, 0, SEEK_SET);
    lines->number = 0;
}

void text_lines_plain(char *line)
{
    static const struct {
        const char *utf8;
        char plain;
    } signs[] = {
        {"\xE2\x88\x92", '-'}, /* minus sign */
        {"\xE2\x80\x93", '-'}, /* en dash */
        {"\xE2\x80\x91", '-'}, /* no-break hyphen */
        {"\xE2\x80\x90", '-'}, /* hyphen */
        {"\xEF\xBC\x8D", '-'}, /* full-width hyphen */
        {"\xEF\xB9\xA3", '-'}, /* small hyphen */
        {"\xC2\xA0", ' '},     /* no-break space */
        {"\xE2\x80\xAF", ' '}, /* narrow no-break space */
        {"\xE2\x80\x87", ' '}, /* figure space */
        {"\xE2\x80\x89", ' '}, /* thin space */
    };
    while (*line && !(*line & 0x80)) /* most lines have ASCII only */
        line++;
    char *to = line;
    for (const char *from = line; *from;) {
        size_t count = sizeof signs / sizeof *signs, s = *from & 0x80 ? 0 : count;
        while (s < count && strncmp(from, signs[s].utf8, strlen(signs[s].utf8)) != 0)
            s++;
        *to++ = s < count ? signs[s].plain : *from;
        from += s < count ? strlen(signs[s].utf8) : 1;
    }
    *to = '\0';
}

enum status text_lines_next(struct text_lines *lines, char **line)
{
    *line = NULL;
    if (!fgets(lines->line, LINE_MOST, lines->stream)) {
        if (ferror(lines->stream))
            return fail_errno(errno, "cannot read mask %s", lines->file);
        return STATUS_OK;
    }
    lines->number++;
    size_t length = strlen(lines->line);
    bool ends = length > 0 && lines->line[length - 1] == '\n';
    if (!ends && length == LINE_MOST - 1)
        return text_lines_refuse(lines, "too long for a line of numbers");
    if (!ends && !feof(lines->stream))
        return text_lines_refuse(lines, "holds a zero byte");
    lines->line[length - ends] = '\0';
    char *shown = strchr(lines->line, '\r');
    if (shown && shown[strspn(shown, "\r")])
        return text_lines_refuse(lines, "lines end as on an old Macintosh, with CR alone; save the "
                                        "file with the line ends of Unix or Windows");
    if (shown)
        *shown = '\0';
    *line = lines->line + (lines->number == 1 ? plain_text_mark(lines->line) : 0);
    text_lines_plain(*line);
    return STATUS_OK;
}

static bool comma_is_decimal(const char *word, const char *comma, bool is_single)
{
    if (strchr(word, '.') || strchr(comma + 1, ','))
        return false;
    return strspn(comma + 1, "0123456789") >= (is_single ? 1 : DECIMALS_SURE);
}

bool text_number(const char *word, bool is_single, double *value)
{
    char copy[WORD_MOST + 1];
    const char *comma = strchr(word, ',');
    if (comma) {
        size_t length = strlen(word);
        if (length > WORD_MOST || !comma_is_decimal(word, comma, is_single))
            return false;
        memcpy(copy, word, length + 1);
        copy[comma - word] = '.';
        word = copy;
    }
    return decimal_parse(word, value) && isfinite((float)*value);
}
