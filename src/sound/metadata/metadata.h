/* What surrounds the samples of a sound file: tags, pictures, markers, and chunks that halo does
 * not interpret. Read from one container, adjusted to what happened to the sound, and written into
 * another; what could not be kept is noted, none of it is lost without a word.
 *
 *   metadata_read.c   finds it in a file or in the head of a stream
 *   metadata_riff.c   WAV, RF64, W64, AIFF
 *   metadata_caf.c, metadata_flac.c (and Ogg), metadata_id3.c
 *   metadata_json.c   --metadata FILE.json, and the report
 *
 * Positions are frames of the sound, from 0. Text is as the file has it, which should be UTF-8.
 * Threads: one at a time. Not real-time.
 */
#ifndef HALO_METADATA_H
#define HALO_METADATA_H

#include "base/status.h"
#include "sound/file/sound_chunks.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes that are read of one file: more is left, with a word. */
#define METADATA_BYTES_MOST (UINT64_C(256) << 20)

/* FAMILY_RF64 and FAMILY_W64 are RIFF's chunks, written in another way: of even sizes, and with
 * long names. */
enum metadata_family { FAMILY_RIFF, FAMILY_RF64, FAMILY_W64, FAMILY_AIFF, FAMILY_CAF };

/* What can be left out, from the least to the most valuable: bits. */
enum metadata_kind {
    METADATA_OTHERS = 1, /* chunks that are none of the below */
    METADATA_PICTURES = 2,
    METADATA_MARKERS = 4,
    METADATA_TAGS = 8,       /* the ID3 tag, too, which has the pictures */
    METADATA_BROADCAST = 16, /* bext and iXML */
    METADATA_ALL = 31,
};

struct metadata_chunk {
    enum metadata_family family; /* FAMILY_RIFF, FAMILY_AIFF or FAMILY_CAF */
    char id[4];                  /* printable */
    unsigned char *bytes;
    size_t size;
    bool kept;
};

/* Names are those of Vorbis comments, in capitals; there may be several texts of a name. */
struct metadata_text {
    char *name;
    char *value;
    bool kept;
};

/* The content of FLAC's PICTURE block: type, MIME type, description, size, image. */
struct metadata_picture {
    unsigned char *bytes;
    size_t size;
    bool kept;
};

struct metadata_marker {
    uint32_t id; /* unique in a file */
    uint64_t frame;
    uint64_t length;  /* of a region; 0: a point */
    char *label;      /* or NULL */
    char *note;       /* or NULL */
    char *text;       /* of a region, or NULL */
    uint8_t kind[12]; /* of a region: purpose, country, language, dialect, code page, as in ltxt */
    uint32_t flags;   /* of a region of CAF */
    bool placed;      /* `frame` is known: a file may name what it does not place */
    bool kept;
    unsigned kept_parts; /* of one that is kept: enum marker_part */
};

enum marker_part { MARKER_LABEL = 1, MARKER_NOTE = 2, MARKER_TEXT = 4, MARKER_LOOP = 8 };

struct metadata_loss {
    char *what;
    const char *why;
};

struct sound_metadata {
    enum metadata_family origin; /* of the container that was read, or that is nearest to it */
    struct metadata_chunk *chunks;
    size_t chunk_count;
    struct metadata_text *texts;
    size_t text_count;
    struct metadata_picture *pictures;
    size_t picture_count;
    struct metadata_marker *markers;
    size_t marker_count;
    unsigned char *id3; /* the whole tag of version 2 that there was, for what only it can hold */
    size_t id3_size;
    struct metadata_loss *losses;
    size_t loss_count;
    char **moved; /* what was changed with the sound */
    size_t moved_count;
    uint64_t bytes;                  /* read so far */
    size_t texts_read, marker_parts; /* those that were there already, too */
    struct metadata_marker surplus;  /* for what is said of markers beyond the most */
    bool cut;                        /* some lay beyond what was read */
    bool more_follows;               /* some lies after the samples of a stream (port.h) */
    unsigned without;                /* of enum metadata_kind: not to be written, */
    const char *why_without;         /* and the reason */
    bool lacks_module;               /* which ID3 tags need */
};
MUST_CHECK enum status metadata_create(struct sound_metadata **metadata);
void metadata_destroy(struct sound_metadata *metadata); /* NULL: nothing */

