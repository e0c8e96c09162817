/* From recordings of a known sound, such as a sweep, to an impulse response: H = Y / X.
 *
 * Inside a sweep's band, the division is exact. Elsewhere, and for all other sounds, frequencies
 * are weighted by their share of signal, found in narrow bands. The noise is found at those times
 * of the circular response that hold neither the response nor its harmonics.
 *
 * Units: frames, of the recording's rate. Threads: one. Not real-time. */
#ifndef HALO_DECONVOLVE_H
#define HALO_DECONVOLVE_H

#include "sweep/measurement.h"
#include "sweep/sweep.h"

struct deconvolver;

/* For recordings of at most `frames` of the sound `played`. The sweep tells the band, and where
 * harmonics are; NULL: unknown. Errors: memory; silence. */
MUST_CHECK enum status deconvolver_create(const double *played, size_t played_frames, size_t frames,
                                          uint32_t rate, const struct sweep *sweep,
                                          struct deconvolver **deconvolver);
void deconvolver_destroy(struct deconvolver *deconvolver);

/* Forgets the recordings so far. */
void deconvolver_begin(struct deconvolver *deconvolver);

/* Adds a recording. `delay`: frames by which it is later than the others, which are taken out. */
void deconvolver_add(struct deconvolver *deconvolver, const double *recorded, size_t frames,
                     double delay);

/* The response, of which `count` frames from frame `first` on hold the sound (`first` may be
 * negative). Writes the mean of all recordings to `taps`, which has room for `count`. The first
 * 0.7 ms fade in, so the direct sound comes later. `path`, or NULL: gets levels, SNR and
 * distortion, but no delay. Errors: memory. */
MUST_CHECK enum status deconvolver_finish(struct deconvolver *deconvolver, ptrdiff_t first,
                                          size_t count, double *taps, struct measured_path *path);

/* The frame of the direct sound in the whole circular response (negative: before time zero), and of
 * its peak between frames as a fraction. Call before deconvolver_finish. */
ptrdiff_t deconvolver_direct(struct deconvolver *deconvolver, double *peak);

/* The frame where a direct sound begins that peaks at frame `direct`: the first within 20 ms before
 * it that is above -36 dB of the peak, smoothed over a fifth of a millisecond, and above what comes
 * before. Keep 0.7 ms more, which are faded in. */
ptrdiff_t deconvolver_onset(struct deconvolver *deconvolver, ptrdiff_t direct);

#endif
