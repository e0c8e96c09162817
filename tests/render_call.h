/* Renders in the process of the test, without a shell and a start of halo. The working folder is
 * command_folder(). */
#ifndef HALO_TESTS_RENDER_CALL_H
#define HALO_TESTS_RENDER_CALL_H

#include "command.h"

/* Renders the file `in` to `out`, which is replaced and not synced. `options`: long options of halo
 * render, separated by blanks, without quotes. The result's code is the status. Its `err` holds all
 * messages until the next call of the same function. */
struct command_result render_call(const char *in, const char *out, const char *options);

/* As render_call, with a printf format. The test fails unless the status is 0. */
struct command_result render_done(const char *in, const char *out, const char *options, ...)
    __attribute__((format(printf, 3, 4)));

/* As render_call. Standard input is a pipe that holds the file `in`, of less than 64 KiB. */
struct command_result render_call_pipe(const char *in, const char *out, const char *options);

#endif
