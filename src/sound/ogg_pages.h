/* Follows the pages of an Ogg through its bytes, for what libsndfile does not say: whether it is a
 * chain of streams, one after another, of which libsndfile reads the first. Streams that begin
 * together are none. RFC 3533.
 *
 * All zero: at the first byte. Threads: one at a time.
 */
#ifndef HALO_OGG_PAGES_H
#define HALO_OGG_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OGG_HEADER = 27, OGG_SEGMENTS_MOST = 255 };

struct ogg_pages {
    unsigned char header[OGG_HEADER + OGG_SEGMENTS_MOST]; /* of the page that comes */
    size_t count;                                         /* bytes of it */
    uint64_t skip;  /* the next bytes do not matter and need not be fed: take them off here */
    bool has_begun; /* beyond the first pages of its streams */
    bool is_chain, is_lost; /* lost: no page is where one had to be */
};

void ogg_pages_feed(struct ogg_pages *pages, const unsigned char *bytes, size_t count);

#endif
