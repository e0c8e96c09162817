/* A JACK server with no sound card, all of a test's own, and two clients of it that feed
 * a signal and record what comes back, sample by sample.
 *
 * The server is named after the process and in the environment, for this process and for
 * what it starts; ALSA has no card meanwhile (alsa_rig.h). It runs in synchronous mode:
 * where the machine is late, time waits and no sample is lost. However the test ends, a
 * shell beside it ends the server and clears away what it had in shared memory.
 * What cannot be done fails the test.
 */
#ifndef HALO_TESTS_JACK_RIG_H
#define HALO_TESTS_JACK_RIG_H

#include "signal/audio.h"

#include <stdint.h>

/* False where jackd is not installed; says so. */
bool jack_rig_is_there(void);

/* One server at a time; back when it answers. */
void jack_rig_start(uint32_t rate, size_t period);
/* SIGTERM, or SIGKILL: as a server that crashes. Nothing where none runs. */
void jack_rig_end(int signal);

/* To the server, which the caller lets go on afterwards: SIGSTOP, SIGCONT. */
void jack_rig_signal(int signal);

/* The clients: "feed" with an output port a channel and "rec" with an input port a
 * channel, named 1, 2, .... PortAudio sees both as devices, one to record from and one to
 * play to; more than two clients make a feedback, which would cost a period. */
struct jack_wire;

/* `feed` must stay. Silence goes out until jack_wire_run. */
struct jack_wire *jack_wire_open(const struct block *feed, size_t record_channels,
                                 size_t record_frames);
void jack_wire_close(struct jack_wire *wire);

/* Wait until something is connected with every port of both, then feed and record;
 * back when all is recorded. Frame i is recorded in the cycle, and at the place in it,
 * where frame i of `feed` went out: what adds no delay comes back at the same index. */
void jack_wire_run(struct jack_wire *wire);

/* Cycles that the clients were not called for; 0 if time never jumped. */
size_t jack_wire_gaps(const struct jack_wire *wire);
const struct block *jack_wire_recorded(const struct jack_wire *wire);

#endif
