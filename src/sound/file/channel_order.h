/* The order of the channels in a sound file, and the place where the file says which channels it
 * has:
 *
 *   WAV, RF64, W64   WAVE_FORMAT_EXTENSIBLE's mask; the identifiers of ambisonic B-format
 *   CAF, AIFF        the chunk "chan" or "CHAN" of Core Audio: a tag, a mask or descriptions
 *   FLAC             the comment WAVEFORMATEXTENSIBLE_CHANNEL_MASK, or by number (RFC 9639)
 *   Vorbis, Opus     by number, in an order of their own; Opus also ambisonics (RFC 8486)
 *
 * libsndfile sorts no channels, and reads and writes only some of these places. So halo does all of
 * it. Threads: any, one at a time for a file. */
#ifndef HALO_CHANNEL_ORDER_H
#define HALO_CHANNEL_ORDER_H

#include "signal/audio.h"
#include "sound/file/sound_chunks.h"

enum { CHANNEL_ORDER_MOST = 64, CHANNEL_CHUNK_MOST = 12 + 20 * CHANNEL_ORDER_MOST };

/* The file's channel c is halo's channel rows[c]. count 0: the order is halo's. */
struct channel_order {
    size_t count;
    uint8_t rows[CHANNEL_ORDER_MOST];
};

/* Read the layout and the order of a file whose format, by libsndfile, is `format`. If the file is
 * damaged, the layout is unknown. */
void channel_order_read(struct sound_bytes *bytes, int format, size_t channels,
                        struct channel_layout *layout, struct channel_order *order);

/* `chunk`: the first `size` bytes of a WAV's format chunk. */
struct channel_layout channel_layout_of_wav(const unsigned char *chunk, size_t size,
                                            bool big_endian, size_t channels);

/* The layout of a FLAC file that states none: the layout that flac and FFmpeg assume. */
struct channel_layout channel_layout_of_flac(size_t channels);

/* Make layout and order from positions in the order of the file, which may be CHANNEL_OTHER. If a
 * position occurs twice, the layout is unknown. */
void channel_order_sort(const uint8_t *positions, size_t channels, struct channel_layout *layout,
                        struct channel_order *order);

/* Choose the order for writing a sound to a file of `format`. *stated: the layout that the file
 * will state. Notes which layout the file `name` cannot keep. */
void channel_order_choose(const char *name, int format, const struct stream_format *stream,
                          struct channel_order *order, struct channel_layout *stated);

/* Whether a WAV needs WAVE_FORMAT_EXTENSIBLE to state this layout. */
bool channel_layout_needs_extensible(struct channel_layout layout, size_t channels);

/* Write the end of a WAVE_FORMAT_EXTENSIBLE chunk: the mask of channels, 4 bytes, and the
 * identifier of the sample format `tag`, 16 bytes. */
enum { CHANNEL_WAV_BYTES = 20 };
void channel_layout_put_wav(struct channel_layout layout, unsigned tag,
                            unsigned char bytes[CHANNEL_WAV_BYTES]);

/* Write the content of a chunk "chan". Returns its size; 0: the chunk cannot hold the layout. */
size_t channel_order_put_chan(struct channel_layout layout, size_t channels,
                              unsigned char chunk[CHANNEL_CHUNK_MOST]);

/* Write the mask of channels into a complete WAV or RF64 that libsndfile wrote. If not
 * `extensible`, turn the format of a WAV into a plain one. Returns 0 or an errno. */
int channel_layout_patch_wav(int fd, struct channel_layout layout, bool extensible);

#endif
