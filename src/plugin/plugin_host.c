#include "plugin/plugin_host.h"

#include "base/realtime.h"
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

bool plugin_text(const char *text, char **copy)
{
    *copy = text && *text ? strndup(text, PLUGIN_TEXT_MOST) : NULL;
    return *copy || !text || !*text;
}

/* ---- libraries ---- */

enum { DEPTH_MOST = 8 };

struct search_walk {
    const struct plugin_search *search;
    bool (*visit)(void *context, const char *path);
    void *context;
    bool found;   /* `visit` returned true */
    size_t depth; /* depth of the folder that is visited */
};

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), most = strlen(ending);
    return length > most && strcmp(name + length - most, ending) == 0;
}

static enum status walk_one(void *context, const char *path)
{
    struct search_walk *walk = context;
    struct stat about;
    if (walk->found || stat(path, &about) != 0)
        return STATUS_OK;
    bool is_folder = S_ISDIR(about.st_mode);
    if ((S_ISREG(about.st_mode) || (is_folder && walk->search->has_bundles)) &&
        ends_with(path, walk->search->ending)) {
        walk->found = walk->visit(walk->context, path);
        return STATUS_OK;
    }
    if (!is_folder || walk->depth + 1 == DEPTH_MOST)
        return STATUS_OK;
    walk->depth++;
    enum status status = plugin_places_each(path, walk_one, walk);
    walk->depth--;
    return status;
}

enum status plugin_search_each(const struct plugin_search *search,
                               bool (*visit)(void *context, const char *path), void *context,
                               bool *found)
{
    struct search_walk walk = {.search = search, .visit = visit, .context = context};
    const char *own = getenv(search->variable), *lists[] = {own ? own : "", search->places};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (char *place;
             status == STATUS_OK && !walk.found && (place = plugin_places_next(&lists[i])) != NULL;
             free(place))
            status = plugin_places_each(place, walk_one, &walk);
    *found = walk.found;
    return status;
}

struct search_listing {
    const struct plugin_found *found;
    size_t count;
    char **names; /* names of libraries seen so far */
    bool failed;  /* memory ran out */
};

static bool list_one(void *context, const char *path)
{
    struct search_listing *listing = context;
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < listing->count; i++)
        if (strcmp(listing->names[i], name) == 0)
            return false;
    char **more = realloc(listing->names, (listing->count + 1) * sizeof *more);
    if (more)
        listing->names = more;
    char *copy = more ? strdup(name) : NULL;
    listing->failed = !copy;
    if (!copy)
        return true;
    more[listing->count++] = copy;
    listing->found->take(listing->found->context, path);
    return false;
}

enum status plugin_search_list(const struct plugin_search *search, const struct plugin_found *found)
{
    struct search_listing listing = {.found = found};
    bool stopped;
    enum status status = plugin_search_each(search, list_one, &listing, &stopped);
    for (size_t i = 0; i < listing.count; i++)
        free(listing.names[i]);
    free(listing.names);
    return status == STATUS_OK && listing.failed ? fail_memory("a list of plugins") : status;
}

/* ---- the host's side of an instance ---- */

HALO_REALTIME void plugin_side_complain(struct plugin_side *side, const char *what)
{
    if (atomic_exchange(&side->has_complained, true))
        return;
    snprintf(side->text, sizeof side->text, "%s: %s", side->name, what);
    atomic_store(&side->complaint, side->text);
}

bool plugin_side_activated(struct plugin_side *side, bool is_active, const char *id, unsigned rate)
{
    atomic_store(&side->is_active, is_active);
    if (!is_active && side->loads && !side->trouble[0])
        snprintf(side->trouble, sizeof side->trouble,
                 "cannot run %s: it cannot be activated at %u Hz", id, rate);
    else if (!is_active)
        plugin_side_complain(side, "it cannot be activated: its sound is silence");
    return is_active;
}

/* ---- buffers ---- */

enum status plugin_channels_init(struct plugin_channels *channels, size_t count, size_t block)
{
    channels->count = count;
    channels->block = block;
    channels->buffers = calloc(count + 1, sizeof *channels->buffers);
    channels->doubles = calloc(count * block + 1, sizeof *channels->doubles);
    if (!channels->buffers || !channels->doubles)
        return fail_memory("a plugin");
    plugin_channels_mute(channels);
    return STATUS_OK;
}

void plugin_channels_free(struct plugin_channels *channels)
{
    free(channels->buffers);
    free(channels->doubles);
}

HALO_REALTIME void plugin_channels_read(struct plugin_channels *channels, const float *const *in,
                                        size_t frames)
{
    for (size_t i = 0; i < channels->count; i++) {
        double *wide = channels->doubles + i * channels->block;
        channels->buffers[i] = channels->is_double ? (void *)wide : (void *)in[i];
        for (size_t f = 0; channels->is_double && f < frames; f++)
            wide[f] = (double)in[i][f];
    }
}

HALO_REALTIME void plugin_channels_write(struct plugin_channels *channels, float *const *out)
{
    for (size_t i = 0; i < channels->count; i++)
        channels->buffers[i] =
            channels->is_double ? (void *)(channels->doubles + i * channels->block) : out[i];
}

HALO_REALTIME void plugin_channels_get(const struct plugin_channels *channels, float *const *out,
                                       size_t frames)
{
    for (size_t i = 0; channels->is_double && i < channels->count; i++)
        for (size_t f = 0; f < frames; f++)
            out[i][f] = (float)channels->doubles[i * channels->block + f];
}

HALO_REALTIME void plugin_channels_mute(struct plugin_channels *channels)
{
    memset(channels->doubles, 0, channels->count * channels->block * sizeof *channels->doubles);
    for (size_t i = 0; i < channels->count; i++)
        channels->buffers[i] = channels->doubles + i * channels->block;
}

