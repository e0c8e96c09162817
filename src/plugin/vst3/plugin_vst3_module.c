#include "plugin/vst3/plugin_vst3.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#if defined __x86_64__
#define FOLDER "x86_64-linux"
#elif defined __aarch64__
#define FOLDER "aarch64-linux"
#elif defined __riscv
#define FOLDER "riscv64-linux"
#else
#define FOLDER "i386-linux"
#endif

static const char ending[] = ".vst3";
static const struct plugin_search search = {"VST3_PATH", HALO_VST3_PLACES, ending, true};

struct vst3_module {
    struct vst3_module *next;
    size_t uses;
    char *path, *real; /* path of the bundle as given, and without links */
    void *handle;      /* dlopen's handle of the library */
    struct vst3_plugin_factory3 *factory;
    bool (*leave)(void);
};

static struct vst3_module *modules; /* modules that are loaded; control thread */

enum status vst3_bundles(const struct plugin_found *found)
{
    return plugin_search_list(&search, found);
}

const char *vst3_module_path(const struct vst3_module *module)
{
    return module->path;
}

/* ---- opening ---- */

/* The path of a bundle's library, which the caller frees. NULL: memory. */
static char *library_path(const char *bundle)
{
    struct stat about;
    const char *name = strrchr(bundle, '/') + 1;
    char *path = NULL;
    if (stat(bundle, &about) == 0 && S_ISREG(about.st_mode))
        return strdup(bundle);
    return asprintf(&path, "%s/Contents/" FOLDER "/%.*s.so", bundle,
                    (int)(strlen(name) + 1 - sizeof ending), name) < 0
               ? NULL
               : path;
}

/* The library stays in memory for good: some plugins leave threads behind that need its code. */
static const char *load_library(struct vst3_module *module)
{
    char *path = library_path(module->real);
    if (!path)
        return "out of memory";
    module->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    free(path);
    const char *why = module->handle ? NULL : dlerror();
    return module->handle ? NULL : why ? why : "it cannot be loaded";
}

static const char *enter_module(struct vst3_module *module)
{
    union {
        void *symbol;
        bool (*enter)(void *handle);
        bool (*leave)(void);
        struct vst3_plugin_factory3 *(*factory)(void);
    } entry, exit, factory;
    entry.symbol = dlsym(module->handle, "ModuleEntry");
    exit.symbol = dlsym(module->handle, "ModuleExit");
    factory.symbol = dlsym(module->handle, "GetPluginFactory");
    if (!entry.symbol || !exit.symbol || !factory.symbol)
        return "it is not a VST3 library: it lacks ModuleEntry, ModuleExit or GetPluginFactory";
    if (!entry.enter(module->handle))
        return "its ModuleEntry() failed";
    module->leave = exit.leave;
    module->factory = factory.factory();
    return module->factory ? NULL : "it has no plugin factory";
}

static void tell_host(const struct vst3_module *module)
{
    struct vst3_plugin_factory3 *factory = NULL;
    if (module->factory->calls->query_interface(module->factory, &vst3_plugin_factory3_iid,
                                                (void **)&factory) != VST3_OK ||
        !factory)
        return;
    factory->calls->set_host_context(factory, vst3_host());
    factory->calls->release(factory);
}

static const char *open_bundle(const char *path, struct vst3_module *module)
{
    struct stat about;
    module->path = strdup(path);
    module->real = realpath(path, NULL);
    if (!module->path)
        return "out of memory";
    if (!module->real || stat(module->real, &about) != 0)
        return "no such file or folder";
    const char *why = load_library(module);
    if (!why)
        why = enter_module(module);
    if (!why)
        tell_host(module);
    return why;
}

static struct vst3_module *find_loaded(const char *path)
{
    struct vst3_module *module = modules;
    char *real = realpath(path, NULL);
    while (module && real && strcmp(module->real, real) != 0)
        module = module->next;
    free(real);
    return real ? module : NULL;
}

enum status vst3_module_open(const char *path, struct vst3_module **result)
{
    struct vst3_module *module = find_loaded(path);
    if (module) {
        module->uses++;
        *result = module;
        return STATUS_OK;
    }
    module = calloc(1, sizeof *module);
    if (!module)
        return fail_memory("a plugin");
    *module = (struct vst3_module){.next = modules, .uses = 1};
    modules = module;
    const char *why = open_bundle(path, module);
    enum status status =
        why ? fail(CAUSE_DAMAGED, "cannot load the VST3 bundle %s: %s", path, why) : STATUS_OK;
    if (why)
        vst3_module_close(module);
    else
        *result = module;
    return status;
}

