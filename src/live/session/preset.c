#include "live/session/preset.h"

#include "base/atomic_file.h"
#include "base/files_read.h"
#include "base/plural.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "base/user_folder.h"
#include "chain/chain_save.h"
#include "live/session/stream_session.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PRESETS_MOST = 10000 };

/* ---- paths ---- */

enum status preset_path(const char *name, char path[static PATH_MAX])
{
    char file[PRESET_NAME_MOST + 32];
    TRY(preset_check_name(name));
    snprintf(file, sizeof file, "halo/presets/%.*s", PRESET_NAME_MOST, name);
    return user_folder_config(file, path);
}

enum status preset_check_name(const char *name)
{
    size_t length = strlen(name);
    const char *flaw = NULL;
    if (length == 0)
        flaw = "it is empty";
    else if (length >= PRESET_NAME_MOST)
        flaw = "it is longer than 64 bytes";
    else if (strchr(name, '/'))
        flaw = "it has a slash";
    else if (name[0] == '.' || name[0] == '-')
        flaw = "it begins with a point or a dash";
    else if (printable(name) != name)
        flaw = "it has control characters, or is no UTF-8";
    else if (name[0] == ' ' || name[length - 1] == ' ')
        flaw = "it begins or ends with a blank";
    return flaw ? fail(CAUSE_USAGE, "a preset cannot be called '%s': %s", name, flaw) : STATUS_OK;
}

/* ---- one preset ---- */

bool preset_source_is(const struct preset_source *source, const struct preset_source *other)
{
    return source->place == other->place && strcmp(source->text, other->text) == 0;
}

void preset_source_describe(const struct preset_source *source, char text[static PRESET_LABEL_MOST])
{
    static const char *const kinds[] = {[PRESET_OF_OPTIONS] = "the chain of the options",
                                        [PRESET_SAVED] = "preset ",
                                        [PRESET_CHAIN_FILE] = "chain ",
                                        [PRESET_EDITED] = "the changed chain"};
    snprintf(text, PRESET_LABEL_MOST, "%s%s", kinds[source->place], source->text);
}

/* If the file does not say whose masks can be chosen, takes the first stage that has masks. */
static void find_choosing(struct preset *preset)
{
    const struct stage_list *stages = &preset->options.stages;
    for (size_t i = 0; preset->live.stage == SIZE_MAX && i < stages->count; i++)
        if (stages->stages[i].ops->has_choices)
            preset->live.stage = i;
}

static enum status refuse(const struct preset *preset, const char *why)
{
    char label[PRESET_LABEL_MOST];
    preset_source_describe(&preset->source, label);
    return fail(CAUSE_DAMAGED, "cannot use %s: %s", label, why);
}

/* Chooses the mask that the source names, and checks gain and number of masks. */
static enum status settle(struct preset *preset)
{
    struct chain_live *live = &preset->live;
    int mask = preset->source.mask;
    char why[80];
    find_choosing(preset);
    size_t masks = live->stage == SIZE_MAX ? 0 : live->other_count + 1;
    snprintf(why, sizeof why, "its gain is not from %g to %g dB", STREAM_GAIN_LEAST_DB,
             STREAM_GAIN_MOST_DB);
    if (live->gain_db < STREAM_GAIN_LEAST_DB || live->gain_db > STREAM_GAIN_MOST_DB)
        return refuse(preset, why);
    snprintf(why, sizeof why, "it has more than %d masks to choose from", LIVE_CHOICES_MOST);
    if (masks > LIVE_CHOICES_MOST)
        return refuse(preset, why);
    if (mask > 0 && (size_t)mask > masks)
        return fail(CAUSE_USAGE, "there is no mask %d: there %s %zu", mask, plural_are(masks),
                    masks);
    if (mask != PRESET_OWN_MASK)
        live->dry = mask == 0;
    if (mask > 0)
        live->mask = (size_t)mask;
    return STATUS_OK;
}

/* Completes a preset into *result. `status`: of reading its stages. After an error, frees it. */
static enum status conclude_preset(struct preset *preset, enum status status,
                                   struct preset **result)
{
    if (status == STATUS_OK)
        status = chain_options_settle_tempo(&preset->options);
    if (status == STATUS_OK)
        status = settle(preset);
    if (status != STATUS_OK)
        goto fail;
    *result = preset;
    return STATUS_OK;
fail:
    preset_destroy(preset);
    return status;
}

/* Creates a preset without stages, with the settings of `like`. */
static enum status create(const struct preset_source *source, const struct chain_options *like,
                          struct preset **result)
{
    struct preset *preset = calloc(1, sizeof *preset);
    if (!preset)
        return fail_memory("a preset");
    preset->source = *source;
    preset->options.settings = like->settings;
    preset->options.tempo = like->tempo;
    preset->options.threads = like->threads;
    preset->live = (struct chain_live){.stage = SIZE_MAX, .mask = 1};
    *result = preset;
    return STATUS_OK;
}

static enum status find_file(const struct preset_source *source, char path[static PATH_MAX])
{
    if (source->place == PRESET_CHAIN_FILE) {
        snprintf(path, PATH_MAX, "%s", source->text);
        return STATUS_OK;
    }
    TRY(preset_path(source->text, path));
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return preset_refuse(source->text);
    return STATUS_OK;
}

enum status preset_load(const struct preset_source *source, const struct chain_options *like,
                        struct preset **result)
{
    char path[PATH_MAX];
    struct preset *preset = NULL;
    TRY(find_file(source, path));
    TRY(create(source, like, &preset));
    enum status status = chain_file_load(path, &preset->options.stages, &preset->live);
    files_read_forget(path); /* otherwise it could not be written again */
    return conclude_preset(preset, status, result);
}

