/* A private PipeWire with WirePlumber, without sound cards, and two clients that feed a signal and
 * record the result, sample by sample.
 *
 * The server has the sinks "speakers" (the default) and "phones" and the sources "mic" (the
 * default) and "line", each stereo; what goes into the ports mic:input_FL and so on comes out of
 * the source. Programs find it through XDG_RUNTIME_DIR, which is set for this process and its
 * children. However the test ends, a shell ends the server. Errors fail the test.
 */
#ifndef HALO_TESTS_PIPEWIRE_RIG_H
#define HALO_TESTS_PIPEWIRE_RIG_H

#include "signal/audio.h"

/* Starts the server and waits until the session manager has named the defaults. One at a time. */
void pipewire_rig_start(void);
/* Ends the server by SIGTERM, or by SIGKILL as in a crash. Does nothing if none runs. */
void pipewire_rig_end(int signal);

/* The exit code of a shell command (printf format), whose output is discarded: what command_run
 * does would replace that of a halo that runs meanwhile. */
int pipewire_rig_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Waits until the command succeeds. */
void pipewire_rig_wait(const char *command);

/* A quantum that a server without real-time priority keeps up with on a busy machine: each cycle
 * passes through six processes, which may have to wait for a processor each time. */
enum { PIPEWIRE_RIG_UNHURRIED = 8192 };

/* A setting of the server's clock, such as "quantum"; 0: none. */
void pipewire_rig_force(const char *what, unsigned value);
/* Configure a default device, as a user does; what: "sink" or "source". */
void pipewire_rig_default(const char *what, const char *node);
/* The session manager ends and begins again. */
void pipewire_rig_restart_manager(void);
/* It stands still, or goes on. */
void pipewire_rig_pause_manager(bool pauses);
/* A new sink, of that priority among the defaults. */
void pipewire_rig_plug(const char *name, int priority);

/* Ports by their names, such as "halo:output_FL". */
void pipewire_rig_wait_link(const char *from, const char *to);
bool pipewire_rig_is_linked(const char *from, const char *to);

/* The clients: "feed" and "rec" with ports FL and FR; link them with pw-link. Silence is sent until
 * pipewire_wire_run. `feed` must stay valid. */
struct pipewire_wire;
struct pipewire_wire *pipewire_wire_open(const struct block *feed, size_t record_frames);
void pipewire_wire_close(struct pipewire_wire *wire);

/* Feeds and records; returns when everything is recorded. Frame i is recorded in the cycle, and at
 * the offset, where frame i of `feed` was sent. */
void pipewire_wire_run(struct pipewire_wire *wire);

/* Cycles in which the clients were not called; 0 if time never jumped. */
size_t pipewire_wire_gaps(const struct pipewire_wire *wire);
const struct block *pipewire_wire_recorded(const struct pipewire_wire *wire);

#endif
