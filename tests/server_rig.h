/* A server of a test's own, which a shell keeps: its standard input is a pipe from the test, and
 * when that closes, however the test ends, it ends the server. Errors fail the test. */
#ifndef HALO_TESTS_SERVER_RIG_H
#define HALO_TESTS_SERVER_RIG_H

#include <stdint.h>
#include <sys/types.h>

/* All zero: none runs. */
struct server_rig {
    pid_t keeper; /* 0: not running */
    pid_t server;
    int life; /* write end of the pipe */
};

/* Runs the keeper, a command and its arguments up to NULL, in a process group of its own. It writes
 * the number of the server to descriptor 4. */
void server_rig_start(struct server_rig *rig, const char *const *keeper);

/* Sends the server this signal and waits until the keeper has ended. Does nothing if none runs. */
void server_rig_end(struct server_rig *rig, int signal);

/* Waits for what a server does: pauses briefly, each time, until a time that is as far away as a
 * busy machine needs. Then the test fails with what is `missing`. */
int64_t server_rig_deadline(void);
void server_rig_wait(int64_t deadline, const char *missing);
void server_rig_pause(void);

#endif
