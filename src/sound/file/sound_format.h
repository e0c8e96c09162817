/* Containers and sample formats: names for the user, and the choice for a rendered sound. Formats
 * are libsndfile's numbers (major | subtype). */
#ifndef HALO_SOUND_FORMAT_H
#define HALO_SOUND_FORMAT_H

#include "base/status.h"
#include "signal/audio.h"

#include <sndfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sound_metadata;

/* Properties of a sound file besides its samples. */
struct sound_traits {
    int format;
    struct sound_metadata *metadata; /* NULL: not read */
};
/* Bits of an integer sample format, 0 for any other. */
unsigned sound_format_bits(int format);

/* Whether samples beyond full scale are lost. */
bool sound_format_is_limited(int format);

/* Whether an encoder leaves out what the ear would not miss: Vorbis, Opus, MP3. */
bool sound_format_is_lossy(int format);

/* Whether files of the same samples differ: Ogg's have a random number, some others the date. */
bool sound_format_varies(int format);
unsigned sound_format_bytes(int format);   /* per sample; 0: variable */
const char *sound_format_name(int format); /* "pcm16", "float", "vorbis", ... */

/* Whether a file's ending is that of a container. */
bool sound_format_is_of_name(const char *path);

/* Requested by the user; may be NULL. */
struct sound_format_request {
    const char *container; /* --container: sound_format_check_container() */
    const char *samples;   /* --format: one of sound_format_names */
};
extern const char *const sound_format_names[]; /* then NULL */

/* The extensions that choose a container, which are its names, too; NULL past the last. */
const char *sound_format_extension(size_t index);

/* Whether there is a container of that name. Errors (usage): there is none; the library is missing.
 */
MUST_CHECK enum status sound_format_check_container(const char *name);

/* Choose the format of OUT from the request or `path`'s extension, the sample format of the input,
 * and what the container supports. Prints a note if the sample format changes without a request.
 * Errors (usage): unknown extension or name, unsupported combination. */
MUST_CHECK enum status sound_format_choose(const char *path,
                                           const struct sound_format_request *request,
                                           const struct sound_traits *input,
                                           const struct stream_format *stream, int *format);

/* Whether both the input and OUT, by what is known before the stages are, have samples of which
 * single precision would lose bits. */
bool sound_format_stays_wide(const char *path, const struct sound_format_request *request,
                             const struct sound_traits *input, const struct stream_format *stream);

/* --layout: give the format of `input`, as messages call it, the layout of that name. NULL: the
 * input keeps its own. Errors (usage): unknown layout, another number of channels. */
MUST_CHECK enum status stated_layout_apply(const char *name, const char *input,
                                           struct stream_format *format);

/* Sounds in containers that libsndfile does not know, but ffmpeg does: recognised by their first
 * bytes, or as an output by their names, and refused with the line of ffmpeg that converts them. */
struct foreign_sound {
    const char *name;  /* "MPEG-4" */
    const char *codec; /* ffmpeg's PCM that keeps its samples: "pcm_f32le" */
};

/* Whether a sound that begins with these bytes, and if `end_size` ends with those, is a foreign
 * one. */
bool foreign_sound_recognise(const void *begin, size_t size, const void *end, size_t end_size,
                             struct foreign_sound *found);

/* The same of an open file, whose position stays. */
bool foreign_sound_recognise_file(int fd, struct foreign_sound *found);

/* Print why not, and how to convert it. Returns STATUS_FAILED, or for an output STATUS_USAGE. */
MUST_CHECK enum status foreign_sound_refuse(const char *path, const struct foreign_sound *sound);

#endif
