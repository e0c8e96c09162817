/* Renders many inputs of halo render in one process, a file on each thread. Masks, transforms and
 * memory are kept from file to file. A file that fails is reported, and the others are rendered.
 * Threads: the control thread. */
#ifndef HALO_RENDER_MANY_H
#define HALO_RENDER_MANY_H

#include "render/render_options.h"

/* Keep memory and transforms of a job for the next one. Call before other threads run. */
void render_expect_many(void);

/* Memory for the masks that a process keeps, in bytes: a quarter of the memory that it may use. */
size_t render_masks_memory(void);

/* Whether all threads share a file: it is very long, or there are fewer files than threads. */
bool render_is_long(double bytes, size_t files, size_t threads);

/* Whether a message names this path: "hall/a.wav" does not name "a.wav". */
bool render_names_path(const char *problem, const char *path);

/* Render the inputs options->input, options->output and options->more into options->out_dir.
 * Errors: usage, before anything is written; a file failed. */
MUST_CHECK enum status render_many(const struct render_options *options);

#endif
