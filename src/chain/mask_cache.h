/* Masks that are kept between the jobs of one process, ready to convolve: read, adapted, and with
 * what convolvers made of them (mask_share.h). Those that no job uses are let go, the least
 * recently used first, when all together take more memory than allowed. Two threads that want the
 * same mask at once wait for one to make it.
 *
 * Threads: any.
 */
#ifndef HALO_MASK_CACHE_H
#define HALO_MASK_CACHE_H

#include "base/status.h"
#include "mask/mask.h"

struct mask_cache;

/* `bytes`: most that masks without users take. Errors: memory. */
MUST_CHECK enum status mask_cache_create(size_t bytes, struct mask_cache **cache);

/* No mask of it is in use. NULL is allowed. */
void mask_cache_destroy(struct mask_cache *cache);

/* The mask of `key`, made by make() if it is not there; mask_destroy gives it back. Errors: those
 * of make(), memory. */
MUST_CHECK enum status mask_cache_take(struct mask_cache *cache, const char *key,
                                       enum status (*make)(void *context, struct mask **mask),
                                       void *context, struct mask **mask);

/* Counts: masks made so far, and those found. For tests and reports. */
void mask_cache_counts(struct mask_cache *cache, size_t *made, size_t *found);

#endif
