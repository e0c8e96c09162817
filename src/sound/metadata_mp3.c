/* ID3 tags at the beginning or the end of a file: MP3, and FLAC behind one. */
#include "sound/metadata.h"

#include <stdlib.h>
#include <string.h>

enum { ID3_HEADER = 10, ID3_FOOTER = 0x10, ID3V1 = 128 };

/* The size of the tag at the beginning; 0: there is none. */
static uint64_t front_size(const unsigned char head[ID3_HEADER])
{
    uint64_t size = 0;
    if (memcmp(head, "ID3", 3) != 0)
        return 0;
    for (size_t i = 6; i < ID3_HEADER; i++)
        size = size << 7 | (head[i] & 0x7F);
    return size + ID3_HEADER + (head[5] & ID3_FOOTER ? ID3_HEADER : 0);
}

enum status metadata_read_mp3(struct sound_bytes *bytes, const unsigned char head[12],
                              struct sound_metadata *metadata)
{
    uint64_t front = front_size(head);
    unsigned char *taken, magic[4], tail[ID3V1];
    if (front == 0 && (head[0] != 0xFF || (head[1] & 0xE0) != 0xE0))
        return STATUS_OK;
    TRY(metadata_copy(metadata, bytes, 0, front, &taken));
    enum status status = STATUS_OK;
    if (taken && front > 0)
        status = metadata_parse_id3(metadata, taken, (size_t)front);
    free(taken);
    bool is_flac =
        sound_bytes_read(bytes, front, magic, sizeof magic) && memcmp(magic, "fLaC", 4) == 0;
    if (status == STATUS_OK && is_flac)
        return metadata_read_flac(bytes, front + 4, metadata);
    bool has_tail = front == 0 && bytes->fd >= 0 && bytes->size > ID3V1 &&
                    sound_bytes_read(bytes, bytes->size - ID3V1, tail, sizeof tail) &&
                    memcmp(tail, "TAG", 3) == 0;
    return status == STATUS_OK && has_tail ? metadata_parse_id3(metadata, tail, sizeof tail)
                                           : status;
}
