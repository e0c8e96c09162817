/* The module that reads and writes ID3 tags with TagLib. Its interface is plain C, so that halo is
 * linked neither with TagLib nor with C++. Text is UTF-8 and named as in Vorbis comments. Functions
 * return 0, or 1 if memory ran out. */
#ifndef HALO_TAG_MODULE_H
#define HALO_TAG_MODULE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TAG_MODULE_EXPORT __attribute__((visibility("default")))

struct tag_text {
    const char *name;
    const char *value;
};

struct tag_picture {
    const char *mime;
    const char *description;
    unsigned type;              /* type number of ID3 and FLAC; 3: the front cover */
    const unsigned char *bytes; /* NULL: leave the picture out */
    size_t size;
};

struct tag_visitor {
    void *user;
    int (*text)(void *user, const char *name, const char *value);
    int (*picture)(void *user, const struct tag_picture *picture);
};

/* Read a tag of version 2, or the 128 bytes of version 1. Returns TAG_NOTHING if there is none. */
enum { TAG_NOTHING = 2 };
typedef int tag_read_function(const unsigned char *bytes, size_t size,
                              const struct tag_visitor *visitor);

struct tag_content {
    const unsigned char *base; /* a tag whose other frames are kept, or NULL */
    size_t base_size;
    const struct tag_text *texts;
    size_t text_count;
    const struct tag_picture *pictures;
    size_t picture_count;
};

/* Write a tag of version 2. Frames about the level and the length of the sound are left out. */
typedef int tag_write_function(const struct tag_content *content,
                               int (*put)(void *user, const void *bytes, size_t size), void *user);

TAG_MODULE_EXPORT tag_read_function halo_tag_read;
TAG_MODULE_EXPORT tag_write_function halo_tag_write;

#ifdef __cplusplus
}
#endif

#endif
