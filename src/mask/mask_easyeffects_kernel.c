/* The kernels of EasyEffects: files that a preset names without folder and ending. A name never
 * leads elsewhere than to the folders where EasyEffects keeps them.
 *
 * What lies beside a preset came with it, perhaps from a stranger: links out of its folder, or out
 * of the parent for ../irs, are not followed, except into folder=. In the user's own folders they
 * are. */
#include "mask/mask_easyeffects.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The user's own, as a package of the system and of Flatpak. */
static const struct {
    const char *variable, *folder;
} places[] = {
    {"XDG_CONFIG_HOME", "easyeffects/irs"},
    {"HOME", ".config/easyeffects/irs"},
    {"XDG_DATA_HOME", "easyeffects/irs"},
    {"HOME", ".local/share/easyeffects/irs"},
    {"HOME", ".var/app/com.github.wwmm.easyeffects/config/easyeffects/irs"},
    {"HOME", ".var/app/com.github.wwmm.easyeffects/data/easyeffects/irs"},
};
enum { PLACES = sizeof places / sizeof *places };

struct kernel_search {
    const char *name;
    char *own[PLACES]; /* without links; NULL: not there */
    char *parent;      /* of the preset's folder */
    char *irs;         /* in the parent */
    char *beside;      /* irs/ in the preset's folder, as archives of presets have it */
    char *path;        /* NULL: not found */
    char *home;        /* that no link leads out of; one of the above, the preset's, or root */
};
static char root[] = "/";

static void search_free(struct kernel_search *search)
{
    for (size_t i = 0; i < PLACES; i++)
        free(search->own[i]);
    free(search->parent);
    free(search->irs);
    free(search->beside);
    free(search->path);
}

static enum status search_init(struct kernel_search *search, const struct mask_config *config)
{
    for (size_t i = 0; i < PLACES; i++) {
        const char *value = getenv(places[i].variable);
        char *folder;
        if (!value)
            continue;
        if (asprintf(&folder, "%s/%s", value, places[i].folder) < 0)
            return fail_memory("a mask");
        search->own[i] = realpath(folder, NULL);
        free(folder);
    }
    search->parent = strdup(config->real_home);
    if (!search->parent)
        return fail_memory("a mask");
    char *slash = strrchr(search->parent, '/');
    slash[slash == search->parent] = '\0';
    if (asprintf(&search->irs, "%s/irs", search->parent) < 0)
        search->irs = NULL;
    if (asprintf(&search->beside, "%s/irs", config->real_home) < 0)
        search->beside = NULL;
    return search->irs && search->beside ? STATUS_OK : fail_memory("a mask");
}

/* A folder of the kernel's name is none. */
static enum status look_in(struct kernel_search *search, const char *folder, char *home)
{
    static const char *const endings[] = {".irs", ".wav", ".sofa", ""};
    for (size_t i = 0; folder && !search->path && i < sizeof endings / sizeof *endings; i++) {
        struct stat about;
        char *path;
        if (asprintf(&path, "%s/%s%s", folder, search->name, endings[i]) < 0)
            return fail_memory("a mask");
        if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode)) {
            search->path = path;
            search->home = home;
        } else {
            free(path);
        }
    }
    return STATUS_OK;
}

/* Whether ../irs is one of the user's own folders, perhaps by a link. */
static bool is_own(const struct kernel_search *search)
{
    char *real = realpath(search->irs, NULL);
    size_t i = 0;
    while (real && i < PLACES && !(search->own[i] && strcmp(search->own[i], real) == 0))
        i++;
    bool found = real && i < PLACES;
    free(real);
    return found;
}

static enum status find_kernel(const struct mask_config *config, struct kernel_search *search)
{
    TRY(search_init(search, config));
    if (config->options->folder)
        TRY(look_in(search, config->fence, config->real_home));
    TRY(look_in(search, config->real_home, config->real_home));
    TRY(look_in(search, search->beside, config->real_home));
    TRY(look_in(search, search->irs, is_own(search) ? root : search->parent));
    for (size_t i = 0; i < PLACES; i++)
        TRY(look_in(search, search->own[i], root));
    return STATUS_OK;
}

static enum status load(struct easyeffects *preset, struct kernel_search *search,
                        const struct mask **kernel)
{
    struct mask_config *config = preset->config;
    if (!search->path)
        return mask_json_refuse(&preset->json,
                                "there is no kernel %.100s.irs beside the preset, in irs, ../irs, "
                                "~/.config/easyeffects/irs or ~/.local/share/easyeffects/irs; "
                                "folder= names another folder",
                                search->name);
    if (mask_file_ends_with(search->path, ".sofa"))
        return mask_json_refuse(&preset->json, "a kernel in a SOFA file cannot be read as a mask");
    char *home = config->real_home;
    config->real_home = search->home;
    config->called = search->name;
    enum status status = mask_config_mask(config, search->path, NULL, kernel);
    config->called = NULL;
    config->real_home = home;
    return status;
}

/* kernel-path, of versions before 7.1, is one of another machine perhaps: its base name counts. */
static enum status find_name(struct easyeffects *preset, const json_t *plugin, const char **path_of,
                             char name[256])
{
    const char *kernel = "", *path = "";
    TRY(mask_json_text(&preset->json, plugin, "kernel-name", &kernel));
    TRY(mask_json_text(&preset->json, plugin, "kernel-path", &path));
    *path_of = *kernel ? NULL : path;
    const char *slash = strrchr(path, '/');
    const char *base = *kernel ? kernel : slash ? slash + 1 : path;
    const char *dot = *kernel ? NULL : strrchr(base, '.');
    if (!*base)
        return mask_json_refuse(&preset->json, "it has no kernel-name");
    snprintf(name, 256, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
    return STATUS_OK;
}

enum status easyeffects_kernel(struct easyeffects *preset, const json_t *plugin,
                               const struct mask **kernel)
{
    char name[256];
    const char *path;
    TRY(find_name(preset, plugin, &path, name));
    if (strchr(name, '/') || *name == '.')
        return mask_json_refuse(&preset->json, "'%.100s' is not the name of a kernel", name);
    if (mask_config_given(preset->config, name))
        return mask_config_mask(preset->config, name, NULL, kernel);
    struct kernel_search search = {.name = name};
    enum status status = find_kernel(preset->config, &search);
    if (status == STATUS_OK)
        status = load(preset, &search, kernel);
    if (status == STATUS_OK && path && strcmp(path, search.path) != 0 && preset->is_preparing)
        note("mask %s: using %s for %s", preset->config->file, search.path, path);
    search_free(&search);
    return status;
}
