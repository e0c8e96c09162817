/* A chain stored as YAML text.
 *
 *   halo-chain: 1
 *   stages:
 *   - mask: ../filters/hall.wav
 *     options:
 *     - gain=-6
 *   - lv2: http://lv2plug.in/plugins/eg-amp
 *     options:
 *     - gain=-3
 *   - gain: -1
 *
 * The key of a stage is its option on the command line; `options` are the words that follow, with
 * commas unescaped. Paths (stage_ops.path_in) are absolute or relative to the file's folder.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_FILE_H
#define HALO_CHAIN_FILE_H

#include "chain/stages.h"

#include <stdio.h>

/* Append the file's stages. Errors: no such file, invalid content (with the line). */
MUST_CHECK enum status chain_file_load(const char *path, struct stage_list *list);

/* Print loaded stages for a file at `path`; the state of stage i, from 1, is in `path`.state/i.
 * With `copies`, which may be NULL, files are copied and the copies named. Errors: memory, those of
 * the copies; the caller checks the stream. */
struct chain_copies;
MUST_CHECK enum status chain_file_print(const struct stage_list *list, const char *path,
                                        struct chain_copies *copies, FILE *stream);

#endif
