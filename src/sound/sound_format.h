/* Containers and sample formats: names for the user, and the choice for a rendered sound. Formats
 * are libsndfile's numbers (major | subtype). */
#ifndef HALO_SOUND_FORMAT_H
#define HALO_SOUND_FORMAT_H

#include "base/status.h"
#include "signal/audio.h"

#include <sndfile.h>
#include <stddef.h>

enum { SOUND_TAGS = SF_STR_LAST + 1 };

/* Properties of a sound file besides its samples. */
struct sound_traits {
    int format;
    char *tags[SOUND_TAGS]; /* indexed by SF_STR_; NULL: absent */
};

void sound_traits_free(struct sound_traits *traits);
void sound_tags_read(SNDFILE *file, struct sound_traits *traits);
void sound_tags_write(SNDFILE *file, const struct sound_traits *traits);

/* Bits of an integer sample format, 0 for any other. */
unsigned sound_format_bits(int format);
/* Whether samples beyond full scale are lost. */
bool sound_format_is_limited(int format);
/* Whether files of the same samples differ: Ogg's have a random number, some others the date. */
bool sound_format_varies(int format);
unsigned sound_format_bytes(int format);   /* per sample; 0: variable */
const char *sound_format_name(int format); /* "pcm16", "float", "vorbis", ... */

/* Requested by the user; may be NULL. */
struct sound_format_request {
    const char *container; /* --container */
    const char *samples;   /* --format */
};

/* Choose the format of OUT from the request or `path`'s extension, the sample format of the input,
 * and what the container supports. Prints a note if the sample format changes without a request.
 * Errors (usage): unknown extension or name, unsupported combination. */
MUST_CHECK enum status sound_format_choose(const char *path,
                                           const struct sound_format_request *request,
                                           const struct sound_traits *input,
                                           const struct stream_format *stream, int *format);

#endif
