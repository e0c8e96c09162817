/* Metadata of a sound file: tags, pictures, markers, and chunks that halo does not interpret. halo
 * reads metadata from one container, adjusts it to the changes of the sound, and writes it into
 * another. Each item that could not be kept is noted as a loss.
 *
 *   metadata_read.c   finds metadata in a file or in the head of a stream
 *   metadata_riff.c   WAV, RF64, W64, AIFF
 *   metadata_caf.c, metadata_flac.c (and Ogg), metadata_id3.c
 *   metadata_json.c   --metadata FILE.json, and the report
 *
 * Positions are frames of the sound, from 0. Text has the file's encoding, which should be UTF-8.
 * Threads: one at a time. Not real-time. */
#ifndef HALO_METADATA_H
#define HALO_METADATA_H

#include "base/status.h"
#include "sound/file/sound_chunks.h"

#include <stddef.h>
#include <stdint.h>

/* Most bytes of metadata read from one file. Further metadata is left out with a message. */
#define METADATA_BYTES_MOST (UINT64_C(256) << 20)

/* FAMILY_RF64 and FAMILY_W64 have RIFF's chunks. In RF64 sizes are even; in W64 ids are GUIDs. */
enum metadata_family { FAMILY_RIFF, FAMILY_RF64, FAMILY_W64, FAMILY_AIFF, FAMILY_CAF };

/* Kinds of metadata that can be left out, as bits, from the least to the most valuable. */
enum metadata_kind {
    METADATA_OTHERS = 1, /* chunks of no kind below */
    METADATA_PICTURES = 2,
    METADATA_MARKERS = 4,
    METADATA_TAGS = 8,       /* includes the ID3 tag with its pictures */
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

/* A tag. Names are those of Vorbis comments, in capitals; several tags may have one name. */
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
    uint64_t length; /* frames of a region; 0: the marker is a point */
    char *label;     /* name of the marker, or NULL */
    char *note;      /* remark about the marker, or NULL */
    char *text;      /* text of a region; NULL: none */
    /* region: purpose, country, language, dialect, code page, as in the chunk ltxt */
    uint8_t kind[12];
    uint32_t flags; /* flags of a region in CAF */
    bool placed;    /* `frame` is known: a file may name markers without a position */
    bool kept;
    unsigned kept_parts; /* parts that were kept: bits of enum marker_part */
};

enum marker_part { MARKER_LABEL = 1, MARKER_NOTE = 2, MARKER_TEXT = 4, MARKER_LOOP = 8 };

struct metadata_loss {
    char *what;
    const char *why;
};

struct sound_metadata {
    enum metadata_family origin; /* family of the container that was read, or the nearest one */
    struct metadata_chunk *chunks;
    size_t chunk_count;
    struct metadata_text *texts;
    size_t text_count;
    struct metadata_picture *pictures;
    size_t picture_count;
    struct metadata_marker *markers;
    size_t marker_count;
    unsigned char *id3; /* the whole ID3v2 tag of the file, for frames that have no other place */
    size_t id3_size;
    struct metadata_loss *losses;
    size_t loss_count;
    char **moved; /* items that were adjusted to changes of the sound */
    size_t moved_count;
    uint64_t bytes;                  /* bytes of metadata read so far */
    size_t texts_read, marker_parts; /* items read so far, also if they were there before */
    struct metadata_marker surplus;  /* scratch for the texts of markers beyond the most */
    bool cut;                        /* some metadata was not read, as it was too much */
    bool more_follows;               /* metadata follows the samples of a stream (port.h) */
    unsigned without;        /* kinds that must not be written: bits of enum metadata_kind */
    const char *why_without; /* reason for `without` */
    bool lacks_module;       /* the module for ID3 tags is missing */
};
MUST_CHECK enum status metadata_create(struct sound_metadata **metadata);
void metadata_destroy(struct sound_metadata *metadata); /* NULL is allowed */

/* Add a file's metadata, without damaged items. Errors: memory; the caller checks bytes->error. */
MUST_CHECK enum status metadata_read(struct sound_bytes *bytes, struct sound_metadata *metadata);

