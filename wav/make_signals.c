/*
 * make_signals -- writes the test signals of this folder: sweep.wav,
 * click.wav and pink-noise.wav.
 *
 *     make_signals FOLDER
 *
 * They are computed in double and rounded once, so that the same files come
 * out byte for byte on every run.
 *
 * Sources of the algorithms:
 *   A. Farina, "Simultaneous measurement of impulse response and distortion
 *     with a swept-sine technique", 2000: the logarithmic sweep.
 *   G. Corsini and R. Saletti, "A 1/f^gamma power spectrum noise sequence
 *     generator", 1988: alternate poles and zeros make noise pink.
 *   G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
 *     generators", 2014: splitmix64, the source of the noise.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <sndfile.h>

#define RATE 48000
#define PI 3.14159265358979323846
#define PEAK 0.5 /* -6 dBFS, which leaves headroom for a mask's gain */

/* Channels are kept one after the other; they are interleaved when written. */
struct signal {
    int channels;
    int frames;
    double *sample;
};

struct row {
    const char *file;
    int bits; /* 16 or 24 */
    int channels;
    int frames;
    void (*make)(struct signal *signal);
};

static void fade(double *sample, int frames, int in, int out)
{
    for (int n = 0; n < in; n++)
        sample[n] *= 0.5 - 0.5 * cos(PI * n / in);
    for (int n = 0; n < out; n++)
        sample[frames - 1 - n] *= 0.5 - 0.5 * cos(PI * n / out);
}

/* 20 Hz to 20 kHz, the same time for each octave. A tone this slow excites
 * every resonance of a room, so it is 6 dB quieter. */
static void make_sweep(struct signal *signal)
{
    double peak = PEAK / 2.0;
    double low = 20.0;
    double high = 20000.0;
    double seconds = (double)signal->frames / RATE;
    double slow = seconds / log(high / low);

    for (int n = 0; n < signal->frames; n++) {
        double t = (double)n / RATE;

        signal->sample[n] = peak * sin(2.0 * PI * low * slow * (exp(t / slow) - 1.0));
    }
    fade(signal->sample, signal->frames, RATE / 20, RATE / 100);
}

/* One frame: rendering it outputs the mask itself, 100 ms later. */
static void make_click(struct signal *signal)
{
    signal->sample[RATE / 10] = PEAK;
}

static double white(uint64_t stream, uint64_t n)
{
    uint64_t z = (stream << 40) + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z = z ^ (z >> 31);
    /* The sum of three uniform numbers is close enough to a normal one. */
    return (double)((z & 0x1fffff) + ((z >> 21) & 0x1fffff) + ((z >> 42) & 0x1fffff)) / 1048576.0 -
           3.0;
}

/* (s + zero) / (s + pole) by the bilinear transform, corners in Hz. */
static void run_section(double *sample, int frames, double pole, double zero)
{
    double p = tan(PI * pole / RATE);
    double z = tan(PI * zero / RATE);
    double before = 0.0;
    double y = 0.0;

    for (int n = 0; n < frames; n++) {
        double x = sample[n];

        y = ((1.0 + z) * x - (1.0 - z) * before + (1.0 - p) * y) / (1.0 + p);
        before = x;
        sample[n] = y;
    }
}

/* Poles a factor of 3 apart, a zero halfway between two of them: a staircase
 * that follows -3 dB an octave within a few tenths of a decibel. */
static void colour_pink(double *sample, int frames)
{
    for (double pole = 8.0; pole < 20000.0; pole *= 3.0)
        run_section(sample, frames, pole, pole * sqrt(3.0));
    /* Nothing below 20 Hz: inaudible, but it would cost headroom. */
    run_section(sample, frames, 20.0, 0.0);
    run_section(sample, frames, 20.0, 0.0);
}

static void make_pink_noise(struct signal *signal)
{
    int settle = RATE / 2; /* until the slowest filter has settled */
    int frames = signal->frames;
    double *noise = calloc((size_t)(settle + frames), sizeof *noise);
    double most = 0.0;

    if (noise == NULL) {
        fprintf(stderr, "make_signals: out of memory\n");
        exit(1);
    }
    for (int channel = 0; channel < signal->channels; channel++) {
        double *sample = signal->sample + (ptrdiff_t)channel * frames;

        for (int n = 0; n < settle + frames; n++)
            noise[n] = white((uint64_t)channel + 1, (uint64_t)n);
        colour_pink(noise, settle + frames);
        for (int n = 0; n < frames; n++)
            sample[n] = noise[settle + n];
        fade(sample, frames, RATE / 100, RATE / 100);
        for (int n = 0; n < frames; n++)
            most = fmax(most, fabs(sample[n]));
    }
    for (int n = 0; n < signal->channels * frames; n++)
        signal->sample[n] *= PEAK / most;
    free(noise);
}

static const struct row rows[] = {
    {"sweep.wav", 24, 1, 5 * RATE, make_sweep},
    {"click.wav", 16, 1, RATE, make_click},
    {"pink-noise.wav", 16, 2, 4 * RATE, make_pink_noise},
};

static bool cannot_write(const char *path, const char *reason)
{
    fprintf(stderr, "make_signals: cannot write %s: %s\n", path, reason);
    return false;
}

/* libsndfile takes the upper bits of an int. */
static bool write_frames(SNDFILE *file, const struct row *row, const struct signal *signal)
{
    double full = row->bits == 24 ? 8388608.0 : 32768.0;
    int shift = row->bits == 24 ? 256 : 65536;

    for (int n = 0; n < signal->frames; n++) {
        int frame[2] = {0};

        for (int channel = 0; channel < signal->channels; channel++) {
            ptrdiff_t at = (ptrdiff_t)channel * signal->frames + n;

            frame[channel] = (int)lrint(signal->sample[at] * full) * shift;
        }
        if (sf_writef_int(file, frame, 1) != 1)
            return false;
    }
    return true;
}

static bool write_wav(const struct row *row, const struct signal *signal, const char *path)
{
    SF_INFO info = {.samplerate = RATE, .channels = signal->channels};
    SNDFILE *file;
    bool good;
    int code;

    info.format = SF_FORMAT_WAV | (row->bits == 24 ? SF_FORMAT_PCM_24 : SF_FORMAT_PCM_16);
    file = sf_open(path, SFM_WRITE, &info);
    if (file == NULL)
        return cannot_write(path, sf_strerror(NULL));
    good = write_frames(file, row, signal);
    if (!good)
        cannot_write(path, sf_strerror(file));
    code = sf_close(file);
    if (code != 0 && good)
        good = cannot_write(path, sf_error_number(code));
    return good;
}

static bool make_row(const struct row *row, const char *folder)
{
    struct signal signal = {row->channels, row->frames, NULL};
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, row->file);
    bool good;

    if (length < 0 || (size_t)length >= sizeof path)
        return cannot_write(row->file, "the name of the folder is too long");
    signal.sample = calloc((size_t)(row->channels * row->frames), sizeof *signal.sample);
    if (signal.sample == NULL)
        return cannot_write(path, "out of memory");
    row->make(&signal);
    good = write_wav(row, &signal, path);
    free(signal.sample);
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_signals FOLDER\n");
        return 2;
    }
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++)
        if (!make_row(&rows[k], argv[1]))
            return 1;
    return 0;
}
