#include "plugin/plugin_lv2_urid.h"

#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct urid {
    char *uri;
    LV2_URID number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *by_name;         /* tsearch's tree of struct urid */
static struct urid **numbers; /* the same, by number - 1 */
static size_t count, capacity;

static int compare(const void *a, const void *b)
{
    const struct urid *left = a, *right = b;
    return strcmp(left->uri, right->uri);
}

static bool make_capacity(void)
{
    if (count < capacity)
        return true;
    size_t more = capacity ? 2 * capacity : 256;
    struct urid **larger = realloc(numbers, more * sizeof *larger);
    if (!larger)
        return false;
    numbers = larger;
    capacity = more;
    return true;
}

static LV2_URID add(const char *uri)
{
    struct urid *made = make_capacity() ? malloc(sizeof *made) : NULL;
    char *copy = made ? strdup(uri) : NULL;
    if (!copy) {
        free(made);
        return 0;
    }
    *made = (struct urid){.uri = copy, .number = (LV2_URID)count + 1};
    if (!tsearch(made, &by_name, compare)) {
        free(copy);
        free(made);
        return 0;
    }
    numbers[count++] = made;
    return made->number;
}

LV2_URID lv2_urid(const char *uri)
{
    struct urid wanted = {.uri = (char *)uri}; /* only read */
    pthread_mutex_lock(&lock);
    struct urid **found = tfind(&wanted, &by_name, compare);
    LV2_URID number = found ? (*found)->number : add(uri);
    pthread_mutex_unlock(&lock);
    return number;
}

static LV2_URID map(LV2_URID_Map_Handle handle, const char *uri)
{
    (void)handle;
    return uri ? lv2_urid(uri) : 0;
}

static const char *unmap(LV2_URID_Unmap_Handle handle, LV2_URID number)
{
    (void)handle;
    pthread_mutex_lock(&lock);
    const char *uri = number >= 1 && number <= count ? numbers[number - 1]->uri : NULL;
    pthread_mutex_unlock(&lock);
    return uri;
}

LV2_URID_Map *lv2_urid_map(void)
{
    static LV2_URID_Map feature = {.map = map};
    return &feature;
}

LV2_URID_Unmap *lv2_urid_unmap(void)
{
    static LV2_URID_Unmap feature = {.unmap = unmap};
    return &feature;
}
