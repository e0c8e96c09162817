/* halo correct: from a microphone in the room to a preset that corrects the loudspeakers. */
#ifndef HALO_CORRECT_OPTIONS_H
#define HALO_CORRECT_OPTIONS_H

#include "correct/correct_study.h"
#include "measure/measure_options.h"
#include "measure/measure_rig.h"

enum { CORRECT_POSITIONS = 16 };

struct correct_options {
    struct measure_options measure;          /* the device and the sweeps */
    const char *name;                        /* NAME-1.wav ..., NAME-correction.wav, preset NAME */
    size_t positions;                        /* number of places to measure; 0: the usual one */
    const char *measured[CORRECT_POSITIONS]; /* files to use instead of measuring */
    size_t measured_count;
    const char *with; /* options of correct:, with commas between; NULL: none */
    bool no_check;
};

extern const struct command command_correct;

MUST_CHECK enum status correct_run(const struct correct_options *options);

/* ---- correct_screen.c; control thread ---- */

/* Shows lines until a key of `accepted` is pressed. `rig` (or NULL): the device that is named.
 * Errors: interrupted (also by q, unless it is accepted); the device was lost. */
MUST_CHECK enum status correct_ask(struct view *view, const struct measure_rig *rig,
                                   const char *const *lines, size_t count, const char *keys,
                                   const char *accepted, int *key);

/* Lets the user choose devices, unless the request names some. *output and *input get numbers of
 * devices, as text for the request. Errors: interrupted; no devices. */
enum { CORRECT_DEVICE = 24 };
MUST_CHECK enum status correct_choose_devices(struct view *view, struct device_request *request,
                                              char output[static CORRECT_DEVICE],
                                              char input[static CORRECT_DEVICE]);

/* Shows the plot of a loudspeaker, with `text` below, as correct_ask. */
MUST_CHECK enum status correct_show(struct view *view, const struct measure_rig *rig,
                                    const struct study *study, size_t speaker, const char *text,
                                    const char *keys, const char *accepted, int *key);

#endif
