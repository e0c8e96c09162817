/* Keeps masks between the jobs of one process, ready to convolve: read, adapted, and with the
 * spectra that convolvers made of them (mask_share.h). If unused masks take more memory than
 * allowed, the least recently used are freed first. If two threads want the same new mask at once,
 * one makes it and the other waits.
 *
 * Threads: any. */
#ifndef HALO_MASK_CACHE_H
#define HALO_MASK_CACHE_H

#include "base/status.h"
#include "mask/mask.h"

struct mask_cache;

/* `bytes`: most memory for masks that no job uses. Errors: memory. */
MUST_CHECK enum status mask_cache_create(size_t bytes, struct mask_cache **cache);

/* No job may use a mask of the cache. NULL is allowed. */
void mask_cache_destroy(struct mask_cache *cache);

/* Get the mask of `key`, or make() it. mask_destroy() gives it back. Errors: memory, make()'s. */
MUST_CHECK enum status mask_cache_take(struct mask_cache *cache, const char *key,
                                       enum status (*make)(void *context, struct mask **mask),
                                       void *context, struct mask **mask);

/* For tests and reports: the number of masks made so far, and of masks found in the cache. */
void mask_cache_counts(struct mask_cache *cache, size_t *made, size_t *found);

#endif
