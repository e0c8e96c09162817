/* A filter that convolves the spectrogram of a sound by a mask of two dimensions.
 *
 * Short-time Fourier transform: frames of `size` samples, `hop` apart, under a window, both before
 * the transform and after the transform back; frames that overlap add up. J. B. Allen and
 * L. R. Rabiner, "A unified approach to short-time Fourier analysis and synthesis", 1977;
 * D. W. Griffin and J. S. Lim, "Signal estimation from modified short-time Fourier transform",
 * 1984. The sum of the squared windows, hop by hop, must be constant: then what is not modified
 * comes back. spectral_window.h checks that.
 *
 * Row r of the picture is the frame whose last sample is (r + 1) hop - 1: the first one has what
 * came before the sound, silence, in all but its last hop. Columns are bins 0 to size/2.
 *
 *   scale=linear  a cell is a magnitude, 1 being that of a sine at full scale
 *   scale=db      decibels above a floor of -120 dB of that; what is below the floor is 0
 *   mode=magnitude  the convolved magnitude replaces the old one. What comes out negative is 0, or
 *                 the floor. Where there was silence there is no phase, and silence stays; what
 *                 was below the floor and is not raised above it stays as it is
 *   mode=gain     the convolved cell, in full scales, or in decibels as a share of the floor's 120,
 *                 clamped to 0..1, multiplies the old magnitude
 *   edge          beside the picture in frequency as convolve2d.h has it; in time likewise, where
 *                 the sound's begin and end are known, else there is silence
 *
 * Presets: harmonic keeps what goes on in time, percussive what is spread in frequency. D.
 * FitzGerald, "Harmonic/percussive separation using median filtering", 2010, with means for
 * medians: H is the mean of each bin over time, P that of each frame over frequency; the gain is
 * H^2 / (H^2 + P^2), or P^2 / (H^2 + P^2).
 *
 * The output is the same for any block, to the rounding of a float. Latency: a frame, and a hop for
 * each row that the mask looks ahead, less what is in step with the block (see spectral_create).
 * Tail: a frame less one sample. Live, there is no thread but the step's.
 * Threads: one. filter_process is real-time (spectral_step.c).
 */
#ifndef HALO_SPECTRAL_H
#define HALO_SPECTRAL_H

#include "base/status.h"
#include "base/workers.h"
#include "convolve/convolve2d.h"
#include "convolve/spectral_window.h"
#include "mask/mask2d.h"
#include "sound/filter.h"

enum spectral_scale { SPECTRAL_LINEAR, SPECTRAL_DB };
enum spectral_mode { SPECTRAL_MAGNITUDE, SPECTRAL_GAIN, SPECTRAL_HARMONIC, SPECTRAL_PERCUSSIVE };

struct spectral_settings {
    size_t channels;
    size_t block; /* frames */
    struct spectral_window_settings window;
    enum spectral_scale scale;
    enum spectral_mode mode; /* the presets bring their own masks, and are linear */
    enum convolve2d_boundary boundary;
    const struct mask2d *mask; /* NULL with a preset; only for spectral_create */
    uint64_t frames;           /* of the sound, for auto; 0: not known */
    uint64_t begin;            /* frames that come in before the sound */
    uint64_t end;              /* the first one after it; 0: not known */
    uint32_t rate;             /* Hz: of the presets */
    const char *backend;       /* of convolve2d.h */
    bool live;
    struct workers *workers; /* not owned; of files */
};

/* Latency is size - gcd(hop, block) + hop floor(rows/2) frames.
 * Errors: memory, a window that does not give the sound back, the backend's. */
MUST_CHECK enum status spectral_create(const struct spectral_settings *settings,
                                       struct filter **filter);

/* The backend that convolves. */
const char *spectral_backend(const struct filter *filter);

#endif
