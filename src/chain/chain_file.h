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
 * The key of a stage is its option on the command line; `options` are the words that follow, with
 * commas unescaped. The tempo, which may be left out, is that of --tempo. Paths (stage_path_in)
 * are absolute or relative to the file's folder.
 * A mask with `or: true` is an alternative to the mask before it, as with --or; `live` says what a
 * live stream does with the chain: which of these masks sounds (from 1), or the dry signal, and the
 * gain of its output, in dB. A preset (preset.h) is such a file.
 * Threads: any, one at a time.
 */
#ifndef HALO_CHAIN_FILE_H
#define HALO_CHAIN_FILE_H

#include "chain/stages.h"

#include <limits.h>

enum { CHAIN_VERSION = 1 };

#define CHAIN_MARK "halo-chain" /* the key that every such file has */

/* What a live stream does with a chain. */
struct chain_live {
    size_t stage;        /* that has alternatives, from 0; SIZE_MAX: none */
    size_t other_count;  /* of alternatives */
    const char **others; /* their specs */
    size_t mask;         /* that sounds, from 1 */
    bool dry;
    double gain_db;
};

void chain_live_free(struct chain_live *live); /* with what chain_file_load made */

/* The folder of a chain's file. Errors: its name is too long. */
MUST_CHECK enum status chain_file_folder(const char *path, char folder[static PATH_MAX]);

/* Append the file's stages, and take its tempo. With `live`, which chain_live_free frees in any
 * case, its alternatives and what is chosen; NULL: the stage with alternatives gets the mask that
 * sounds. Errors: no such file, invalid content (with the line). */
MUST_CHECK enum status chain_file_load(const char *path, struct stage_list *list,
                                       struct chain_live *live);

#endif
