#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MOST = 255, /* letters compared */ WITHIN_LEAST = 3 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* A row of Levenshtein's table at a time. */
static size_t edits(const char *a, const char *b)
{
    size_t row[WORD_MOST + 1];
    size_t width = least(strlen(b), WORD_MOST), height = least(strlen(a), WORD_MOST);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; i < height; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t replaced =
                diagonal + (tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]));
            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(diagonal, row[j]) + 1);
        }
    }
    return row[width];
}

static void insert(struct suggest *near, size_t place, const char *name, size_t distance)
{
    char *copy = strdup(name);
    if (!copy)
        return;
    free(near->best[SUGGEST - 1].name);
    memmove(&near->best[place + 1], &near->best[place], (SUGGEST - 1 - place) * sizeof *near->best);
    near->best[place] = (struct near_name){copy, distance};
}

void suggest_init(struct suggest *near, const char *word)
{
    *near = (struct suggest){.word = word};
}

void suggest_free(struct suggest *near)
{
    for (size_t i = 0; i < SUGGEST; i++)
        free(near->best[i].name);
}

void suggest_offer(struct suggest *near, const char *name)
{
    bool within = strlen(near->word) >= WITHIN_LEAST && strcasestr(name, near->word);
    size_t distance = edits(near->word, name);
    if (!within && distance > (strlen(name) + 2) / 3)
        return;
    for (size_t i = 0; i < SUGGEST; i++) {
        const struct near_name *other = &near->best[i];
        if (other->name && strcmp(other->name, name) == 0)
            return;
        if (!other->name || distance < other->distance) {
            insert(near, i, name, distance);
            return;
        }
    }
}

const char *suggest_text(struct suggest *near)
{
    size_t count = 0, length = 0;
    while (count < SUGGEST && near->best[count].name)
        count++;
    near->text[0] = '\0';
    for (size_t i = 0; i < count && length < sizeof near->text; i++)
        length += (size_t)snprintf(near->text + length, sizeof near->text - length, "%s%s%s",
                                   i == 0           ? "; did you mean "
                                   : i == count - 1 ? " or "
                                                    : ", ",
                                   near->best[i].name, i == count - 1 ? "?" : "");
    return near->text;
}