/* Add what the file has. What is damaged is left. Errors: memory; bytes->error is not looked at. */
MUST_CHECK enum status metadata_read(struct sound_bytes *bytes, struct sound_metadata *metadata);

/* Add chunks that follow the samples. */
MUST_CHECK enum status metadata_read_after(struct sound_bytes *bytes,
                                           const struct chunk_layout *layout,
                                           struct sound_metadata *metadata);

/* Markers that the file names, and places nowhere, become losses: when all of it has been read.
 * Errors: memory. */
MUST_CHECK enum status metadata_remove_unplaced(struct sound_metadata *metadata);

/* Add; copies are made. Beyond the most nothing is added, and `cut` is set. What follows a zero in
 * a text, a chunk whose name is not printable, unless it is zeros, and a damaged picture are
 * losses. Errors: memory. */
MUST_CHECK enum status metadata_add_chunk(struct sound_metadata *metadata,
                                          enum metadata_family family, const void *id,
                                          const void *bytes, size_t size);
MUST_CHECK enum status metadata_add_text(struct sound_metadata *metadata, const char *name,
                                         size_t name_size, const void *value, size_t size);
MUST_CHECK enum status metadata_add_picture(struct sound_metadata *metadata, const void *bytes,
                                            size_t size);

/* *marker: the one of that id, which is made if there is none; beyond the most one that is not
 * kept.
 */
MUST_CHECK enum status metadata_add_marker(struct sound_metadata *metadata, uint32_t id,
                                           struct metadata_marker **marker);

/* The same, at a frame. If that id has another place, this one is a loss, and is not kept. */
MUST_CHECK enum status metadata_place_marker(struct sound_metadata *metadata, uint32_t id,
                                             uint64_t frame, struct metadata_marker **marker);

