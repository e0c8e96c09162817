/* Resampling with a ratio that may change at every frame, such as between two clocks.
 *
 * It is a windowed sinc in double precision. A table has the taps for some phases; between these,
 * taps are interpolated by a cubic (J. O. Smith, "Digital Audio Resampling", with a higher order).
 * The pass band ends at 20 kHz of 44.1 (0.4535 of the slower rate). Images are below -120 dB.
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

/* `step`: input frames per output frame. Later steps may be at most 2 % larger. Errors: memory. */
MUST_CHECK enum status variable_resampler_create(size_t channels, double step,
                                                 struct variable_resampler **resampler);
void variable_resampler_destroy(struct variable_resampler *resampler);

/* Input frames that an output frame needs, from the frame at its position on. */
size_t variable_resampler_reach(const struct variable_resampler *resampler);

/* Input frames that are written after the position of the next output frame. */
double variable_resampler_ahead(const struct variable_resampler *resampler);

/* Forgets all input. The next output frame is `fraction` (0..1) of a frame after the next input. */
void variable_resampler_reset(struct variable_resampler *resampler, double fraction);

/* Input frames to write before `frames` frames can be read. Every frame, the step grows by
 * `growth`. */
size_t variable_resampler_wants(const struct variable_resampler *resampler, size_t frames,
                                double step, double growth);

/* Writes interleaved frames, at most as many as variable_resampler_wants says. */
void variable_resampler_write(struct variable_resampler *resampler, const float *frames,
                              size_t count);

/* Reads `frames` frames, at most VARIABLE_RESAMPLER_FRAMES, into out[c][at] and after it. */
void variable_resampler_read(struct variable_resampler *resampler, float *const *out, size_t at,
                             size_t frames, double step, double growth);

#endif
