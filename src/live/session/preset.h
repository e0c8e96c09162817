/* Presets of halo live: a chain, the masks to choose from, and what is chosen, by name.
 *
 * A preset is a chain file (chain_file.h) in $XDG_CONFIG_HOME/halo/presets, else
 * ~/.config/halo/presets; the name of the file is its name. The name of the one last used is in
 * $XDG_STATE_HOME/halo/preset, else ~/.local/state/halo/preset.
 * Threads: any, one at a time.
 */
#ifndef HALO_PRESET_H
#define HALO_PRESET_H

#include "chain/chain_file.h"
#include "live/session/play_options.h"

#include <limits.h>

enum { PRESET_NAME_MOST = 65 /* bytes, with its 0 */ };

/* What a user may call one: printable UTF-8 that is a plain file name, and no option. Errors
 * (usage): it is not. */
MUST_CHECK enum status preset_check_name(const char *name);

/* The path of its file, whether or not it exists. Errors: the name; the user has no such folder. */
MUST_CHECK enum status preset_path(const char *name, char path[static PATH_MAX]);

/* Where a preset comes from: a saved one, a chain file anywhere, the command line. */
enum preset_place { PRESET_OF_OPTIONS, PRESET_SAVED, PRESET_CHAIN_FILE };

enum { PRESET_OWN_MASK = -1 };

struct preset_source {
    enum preset_place place;
    char text[PATH_MAX]; /* its name, or the path of the file */
    int mask;            /* that is heard, from 1; 0: the dry signal; PRESET_OWN_MASK: its own */
};

/* Whether both are of the same stages. */
bool preset_source_is(const struct preset_source *source, const struct preset_source *other);

/* For messages: "preset evening", "chain phones.yml". */
enum { PRESET_LABEL_MOST = PATH_MAX + 16 };
void preset_source_describe(const struct preset_source *source,
                            char text[static PRESET_LABEL_MOST]);

struct preset {
    struct preset_source source;
    struct chain_options options; /* its stages */
    struct chain_live live;
};

/* Not of options. With the settings of other options: its tempo is --tempo of these, else its own,
 * else none. Errors: no such preset, invalid content. */
MUST_CHECK enum status preset_load(const struct preset_source *source,
                                   const struct chain_options *like, struct preset **preset);

/* What options ask for, with settings like those of `like`. Errors: there is no such mask, memory.
 */
MUST_CHECK enum status preset_of_options(const struct play_options *options, int mask,
                                         const struct chain_options *like, struct preset **preset);
void preset_destroy(struct preset *preset);

/* The stages are loaded. Errors: it exists (without `force`), folder, permissions. */
MUST_CHECK enum status preset_save(const char *name, bool force, const struct stage_list *list,
                                   const struct chain_live *live);

/* Errors: no such preset; permissions. */
MUST_CHECK enum status preset_remove(const char *name);

struct preset_names {
    size_t count;
    char (*names)[PRESET_NAME_MOST]; /* sorted by their bytes */
};

/* All presets; without the folder, none. Errors: the folder cannot be read, memory. */
MUST_CHECK enum status preset_names_init(struct preset_names *names);
void preset_names_free(struct preset_names *names);

/* Refuse the name of a preset that does not exist. */
MUST_CHECK enum status preset_refuse(const char *name);

/* The one last used. Errors: the folder; none was used. */
MUST_CHECK enum status preset_remember(const char *name);
MUST_CHECK enum status preset_last(char name[static PRESET_NAME_MOST]);

#endif
