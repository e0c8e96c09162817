/* Containers and sample formats: which the user may name, and which a rendered
 * sound gets. Formats are libsndfile's numbers (major | subtype). */
#ifndef HALO_SOUND_FORMAT_H
#define HALO_SOUND_FORMAT_H

#include "base/status.h"
#include "signal/audio.h"

#include <sndfile.h>
#include <stddef.h>

enum { SOUND_TAGS = SF_STR_LAST + 1 };

/* What a sound file was, beyond its samples. */
struct sound_traits {
    int format;
    char *tags[SOUND_TAGS]; /* by libsndfile's SF_STR_ number; NULL: absent */
};

void sound_traits_free(struct sound_traits *traits);
void sound_tags_read(SNDFILE *file, struct sound_traits *traits);
void sound_tags_write(SNDFILE *file, const struct sound_traits *traits);

/* Bits of an integer sample format, 0 for any other. */
unsigned sound_format_bits(int format);
unsigned sound_format_bytes(int format);   /* a sample's size where it is fixed, else 0 */
const char *sound_format_name(int format); /* "pcm16", "float", "vorbis", ... */

/* What the user asked for: both may be NULL. */
struct sound_format_request {
    const char *container; /* --container */
    const char *samples;   /* --format */
};

/* The format of OUT. From `path`'s extension (or the wish), the sample format
 * of the input, and what the container can hold; a change of sample format
 * that nobody asked for is said. Errors (usage): unknown extension or names,
 * or the two do not go together. */
MUST_CHECK enum status sound_format_choose(const char *path,
                                           const struct sound_format_request *request,
                                           const struct sound_traits *input,
                                           const struct stream_format *stream, int *format);

#endif
