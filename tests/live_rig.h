/* Runs halo live in a test: types its keys and compares its recording with the expected sound.
 * It uses the device null, faster than real time.
 *
 * Files are in command_folder(). Errors fail the test.
 */
#ifndef HALO_TESTS_LIVE_RIG_H
#define HALO_TESTS_LIVE_RIG_H

#include "command.h"
#include "signal/audio.h"
#include "sound.h"

enum { LIVE_RIG_RATE = 48000, LIVE_RIG_PACE = 4 /* times real time */ };

/* Options for the device null with in.wav as its input; at LIVE_RIG_PACE, or as fast as
 * possible. */
#define LIVE_RIG_DEVICE "--device null:in=in.wav,pace=4 "
#define LIVE_RIG_FAST "--device null:in=in.wav,out=out.wav,pace=0 "

/* Noise of amplitude `peak` in every channel from frame `silence` on. */
struct block live_rig_noise(size_t channels, size_t silence, size_t frames, float peak);

void live_rig_save(const struct block *block, const char *name); /* as a WAV file */

/* Start halo live in line mode (or with --json) with these arguments (printf format); returns
 * when it runs. One at a time. The feedback detector is off. */
pid_t live_rig_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Type these keys. */
void live_rig_keys(const char *keys);

/* Wait until `words` appear on standard output or standard error. */
void live_rig_wait(const char *spec);

/* Wait until it ends, by itself or by a key sent before. */
struct command_result live_rig_end(pid_t process);

void live_rig_rest(int milliseconds);
void live_rig_play(int milliseconds); /* the same for stream time, at LIVE_RIG_PACE */

/* `output` equals `truth` from frame `first` on, to -120 dB of the truth's peak. */
void live_rig_expect(const struct block *output, const struct block *truth, size_t first,
                     size_t frames);

/* `halo render DRY OUT --replay LOG` reproduces the recording; uses rec.wav, dry.wav,
 * rec.wav.log. */
void live_rig_expect_replay(void);

#endif