/* Copies the stages and the specs of the masks. */
static enum status copy(const struct stage_list *from, const struct chain_live *live,
                        struct preset *preset)
{
    struct chain_live *own = &preset->live;
    preset->options.stages.tempo = from->tempo;
    preset->options.stages.tempos_differ = from->tempos_differ;
    for (size_t i = 0; i < from->count; i++)
        TRY(stage_list_add(&preset->options.stages, from->stages[i].ops, from->stages[i].text,
                           from->stages[i].origin));
    *own = *live;
    own->other_count = 0;
    own->others = calloc(live->other_count + 1, sizeof *own->others);
    for (size_t i = 0; own->others && i < live->other_count; i++) {
        own->others[i] = strdup(live->others[i]);
        if (!own->others[i])
            return fail_memory("a preset");
        own->other_count++;
    }
    return own->others ? STATUS_OK : fail_memory("a preset");
}

enum status preset_of_stages(const struct stage_list *stages, const struct chain_live *live,
                             int mask, const struct chain_options *like, struct preset **result)
{
    const struct preset_source source = {.place = PRESET_OF_OPTIONS, .mask = mask};
    struct preset *preset = NULL;
    TRY(create(&source, like, &preset));
    return conclude_preset(preset, copy(stages, live, preset), result);
}

enum status preset_of_options(const struct play_options *options, int mask,
                              const struct chain_options *like, struct preset **result)
{
    const struct chain_live live = {.stage = options->choosing,
                                    .other_count = options->other_count,
                                    .others = (const char **)options->others,
                                    .mask = 1};
    return preset_of_stages(&options->chain.stages, &live, mask, like, result);
}

void preset_destroy(struct preset *preset)
{
    if (!preset)
        return;
    chain_options_free(&preset->options);
    chain_live_free(&preset->live);
    free(preset);
}

enum status preset_save(const char *name, bool force, const struct stage_list *list,
                        const struct chain_live *live)
{
    char path[PATH_MAX];
    struct atomic_file file;
    FILE *stream;
    TRY(preset_path(name, path));
    TRY(user_folder_make(path));
    TRY(atomic_text_open(&file, path, force, &stream));
    return atomic_text_close(&file, path, stream, chain_file_print_live(list, live, stream));
}

enum status preset_remove(const char *name)
{
    char path[PATH_MAX];
    TRY(preset_path(name, path));
    if (unlink(path) == 0)
        return STATUS_OK;
    return errno == ENOENT ? preset_refuse(name) : fail_errno(errno, "cannot remove %s", path);
}

/* ---- all presets ---- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Adds a name if it can be that of a preset. Hidden files are being written. */
static enum status add_name(struct preset_names *names, const char *name)
{
    if (*name == '.' || strlen(name) >= PRESET_NAME_MOST || printable(name) != name ||
        names->count == PRESETS_MOST)
        return STATUS_OK;
    char (*more)[PRESET_NAME_MOST] = realloc(names->names, (names->count + 1) * sizeof *more);
    if (!more)
        return fail_memory("the names of presets");
    names->names = more;
    strcpy(names->names[names->count++], name);
    return STATUS_OK;
}

enum status preset_names_init(struct preset_names *names)
{
    char path[PATH_MAX];
    *names = (struct preset_names){0};
    TRY(user_folder_config("halo/presets", path));
    DIR *folder = opendir(path);
    if (!folder && errno == ENOENT)
        return STATUS_OK;
    if (!folder)
        return fail_errno(errno, "cannot read the folder %s", path);
    enum status status = STATUS_OK;
    for (struct dirent *entry; status == STATUS_OK && (entry = readdir(folder));)
        status = add_name(names, entry->d_name);
    closedir(folder);
    if (names->count > 0)
        qsort(names->names, names->count, sizeof *names->names, by_bytes);
    return status;
}

void preset_names_free(struct preset_names *names)
{
    free(names->names);
    *names = (struct preset_names){0};
}

enum status preset_refuse(const char *name)
{
    struct preset_names names;
    struct suggest near;
    suggest_init(&near, name);
    enum status status = preset_names_init(&names);
    for (size_t i = 0; i < names.count; i++)
        suggest_offer(&near, names.names[i]);
    const char *meant = suggest_text(&near);
    if (status == STATUS_OK)
        status = fail(CAUSE_USAGE, "there is no preset '%s'%s", name,
                      *meant ? meant : "; halo preset list names the presets");
    suggest_free(&near);
    preset_names_free(&names);
    return status;
}

/* ---- the preset last used ---- */

enum status preset_remember(const char *name)
{
    char path[PATH_MAX];
    struct atomic_file file;
    FILE *stream;
    TRY(user_folder_state("halo/preset", path));
    TRY(user_folder_make(path));
    TRY(atomic_text_open(&file, path, true, &stream));
    fprintf(stream, "%s\n", name);
    return atomic_text_close(&file, path, stream, STATUS_OK);
}

enum status preset_last(char name[static PRESET_NAME_MOST])
{
    char path[PATH_MAX];
    TRY(user_folder_state("halo/preset", path));
    FILE *file = fopen(path, "re");
    bool is_read = file && fgets(name, PRESET_NAME_MOST, file);
    if (file)
        fclose(file);
    if (!is_read)
        return fail(CAUSE_USAGE, "no preset was used yet; begin with --preset or --save-preset");
    name[strcspn(name, "\n")] = '\0';
    return STATUS_OK;
}
