/* How fast this machine is in the phases of a render, for the estimates of backend_cost.h.
 *
 * Renders measure it: each figure is the mean of the first few, and then stays. They are kept in
 * the user's cache folder, in a file of its own for each version of halo, processor, number of
 * processors allowed, GPU and driver. A figure that was not measured has a default, of a server's
 * processor and an H200. A file that is damaged, of another machine or has a figure that no machine
 * has, is as good as none; the next render replaces it.
 */
#ifndef HALO_MACHINE_SPEED_H
#define HALO_MACHINE_SPEED_H

#include <stdbool.h>
#include <stddef.h>

enum machine_figure {
    SPEED_STEP,    /* CPU: seconds for an estimated second (partition.h), on one thread */
    SPEED_FORM,    /* CPU: seconds a tap of a mask, on one thread, to its spectra */
    SPEED_READ,    /* files: seconds a sample, on one thread */
    SPEED_WRITE,   /* the same, with what is measured on the way */
    SPEED_CONTEXT, /* GPU: seconds until it can be used */
    SPEED_SET_UP,  /* seconds a sample of a block: memory for its copies */
    SPEED_UPLOAD,  /* seconds a point of the spectra of a mask */
    SPEED_CARRY,   /* seconds a sample, there and back */
    SPEED_POINT,   /* seconds a point of a transform */
    SPEED_BLOCK,   /* seconds a block: launches */
    SPEED_FIGURES
};

struct machine_speed {
    double value[SPEED_FIGURES];
    unsigned measured[SPEED_FIGURES]; /* how often; 0: the default */
};

extern const struct machine_speed machine_speed_default;

/* Its name: "step". */
const char *machine_speed_figure(enum machine_figure figure);

/* Include a measurement in the mean. False: it is no plausible one, or the figure stays. */
bool machine_speed_add(struct machine_speed *speed, enum machine_figure figure, double value);

/* Whether any figure was measured. */
bool machine_speed_is_measured(const struct machine_speed *speed);

/* Those of this machine; read once, and valid until the program ends. Threads: any. */
const struct machine_speed *machine_speed_now(void);

/* Include what was measured, where measured[figure] > 0, and keep it for other programs, if there
 * may be a GPU to choose. `again`: they replace the earlier, and stay. Threads: one, while no
 * other uses these. */
void machine_speed_keep(const struct machine_speed *measured, bool again);

/* ---- the file ---- */

enum { MACHINE_KEY = 1024 };

/* What the figures belong to, as one line. */
void machine_speed_key(char key[MACHINE_KEY]);

/* The file of that key, below the cache folder: a name, not a path. */
void machine_speed_name(const char *key, char name[32]);

/* Parse the whole text of a file; false: *speed is as before. */
bool machine_speed_parse(const char *text, size_t size, const char *key,
                         struct machine_speed *speed);

/* False: nothing was read, or written. */
bool machine_speed_read(const char *path, const char *key, struct machine_speed *speed);
bool machine_speed_write(const char *path, const char *key, const struct machine_speed *speed);

#endif