/* Note a loss; `why` is not copied. */
MUST_CHECK enum status metadata_lose(struct sound_metadata *metadata, const char *why,
                                     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same of what a reader leaves, of which a file may have very many. */
extern const char metadata_damaged[], metadata_unknown[], metadata_twice[], metadata_no_module[];
MUST_CHECK enum status metadata_leave(struct sound_metadata *metadata, const char *why,
                                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set *text, of a marker, to a copy; a second one is a loss. Errors: memory. */
MUST_CHECK enum status metadata_set(struct sound_metadata *metadata,
                                    const struct metadata_marker *marker, char **text,
                                    const void *bytes, size_t size);
void metadata_remove_text(struct sound_metadata *metadata, size_t index);
void metadata_remove_marker(struct sound_metadata *metadata, size_t index);

/* ---- what became of the sound ---- */

struct metadata_change {
    uint64_t start;    /* frame of the input that is the output's first */
    int64_t frames;    /* of the output, or -1: unknown */
    bool keeps_loops;  /* it is the whole input, and frames that were alike still are */
    uint32_t rate_in;  /* Hz, of the input, */
    uint32_t rate;     /* of the output, */
    size_t channels;   /* and for the coding history: */
    unsigned bits;     /* of an integer format, else 0 */
    unsigned bytes;    /* of a sample; 0: compressed */
    const char *maker; /* "halo 1.0" */
    size_t inputs;     /* channels of the input */
};

/* Drops what is untrue of the new sound: ReplayGain and loudness, checksums, overviews, what
 * is said of each channel where there are others now, loops of samplers, positions after its end;
 * adds a line to the coding history of a broadcast WAV. Frame i of the output belongs to
 * frame start + i of the input (engine.h), at the rate of each. Errors: memory. */
MUST_CHECK enum status metadata_adjust(struct sound_metadata *metadata,
                                       const struct metadata_change *change);

/* ---- writing ---- */

struct metadata_buffer {
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* bytes are missing */
    bool said;   /* a line was printed about that; otherwise memory ran out */
};

/* The error, and a line about it. */
MUST_CHECK enum status metadata_buffer_status(const struct metadata_buffer *buffer);

/* Whether there is nothing but zeros. */
bool metadata_is_zero(const void *bytes, size_t size);
void metadata_put(struct metadata_buffer *buffer, const void *bytes, size_t size);
void metadata_put_little(struct metadata_buffer *buffer, uint64_t value, size_t bytes);
void metadata_put_big(struct metadata_buffer *buffer, uint64_t value, size_t bytes);
uint64_t metadata_little(const unsigned char *bytes, size_t count);
uint64_t metadata_big(const unsigned char *bytes, size_t count);

/* How a family of containers keeps its chunks. An id has four letters; that of W64 is a GUID. */
struct metadata_form {
    const char *magic; /* of the file; NULL: several */
    /* Whether a chunk is more than the file's own structure, and worth reading. */
    bool (*wants)(const char *id);
    /* Adds what it says. Errors: memory. */
    enum status (*parse)(struct sound_metadata *metadata, const char *id, bool big_endian,
                         const unsigned char *bytes, size_t size);
    /* What a container gets, less metadata->without; what is written of it is marked as kept. Check
     * metadata_buffer_status() then. with_texts: tags, too, which FLAC has elsewhere. */
    void (*write)(struct sound_metadata *metadata, enum metadata_family family, bool with_texts,
                  struct metadata_buffer *buffer);
};
extern const struct metadata_form metadata_form_riff, metadata_form_w64, metadata_form_aiff,
    metadata_form_caf;
extern const struct metadata_form *const metadata_forms[]; /* by enum metadata_family */

/* The first text of a marker, of a container that has one for each, of at most `most` bytes; or "".
 * Notes what was kept. */
const char *metadata_marker_text(struct metadata_marker *marker, size_t most);

/* The list of Vorbis comments, from its count on, of at most `most` bytes; and FLAC's blocks
 * besides. The first is `channel_mask`, which says what FLAC's channels are (channel_order.h); it
 * may be NULL, and so may the metadata. */
enum { COMMENTS_MOST = (1 << 23) - 1 };

#define METADATA_CHANNEL_MASK "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"

void metadata_write_comments(struct sound_metadata *metadata, const char *channel_mask,
                             bool with_pictures, size_t most, struct metadata_buffer *buffer);
void metadata_write_flac(struct sound_metadata *metadata, const struct metadata_change *change,
                         struct metadata_buffer *buffer);

/* Write all of it anew. */
void metadata_keep_none(struct sound_metadata *metadata);
enum metadata_kind metadata_kind_of(const struct metadata_chunk *chunk);

/* What was not kept becomes a loss, since OUT has no place for it. Errors: memory. */
MUST_CHECK enum status metadata_conclude(struct sound_metadata *metadata);

/* What `late` has becomes a loss, since it followed the samples, and OUT's header was written
 * before. Errors: memory. */
MUST_CHECK enum status metadata_conclude_late(struct sound_metadata *metadata,
                                              const struct sound_metadata *late);

/* ---- parts of the formats, for each other ---- */

/* The bytes of a span, for the caller to free; NULL without an error: they are not all there, or
 * too many in all. Errors: memory. */
MUST_CHECK enum status metadata_copy(struct sound_metadata *metadata, struct sound_bytes *bytes,
                                     uint64_t at, uint64_t size, unsigned char **taken);

/* A tag of ID3v2; metadata_write_id3 writes one if `always`, or where some of it has no other
 * place. */
MUST_CHECK enum status metadata_parse_id3(struct sound_metadata *metadata,
                                          const unsigned char *bytes, size_t size);
void metadata_write_id3(struct sound_metadata *metadata, bool always,
                        struct metadata_buffer *buffer);

/* Text in UTF-8, which takes other text for Latin-1. */
void metadata_put_utf8(struct metadata_buffer *buffer, const char *text);

/* Names of tags in the lists "INFO" (RIFF), "AIFF" and "CAF", which Vorbis comments name as halo
 * does; NULL: there is none. `index`: of several ids of a name. */
const char *metadata_name_of(const char *list, const char *id, size_t size);
const char *metadata_id_of(const char *list, const char *name, size_t index);
MUST_CHECK enum status metadata_read_flac(struct sound_bytes *bytes, uint64_t at,
                                          struct sound_metadata *metadata);

MUST_CHECK enum status metadata_read_ogg(struct sound_bytes *bytes,
                                         struct sound_metadata *metadata);

#endif