/* ---- values that a plugin changes by itself ---- */

enum status plugin_edits_init(struct plugin_edits *edits, size_t parameters)
{
    *edits = (struct plugin_edits){.size = parameters + 1};
    edits->ring = calloc(edits->size, sizeof *edits->ring);
    return edits->ring ? STATUS_OK : fail_memory("a plugin");
}

void plugin_edits_free(struct plugin_edits *edits)
{
    free(edits->ring);
}

HALO_REALTIME bool plugin_edits_add(struct plugin_edits *edits, size_t parameter, double value)
{
    size_t at = atomic_load(&edits->added);
    if (at - atomic_load(&edits->taken) == edits->size)
        return false;
    edits->ring[at % edits->size] = (struct plugin_edit){parameter, value};
    atomic_store(&edits->added, at + 1);
    return true;
}

HALO_REALTIME bool plugin_edits_take(struct plugin_edits *edits, size_t *parameter, double *value)
{
    size_t at = atomic_load(&edits->taken);
    if (at == atomic_load(&edits->added))
        return false;
    *parameter = edits->ring[at % edits->size].parameter;
    *value = edits->ring[at % edits->size].value;
    atomic_store(&edits->taken, at + 1);
    return true;
}

/* ---- the main thread of a live plugin ---- */

enum { POLL_MS = 5 };

enum service_turn { SERVICE_RUNS, SERVICE_STOPPED };

struct plugin_service {
    const struct plugin_service_calls *calls;
    void *instance;
    struct plugin_side *side;
    _Atomic(enum service_turn) turn;
    atomic_bool leave;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t
        within; /* held while a thread makes main calls of the plugin; never by the step */
};

static bool attend(struct plugin_service *service)
{
    bool is_stopped = atomic_load(&service->turn) == SERVICE_STOPPED;
    unsigned asked = plugin_side_take(service->side);
    service->calls->attend(service->instance, asked);
    if (is_stopped) {
        service->calls->restart(service->instance);
        atomic_store(&service->turn, SERVICE_RUNS);
    }
    return asked || is_stopped;
}

static void *serve_plugin(void *argument)
{
    struct plugin_service *service = argument;
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    while (!atomic_load(&service->leave)) {
        pthread_mutex_lock(&service->within);
        bool busy = attend(service);
        pthread_mutex_unlock(&service->within);
        if (!busy)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

enum status plugin_service_create(const struct plugin_service_calls *calls, void *instance,
                                  struct plugin_side *side, struct plugin_service **result)
{
    struct plugin_service *service = calloc(1, sizeof *service);
    if (!service)
        return fail_memory("a plugin");
    service->calls = calls;
    service->instance = instance;
    service->side = side;
    pthread_mutex_init(&service->within, NULL);
    service->has_thread =
        thread_start(&service->thread, "halo plugin", THREAD_ORDINARY, serve_plugin, service) == 0;
    if (!service->has_thread) {
        plugin_service_destroy(service);
        return fail(CAUSE_NO_MEMORY, "cannot start a plugin's main thread");
    }
    *result = service;
    return STATUS_OK;
}

void plugin_service_destroy(struct plugin_service *service)
{
    if (!service)
        return;
    atomic_store(&service->leave, true);
    if (service->has_thread)
        pthread_join(service->thread, NULL);
    pthread_mutex_destroy(&service->within);
    free(service);
}

void plugin_service_pause(struct plugin_service *service)
{
    if (!service)
        return;
    pthread_mutex_lock(&service->within);
    /* A restart that the service still owes is asked for again by the next block. */
    atomic_store(&service->turn, SERVICE_RUNS);
}

void plugin_service_resume(struct plugin_service *service)
{
    if (service)
        pthread_mutex_unlock(&service->within);
}

HALO_REALTIME bool plugin_service_admits(struct plugin_service *service)
{
    if (atomic_load(&service->turn) != SERVICE_RUNS)
        return false;
    if (!(atomic_load(&service->side->asked) & PLUGIN_ASKED_RESTART))
        return true;
    service->calls->stop(service->instance);
    atomic_store(&service->turn, SERVICE_STOPPED);
    return false;
}

/* ---- bytes of a state ---- */

int64_t plugin_bytes_read(struct plugin_bytes *bytes, void *to, uint64_t size)
{
    size_t left = bytes->size - bytes->at, some = size < left ? (size_t)size : left;
    if (some > 0)
        memcpy(to, bytes->data + bytes->at, some);
    bytes->at += some;
    return (int64_t)some;
}

int64_t plugin_bytes_write(struct plugin_bytes *bytes, const void *from, uint64_t size)
{
    if (size > PLUGIN_STATE_MOST - bytes->at)
        return -1;
    size_t end = bytes->at + (size_t)size;
    unsigned char *more = end < bytes->size ? bytes->data : realloc(bytes->data, end + 1);
    if (!more)
        return -1;
    bytes->data = more;
    if (size > 0)
        memcpy(more + bytes->at, from, size);
    bytes->at = end;
    bytes->size = end > bytes->size ? end : bytes->size;
    return (int64_t)size;
}

static bool write_file(const char *path, const struct plugin_bytes *bytes)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    fwrite(bytes->data, 1, bytes->size, file);
    bool written = !ferror(file);
    return fclose(file) == 0 && written;
}

enum status plugin_bytes_save(const struct plugin_bytes *bytes, const char *plugin,
                              const char *folder, const char *name)
{
    char *path;
    enum status status = STATUS_OK;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return fail_memory("a plugin's state");
    if ((mkdir(folder, 0777) != 0 && errno != EEXIST) || !write_file(path, bytes))
        status = fail_errno(errno, "cannot save the state of %s in %s", plugin, folder);
    free(path);
    return status;
}
