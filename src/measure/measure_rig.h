/* A device that measures, with a screen or without: takes one after the other at the same levels.
 * Threads: control. */
#ifndef HALO_MEASURE_RIG_H
#define HALO_MEASURE_RIG_H

#include "mask/mask.h"
#include "measure/measure_options.h"
#include "measure/take.h"

enum { MEASURE_EARS = 2, MEASURE_HESUVI = 14 /* channels of HeSuVi */ };

struct measure_rig {
    const struct measure_options *options; /* borrowed */
    struct view *view;                     /* borrowed; NULL: no screen */
    struct device *device;
    struct number_list inputs, outputs; /* channels of the device */
    bool has_levels; /* a take set the levels and did not clip: the next one begins at once */
    double level;    /* dB of full scale: peak of the sweeps */
};

/* Errors: the device's; channels that do not fit (usage). Then there is nothing to close. */
MUST_CHECK enum status measure_open(const struct measure_options *options, struct view *view,
                                    struct measure_rig *rig);
enum status measure_close(struct measure_rig *rig);

/* Opens a screen if standard output is a terminal for it; else *view is NULL. Errors: memory. */
MUST_CHECK enum status measure_screen_open(const struct play_options *play, struct view **view);

/* Loads the mask that filters the sweeps, at the device's rate. Errors: the mask's. */
MUST_CHECK enum status measure_load_filter(const struct measure_rig *rig, const char *spec,
                                           struct mask **filter);

/* Records sweeps. The first take of a rig sets the levels, on the screen or by a check.
 * `filter`: see take_create. *take is NULL after errors of the plan; else destroy it, also after an
 * error. Errors: a bad take; the device's; interrupted. */
MUST_CHECK enum status measure_take(struct measure_rig *rig, const struct mask *filter,
                                    struct take **take);

/* Errors (usage): --hesuvi with other channels than seven loudspeakers, or eight with LFE, at two
 * ears. */
MUST_CHECK enum status measure_check_hesuvi(const struct measure_options *options,
                                            const struct take_plan *plan);

/* ---- measure_run.c: results ---- */

struct measure_result {
    char *recording; /* path: options->take, or NAME-take.wav for NAME.wav */
    size_t zero;     /* tap of time zero */
    struct mask *mask;
    struct measurement *measurement;
};

/* Fails before anything is played if a file could not be read or written. Free the result, also
 * after an error. */
MUST_CHECK enum status measure_result_init(const struct measure_options *options,
                                           struct measure_result *result);
void measure_result_free(struct measure_result *result);

/* Computes the responses of a take. Errors: what the take does not hear; memory. */
MUST_CHECK enum status measure_respond(const struct measure_options *options,
                                       const struct take *take, struct measure_result *result);

/* The same, and writes them to options->output. Also writes the recording, unless it was read. */
MUST_CHECK enum status measure_write(const struct measure_options *options, const struct take *take,
                                     struct measure_result *result);

#endif