/* Add the metadata in chunks that follow the samples. */
MUST_CHECK enum status metadata_read_after(struct sound_bytes *bytes,
                                           const struct chunk_layout *layout,
                                           struct sound_metadata *metadata);

/* Turn markers without a position into losses, once all metadata has been read. Errors: memory. */
MUST_CHECK enum status metadata_remove_unplaced(struct sound_metadata *metadata);

/* Add a copy of an item, or beyond the most items set `cut`. Losses: text after a zero byte, a
 * chunk with an unprintable name (unless it is all zeros), a damaged picture. Errors: memory. */
MUST_CHECK enum status metadata_add_chunk(struct sound_metadata *metadata,
                                          enum metadata_family family, const void *id,
                                          const void *bytes, size_t size);
MUST_CHECK enum status metadata_add_text(struct sound_metadata *metadata, const char *name,
                                         size_t name_size, const void *value, size_t size);
MUST_CHECK enum status metadata_add_picture(struct sound_metadata *metadata, const void *bytes,
                                            size_t size);

/* Find or make the marker with this id. Beyond the most markers, *marker is not kept. */
MUST_CHECK enum status metadata_add_marker(struct sound_metadata *metadata, uint32_t id,
                                           struct metadata_marker **marker);

/* Find or make the marker with this id, and set its frame. If the id already has another frame, the
 * new marker is a loss and is not kept. */
MUST_CHECK enum status metadata_place_marker(struct sound_metadata *metadata, uint32_t id,
                                             uint64_t frame, struct metadata_marker **marker);

