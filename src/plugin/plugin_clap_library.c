#include "plugin/plugin_clap.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MOST = 8, WHY = 512 };

static const char ending[] = ".clap";

bool clap_text(const char *text, char **copy)
{
    *copy = text && *text ? strndup(text, CLAP_TEXT_MOST) : NULL;
    return *copy || !text || !*text;
}

/* ---- the search path ---- */

/* Visits libraries until `visit` returns true. */
struct clap_walk {
    bool (*visit)(struct clap_walk *walk, const char *path);
    void *context;
    bool failed; /* memory */
};

static bool is_clap_name(const char *name)
{
    size_t length = strlen(name);
    return length >= sizeof ending && strcmp(name + length + 1 - sizeof ending, ending) == 0;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool walk_folder(struct clap_walk *walk, const char *folder, size_t depth)
{
    struct dirent **entries;
    int count = depth < DEPTH_MOST ? scandir(folder, &entries, is_shown, by_name) : -1;
    bool found = false;
    for (int i = 0; i < count; i++) {
        char *path = NULL;
        struct stat about;
        if (!found && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
            path = NULL;
            walk->failed = true;
        }
        bool exists = path && stat(path, &about) == 0;
        if (exists && S_ISDIR(about.st_mode))
            found = walk_folder(walk, path, depth + 1);
        else if (exists && S_ISREG(about.st_mode) && is_clap_name(path))
            found = walk->visit(walk, path);
        free(path);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return found;
}

static bool walk_list(struct clap_walk *walk, const char *list)
{
    for (bool found = false; list && *list && !found; list += *list == ':') {
        size_t length = strcspn(list, ":");
        char *folder = strndup(list, length);
        found = folder && length > 0 && walk_folder(walk, folder, 0);
        walk->failed |= !folder;
        free(folder);
        list += length;
        if (found)
            return true;
    }
    return false;
}

static bool walk_all(struct clap_walk *walk)
{
    const char *home = getenv("HOME");
    char own[PATH_MAX] = "";
    if (home && *home && !strchr(home, ':'))
        snprintf(own, sizeof own, "%s/.clap", home);
    return walk_list(walk, getenv("CLAP_PATH")) || walk_list(walk, own) ||
           walk_list(walk, HALO_CLAP_PLACES);
}

/* ---- the list ---- */

struct clap_listing {
    void (*found)(void *context, const char *holder, const char *file);
    void *context;
    size_t count;
    char **names; /* seen so far */
};

static bool list_one(struct clap_walk *walk, const char *path)
{
    struct clap_listing *listing = walk->context;
    const char *name = strrchr(path, '/') + 1;
    for (size_t i = 0; i < listing->count; i++)
        if (strcmp(listing->names[i], name) == 0)
            return false;
    char **more = realloc(listing->names, (listing->count + 1) * sizeof *more);
    if (more)
        listing->names = more;
    char *copy = more ? strdup(name) : NULL;
    if (!copy) {
        walk->failed = true;
        return true;
    }
    more[listing->count++] = copy;
    listing->found(listing->context, path, path);
    return false;
}

enum status clap_libraries(void (*found)(void *context, const char *holder, const char *file),
                           void *context)
{
    struct clap_listing listing = {.found = found, .context = context};
    struct clap_walk walk = {.visit = list_one, .context = &listing};
    walk_all(&walk);
    for (size_t i = 0; i < listing.count; i++)
        free(listing.names[i]);
    free(listing.names);
    return walk.failed ? fail_memory("a list of plugins") : STATUS_OK;
}

/* ---- opening ---- */

/* Why it cannot be used, or NULL. */
static const char *load_entry(const char *path, const struct clap_plugin_entry **entry)
{
    /* A name without a slash would be searched in the system's library folders. The library stays
     * loaded: some plugins leave threads or handlers behind that need its code. */
    char *place = realpath(path, NULL);
    void *handle = dlopen(place ? place : path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    free(place);
    if (!handle) {
        const char *reason = dlerror();
        return reason ? reason : "it cannot be loaded";
    }
    *entry = dlsym(handle, "clap_entry");
    dlclose(handle);
    if (!*entry)
        return "it is not a CLAP library: it has no clap_entry";
    if ((*entry)->clap_version.major < 1)
        return "it was made for a CLAP before 1.0";
    if (!(*entry)->init || !(*entry)->deinit || !(*entry)->get_factory)
        return "its clap_entry lacks a function";
    return NULL;
}

static const char *try_open(const char *path, struct clap_library *library)
{
    const struct clap_plugin_entry *entry;
    *library = (struct clap_library){.path = strdup(path)};
    const char *why = library->path ? load_entry(path, &entry) : "out of memory";
    if (why)
        return why;
    if (!entry->init(path))
        return "its init() failed";
    library->entry = entry;
    library->factory = entry->get_factory(CLAP_PLUGIN_FACTORY_ID);
    if (!library->factory)
        return "it has no plugin factory";
    if (!library->factory->get_plugin_count || !library->factory->get_plugin_descriptor ||
        !library->factory->create_plugin)
        return "its plugin factory lacks a function";
    return NULL;
}

enum status clap_library_open(const char *path, struct clap_library *library)
{
    const char *why = try_open(path, library);
    return why ? fail(CAUSE_DAMAGED, "cannot load the CLAP library %s: %s", path, why) : STATUS_OK;
}

void clap_library_close(struct clap_library *library)
{
    if (library->entry)
        library->entry->deinit();
    free(library->path);
    *library = (struct clap_library){0};
}

uint32_t clap_library_count(const struct clap_library *library)
{
    uint32_t count = library->factory->get_plugin_count(library->factory);
    return count < CLAP_PLUGINS_MOST ? count : CLAP_PLUGINS_MOST;
}

const struct clap_plugin_descriptor *clap_library_at(const struct clap_library *library,
                                                     uint32_t index)
{
    const struct clap_plugin_descriptor *descriptor =
        library->factory->get_plugin_descriptor(library->factory, index);
    bool is_named = descriptor && descriptor->id && *descriptor->id &&
                    strnlen(descriptor->id, CLAP_TEXT_MOST) < CLAP_TEXT_MOST;
    return is_named ? descriptor : NULL;
}

static const struct clap_plugin_descriptor *descriptor_of(const struct clap_library *library,
                                                          const char *id)
{
    uint32_t count = clap_library_count(library);
    for (uint32_t i = 0; i < count; i++) {
        const struct clap_plugin_descriptor *descriptor = clap_library_at(library, i);
        if (descriptor && strcmp(descriptor->id, id) == 0)
            return descriptor;
    }
    return NULL;
}

/* ---- by id ---- */

/* Whether the bytes of the text are in the file. */
static bool contains(const char *path, const char *text)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &about) == 0 && about.st_size > 0)
        bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0)
        close(file);
    if (bytes == MAP_FAILED)
        return false;
    bool found = memmem(bytes, (size_t)about.st_size, text, strlen(text)) != NULL;
    munmap(bytes, (size_t)about.st_size);
    return found;
}

