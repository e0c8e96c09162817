#include "base/printable.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { BUFFERS = 4, ESCAPE = 4 /* bytes of \x1b */, SEQUENCE_MOST = 4 /* bytes of UTF-8 */ };

/* The length of a UTF-8 sequence that begins with `lead`. 0: no sequence begins so. */
static size_t sequence_length(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* Whether `second` can follow `lead`: no overlong form, surrogate or code point beyond Unicode. */
static bool can_follow(unsigned char lead, unsigned char second)
{
    unsigned char least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return second >= least && second <= most;
}

size_t printable_utf8(const char *text)
{
    unsigned char bytes[SEQUENCE_MOST + 1] = {0};
    memcpy(bytes, text, strnlen(text, SEQUENCE_MOST));
    size_t length = sequence_length(bytes[0]);
    if (length > 1 && !can_follow(bytes[0], bytes[1]))
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((bytes[i] & 0xC0) != 0x80)
            return 0;
    return length;
}

/* Whether it is U+202A to U+202E or U+2066 to U+2069, which change the direction of text. */
static bool is_direction(const unsigned char bytes[3])
{
    return bytes[0] == 0xE2 && ((bytes[1] == 0x80 && bytes[2] >= 0xAA && bytes[2] <= 0xAE) ||
                                (bytes[1] == 0x81 && bytes[2] >= 0xA6 && bytes[2] <= 0xA9));
}

bool printable_is_control(const char *text)
{
    unsigned char bytes[3] = {0};
    memcpy(bytes, text, strnlen(text, sizeof bytes));
    return bytes[0] < 0x20 || bytes[0] == 0x7F ||
           (bytes[0] == 0xC2 && bytes[1] >= 0x80 && bytes[1] < 0xA0) || is_direction(bytes);
}

/* The length of the character at `text` in bytes. 0: its first byte must not be printed. */
static size_t character_length(const char *text)
{
    return printable_is_control(text) ? 0 : printable_utf8(text);
}

void printable_copy(char *to, size_t size, const char *text)
{
    size_t length;
    for (size_t at = 0; *text; text += length ? length : 1) {
        length = character_length(text);
        size_t wanted = length ? length : ESCAPE;
        if (at + wanted >= size)
            break;
        if (length)
            memcpy(to, text, length);
        else
            snprintf(to, ESCAPE + 1, "\\x%02x", (unsigned)(unsigned char)*text);
        to += wanted;
        at += wanted;
    }
    *to = '\0';
}

const char *printable(const char *text)
{
    static _Thread_local char buffers[BUFFERS][PRINTABLE_MOST];
    static _Thread_local size_t next;
    const char *at = text;
    for (size_t length = 1; *at && length; at += length)
        length = character_length(at);
    if (!*at)
        return text;
    char *copy = buffers[next++ % BUFFERS];
    printable_copy(copy, PRINTABLE_MOST, text);
    return copy;
}