/* Note a loss; `why` is not copied. */
MUST_CHECK enum status metadata_lose(struct sound_metadata *metadata, const char *why,
                                     const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Note a loss of an item that a reader leaves out, up to a number: a file may have very many. */
extern const char metadata_damaged[], metadata_unknown[], metadata_twice[], metadata_no_module[];
MUST_CHECK enum status metadata_leave(struct sound_metadata *metadata, const char *why,
                                      const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Set a marker's *text to a copy of the bytes; if *text is set, they are a loss. Errors: memory. */
MUST_CHECK enum status metadata_set(struct sound_metadata *metadata,
                                    const struct metadata_marker *marker, char **text,
                                    const void *bytes, size_t size);
void metadata_remove_text(struct sound_metadata *metadata, size_t index);
void metadata_remove_marker(struct sound_metadata *metadata, size_t index);

/* ---- changes of the sound ---- */

struct metadata_change {
    uint64_t start;    /* frame of the input that is the output's first frame */
    int64_t frames;    /* frames of the output; -1: unknown */
    bool keeps_loops;  /* the output is the whole input, and equal frames are still equal */
    uint32_t rate_in;  /* rate of the input, Hz */
    uint32_t rate;     /* rate of the output, Hz */
    size_t channels;   /* channels of the output */
    unsigned bits;     /* bits of the output if its format is integer, else 0 */
    unsigned bytes;    /* bytes of a sample of the output; 0: compressed */
    const char *maker; /* "halo 1.0" */
    size_t inputs;     /* channels of the input */
};

/* Drop metadata that is no longer true: ReplayGain and loudness, checksums, overviews, descriptions
 * of channels if these changed, loops of samplers, positions after the end. Add a line to the
 * coding history of a broadcast WAV. Frame i of the output belongs to frame start + i of the input
 * (engine.h), each at its own rate. Errors: memory. */
MUST_CHECK enum status metadata_adjust(struct sound_metadata *metadata,
                                       const struct metadata_change *change);

/* ---- writing ---- */

struct metadata_buffer {
    unsigned char *bytes;
    size_t size, capacity;
    bool failed; /* bytes could not be added */
    bool said;   /* a message about the failure was printed; otherwise memory ran out */
};

/* The status of a buffer. Prints a message if the buffer failed and none was printed. */
MUST_CHECK enum status metadata_buffer_status(const struct metadata_buffer *buffer);

bool metadata_is_zero(const void *bytes, size_t size);
void metadata_put(struct metadata_buffer *buffer, const void *bytes, size_t size);
void metadata_put_little(struct metadata_buffer *buffer, uint64_t value, size_t bytes);
void metadata_put_big(struct metadata_buffer *buffer, uint64_t value, size_t bytes);
uint64_t metadata_little(const unsigned char *bytes, size_t count);
uint64_t metadata_big(const unsigned char *bytes, size_t count);

/* How a family of containers stores metadata in chunks. An id has four letters (W64: a GUID). */
struct metadata_form {
    const char *magic; /* first bytes of the file; NULL: there are several */
    /* Whether a chunk has metadata, and is not part of the file's structure. */
    bool (*wants)(const char *id);
    /* Add the metadata of a chunk. Errors: memory. */
    enum status (*parse)(struct sound_metadata *metadata, const char *id, bool big_endian,
                         const unsigned char *bytes, size_t size);
    /* Write a container's chunks, without the kinds in metadata->without, and mark them as kept.
     * Then check metadata_buffer_status(). with_texts: also write tags; FLAC has them elsewhere. */
    void (*write)(struct sound_metadata *metadata, enum metadata_family family, bool with_texts,
                  struct metadata_buffer *buffer);
};
extern const struct metadata_form metadata_form_riff, metadata_form_w64, metadata_form_aiff,
    metadata_form_caf;
extern const struct metadata_form *const metadata_forms[]; /* indexed by enum metadata_family */

/* The first text of a marker that has at most `most` bytes, or "". For containers that have one
 * text for a marker. Marks the text as kept. */
const char *metadata_marker_text(struct metadata_marker *marker, size_t most);

/* Write the list of Vorbis comments, from its count on, in at most `most` bytes; and the other
 * metadata blocks of FLAC. The first comment is `channel_mask`, FLAC's layout of channels
 * (channel_order.h). `channel_mask` and `metadata` may be NULL. */
enum { COMMENTS_MOST = (1 << 23) - 1 };

#define METADATA_CHANNEL_MASK "WAVEFORMATEXTENSIBLE_CHANNEL_MASK"

void metadata_write_comments(struct sound_metadata *metadata, const char *channel_mask,
                             bool with_pictures, size_t most, struct metadata_buffer *buffer);
void metadata_write_flac(struct sound_metadata *metadata, const struct metadata_change *change,
                         struct metadata_buffer *buffer);

/* Mark all items as not kept, to write them anew. */
void metadata_keep_none(struct sound_metadata *metadata);
enum metadata_kind metadata_kind_of(const struct metadata_chunk *chunk);

/* Turn items that were not kept into losses, since OUT has no place for them. Errors: memory. */
MUST_CHECK enum status metadata_conclude(struct sound_metadata *metadata);

/* Turn the items of `late`, read after OUT's header was written, into losses. Errors: memory. */
MUST_CHECK enum status metadata_conclude_late(struct sound_metadata *metadata,
                                              const struct sound_metadata *late);

/* ---- parts that several formats use ---- */

/* Copy a span of bytes, which the caller frees. *taken NULL without an error: bytes are missing, or
 * too many were read in all. Errors: memory. */
MUST_CHECK enum status metadata_copy(struct sound_metadata *metadata, struct sound_bytes *bytes,
                                     uint64_t at, uint64_t size, unsigned char **taken);

/* Read an ID3v2 tag, or write one. metadata_write_id3 writes a tag if `always` is set, or if some
 * of its frames have no other place. */
MUST_CHECK enum status metadata_parse_id3(struct sound_metadata *metadata,
                                          const unsigned char *bytes, size_t size);
void metadata_write_id3(struct sound_metadata *metadata, bool always,
                        struct metadata_buffer *buffer);

/* Put text as UTF-8. Text that is not UTF-8 is taken for Latin-1. */
void metadata_put_utf8(struct metadata_buffer *buffer, const char *text);

/* Convert between names of tags and their ids in the lists "INFO" (RIFF), "AIFF" and "CAF". NULL:
 * there is none. `index`: number of the id, if a name has several. */
const char *metadata_name_of(const char *list, const char *id, size_t size);
const char *metadata_id_of(const char *list, const char *name, size_t index);
MUST_CHECK enum status metadata_read_flac(struct sound_bytes *bytes, uint64_t at,
                                          struct sound_metadata *metadata);

MUST_CHECK enum status metadata_read_ogg(struct sound_bytes *bytes,
                                         struct sound_metadata *metadata);

#endif
