/* Resampling with a ratio that may change at every frame, such as between two clocks.
 *
 * A windowed sinc in double precision: phases in a table, and between them cubic interpolation of
 * the taps (J. O. Smith, "Digital Audio Resampling", with a higher order). Its pass band ends at 20
 * kHz of 44.1 (0.4535 of the slower rate); what it leaves of images is below -120 dB.
 *
 * The caller writes input frames and reads output frames. Threads: one. Real-time, except create
 * and destroy.
 */
#ifndef HALO_VARIABLE_RESAMPLER_H
#define HALO_VARIABLE_RESAMPLER_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { VARIABLE_RESAMPLER_FRAMES = 64 /* of output, at most per read */ };

struct variable_resampler;

/* `step`: input frames per output frame, which later steps exceed by 2 % at most. Errors: memory.
 */
MUST_CHECK enum status variable_resampler_create(size_t channels, double step,
                                                 struct variable_resampler **resampler);
void variable_resampler_destroy(struct variable_resampler *resampler);

/* Input frames after a position, its own included, that its output frame needs. */
size_t variable_resampler_reach(const struct variable_resampler *resampler);

/* Input frames written beyond the position of the next output frame. */
double variable_resampler_ahead(const struct variable_resampler *resampler);

/* Forget all input: the next output frame is `fraction` (0..1) after the next frame written. */
void variable_resampler_reset(struct variable_resampler *resampler, double fraction);

/* Input frames to write before `frames` frames can be read, whose steps grow by `growth` each. */
size_t variable_resampler_wants(const struct variable_resampler *resampler, size_t frames,
                                double step, double growth);

/* Interleaved, and at most as many as it wants. */
void variable_resampler_write(struct variable_resampler *resampler, const float *frames,
                              size_t count);

/* out[c][at...] gets `frames` frames, VARIABLE_RESAMPLER_FRAMES at most. */
void variable_resampler_read(struct variable_resampler *resampler, float *const *out, size_t at,
                             size_t frames, double step, double growth);

#endif
