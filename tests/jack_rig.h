/* A private JACK server without sound card, and two clients that feed a signal and record the
 * result, sample by sample.
 *
 * The server's name contains the process id and is set in the environment, for this process and
 * its children; ALSA has no card meanwhile (alsa_rig.h). The server runs in synchronous mode: on
 * a slow machine time waits and no sample is lost. However the test ends, a shell process ends
 * the server and clears its shared memory. Errors fail the test.
 */
#ifndef HALO_TESTS_JACK_RIG_H
#define HALO_TESTS_JACK_RIG_H

#include "signal/audio.h"

#include <stdint.h>

/* False, with a message, where jackd is not installed. */
bool jack_rig_is_there(void);

/* Starts the server and waits until it answers. One server at a time. */
void jack_rig_start(uint32_t rate, size_t period);
/* Ends the server by SIGTERM, or by SIGKILL as in a crash. Does nothing if none runs. */
void jack_rig_end(int signal);

/* Sends SIGSTOP or SIGCONT to the server; the caller continues it afterwards. */
void jack_rig_signal(int signal);

/* Connects ports, from and to, once all are there. */
void jack_rig_connect(const char *const (*wires)[2], size_t count);

/* Opens the clients: "feed" with an output port per channel and "rec" with an input port per
 * channel, named 1, 2, .... PortAudio sees them as one capture and one playback device; a third
 * client would make a feedback loop, which costs a period. */
struct jack_wire;

/* `feed` must stay valid. Silence is sent until jack_wire_run. */
struct jack_wire *jack_wire_open(const struct block *feed, size_t record_channels,
                                 size_t record_frames);
void jack_wire_close(struct jack_wire *wire);

/* Waits until all ports of both clients are connected, then feeds and records; returns when
 * everything is recorded. Frame i is recorded in the cycle, and at the offset, where frame i of
 * `feed` was sent: a chain without delay returns it at the same index. */
void jack_wire_run(struct jack_wire *wire);

/* Cycles in which the clients were not called; 0 if time never jumped. */
size_t jack_wire_gaps(const struct jack_wire *wire);
const struct block *jack_wire_recorded(const struct jack_wire *wire);

#endif
