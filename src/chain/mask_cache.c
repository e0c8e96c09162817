#include "chain/mask_cache.h"

#include "base/cache_file.h"
#include "mask/mask_share.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 12 };

struct cached_mask {
    struct mask_cache *cache;
    char *key;
    struct mask *mask; /* NULL: a thread is making the mask */
    size_t users;
    size_t bytes; /* bytes that the cache counts for the mask while it has no users */
    struct cached_mask *next_in_bucket;
    struct cached_mask *newer, *older; /* neighbours in the list of masks without users */
};

/* All members are guarded by the lock. */
struct mask_cache {
    pthread_mutex_t lock;
    pthread_cond_t made_one;
    size_t bytes, bytes_most; /* bytes of masks without users, and the most allowed */
    size_t made, found;
    struct cached_mask *newest, *oldest;
    struct cached_mask *buckets[BUCKETS];
};

static struct cached_mask **bucket_of(struct mask_cache *cache, const char *key)
{
    uint64_t sum = cache_file_sum(CACHE_FILE_SUM, key, strlen(key));
    return &cache->buckets[(sum ^ sum >> 32) % BUCKETS];
}

static struct cached_mask *find(struct mask_cache *cache, const char *key)
{
    struct cached_mask *entry = *bucket_of(cache, key);
    while (entry && strcmp(entry->key, key) != 0)
        entry = entry->next_in_bucket;
    return entry;
}

static void remove_entry(struct mask_cache *cache, struct cached_mask *entry)
{
    struct cached_mask **at = bucket_of(cache, entry->key);
    while (*at != entry)
        at = &(*at)->next_in_bucket;
    *at = entry->next_in_bucket;
    if (entry->mask) {
        mask_share_end(entry->mask);
        mask_destroy(entry->mask);
    }
    free(entry->key);
    free(entry);
}

/* ---- masks without users, by age ---- */

static void leave_unused(struct mask_cache *cache, struct cached_mask *entry)
{
    *(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
    entry->newer = entry->older = NULL;
    cache->bytes -= entry->bytes;
}

static void join_unused(struct mask_cache *cache, struct cached_mask *entry)
{
    entry->bytes = mask_share_bytes(entry->mask);
    entry->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
    cache->newest = entry;
    cache->bytes += entry->bytes;
}

static void give_back(void *owner, struct mask *mask)
{
    struct cached_mask *entry = owner;
    struct mask_cache *cache = entry->cache;
    (void)mask;
    pthread_mutex_lock(&cache->lock);
    if (--entry->users == 0)
        join_unused(cache, entry);
    while (cache->bytes > cache->bytes_most) {
        struct cached_mask *oldest = cache->oldest;
        leave_unused(cache, oldest);
        remove_entry(cache, oldest);
    }
    pthread_mutex_unlock(&cache->lock);
}

/* ---- taking ---- */

static struct cached_mask *add_entry(struct mask_cache *cache, const char *key)
{
    struct cached_mask *entry = calloc(1, sizeof *entry);
    char *copy = strdup(key);
    if (!entry || !copy) {
        free(entry);
        free(copy);
        return NULL;
    }
    struct cached_mask **bucket = bucket_of(cache, key);
    *entry =
        (struct cached_mask){.cache = cache, .key = copy, .users = 1, .next_in_bucket = *bucket};
    *bucket = entry;
    return entry;
}

/* Find the entry of a key, or add one whose mask the caller must make. The entry is in use from now
 * on. NULL: no memory. The lock is held. */
static struct cached_mask *find_or_add(struct mask_cache *cache, const char *key)
{
    struct cached_mask *entry;
    while ((entry = find(cache, key)) && !entry->mask)
        pthread_cond_wait(&cache->made_one, &cache->lock);
    if (!entry)
        return add_entry(cache, key);
    if (entry->users++ == 0)
        leave_unused(cache, entry);
    cache->found++;
    return entry;
}

/* Make a mask without holding the lock, so that threads wait only for masks that they need. */
static enum status make_shared(struct cached_mask *entry,
                               enum status (*make)(void *context, struct mask **mask),
                               void *context, struct mask **mask)
{
    TRY(make(context, mask));
    enum status status = mask_share_begin(*mask, give_back, entry);
    if (status != STATUS_OK) {
        mask_destroy(*mask);
        *mask = NULL;
    }
    return status;
}

enum status mask_cache_take(struct mask_cache *cache, const char *key,
                            enum status (*make)(void *context, struct mask **mask), void *context,
                            struct mask **result)
{
    enum status status = STATUS_OK;
    pthread_mutex_lock(&cache->lock);
    struct cached_mask *entry = find_or_add(cache, key);
    if (entry && !entry->mask) {
        struct mask *mask = NULL;
        pthread_mutex_unlock(&cache->lock);
        status = make_shared(entry, make, context, &mask);
        pthread_mutex_lock(&cache->lock);
        entry->mask = mask;
        cache->made += status == STATUS_OK;
        pthread_cond_broadcast(&cache->made_one);
    }
    *result = entry ? entry->mask : NULL;
    if (entry && status != STATUS_OK)
        remove_entry(cache, entry);
    pthread_mutex_unlock(&cache->lock);
    return entry ? status : fail_memory("a mask");
}

void mask_cache_counts(struct mask_cache *cache, size_t *made, size_t *found)
{
    pthread_mutex_lock(&cache->lock);
    *made = cache->made;
    *found = cache->found;
    pthread_mutex_unlock(&cache->lock);
}

enum status mask_cache_create(size_t bytes, struct mask_cache **result)
{
    struct mask_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return fail_memory("masks");
    cache->bytes_most = bytes;
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->made_one, NULL);
    *result = cache;
    return STATUS_OK;
}

void mask_cache_destroy(struct mask_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while (cache->buckets[i])
            remove_entry(cache, cache->buckets[i]);
    pthread_cond_destroy(&cache->made_one);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
