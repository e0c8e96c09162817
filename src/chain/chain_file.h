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
 * escapes for commas. Paths, which stage_ops.path_in finds, are relative to the file's folder, or
 * absolute. chain_save.h puts it in a file.
 * Threads: the control thread.
 */
#ifndef HALO_CHAIN_FILE_H
#define HALO_CHAIN_FILE_H

#include "chain/stages.h"

#include <stdio.h>

/* Append the file's stages. Errors: no such file, what is wrong with it and on which line. */
MUST_CHECK enum status chain_file_load(const char *path, struct stage_list *list);

/* The stages are loaded; `path` is where the text will be. The state of stage i, from 1, is taken
 * to be in `path`.state/i. Errors: memory; those of writing are the stream's. */
MUST_CHECK enum status chain_file_print(const struct stage_list *list, const char *path,
                                        FILE *stream);

#endif
