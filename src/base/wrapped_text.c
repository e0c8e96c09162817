#include "base/wrapped_text.h"

#include <stdbool.h>
#include <string.h>

enum { WIDTH = 80 };

void wrapped_print(FILE *stream, const char *before, size_t indent, const char *text, size_t length)
{
    const char *end = text + length;
    bool goes_on = true;
    fprintf(stream, "%-*s", (int)indent, before);
    for (size_t column = indent; text < end;) {
        size_t letters = strcspn(text, " \n");
        letters = letters < (size_t)(end - text) ? letters : (size_t)(end - text);
        if (!goes_on && column + 1 + letters > WIDTH) {
            fprintf(stream, "\n%-*s", (int)indent, "");
            column = indent;
            goes_on = true;
        }
        fprintf(stream, "%s%.*s", goes_on ? "" : " ", (int)letters, text);
        column += letters + !goes_on;
        goes_on = letters == 0 || text[letters - 1] == '|';
        text += letters + (text + letters < end);
    }
    fputc('\n', stream);
}

/* The length of the paragraph, with its last line feed. *longest: of its longest line. */
static size_t measure(const char *text, size_t indent, size_t *longest)
{
    size_t length = 0;
    *longest = 0;
    do {
        size_t line = strcspn(text + length, "\n");
        *longest = line > *longest ? line : *longest;
        length += line + (text[length + line] == '\n');
    } while (text[length] && text[length] != '\n' && strspn(text + length, " ") == indent);
    return length;
}

void wrapped_print_text(FILE *stream, const char *text)
{
    while (*text) {
        size_t longest, indent = strspn(text, " ");
        size_t length = *text == '\n' ? 1 : measure(text, indent, &longest);
        bool has_end = text[length - 1] == '\n';
        if (*text != '\n' && longest > WIDTH)
            wrapped_print(stream, "", indent, text + indent, length - indent - has_end);
        else
            fprintf(stream, "%.*s%s", (int)length, text, has_end ? "" : "\n");
        text += length;
    }
}
