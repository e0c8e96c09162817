/* A filter that convolves the spectrogram of a sound with a 2-D mask, or separates it by medians.
 *
 * Short-time Fourier transform: frames of `size` samples, `hop` apart, windowed before the forward
 * and after the inverse transform, with overlap-add. J. B. Allen and L. R. Rabiner, "A unified
 * approach to short-time Fourier analysis and synthesis", 1977; D. W. Griffin and J. S. Lim,
 * "Signal estimation from modified short-time Fourier transform", 1984. The sum over k of w[n - k
 * hop]^2 must not depend on n; then an unmodified sound is reproduced. Windows are periodic.
 *
 * Row r of the picture is the frame whose last sample is (r + 1) hop - 1. So the first frame is
 * silence from before the sound, except for its last hop. Columns are bins 0 to size/2.
 *
 *   scale=linear    a cell is a magnitude; a sine at full scale has 1
 *   scale=db        a cell is in decibels above a floor of -120 dB of full scale; cells below
 *                   the floor are 0
 *   mode=magnitude  the convolved magnitude replaces the old one. Negative results become 0,
 *                   or the floor. Silence has no phase and stays silence. A cell below the floor
 *                   that is not raised above it keeps its value
 *   mode=gain       the convolved cell is clamped to 0..1 and multiplies the old magnitude. In
 *                   decibels, 1 is 120 dB above the floor
 *   edge            extension in frequency as in convolve2d.h. In time it is the same if the
 *                   sound's begin and end are known, else silence
 *
 * With mode SPECTRAL_SEPARATE the gain is the share of a part, as mask2d.h's struct separation
 * says.
 *
 * The output does not depend on the block length, except for float rounding. For the latency see
 * spectral_create. The tail is a frame less one sample. Live, only the caller's thread works.
 * Threads: one. filter_process is real-time.
 */
#ifndef HALO_SPECTRAL_H
#define HALO_SPECTRAL_H

#include "base/status.h"
#include "base/workers.h"
#include "convolve/convolve2d.h"
#include "design/mask2d.h"
#include "sound/filter.h"

enum { SPECTRAL_SIZE_LEAST = 16, SPECTRAL_SIZE_MOST = 1 << 16 };

enum spectral_shape {
    SPECTRAL_HANN,
    SPECTRAL_HAMMING,
    SPECTRAL_BLACKMAN,
    SPECTRAL_SINE,
    SPECTRAL_RECTANGLE,
    SPECTRAL_SHAPES
};

/* NULL-terminated. */
extern const char *const spectral_shape_names[SPECTRAL_SHAPES + 1];

struct spectral_window_settings {
    enum spectral_shape shape;
    size_t size; /* samples, even */
    size_t hop;
};

enum spectral_scale { SPECTRAL_LINEAR, SPECTRAL_DB };
enum spectral_mode { SPECTRAL_MAGNITUDE, SPECTRAL_GAIN, SPECTRAL_SEPARATE };

struct spectral_settings {
    size_t channels;
    size_t block; /* frames */
    struct spectral_window_settings window;
    enum spectral_scale scale;
    enum spectral_mode mode; /* SPECTRAL_SEPARATE needs a linear scale */
    enum convolve2d_boundary boundary;
    const struct mask2d *mask; /* the convolution does not keep it; NULL with SPECTRAL_SEPARATE */
    struct separation separation;
    uint64_t frames;     /* frames of the sound, which "auto" asks for; 0: unknown */
    uint64_t begin;      /* input frames before the sound */
    uint64_t end;        /* the first input frame after the sound; 0: unknown */
    const char *backend; /* see convolve2d.h */
    bool live;
    struct workers *workers; /* not owned; unused if live */
};

/* Checks that the window reconstructs the sound. *sum: the mean of the sum of squared windows.
 * Errors: memory; size or hop out of range; no perfect reconstruction (the message lists hops). */
MUST_CHECK enum status spectral_window_check(const struct spectral_window_settings *settings,
                                             double *sum);

/* The latency is size - gcd(hop, block) + hop floor(rows/2) frames. Errors: memory; a window
 * without perfect reconstruction; live, a size whose transforms allocate memory; errors of the
 * backend. */
MUST_CHECK enum status spectral_create(const struct spectral_settings *settings,
                                       struct filter **filter);

/* The active backend's name. Medians are always computed on the CPU. */
const char *spectral_backend(const struct filter *filter);

#endif
