/* Follows the pages of an Ogg through its bytes, by libogg, for what libsndfile does not tell:
 * damaged and missing pages, a missing end, and a chain of streams, one after another, of which
 * libsndfile reads the first. Streams that begin together are no chain. RFC 3533.
 *
 * All zero: at the first byte. Threads: one at a time.
 */
#ifndef HALO_OGG_PAGES_H
#define HALO_OGG_PAGES_H

#include "base/status.h"

#include <ogg/ogg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OGG_HEADER = 27, OGG_SEGMENTS_MOST = 255, OGG_STREAMS_MOST = 8 };

/* Number of the page that a stream should have next. */
struct ogg_next {
    int serial;
    long page;
};

struct ogg_pages {
    ogg_sync_state sync;
    struct ogg_next next[OGG_STREAMS_MOST]; /* of streams beyond these no page is missed */
    size_t streams;
    bool has_headers; /* a page that is no stream's first came */
    bool has_samples; /* a page with samples came */
    bool has_ended;   /* the last page ends its stream */
    bool is_chain;    /* the rest is not looked at */
    bool failed;      /* no memory */
    uint64_t at;      /* bytes that were looked at */
    uint64_t skipped; /* of these, since the last page, belong to no page with a right checksum */
    uint64_t damages; /* places with damaged or missing pages */
    uint64_t damaged_at, damaged_bytes; /* the first place, and bytes there; 0: pages are missing */
    int64_t before, after;              /* granule positions beside it; after -1: not known */
    bool begins_late;                   /* pages are missing before the first samples */
    int64_t granules[2];                /* of the last page, and of the one before it */
};

/* Errors are in pages->failed. */
void ogg_pages_feed(struct ogg_pages *pages, const void *bytes, size_t count);

/* No byte follows. */
void ogg_pages_end(struct ogg_pages *pages);

void ogg_pages_free(struct ogg_pages *pages);

#endif
