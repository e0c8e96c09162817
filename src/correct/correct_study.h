/* What a correction does to loudspeakers that were measured: levels by thirds of an octave, curves
 * for a plot, and the comparison with a measurement through the correction.
 *
 * The curves of a loudspeaker are the mean power over all positions. All but the correction are
 * shifted so that the mean of what was measured is 0 dB. Threads: one. Not real-time. */
#ifndef HALO_CORRECT_STUDY_H
#define HALO_CORRECT_STUDY_H

#include "mask/mask.h"
#include "sweep/measurement.h"

#include <jansson.h>

enum study_curve {
    STUDY_MEASURED,
    STUDY_TARGET, /* the target, at the level of the prediction */
    STUDY_CORRECTION,
    STUDY_PREDICTED,
    STUDY_CHECKED,  /* measured through the correction, at the last position; NULL before */
    STUDY_EXPECTED, /* prediction for the last position */
    STUDY_CURVES
};

struct study_speaker {
    size_t output;                     /* channel of the device, or number of the column */
    struct mask *curves[STUDY_CURVES]; /* routed; several channels are several positions */
    double thirds[STUDY_CURVES][MEASURED_THIRDS]; /* dB */
    double level;                                 /* dB, by which the curves were lowered */
    size_t first, end;                            /* thirds in which the loudspeaker plays */
    double deviation[STUDY_CURVES]; /* dB, RMS of the thirds from the target; of MEASURED, PREDICTED
                                       and CHECKED */
    double apart; /* dB: largest difference of a third between CHECKED and EXPECTED. NAN: no check,
                     or no third that is heard */
};

struct study {
    uint32_t rate;
    size_t count;
    struct study_speaker *speakers;
};

/* `positions`: masks of one rate, with columns as correct: takes them. `correction`: a column for
 * each loudspeaker, at the same rate. `target`: text of target=, or NULL. Errors: usage; memory. */
MUST_CHECK enum status study_create(struct mask *const *positions, size_t count,
                                    const struct mask *correction, const char *target,
                                    struct study **study);
void study_destroy(struct study *study);

/* Compares with a measurement through the correction, at the last position. Thirds count if both
 * are 10 dB above the noise. `last`: the measurement of the last position, or NULL. Errors:
 * memory. */
MUST_CHECK enum status study_check(struct study *study, const struct mask *checked,
                                   const struct measurement *measurement,
                                   const struct measurement *last);

/* A plot as text of `height` lines, which the caller frees. Errors: memory; a size too small. */
MUST_CHECK enum status study_plot(const struct study *study, size_t speaker, size_t width,
                                  size_t height, char **text);
/* The legend of the plot's letters. */
const char *study_legend(const struct study *study);

/* Writes a line such as "output 1, 45 to 20000 Hz: 4.1 dB from the target, 1.2 dB corrected". */
enum { STUDY_LINE = 160 };
void study_describe(const struct study_speaker *speaker, char line[STUDY_LINE]);
/* Writes what the check found; nothing without a check. */
void study_describe_check(const struct study_speaker *speaker, char line[STUDY_LINE]);

/* A new reference. NULL: no memory. */
json_t *study_object(const struct study *study);

#endif
