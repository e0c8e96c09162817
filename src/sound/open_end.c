#include "sound/open_end.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    HELD_MOST = 1 << 24, /* bytes of chunks */
    CHUNKS_MOST = 64,    /* samples may look like very many */
    PART = 1 << 14,
    ID = 4,
    HEADER = 8,
};

enum chunks_there { NO, PERHAPS, YES };

static bool is_text(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] < ' ' || bytes[i] > '~')
            return false;
    return true;
}

/* The first of them begins so: what programs write after samples. */
static const char known[][ID + 1] = {
    "LIST", "id3 ", "ID3 ", "bext", "cue ", "smpl", "inst", "iXML", "acid", "cart", "levl", "PEAK",
    "fact", "JUNK", "junk", "PAD ", "FLLR", "FILL", "axml", "bxml", "chna", "_PMX", "plst", "DISP",
    "umid", "strc", "afsp", "clm ", "elm1", "R64M", "MD5 ", "dbmd", "ubxt",
    /* AIFF */
    "NAME", "AUTH", "(c) ", "ANNO", "COMT", "MARK", "INST", "MIDI", "AESD", "APPL", "CHAN"};
enum { KNOWN = sizeof known / sizeof *known };

static bool begins_known(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (memcmp(known[i], bytes, count) == 0)
            return true;
    return false;
}

/* Whether these bytes are chunks up to the end of the stream, as far as is known. any: the first of
 * them, too, has any name. */
static enum chunks_there are_chunks(const struct open_end *end, const unsigned char *bytes,
                                    size_t size, bool any)
{
    size_t at = 0;
    bool is_padded = false;
    for (int chunks = 0; at < size; chunks++) {
        size_t left = size - at, part = left < ID ? left : ID;
        if (!(at == 0 && !any ? begins_known : is_text)(bytes + at, part))
            return NO;
        if (left < HEADER)
            return end->ended ? NO : PERHAPS;
        uint64_t content = (end->big_endian ? metadata_big : metadata_little)(bytes + at + ID, 4);
        is_padded = content & 1;
        at += HEADER + (size_t)content + is_padded;
        if (at > HELD_MOST || chunks == CHUNKS_MOST)
            return NO;
    }
    if (!end->ended)
        return PERHAPS;
    return at == size || (is_padded && at == size + 1) ? YES : NO;
}

/* Moves end->samples up to where chunks may begin. Their first letter decides at most places of
 * what may be gigabytes. */
static void find_chunks(struct open_end *end)
{
    const struct metadata_buffer *held = &end->held;
    size_t at = end->samples + ((end->samples & 1) != end->is_odd);
    enum chunks_there answer = NO;
    bool is_first[UCHAR_MAX + 1] = {false};
    for (size_t i = 0; i < KNOWN; i++)
        is_first[(unsigned char)*known[i]] = true;
    for (; at < held->size; at += 2) {
        bool any = at == 0 && end->may_begin;
        if (!any && !is_first[held->bytes[at]])
            continue;
        answer = are_chunks(end, held->bytes + at, held->size - at, any);
        if (answer != NO)
            break;
        end->may_begin = false;
    }
    end->samples = at < held->size ? at : held->size;
    end->has_chunks = answer == YES;
}

static void read_more(struct open_end *end, FILE *stream, size_t count)
{
    unsigned char part[PART];
    struct metadata_buffer *held = &end->held;
    if (end->first > 0) {
        held->size -= end->first;
        memmove(held->bytes, held->bytes + end->first, held->size);
        end->is_odd ^= end->first & 1;
        end->samples -= end->first;
        end->first = 0;
    }
    count = count < sizeof part ? count : sizeof part;
    size_t got = fread(part, 1, count, stream);
    metadata_put(held, part, got);
    end->ended = got < count;
}

static size_t pass_on(struct open_end *end, unsigned char *bytes, size_t count)
{
    size_t ready = end->samples - end->first, part = ready < count ? ready : count;
    if (part > 0)
        memcpy(bytes, end->held.bytes + end->first, part);
    end->first += part;
    return part;
}

size_t open_end_read(struct open_end *end, FILE *stream, unsigned char *bytes, size_t count)
{
    if (!end->is_sought)
        return fread(bytes, 1, count, stream);
    size_t done = pass_on(end, bytes, count);
    while (done < count && !end->ended && !end->held.failed) {
        read_more(end, stream, count - done);
        find_chunks(end);
        done += pass_on(end, bytes + done, count - done);
    }
    return done;
}

struct sound_bytes open_end_chunks(const struct open_end *end)
{
    struct sound_bytes chunks = {.fd = -1};
    if (end->held.bytes) {
        chunks.memory = end->held.bytes + end->samples;
        chunks.size = end->held.size - end->samples;
    }
    return chunks;
}

uint64_t open_end_find(struct open_end *end, struct sound_bytes *bytes, uint64_t from)
{
    if (from >= bytes->size)
        return bytes->size;
    if (bytes->size - from > HELD_MOST)
        from += (bytes->size - from - HELD_MOST) & ~UINT64_C(1);
    size_t count = (size_t)(bytes->size - from);
    *end = (struct open_end){.big_endian = bytes->big_endian, .ended = true};
    end->held.bytes = malloc(count);
    if (!end->held.bytes || !sound_bytes_read(bytes, from, end->held.bytes, count))
        return bytes->size;
    end->held.size = end->held.capacity = count;
    find_chunks(end);
    return from + end->samples;
}

void open_end_free(struct open_end *end)
{
    free(end->held.bytes);
    end->held = (struct metadata_buffer){0};
}
