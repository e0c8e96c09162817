#include "sound/ogg_pages.h"

#include <string.h>

enum { FLAGS = 5, FIRST = 2, SEGMENTS = 26 };

static void finish_header(struct ogg_pages *pages)
{
    bool is_first = pages->header[FLAGS] & FIRST;
    pages->is_chain |= is_first && pages->has_begun;
    pages->has_begun |= !is_first;
    for (size_t i = 0; i < pages->header[SEGMENTS]; i++)
        pages->skip += pages->header[OGG_HEADER + i];
    pages->count = 0;
}

static void add_byte(struct ogg_pages *pages, unsigned char byte)
{
    static const char magic[] = "OggS";
    size_t at = pages->count++;
    pages->header[at] = byte;
    pages->is_lost = at < strlen(magic) && byte != (unsigned char)magic[at];
    if (at >= SEGMENTS && pages->count == OGG_HEADER + (size_t)pages->header[SEGMENTS])
        finish_header(pages);
}

void ogg_pages_feed(struct ogg_pages *pages, const unsigned char *bytes, size_t count)
{
    size_t at = 0;
    while (at < count && !pages->is_lost) {
        if (pages->skip == 0) {
            add_byte(pages, bytes[at++]);
            continue;
        }
        size_t left = count - at, part = pages->skip < left ? (size_t)pages->skip : left;
        pages->skip -= part;
        at += part;
    }
}