void vst3_module_close(struct vst3_module *module)
{
    if (!module || --module->uses > 0)
        return;
    struct vst3_module **at = &modules;
    while (*at != module)
        at = &(*at)->next;
    *at = module->next;
    if (module->factory)
        module->factory->calls->release(module->factory);
    if (module->leave)
        module->leave();
    if (module->handle)
        dlclose(module->handle);
    free(module->path);
    free(module->real);
    free(module);
    if (!modules)
        vst3_host_forget(NULL);
}

/* ---- classes ---- */

static void copy_text(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
    to[size] = '\0';
}

static bool describe_class(struct vst3_plugin_factory3 *factory, int32_t index,
                           struct vst3_class *about)
{
    struct vst3_class_info info = {.cardinality = 0};
    struct vst3_class_info2 more = {.cardinality = 0};
    struct vst3_factory_info maker = {.flags = 0};
    void *newer = NULL;
    if (factory->calls->get_class_info(factory, index, &info) != VST3_OK ||
        strncmp(info.category, VST3_AUDIO_MODULE_CLASS, sizeof info.category) != 0)
        return false;
    *about = (struct vst3_class){.cid = info.cid};
    copy_text(about->name, info.name, sizeof info.name);
    if (factory->calls->get_factory_info(factory, &maker) == VST3_OK)
        copy_text(about->vendor, maker.vendor, sizeof maker.vendor);
    if (factory->calls->query_interface(factory, &vst3_plugin_factory2_iid, &newer) != VST3_OK ||
        !newer)
        return true;
    if (factory->calls->get_class_info2(newer, index, &more) == VST3_OK) {
        copy_text(about->category, more.sub_categories, sizeof more.sub_categories);
        if (more.vendor[0])
            copy_text(about->vendor, more.vendor, sizeof more.vendor);
    }
    factory->calls->release(newer);
    return true;
}

bool vst3_module_next(const struct vst3_module *module, int32_t *next, struct vst3_class *about)
{
    struct vst3_plugin_factory3 *factory = module->factory;
    int32_t count = factory->calls->count_classes(factory);
    while (*next < count && *next < VST3_CLASSES_MOST)
        if (describe_class(factory, (*next)++, about))
            return true;
    return false;
}

void *vst3_module_make(const struct vst3_module *module, const struct vst3_id *cid,
                       const struct vst3_id *iid)
{
    void *object = NULL;
    int32_t result = module->factory->calls->create_instance(module->factory, cid, iid, &object);
    return result == VST3_OK ? object : NULL;
}

void vst3_hex(const struct vst3_id *id, char hex[VST3_HEX])
{
    for (size_t i = 0; i < sizeof id->bytes; i++)
        snprintf(hex + 2 * i, 3, "%02X", id->bytes[i]);
}

/* ---- names ---- */

struct bundle_name {
    const char *name; /* name of the bundle, with or without the ending */
    size_t length;    /* without it */
    char *path;       /* the bundle that was found; NULL: none, or memory */
};

static bool has_name(void *context, const char *path)
{
    struct bundle_name *wanted = context;
    const char *name = strrchr(path, '/') + 1;
    if (strlen(name) != wanted->length + sizeof ending - 1 ||
        strncmp(name, wanted->name, wanted->length) != 0)
        return false;
    wanted->path = strdup(path);
    return true;
}

/* The path of the bundle that a name, or a path, stands for. The caller frees it. */
static enum status find_bundle(const char *name, size_t length, char **path)
{
    static const size_t tail = sizeof ending - 1;
    struct bundle_name wanted = {.name = name};
    bool found = true;
    while (length > 1 && name[length - 1] == '/')
        length--;
    bool has_ending = length > tail && strncmp(name + length - tail, ending, tail) == 0;
    wanted.length = length - (has_ending ? tail : 0);
    if (memchr(name, '/', length))
        wanted.path = strndup(name, length);
    else
        TRY(plugin_search_each(&search, has_name, &wanted, &found));
    if (!found)
        return fail(CAUSE_MISSING,
                    "cannot find the VST3 plugin %.*s (halo plugins list --kind vst3 lists them "
                    "all)",
                    (int)length, name);
    *path = wanted.path;
    return *path ? STATUS_OK : fail_memory("a plugin");
}

