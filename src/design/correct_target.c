#include "design/correct_target.h"

#include "base/options.h"
#include "sweep/measurement.h"

#include <string.h>
#include <unistd.h>

static const double TILT_LOWEST = 20; /* Hz; a slope is level below */
static const double TILT_MOST = 6;    /* dB an octave */
enum { TILT_OCTAVES = 10 };

/* dB at Hz: more bass and less treble, as most listeners like rooms. */
static const double house[][2] = {{20, 4},  {60, 4},    {120, 2.5}, {200, 1},
                                  {500, 0}, {2000, -1}, {20000, -3}};

static enum status read_tilt(const char *text, struct level_curve *curve)
{
    double slope = 0;
    TRY(options_parse_db("correct: target=tilt:", text, -TILT_MOST, TILT_MOST, &slope));
    TRY(level_curve_add(curve, TILT_LOWEST, 0));
    return level_curve_add(curve, TILT_LOWEST * (1 << TILT_OCTAVES), TILT_OCTAVES * slope);
}

enum status correct_target_read(const char *text, struct level_curve *curve)
{
    struct response_file file;
    *curve = (struct level_curve){0};
    if (!text || strcmp(text, "flat") == 0)
        return STATUS_OK;
    if (strncmp(text, "tilt:", strlen("tilt:")) == 0)
        return read_tilt(text + strlen("tilt:"), curve);
    if (strcmp(text, "house") == 0) {
        for (size_t i = 0; i < sizeof house / sizeof *house; i++)
            TRY(level_curve_add(curve, house[i][0], house[i][1]));
        return STATUS_OK;
    }
    if (access(text, F_OK) != 0)
        return fail(CAUSE_USAGE,
                    "correct: target= is flat, house, tilt:-0.8 or a file, and there is no file %s",
                    text);
    TRY(response_file_load(text, NULL, &file));
    *curve = file.curve;
    file.curve = (struct level_curve){0};
    response_file_free(&file);
    return STATUS_OK;
}

enum status correct_outputs(const struct mask *mask, size_t *outputs)
{
    struct measurement *told = NULL;
    if (mask->measured)
        TRY(measurement_parse(mask->measured, &told));
    bool is_told = told && told->path_count == mask->columns;
    for (size_t c = 0; is_told && c < mask->columns; c++)
        is_told = told->paths[c].output > 0;
    for (size_t c = 0; c < mask->columns; c++)
        outputs[c] = is_told ? told->paths[c].output : c + 1;
    measurement_destroy(told);
    return STATUS_OK;
}
