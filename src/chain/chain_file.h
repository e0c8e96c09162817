/* A chain stored as YAML text.
 *
 *   halo-chain: 1
 *   tempo: 90,6/8
 *   stages:
 *   - mask: ../filters/hall.wav
 *     options:
 *     - gain=-6
 *   - mask: ../filters/room.wav
 *     or: true
 *   - lv2: http://lv2plug.in/plugins/eg-amp
 *     options:
 *     - gain=-3
 *   - gain: -1
 *   live:
 *     mask: 2
 *     dry: false
 *     gain: -3
 *
 * The key of a stage is its option on the command line; `options` are the words after its value,
 * with commas unescaped. `tempo` is optional and the same as --tempo. Paths (stage_path_in) are
 * absolute or relative to the file's folder. A mask with `or: true` is an alternative to the mask
 * before it, as with --or. `live` is for a live stream: the number of the alternative that plays
 * (from 1), whether the dry signal plays, and the gain of the output in dB. A preset (preset.h) is
 * such a file.
 * Threads: any, one at a time. */
#ifndef HALO_CHAIN_FILE_H
#define HALO_CHAIN_FILE_H

#include "chain/stages.h"

#include <limits.h>

enum { CHAIN_VERSION = 1 };

#define CHAIN_MARK "halo-chain" /* key that every chain file has */

/* Settings of a chain for a live stream. */
struct chain_live {
    size_t stage;        /* index of the stage with alternatives; SIZE_MAX: none */
    size_t other_count;  /* number of alternatives to that stage's mask */
    const char **others; /* specs of the alternatives */
    size_t mask;         /* mask that plays, from 1: the stage's own, then `others` */
    bool dry;
    double gain_db;
};

void chain_live_free(struct chain_live *live); /* frees what chain_file_load has put into `live` */

/* The folder of a chain's file. Errors: the folder's name is too long. */
MUST_CHECK enum status chain_file_folder(const char *path, char folder[static PATH_MAX]);

/* Append the file's stages, and take its tempo. `live` gets the alternatives and settings for a
 * live stream; call chain_live_free also after an error. If `live` is NULL, the stage with
 * alternatives gets the mask that plays. Errors: no such file, invalid content (with the line). */
MUST_CHECK enum status chain_file_load(const char *path, struct stage_list *list,
                                       struct chain_live *live);

#endif
