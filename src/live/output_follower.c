#include "live/output_follower.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FORGET 0.8f /* what a window counts after the next one */
#define ENDED 0.33  /* of what was unexplained: a source has ended, and is forgotten at once */
#define MUCH 0.05
#define SILENT 1e-9 /* energy of a window that says nothing */

/* Sums over windows, by frequency. */
struct relation {
    float *product; /* of the input and the conjugated other */
    float *power;   /* of the other */
};

struct output_follower {
    size_t window, bins;
    struct fft *fft;
    float *hann, *windowed, *input, *other; /* windows; spectra */
    struct relation played, unlimited;
    double last;   /* share that was unexplained by what was played */
    double energy; /* sum over windows of the input; each counts 1 */
};

void output_follower_destroy(struct output_follower *follower)
{
    if (!follower)
        return;
    free(follower->hann);
    free(follower->windowed);
    free(follower->input);
    free(follower->other);
    free(follower->played.product);
    free(follower->played.power);
    free(follower->unlimited.product);
    free(follower->unlimited.power);
    fft_destroy(follower->fft);
    free(follower);
}

static bool alloc_relation(struct relation *relation, size_t window)
{
    return (relation->product = audio_alloc(fft_spectrum_floats(window))) &&
           (relation->power = audio_alloc(window / 2 + 1));
}

enum status output_follower_create(size_t window, struct output_follower **result)
{
    struct output_follower *follower = calloc(1, sizeof *follower);
    if (!follower)
        return fail_memory("a feedback guard");
    *follower = (struct output_follower){.window = window, .bins = window / 2 + 1};
    bool done =
        (follower->hann = audio_alloc(window)) && (follower->windowed = audio_alloc(window)) &&
        (follower->input = audio_alloc(fft_spectrum_floats(window))) &&
        (follower->other = audio_alloc(fft_spectrum_floats(window))) &&
        alloc_relation(&follower->played, window) && alloc_relation(&follower->unlimited, window);
    enum status status = done ? STATUS_OK : fail_memory("a feedback guard");
    if (status != STATUS_OK || (status = fft_create(window, &follower->fft))) {
        output_follower_destroy(follower);
        return status;
    }
    for (size_t i = 0; i < window; i++)
        follower->hann[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)window));
    output_follower_reset(follower);
    *result = follower;
    return STATUS_OK;
}

HALO_REALTIME static void clear(struct relation *relation, size_t bins)
{
    memset(relation->product, 0, 2 * bins * sizeof *relation->product);
    memset(relation->power, 0, bins * sizeof *relation->power);
}

HALO_REALTIME void output_follower_reset(struct output_follower *follower)
{
    clear(&follower->played, follower->bins);
    clear(&follower->unlimited, follower->bins);
    follower->energy = 0;
}

HALO_REALTIME static void transform(struct output_follower *follower, const float *samples,
                                    float *spectrum)
{
    audio_multiply(samples, follower->hann, follower->windowed, follower->window);
    fft_forward(follower->fft, follower->windowed, spectrum);
}

/* `weight`: of this window. */
SIMD_CLONES
HALO_REALTIME static void add(float *restrict product, float *restrict power,
                              const float *restrict in, const float *restrict other, float weight,
                              size_t bins)
{
    for (size_t k = 0; k < bins; k++) {
        float re = in[2 * k], im = in[2 * k + 1], ore = other[2 * k], oim = other[2 * k + 1];
        product[2 * k] = product[2 * k] * FORGET + weight * (re * ore + im * oim);
        product[2 * k + 1] = product[2 * k + 1] * FORGET + weight * (im * ore - re * oim);
        power[k] = power[k] * FORGET + weight * (ore * ore + oim * oim);
    }
}

HALO_REALTIME static double unexplained(const struct output_follower *follower,
                                        const struct relation *relation)
{
    double explained = 0;
    for (size_t k = 0; k < follower->bins; k++) {
        double re = (double)relation->product[2 * k], im = (double)relation->product[2 * k + 1];
        if (relation->power[k] > 1e-15f)
            explained += (re * re + im * im) / (double)relation->power[k];
    }
    return 1 - explained / follower->energy;
}

HALO_REALTIME static void relate(struct output_follower *follower, struct relation *relation,
                                 double weight)
{
    add(relation->product, relation->power, follower->input, follower->other, (float)weight,
        follower->bins);
}

/* The share of a window's energy that the windows before it do not predict. */
HALO_REALTIME static double unpredicted(const struct output_follower *follower,
                                        const struct relation *relation, double energy)
{
    double sum = 0;
    for (size_t k = 0; k < follower->bins; k++) {
        const float *other = follower->other + 2 * k, *product = relation->product + 2 * k;
        float scale = relation->power[k] > 1e-15f ? 1 / relation->power[k] : 0;
        double re = (double)(product[0] * other[0] - product[1] * other[1]),
               im = (double)(product[0] * other[1] + product[1] * other[0]);
        re = (double)follower->input[2 * k] - re * (double)scale;
        im = (double)follower->input[2 * k + 1] - im * (double)scale;
        sum += re * re + im * im;
    }
    return sum / energy;
}

HALO_REALTIME struct followed output_follower_write(struct output_follower *follower,
                                                    const float *input, const float *played,
                                                    const float *unlimited)
{
    double energy = 0;
    transform(follower, input, follower->input);
    for (size_t i = 0; i < 2 * follower->bins; i++)
        energy += (double)follower->input[i] * (double)follower->input[i];
    if (!(energy > SILENT)) /* nor with NaN */
        return (struct followed){1, 1, 0};
    transform(follower, played, follower->other);
    if (follower->energy > 0 && follower->last > MUCH &&
        unpredicted(follower, &follower->played, energy) < ENDED * follower->last)
        output_follower_reset(follower);
    relate(follower, &follower->played, 1 / energy);
    transform(follower, unlimited, follower->other);
    relate(follower, &follower->unlimited, 1 / energy);
    follower->energy = follower->energy * (double)FORGET + 1;
    follower->last = unexplained(follower, &follower->played);
    return (struct followed){follower->last, unexplained(follower, &follower->unlimited),
                             follower->energy};
}
