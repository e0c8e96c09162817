
#include "sound/file/sound_io.h"

#include <stdlib.h>
#include <string.h>

/* ---- positions in a file with inserted bytes ---- */

static bool write_at(struct sound_splice *splice, int64_t at, const void *bytes, size_t count)
{
    if (splice->base->tell(splice->user) != at &&
        splice->base->seek(at, SEEK_SET, splice->user) != at)
        return false;
    return splice->base->write(bytes, (sf_count_t)count, splice->user) == (sf_count_t)count;
}

static bool write_through(struct sound_splice *splice, const void *bytes, size_t count)
{
    bool is_after = splice->at >= 0 && splice->position >= splice->at + splice->dropped;
    int64_t more = is_after ? splice->added - splice->dropped : 0;
    return write_at(splice, splice->position + more, bytes, count);
}

static bool put(struct sound_splice *splice, int64_t at, int64_t dropped,
                const struct metadata_buffer *bytes)
{
    splice->at = at;
    splice->dropped = dropped;
    splice->added = (int64_t)bytes->size;
    return write_at(splice, at, bytes->bytes, bytes->size);
}

/* ---- FLAC ---- */

enum { FLAC_HEAD = 42, FLAC_COMMENTS = 4, FLAC_LAST = 0x80 };

/* Replace the block of comments that libFLAC writes, which has libFLAC's name in it. */
static bool replace_comments(struct sound_splice *splice, const unsigned char *bytes, size_t count)
{
    size_t vendor = count >= 8 ? 4 + (size_t)metadata_little(bytes + 4, 4) : 0;
    if (vendor < 4 || (bytes[0] & ~FLAC_LAST) != FLAC_COMMENTS || vendor > count - 4)
        return write_through(splice, bytes, count);
    struct metadata_buffer blocks = {0};
    bool is_last = splice->bytes.size == 0;
    metadata_put_big(&blocks, FLAC_COMMENTS | (is_last ? FLAC_LAST : 0), 1);
    metadata_put_big(&blocks, vendor + splice->comments.size, 3);
    metadata_put(&blocks, bytes + 4, vendor);
    metadata_put(&blocks, splice->comments.bytes, splice->comments.size);
    metadata_put(&blocks, splice->bytes.bytes, splice->bytes.size);
    bool done = !blocks.failed && put(splice, FLAC_HEAD, (int64_t)count, &blocks);
    free(blocks.bytes);
    return done;
}

/* ---- Ogg ---- */

static uint32_t ogg_sum(const unsigned char *page, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum ^= (uint32_t)page[i] << 24;
        for (int bit = 0; bit < 8; bit++)
            sum = sum << 1 ^ (sum & UINT32_C(0x80000000) ? UINT32_C(0x04c11db7) : 0);
    }
    return sum;
}

enum { OGG_SUM = 22, OGG_SEGMENTS = 26 };

/* The length of the page at `at`; 0: the page is not complete. */
static size_t page_size(const struct metadata_buffer *held, size_t at)
{
    size_t left = held->size - at, size = OGG_HEADER;
    const unsigned char *page = held->bytes + at;
    if (left < OGG_HEADER || left < OGG_HEADER + (size_t)page[OGG_SEGMENTS])
        return 0;
    for (size_t i = 0; i < page[OGG_SEGMENTS]; i++)
        size += 1 + (size_t)page[OGG_HEADER + i];
    return size <= left ? size : 0;
}

/* Walk the packet that begins with the page at `at`. If `is_written`, `packet` replaces its bytes;
 * else they are appended to `packet`. False: the end of the packet is missing. */
static bool walk_packet(struct metadata_buffer *held, size_t at, struct metadata_buffer *packet,
                        bool is_written)
{
    size_t done = 0, size;
    for (bool ends = false; !ends; at += size) {
        size = page_size(held, at);
        if (size == 0)
            return false;
        unsigned char *page = held->bytes + at;
        unsigned char *body = page + OGG_HEADER + page[OGG_SEGMENTS];
        for (size_t i = 0; i < page[OGG_SEGMENTS] && !ends; i++) {
            size_t part = page[OGG_HEADER + i];
            if (is_written)
                memcpy(body, packet->bytes + done, part);
            else
                metadata_put(packet, body, part);
            body += part;
            done += part;
            ends = part < 255;
        }
        if (is_written) {
            struct metadata_buffer sum = {.bytes = page + OGG_SUM, .capacity = 4};
            memset(page + OGG_SUM, 0, 4);
            metadata_put_little(&sum, ogg_sum(page, size), 4);
        }
    }
    return true;
}

static const char place[] = "COMMENT="; /* name, in libsndfile, of the comment that makes room */

/* Put libsndfile's other comments, such as the encoder's name, without the one that makes room. */
static uint32_t put_others(const struct metadata_buffer *packet, size_t at, size_t count,
                           struct metadata_buffer *made)
{
    uint32_t others = 0;
    for (; count > 0 && packet->size - at >= 4; count--) {
        size_t size = metadata_little(packet->bytes + at, 4);
        if (size > packet->size - at - 4)
            break;
        size_t named = sizeof place - 1;
        if (size < named || memcmp(packet->bytes + at + 4, place, named) != 0) {
            metadata_put(made, packet->bytes + at, 4 + size);
            others++;
        }
        at += 4 + size;
    }
    return others;
}

