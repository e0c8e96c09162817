/* Containers and sample formats: their names for the user, and the choice of one for a rendered
 * sound. Formats are libsndfile's numbers (major | subtype). */
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
/* Bits of an integer sample format; 0 for other formats. */
unsigned sound_format_bits(int format);

/* Whether the format clips samples beyond full scale. */
bool sound_format_is_limited(int format);

/* Whether the format is compressed with loss: Vorbis, Opus, MP3. */
bool sound_format_is_lossy(int format);

/* Whether two files with the same samples differ: Ogg has a random number, some others the date. */
bool sound_format_varies(int format);
unsigned sound_format_bytes(int format);   /* per sample; 0: variable */
const char *sound_format_name(int format); /* "pcm16", "float", "vorbis", ... */

/* Whether the ending of a file's name is that of a container. */
bool sound_format_is_of_name(const char *path);

/* Format requested by the user. Either member may be NULL. */
struct sound_format_request {
    const char *container; /* --container: sound_format_check_container() */
    const char *samples;   /* --format: one of sound_format_names */
};
extern const char *const sound_format_names[]; /* ends with NULL */

/* The extensions that choose a container, which are also its name. NULL past the last. */
const char *sound_format_extension(size_t index);

/* Check that a container has this name. Errors (usage): none has; the library is missing. */
MUST_CHECK enum status sound_format_check_container(const char *name);

/* Choose the format of OUT from the request or `path`'s extension, the sample format of the input,
 * and what the container supports. Prints a note if the sample format changes without a request.
 * Errors (usage): unknown extension or name, unsupported combination. */
MUST_CHECK enum status sound_format_choose(const char *path,
                                           const struct sound_format_request *request,
                                           const struct sound_traits *input,
                                           const struct stream_format *stream, int *format);

/* Whether single precision would round both input and OUT. Called before the stages are known. */
bool sound_format_stays_wide(const char *path, const struct sound_format_request *request,
                             const struct sound_traits *input, const struct stream_format *stream);

/* --layout: set the layout of `format` by its name. NULL: the layout stays. `input`: name of the
 * input, for messages. Errors (usage): unknown layout, another number of channels. */
MUST_CHECK enum status stated_layout_apply(const char *name, const char *input,
                                           struct stream_format *format);

/* Sounds in containers that ffmpeg knows and libsndfile does not. Inputs are recognised by their
 * first bytes, outputs by their names. halo refuses them and prints the ffmpeg command for them. */
struct foreign_sound {
    const char *name;  /* "MPEG-4" */
    const char *codec; /* PCM codec of ffmpeg that keeps the samples: "pcm_f32le" */
};

/* Whether a sound is foreign, by its first bytes and, unless end_size is 0, its last bytes. */
bool foreign_sound_recognise(const void *begin, size_t size, const void *end, size_t end_size,
                             struct foreign_sound *found);

/* Whether an open file is foreign. The file's position stays. */
bool foreign_sound_recognise_file(int fd, struct foreign_sound *found);

/* Print that halo does not know the format, and how to convert it. Returns STATUS_FAILED. */
MUST_CHECK enum status foreign_sound_refuse(const char *path, const struct foreign_sound *sound);

#endif
