/* Presets of halo live: a chain, the masks to choose from, and what is chosen, by name.
 *
 * A preset is a chain file (chain_file.h) in $XDG_CONFIG_HOME/halo/presets, else
 * ~/.config/halo/presets; the file's name is the preset's name. The name of the preset last used is
 * in $XDG_STATE_HOME/halo/preset, else ~/.local/state/halo/preset. Threads: any, one at a time. */
#ifndef HALO_PRESET_H
#define HALO_PRESET_H

#include "chain/chain_file.h"
#include "live/session/play_options.h"

#include <limits.h>

enum { PRESET_NAME_MOST = 65 /* bytes, with its 0 */ };

/* Errors (usage): the name is no printable UTF-8 or no file name, or looks like an option. */
MUST_CHECK enum status preset_check_name(const char *name);

/* The path of a preset's file, perhaps missing. Errors: an invalid name; no folder for presets. */
MUST_CHECK enum status preset_path(const char *name, char path[static PATH_MAX]);

/* Where a preset comes from: the command line, a saved preset, a chain file, or changes since. */
enum preset_place { PRESET_OF_OPTIONS, PRESET_SAVED, PRESET_CHAIN_FILE, PRESET_EDITED };

/* Value of preset_source.mask: the preset's own choice. */
enum { PRESET_OWN_MASK = -1 };

struct preset_source {
    enum preset_place place;
    char text[PATH_MAX]; /* name of the saved preset, or path of the chain file */
    int mask;            /* mask to choose, from 1; 0: the dry signal; PRESET_OWN_MASK */
};

/* Whether both name the same stages. The masks that they choose may differ. */
bool preset_source_is(const struct preset_source *source, const struct preset_source *other);

/* Describes a source for messages: "preset evening", "chain phones.yml". */
enum { PRESET_LABEL_MOST = PATH_MAX + 16 };
void preset_source_describe(const struct preset_source *source,
                            char text[static PRESET_LABEL_MOST]);

struct preset {
    struct preset_source source;
    struct chain_options options; /* the stages and their settings */
    struct chain_live live;       /* the masks to choose from, the choice, and the gain */
};

/* Loads a saved preset or a chain file, with settings such as the backend from `like`. Tempo: of
 * `like`, else the preset's own, else none. Errors: no such preset, invalid content. */
MUST_CHECK enum status preset_load(const struct preset_source *source,
                                   const struct chain_options *like, struct preset **preset);

/* Makes a preset of `options`, with settings like those of `like`. Errors: no such mask, memory. */
MUST_CHECK enum status preset_of_options(const struct play_options *options, int mask,
                                         const struct chain_options *like, struct preset **preset);
/* Makes a preset of copies of stages and `live`. `mask`: as in preset_source. */
MUST_CHECK enum status preset_of_stages(const struct stage_list *stages,
                                        const struct chain_live *live, int mask,
                                        const struct chain_options *like, struct preset **preset);
void preset_destroy(struct preset *preset);

/* Saves a chain with loaded stages. Errors: the preset exists (no `force`), folder, permissions. */
MUST_CHECK enum status preset_save(const char *name, bool force, const struct stage_list *list,
                                   const struct chain_live *live);

/* Errors: no such preset; permissions. */
MUST_CHECK enum status preset_remove(const char *name);

struct preset_names {
    size_t count;
    char (*names)[PRESET_NAME_MOST]; /* sorted by the values of their bytes */
};

/* The names of all presets; none without a folder. Errors: reading the folder, memory. */
MUST_CHECK enum status preset_names_init(struct preset_names *names);
void preset_names_free(struct preset_names *names);

/* Fails with a message that the preset does not exist, and suggests a similar name. */
MUST_CHECK enum status preset_refuse(const char *name);

/* Stores the name of the preset last used. Errors: the folder. */
MUST_CHECK enum status preset_remember(const char *name);
/* Reads the name of the preset last used. Errors: none was used. */
MUST_CHECK enum status preset_last(char name[static PRESET_NAME_MOST]);

#endif
