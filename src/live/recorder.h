/* Records the sound of a real-time step to a file, on its own thread.
 *
 * The step writes frames to a ring; the thread writes them as 32-bit float and updates the header
 * twice a second, so that after a crash the file is readable and lacks at most a second. A WAV over
 * 4 GB becomes an RF64. The file states the channel layout.
 * Frames that do not fit in the ring are counted as lost and replaced by silence, so that later
 * frames keep their place. If writing fails (a full disk) the recording ends, not the sound.
 * Threads: the step calls recorder_write; one control thread calls everything else. */
#ifndef HALO_RECORDER_H
#define HALO_RECORDER_H

#include "base/status.h"
#include "signal/audio.h"

#include <stdint.h>

struct recorder;

struct recording {
    uint64_t frames; /* frames in the file */
    uint64_t lost;   /* frames of these that are silence because the ring was full */
};

/* `path` ends in .wav, .w64 or .caf; the ring holds `seconds`. Errors: another extension (usage), a
 * file that exists (without `force`) or is not regular, folder, permissions, memory, threads. */
MUST_CHECK enum status recorder_open(const char *path, bool force,
                                     const struct stream_format *format, double seconds,
                                     struct recorder **recorder);

/* Gives the file its name, and replaces an old file. Without this call the old file stays, and
 * recorder_close leaves no recording. NULL is ignored. Errors: as of atomic_file_keep. */
MUST_CHECK enum status recorder_keep(struct recorder *recorder);

/* Real-time: writes frames to the ring. */
void recorder_write(struct recorder *recorder, const float *const *planar, size_t frames);

/* Waits until all frames so far are on disk, or the recording has failed. *frames: in the file. */
void recorder_flush(struct recorder *recorder, uint64_t *frames);

/* The error that ended the recording. It is returned once; else NULL. */
const char *recorder_failure(struct recorder *recorder);

/* Call it after the last step. Finishes the file and frees all; NULL is ignored. Errors: writing,
 * printed unless recorder_failure has returned them. */
MUST_CHECK enum status recorder_close(struct recorder *recorder, struct recording *recording);

#endif
