/* The options of halo measure. */
#ifndef HALO_MEASURE_OPTIONS_H
#define HALO_MEASURE_OPTIONS_H

#include "base/program.h"
#include "live/session/play_options.h"

enum { MEASURE_CALIBRATIONS = 8 };

struct measure_options {
    const char *command;                /* name of the command, for the screen */
    struct play_options play;           /* device, force, json, plain and verbosity only */
    const char *output;                 /* the mask's file */
    double seconds;                     /* length of a sweep */
    size_t from_hz, to_hz;              /* the sweep begins and ends there; to_hz 0: the default */
    double level;                       /* dB */
    size_t repeats;                     /* 0: one, or two with two clocks */
    double pause;                       /* seconds */
    size_t mark;                        /* channel of the device, from 1; 0: none */
    size_t reference, reference_output; /* channels of the device, from 1; 0: none */
    const char *calibrations[MEASURE_CALIBRATIONS];
    size_t calibration_count;
    double full_scale; /* dB SPL; has_full_scale */
    bool has_full_scale;
    double calibrator; /* dB SPL of a calibrator on the microphone; has_calibrator */
    bool has_calibrator;
    bool has_sweep;     /* an option of the sweeps was given */
    const char *filter; /* spec of a mask that the sweeps pass; NULL: none */
    const char *take;   /* recording to use again; NULL: measure */
    bool hesuvi;
};

/* The options that halo measure and halo correct share. */
extern const struct option_row measure_rows_sweep[];
/* Errors (usage): options that do not go together. `options->play` is checked as well. */
MUST_CHECK enum status measure_options_check(struct measure_options *options);

#define MEASURE_DEFAULTS(COMMAND)                                                                  \
    {.command = COMMAND,                                                                           \
     .play = PLAY_OPTIONS_DEFAULTS,                                                                \
     .seconds = 8,                                                                                 \
     .from_hz = 20,                                                                                \
     .level = -12,                                                                                 \
     .pause = 1}

extern const struct command command_measure;

/* measure_run.c. Errors: the device's; a bad take; files. */
MUST_CHECK enum status measure_run(const struct measure_options *options);

/* measure_spl.c: finds the level of full scale from a calibrator on the microphone. */
MUST_CHECK enum status measure_spl(const struct measure_options *options);

/* ---- measure_screen.c ---- */

struct device;
struct take;

/* Sets levels on a screen, with noise, until the user begins or leaves. Sets take->plan.level.
 * Errors: interrupted; the device is lost. */
MUST_CHECK enum status measure_set_up(struct view *view, struct device *device, struct take *take);

/* Shows meters and `line`. The keys are empty. */
void measure_show(struct view *view, const struct take *take, const char *line);

#endif
