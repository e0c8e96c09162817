/* halo live as a test starts it: its keys typed by the test, and what it recorded compared with
 * what it should be. It runs on the device null, faster than real time.
 *
 * Files are in command_folder(). What cannot be done fails the test.
 */
#ifndef HALO_TESTS_LIVE_RIG_H
#define HALO_TESTS_LIVE_RIG_H

#include "command.h"
#include "signal/audio.h"
#include "sound.h"

enum { LIVE_RIG_RATE = 48000, LIVE_RIG_PACE = 4 /* times real time */ };

/* Options: the device null, which records in.wav; at that pace, or as fast as it can. */
#define LIVE_RIG_DEVICE "--device null:in=in.wav,pace=4 "
#define LIVE_RIG_FAST "--device null:in=in.wav,out=out.wav,pace=0 "

/* Noise of `peak` in every channel from `silence` frames on. */
struct block live_rig_noise(size_t channels, size_t silence, size_t frames, float peak);

void live_rig_save(const struct block *block, const char *name); /* as a WAV file */

/* Start halo live in lines (or with --json) with these words (printf format); back when it runs.
 * One at a time. The feedback detector is off. */
pid_t live_rig_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Type at it. */
void live_rig_keys(const char *keys);

/* Wait until it has printed `words` on standard output or standard error. */
void live_rig_wait(const char *spec);

/* It ends by itself, or was told to. */
struct command_result live_rig_end(pid_t process);

void live_rig_rest(int milliseconds);
void live_rig_play(int milliseconds); /* the same of the stream, at LIVE_RIG_PACE */

/* `heard`, from `first` on, is `truth` to -120 dB of the truth's peak. */
void live_rig_expect(const struct block *heard, const struct block *truth, size_t first,
                     size_t frames);

/* `halo render DRY OUT --replay LOG` makes the recording again; rec.wav, dry.wav, rec.wav.log. */
void live_rig_expect_replay(void);

#endif
