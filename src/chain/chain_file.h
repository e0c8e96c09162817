/* A chain kept as text: YAML, a line or a few for each stage.
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
 * A stage is named by its kind, as on the command line; `options` are the words behind it, without
 * escapes for commas. Paths are relative to the file's folder, or absolute; a word is taken for one
 * as chain_paths.h says. chain_save.h writes it.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_FILE_H
#define HALO_CHAIN_FILE_H

#include "chain/specs.h"

/* Append the file's stages. Errors: no such file, what is wrong with it and on which line. */
MUST_CHECK enum status chain_file_load(const char *path, struct stage_list *list);

#endif