/* The colon between bundle and class in a text, or the text's end. */
static const char *class_colon(const char *text)
{
    const char *at = strstr(text, ".vst3:");
    const char *colon = at ? at + sizeof ending - 1 : strchr(text, '/') ? NULL : strchr(text, ':');
    return colon ? colon : text + strlen(text);
}

static bool is_class(const struct vst3_class *about, const char *text)
{
    char hex[VST3_HEX];
    vst3_hex(&about->cid, hex);
    return strcasecmp(about->name, text) == 0 || strcasecmp(hex, text) == 0;
}

/* Find the class of a text, or the only one. */
static enum status find_class(const struct vst3_module *module, const char *text,
                              struct vst3_class *about)
{
    struct vst3_class other;
    int32_t next = 0;
    while (vst3_module_next(module, &next, about)) {
        bool is_last = *text || !vst3_module_next(module, &(int32_t){next}, &other);
        if (!*text && !is_last)
            return fail(CAUSE_USAGE, "%s has several plugins: name one, such as %s:%s",
                        module->path, module->path, about->name);
        if (!*text || is_class(about, text))
            return STATUS_OK;
    }
    next = 0;
    bool has_any = vst3_module_next(module, &next, &other);
    return fail(CAUSE_MISSING, "there is no plugin '%s' in %s; its first is %s", text, module->path,
                has_any ? other.name : "none");
}

/* Cut #N from the end of a text. Returns N, or 0. */
static int32_t cut_width(char *text)
{
    char *mark = strrchr(text, '#');
    size_t digits = mark ? strspn(mark + 1, "0123456789") : 0;
    if (digits == 0 || digits > 2 || mark[1 + digits])
        return 0;
    *mark = '\0';
    long width = strtol(mark + 1, NULL, 10);
    return width < VST3_CHANNELS_MOST ? (int32_t)width : 0;
}

static enum status find_module(const char *text, struct vst3_module **module,
                               struct vst3_class *about)
{
    const char *colon = class_colon(text);
    char *path = NULL;
    *module = NULL;
    TRY(find_bundle(text, (size_t)(colon - text), &path));
    enum status status = vst3_module_open(path, module);
    free(path);
    TRY(status);
    status = find_class(*module, *colon ? colon + 1 : colon, about);
    if (status != STATUS_OK) {
        vst3_module_close(*module);
        *module = NULL;
    }
    return status;
}

enum { CLASS_TEXT = 80 };

/* The class in an id: nothing for the only one, its name, or hexadecimal digits if the name is that
 * of several classes or cannot be part of an option. */
static void name_class(const struct vst3_module *module, const struct vst3_class *about,
                       char text[CLASS_TEXT])
{
    struct vst3_class other;
    size_t count = 0, alike = 0;
    for (int32_t next = 0; vst3_module_next(module, &next, &other); count++)
        alike += strcasecmp(other.name, about->name) == 0;
    if (count < 2)
        text[0] = '\0';
    else if (alike < 2 && about->name[0] && !strpbrk(about->name, ",:#\\"))
        snprintf(text, CLASS_TEXT, ":%s", about->name);
    else {
        text[0] = ':';
        vst3_hex(&about->cid, text + 1);
    }
}

enum status vst3_module_find(const char *text, struct vst3_module **module,
                             struct vst3_class *about)
{
    char *name = strdup(text);
    if (!name)
        return fail_memory("a plugin");
    int32_t width = cut_width(name);
    enum status status = find_module(name, module, about);
    about->width = width;
    free(name);
    return status;
}

enum status vst3_module_id(const struct vst3_module *module, const struct vst3_class *about,
                           char **id)
{
    const char *name = strrchr(module->path, '/') + 1;
    struct bundle_name wanted = {.name = name, .length = strlen(name) + 1 - sizeof ending};
    char class_text[CLASS_TEXT], width[16] = "";
    bool found = false;
    TRY(plugin_search_each(&search, has_name, &wanted, &found));
    char *real = wanted.path ? realpath(wanted.path, NULL) : NULL;
    bool is_first = real && strcmp(real, module->real) == 0;
    free(real);
    free(wanted.path);
    name_class(module, about, class_text);
    if (about->width > 0)
        snprintf(width, sizeof width, "#%d", about->width);
    if (asprintf(id, "%s%s%s", is_first ? name : module->path, class_text, width) < 0)
        *id = NULL;
    return *id ? STATUS_OK : fail_memory("a plugin");
}
