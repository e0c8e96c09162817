/* From the convolved picture to what the sound's bins are multiplied by. Real-time. */
#include "convolve/spectral_state.h"

#include <math.h>

static const double FLOOR_DB = -120;
static const double GAIN_MOST = 1e30; /* times a bin that is not 0: no NaN */

float spectral_cell(enum spectral_scale scale, double magnitude)
{
    if (scale == SPECTRAL_LINEAR)
        return (float)magnitude;
    return (float)fmax(audio_to_db(magnitude) - FLOOR_DB, 0);
}

/* A cell at the floor stands for all that is below it: what is not raised stays. */
static double replace_db(const struct spectral *spectral, double cell, const float *bin,
                         double convolved)
{
    double target = fmax(convolved, 0);
    if (cell > 0)
        return audio_from_db(target - cell);
    double magnitude = hypot((double)bin[0], (double)bin[1]) / spectral->full_scale;
    if (magnitude == 0 || target == 0)
        return magnitude == 0 ? 0 : 1;
    return audio_from_db(target + FLOOR_DB) / magnitude;
}

static double share(double part, double rest)
{
    double sum = part * part + rest * rest;
    return sum > 0 ? part * part / sum : 0;
}

static double clamp(double value)
{
    return fmin(fmax(value, 0), 1);
}

void spectral_gains(const struct spectral *spectral, const float *cells, const float *spectrum,
                    const float *const convolved[SPECTRAL_PICTURES], float *gains)
{
    const struct spectral_settings *settings = &spectral->settings;
    bool is_db = settings->scale == SPECTRAL_DB;
    for (size_t b = 0; b < spectral->bins; b++) {
        double cell = (double)cells[b], to = (double)convolved[0][b], gain = 0;
        switch (settings->mode) {
        case SPECTRAL_MAGNITUDE:
            if (is_db)
                gain = replace_db(spectral, cell, spectrum + 2 * b, to);
            else if (cell > 0)
                gain = fmax(to, 0) / cell;
            break;
        case SPECTRAL_GAIN:
            gain = clamp(is_db ? to / -FLOOR_DB : to);
            break;
        case SPECTRAL_HARMONIC:
            gain = share(to, (double)convolved[1][b]);
            break;
        case SPECTRAL_PERCUSSIVE:
            gain = share((double)convolved[1][b], to);
            break;
        }
        gains[b] = (float)fmin(gain, GAIN_MOST);
    }
}
