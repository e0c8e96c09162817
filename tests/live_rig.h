/* Runs halo live in a test: types its keys and compares its recording with the expected sound.
 * It uses the device null, faster than real time.
 *
 * Files are in command_folder(). Errors fail the test.
 */
#ifndef HALO_TESTS_LIVE_RIG_H
#define HALO_TESTS_LIVE_RIG_H

#include "command.h"
#include "live/device/device.h"
#include "signal/audio.h"
#include "sound.h"

#include <stdatomic.h>

enum { LIVE_RIG_RATE = 48000, LIVE_RIG_PACE = 4 /* times real time */ };

/* Options for the device null with in.wav as its input; at LIVE_RIG_PACE, or as fast as
 * possible. */
#define LIVE_RIG_DEVICE "--device null:in=in.wav,pace=4 "
#define LIVE_RIG_FAST "--device null:in=in.wav,out=out.wav,pace=0 "

/* Noise of amplitude `peak` in every channel from frame `silence` on. */
struct block live_rig_noise(size_t channels, size_t silence, size_t frames, float peak);

void live_rig_save(const struct block *block, const char *name); /* as a WAV file */

/* A square wave of half of full scale on two channels: peak and RMS are -6.0 dBFS. */
void live_rig_save_square(size_t frames, const char *name);

/* Start halo live in line mode (or with --json) with these arguments (printf format); returns
 * when it runs. One at a time. The feedback detector is off. */
pid_t live_rig_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The port it printed for --osc 0. */
unsigned live_rig_osc_port(void);

/* Type these keys. */
void live_rig_keys(const char *keys);

/* Start `halo COMMAND ARGUMENTS`, such as listen, with the same keys; returns at once. */
pid_t live_rig_launch(const char *command, const char *arguments);

/* Wait until `expected` appear on standard output or standard error. */
void live_rig_wait(const char *expected);

/* The same, for what is printed after the last keys were typed. */
void live_rig_wait_answer(const char *expected);

/* Wait until it ends, by itself or by a key sent before. */
struct command_result live_rig_end(pid_t process);
/* What it printed on standard error, without the line of a machine that grants no real-time
 * priority. */
const char *live_rig_errors(const struct command_result *result);
/* live_rig_end after the key q, with success. */
void live_rig_end_well(pid_t process);

void live_rig_rest(int milliseconds);

/* Wait until rec.wav, which is being recorded, holds that much more than what sounded at the call. */
void live_rig_record(int milliseconds);

/* The same; where there is no rec.wav, a rest of as much stream time at LIVE_RIG_PACE. */
void live_rig_play(int milliseconds);

/* `output` equals `truth` from frame `first` on, to -120 dB of the truth's peak. */
void live_rig_expect(const struct block *output, const struct block *truth, size_t first,
                     size_t frames);

/* Frames of a recording before the fade-out at its end. A busy machine adds silence behind that. */
size_t live_rig_frames_before_end(const struct block *recording);

/* `halo render DRY OUT --replay LOG` reproduces the recording; uses rec.wav, dry.wav,
 * rec.wav.log. */
void live_rig_expect_replay(void);

/* A device step that halves the sound. Set `channels`; the rest is for the test to read. */
struct halver {
    size_t channels;
    atomic_size_t calls;
    atomic_size_t frames;
    atomic_size_t lost_at; /* frame of the latest loss */
    atomic_size_t times_lost;
};
void halver_step(void *halver, const float *const *in, float *const *out, size_t frames, bool lost);

/* Run it on a device until that many frames have passed or the device is lost; then stop. */
void halver_run(struct halver *halver, struct device *device, size_t frames);

#endif