/* Make a packet of the same length with halo's comments, then zeros. False: there is no room. */
static bool set_comments(const struct sound_splice *splice, struct metadata_buffer *packet)
{
    bool is_opus = packet->size > 8 && memcmp(packet->bytes, "OpusTags", 8) == 0;
    size_t magic = is_opus ? 8 : 7;
    size_t vendor = packet->size > magic + 8 ? metadata_little(packet->bytes + magic, 4) : SIZE_MAX;
    if (packet->size < magic + 8 || vendor > packet->size - magic - 8)
        return false;
    size_t count = magic + 4 + vendor;
    struct metadata_buffer made = {0};
    metadata_put(&made, packet->bytes, count + 4);
    uint32_t others =
        put_others(packet, count + 4, metadata_little(packet->bytes + count, 4), &made);
    metadata_put(&made, splice->comments.bytes + 4, splice->comments.size - 4);
    struct metadata_buffer number = {.bytes = made.bytes + count, .capacity = 4};
    if (!made.failed)
        metadata_put_little(&number, others + metadata_little(splice->comments.bytes, 4), 4);
    if (!is_opus)
        metadata_put_little(&made, 1, 1); /* Vorbis: the framing bit */
    bool fits = !made.failed && made.size <= packet->size;
    if (fits) {
        memset(packet->bytes, 0, packet->size);
        memcpy(packet->bytes, made.bytes, made.size);
    }
    free(made.bytes);
    return fits;
}

static bool release(struct sound_splice *splice)
{
    bool done = write_at(splice, 0, splice->held.bytes, splice->held.size);
    splice->at = splice->dropped = splice->added = 0;
    free(splice->held.bytes);
    splice->held = (struct metadata_buffer){0};
    return done;
}

enum { HELD_MOST = 1 << 20 };

/* Hold back bytes of an Ogg until the comments are complete. They begin with the second page. */
static bool hold(struct sound_splice *splice, const void *bytes, size_t count)
{
    struct metadata_buffer packet = {0}, *held = &splice->held;
    metadata_put(held, bytes, count);
    bool done = !held->failed && held->size < HELD_MOST + 2 * splice->comments.size;
    size_t first = done ? page_size(held, 0) : 0;
    if (first > 0 && walk_packet(held, first, &packet, false)) {
        done = !packet.failed && set_comments(splice, &packet) &&
               walk_packet(held, first, &packet, true) && release(splice);
    }
    free(packet.bytes);
    return done;
}

/* Bytes of a comment besides its text: its length and its name. */
enum { AROUND = 4 + sizeof place - 1 };

size_t sound_splice_room(const struct sound_splice *splice)
{
    if (splice->kind != SPLICE_OGG || splice->comments.size <= 4)
        return 0;
    size_t size = splice->comments.size - 4; /* without the count, which is always there */
    return size > AROUND ? size - AROUND : 1;
}

/* ---- the functions that libsndfile calls ---- */

static bool splice_bytes(struct sound_splice *splice, const void *bytes, size_t count)
{
    if (splice->kind == SPLICE_OGG && splice->at < 0)
        return hold(splice, bytes, count);
    if (splice->kind == SPLICE_FLAC && splice->at < 0 && splice->position == FLAC_HEAD)
        return replace_comments(splice, bytes, count);
    if (splice->kind == SPLICE_FRONT && splice->at < 0 && !put(splice, 0, 0, &splice->bytes))
        return false;
    return write_through(splice, bytes, count);
}

static sf_count_t splice_write(const void *bytes, sf_count_t count, void *user)
{
    struct sound_splice *splice = user;
    splice->failed |= count > 0 && !splice_bytes(splice, bytes, (size_t)count);
    if (splice->failed)
        return 0;
    splice->position += count;
    if (splice->position > splice->length)
        splice->length = splice->position;
    return count;
}

static sf_count_t splice_seek(sf_count_t offset, int whence, void *user)
{
    struct sound_splice *splice = user;
    int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? splice->position : splice->length;
    splice->position = from + offset;
    return splice->position;
}

static sf_count_t splice_length(void *user)
{
    return ((const struct sound_splice *)user)->length;
}

static sf_count_t splice_position(void *user)
{
    return ((const struct sound_splice *)user)->position;
}

static sf_count_t splice_read(void *bytes, sf_count_t count, void *user)
{
    (void)bytes;
    (void)count;
    (void)user;
    return 0; /* the file is being written, not read */
}

SF_VIRTUAL_IO sound_splice_functions = {.get_filelen = splice_length,
                                        .seek = splice_seek,
                                        .read = splice_read,
                                        .write = splice_write,
                                        .tell = splice_position};

void sound_splice_begin(struct sound_splice *splice, SF_VIRTUAL_IO *base, void *user)
{
    splice->base = base;
    splice->user = user;
    splice->at = -1;
    splice->dropped = splice->added = splice->position = splice->length = 0;
}

bool sound_splice_finish(struct sound_splice *splice)
{
    return !splice->failed && (splice->kind != SPLICE_OGG || splice->at >= 0);
}

void sound_splice_free(struct sound_splice *splice)
{
    free(splice->bytes.bytes);
    free(splice->comments.bytes);
    free(splice->held.bytes);
    *splice = (struct sound_splice){0};
}
