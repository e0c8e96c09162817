/* In which order a sound file keeps its channels, and how it tells what they are:
 *
 *   WAV, RF64, W64   WAVE_FORMAT_EXTENSIBLE's mask; the identifiers of ambisonic B-format
 *   CAF, AIFF        the chunk "chan" or "CHAN" of Core Audio: a tag, a mask or descriptions
 *   FLAC             the comment WAVEFORMATEXTENSIBLE_CHANNEL_MASK, or by number (RFC 9639)
 *   Vorbis, Opus     by number, in an order of their own; Opus also ambisonics (RFC 8486)
 *
 * libsndfile sorts no channels and reads and writes a part of that only, so all of it is done here.
 * Threads: any, one at a time for a file.
 */
#ifndef HALO_CHANNEL_ORDER_H
#define HALO_CHANNEL_ORDER_H

#include "signal/audio.h"
#include "sound/file/sound_chunks.h"

enum { CHANNEL_ORDER_MOST = 64, CHANNEL_CHUNK_MOST = 12 + 20 * CHANNEL_ORDER_MOST };

/* The file's channel c is halo's channel rows[c]. count 0: all are in their places. */
struct channel_order {
    size_t count;
    uint8_t rows[CHANNEL_ORDER_MOST];
};

/* Read the layout and the order of a file that libsndfile takes for one of `format`. If it is
 * damaged, the layout is not known. */
void channel_order_read(struct sound_bytes *bytes, int format, size_t channels,
                        struct channel_layout *layout, struct channel_order *order);

/* `chunk`: the first `size` bytes of a WAV's format chunk. */
struct channel_layout channel_layout_of_wav(const unsigned char *chunk, size_t size,
                                            bool big_endian, size_t channels);

/* The layout of a FLAC that states none, as flac and FFmpeg take it. */
struct channel_layout channel_layout_of_flac(size_t channels);

/* Sort positions in the order of the file, CHANNEL_OTHER included. One that occurs twice makes the
 * layout unknown. */
void channel_order_sort(const uint8_t *positions, size_t channels, struct channel_layout *layout,
                        struct channel_order *order);

/* How a sound is written to a file of `format`; notes what the file `name` cannot keep.
 * *stated: what it is to tell. */
void channel_order_choose(const char *name, int format, const struct stream_format *stream,
                          struct channel_order *order, struct channel_layout *stated);

/* Whether a WAV needs WAVE_FORMAT_EXTENSIBLE to tell it. */
bool channel_layout_needs_extensible(struct channel_layout layout, size_t channels);

/* The end of WAVE_FORMAT_EXTENSIBLE: the mask, 4 bytes, and the identifier of samples of that tag,
 * 16 bytes. */
enum { CHANNEL_WAV_BYTES = 20 };
void channel_layout_put_wav(struct channel_layout layout, unsigned tag,
                            unsigned char bytes[CHANNEL_WAV_BYTES]);

/* The content of a chunk "chan"; returns its size; 0: it cannot hold the layout. */
size_t channel_order_put_chan(struct channel_layout layout, size_t channels,
                              unsigned char chunk[CHANNEL_CHUNK_MOST]);

/* Write the mask into a complete WAV or RF64 of libsndfile's. If not extensible, make the format of
 * a WAV plain. Returns 0 or an errno. */
int channel_layout_patch_wav(int fd, struct channel_layout layout, bool extensible);

#endif
