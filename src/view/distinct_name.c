#include "view/distinct_name.h"

#include <ctype.h>
#include <langinfo.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MOST = 12 /* bytes of a word that is not cut */ };

size_t next_column(const char *text, mbstate_t *state, wchar_t *character, int *width)
{
    size_t length = strlen(text), used = mbrtowc(character, text, length, state);
    bool valid = used > 0 && used <= length;
    *width = valid ? wcwidth(*character) : -1;
    if (*width < 0) {
        *character = L'?';
        *width = 1;
    }
    if (valid)
        return used;
    *state = (mbstate_t){0};
    return 1;
}

/* Bytes of a text that fit in `most` columns, and their columns. */
static size_t fitting_bytes(const char *text, int most, int *columns)
{
    mbstate_t state = {0};
    size_t at = 0;
    *columns = 0;
    while (text[at]) {
        wchar_t character;
        int width;
        size_t bytes = next_column(text + at, &state, &character, &width);
        if (*columns + width > most)
            break;
        *columns += width;
        at += bytes;
    }
    return at;
}

static size_t same_bytes(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] && a[same] == b[same])
        same++;
    return same;
}

/* Length of the folder common to all names with a '/', with that '/'. Made masks have none. */
static size_t common_folder(const char *const *names, size_t count)
{
    const char *first = NULL;
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        if (!strchr(names[i], '/'))
            continue;
        size_t pair = first ? same_bytes(first, names[i]) : strlen(names[i]);
        same = first && same < pair ? same : pair;
        first = first ? first : names[i];
    }
    while (same > 0 && first[same - 1] != '/')
        same--;
    return same;
}

/* A name without the common folder, unless another name is then equal to it. */
static const char *without_folder(const char *const *names, size_t count, size_t which)
{
    if (!strchr(names[which], '/'))
        return names[which];
    const char *rest = names[which] + common_folder(names, count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], rest) == 0)
            return names[which];
    return rest;
}

/* Number of bytes that a name has in common with the name that is most like it. */
static size_t parting(const char *const *names, size_t count, size_t which)
{
    const char *name = without_folder(names, count, which);
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t same = i == which ? 0 : same_bytes(name, without_folder(names, count, i));
        most = same > most ? same : most;
    }
    return most;
}

/* Start of the word at `at`, or at least of the character. */
static size_t word_begin(const char *text, size_t at)
{
    size_t least = at > WORD_MOST ? at - WORD_MOST : 0, begin = at;
    while (begin > least && isalnum((unsigned char)text[begin - 1]))
        begin--;
    if (begin == least)
        begin = at;
    while (begin > 0 && ((unsigned char)text[begin] & 0xc0) == 0x80)
        begin--;
    return begin;
}

static const char *ellipsis(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "…" : "..";
}

void distinct_name(const char *const *names, size_t count, size_t which, int columns,
                   char text[DISTINCT_NAME_BYTES])
{
    const char *name = without_folder(names, count, which), *more = ellipsis();
    const size_t parts = parting(names, count, which);
    int dots, used, tail_used, before_used;
    (void)fitting_bytes(more, INT_MAX, &dots);
    size_t fits = fitting_bytes(name, columns, &used);
    if (!name[fits]) {
        snprintf(text, DISTINCT_NAME_BYTES, "%s", name);
        return;
    }
    size_t head = fitting_bytes(name, columns - dots, &used), tail = word_begin(name, parts);
    size_t end = strlen(name);
    if (parts < head) {
        snprintf(text, DISTINCT_NAME_BYTES, "%.*s%s", (int)head, name, more);
        return;
    }
    size_t tail_bytes = fitting_bytes(name + tail, columns - dots, &tail_used);
    bool cut = tail + tail_bytes < end;
    if (cut)
        tail_bytes = fitting_bytes(name + tail, columns - 2 * dots, &tail_used);
    size_t before = cut ? 0 : fitting_bytes(name, columns - dots - tail_used, &before_used);
    snprintf(text, DISTINCT_NAME_BYTES, "%.*s%s%.*s%s", (int)before, name, more, (int)tail_bytes,
             name + tail, cut ? more : "");
}
