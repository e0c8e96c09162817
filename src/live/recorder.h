/* Writes what a real-time step hands over to a sound file, on a thread of its own.
 *
 * The step puts frames into a ring; the thread writes them as 32-bit float under the file's own
 * name and renews its header twice a second, so that after a crash at any moment the file is
 * readable and lacks a second at most. A WAV that outgrows 4 GB becomes an RF64.
 * Frames for which the ring has no room are lost and counted; the thread writes silence in
 * their place, so that all that follows stays at its time. Where writing fails (a full disk) the
 * recording ends with what is written, and the sound goes on.
 * Threads: the step calls recorder_write; one control thread calls everything else.
 */
#ifndef HALO_RECORDER_H
#define HALO_RECORDER_H

#include "base/status.h"
#include "signal/audio.h"

#include <stdint.h>

struct recorder;

struct recording {
    uint64_t frames; /* in the file */
    uint64_t lost;   /* of these, silence where the ring was full */
};

/* `path` ends in .wav, .w64 or .caf; the ring holds `seconds`. Errors: another ending (usage), a
 * file that exists (without `force`), what is no regular file, the folder, permissions, memory,
 * threads. */
MUST_CHECK enum status recorder_open(const char *path, bool force,
                                     const struct stream_format *format, double seconds,
                                     struct recorder **recorder);

/* Real-time. */
void recorder_write(struct recorder *recorder, const float *const *planar, size_t frames);

/* Wait until all that was handed over lies on the disk and the header says so; *frames is how
 * much the file holds. After a failure: the same, at once. */
void recorder_flush(struct recorder *recorder, uint64_t *frames);

/* Why the recording ended by itself: on the first call after that, then and until that NULL. */
const char *recorder_failure(struct recorder *recorder);

/* The step calls no more. Finishes the file and frees all; NULL is let be. Errors: those of
 * writing; what recorder_failure has told is not told again. */
MUST_CHECK enum status recorder_close(struct recorder *recorder, struct recording *recording);

#endif
