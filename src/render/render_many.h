/* Many inputs of halo render: one process, a file on each thread, which keeps masks, transforms and
 * memory from file to file. A file that fails is reported, and the others are rendered. Threads:
 * the control thread. */
#ifndef HALO_RENDER_MANY_H
#define HALO_RENDER_MANY_H

#include "render/render_options.h"

/* For a process that runs many jobs: memory that one frees is kept for the next, and transforms
 * are. Before there are other threads. */
void render_expect_many(void);

/* Memory for the masks that such a process keeps, in bytes: a quarter of the machine's. */
size_t render_masks_memory(void);

/* A file is long if all threads are to share it: one of that many bytes, or of fewer files than
 * threads. */
bool render_is_long(double bytes, size_t files, size_t threads);

/* Whether a line has a path as a whole: "a.wav" is not in "hall/a.wav". */
bool render_names_path(const char *problem, const char *path);

/* Render options->input, output and more into options->out_dir. Errors: usage, before anything is
 * written; failed: some file. */
MUST_CHECK enum status render_many(const struct render_options *options);

#endif