struct clap_search {
    const char *id;
    struct clap_library *opened;
    const struct clap_plugin_descriptor *descriptor;
    char why[WHY]; /* the last library with the text cannot be used */
};

static bool search_one(struct clap_walk *walk, const char *path)
{
    struct clap_search *search = walk->context;
    if (!contains(path, search->id))
        return false;
    const char *why = try_open(path, search->opened);
    if (why)
        snprintf(search->why, sizeof search->why, "%s: %s", path, why);
    else
        search->descriptor = descriptor_of(search->opened, search->id);
    if (!search->descriptor)
        clap_library_close(search->opened);
    return search->descriptor != NULL;
}

static enum status find_in_path(const char *id, struct clap_library *library,
                                const struct clap_plugin_descriptor **descriptor)
{
    struct clap_search search = {.id = id, .opened = library};
    struct clap_walk walk = {.visit = search_one, .context = &search};
    if (!*id || !walk_all(&walk))
        return search.why[0]
                   ? fail(CAUSE_OTHER, "cannot load the CLAP plugin %s from %s", id, search.why)
                   : fail(CAUSE_MISSING,
                          "cannot find the CLAP plugin %s (halo plugins list --kind clap lists "
                          "them all)",
                          id);
    *descriptor = search.descriptor;
    return STATUS_OK;
}

static enum status fail_id(const struct clap_library *library, const char *id)
{
    const struct clap_plugin_descriptor *first = NULL;
    uint32_t count = clap_library_count(library);
    for (uint32_t i = 0; i < count && !first; i++)
        first = clap_library_at(library, i);
    return fail(CAUSE_MISSING, "there is no plugin '%s' in %s; its first is %s", id, library->path,
                first ? first->id : "none");
}

/* The id behind PATH.clap: in a text, or NULL. */
static const char *id_behind_path(const char *text)
{
    const char *at = strstr(text, ".clap:");
    return at && strchr(text, '/') ? at + sizeof ".clap:" - 1 : NULL;
}

enum status clap_library_find(const char *text, struct clap_library *library,
                              const struct clap_plugin_descriptor **descriptor)
{
    const char *id = id_behind_path(text);
    *library = (struct clap_library){0};
    if (!id)
        return find_in_path(text, library, descriptor);
    char *path = strndup(text, (size_t)(id - 1 - text));
    if (!path)
        return fail_memory("a plugin");
    enum status status = clap_library_open(path, library);
    free(path);
    TRY(status);
    *descriptor = descriptor_of(library, id);
    return *descriptor ? STATUS_OK : fail_id(library, id);
}

struct clap_place {
    const char *path;
    bool is_there;
};

static bool compare_place(struct clap_walk *walk, const char *path)
{
    struct clap_place *place = walk->context;
    place->is_there = strcmp(path, place->path) == 0;
    return place->is_there;
}

enum status clap_library_id(const char *path, const char *plugin, char **id)
{
    struct clap_place place = {.path = path};
    struct clap_walk walk = {.visit = compare_place, .context = &place};
    if (contains(path, plugin) && walk_all(&walk))
        *id = strdup(plugin);
    else if (asprintf(id, "%s:%s", path, plugin) < 0)
        *id = NULL;
    return *id ? STATUS_OK : fail_memory("a plugin");
}
