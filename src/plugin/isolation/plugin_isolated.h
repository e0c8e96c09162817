/* The interface between halo and the child process of isolated instances: the child's command line,
 * and the shared memory with orders and sound.
 *
 * halo posts orders and the child executes them in sequence. Order n lies in slot n % slots. The
 * slot belongs to the child once `posted` has reached n + 1, and to halo again once `done` has
 * reached n + 1. Order 0 opens the instances.
 *
 *   head | slot 0: order, changes, runs, values, in, out | slot 1 ...
 *
 * A plugin can write anywhere in the shared memory, at any time. halo therefore reads only numbers
 * and text from it, reads each number once and checks it, and keeps places and lengths of its
 * orders in memory of its own. */
#ifndef HALO_PLUGIN_ISOLATED_H
#define HALO_PLUGIN_ISOLATED_H

#include "base/futex.h"
#include "base/status.h"
#include "plugin/isolation/plugin_sandbox.h"
#include "plugin/plugin_instances.h"

#include <limits.h>
#include <stdatomic.h>
#include <sys/types.h>

/* ---- the command line of the process ---- */

/* halo plugin-instances SANDBOX VERBOSITY KIND ID RATE BLOCK LIVE VARIED BPM BAR UNIT
 *      INSTANCES MOST CHANGES PRESET STATE HOLDERS READS HOLDER... READ... [URI VALUE AT]...
 * where SANDBOX is a plugin_sandbox_pass's word, PRESET and STATE are "-" or begin with "=", and
 * HOLDERS and READS are numbers. NULL at the end. Errors: memory. */
MUST_CHECK enum status isolated_args_make(const struct plugin_info *info,
                                          const struct plugin_instances_settings *settings,
                                          const char *sandbox, char ***args);
void isolated_args_free(char **args);

/* Paths named by the user for a plugin, and texts that may be paths; NULL last. Errors: memory. */
MUST_CHECK enum status isolated_named_make(const char *id, const struct plugin_settings *settings,
                                           char ***named);
void isolated_named_free(char **named);

/* ---- the memory ---- */

enum {
    ISOLATED_DESCRIPTOR = 3, /* descriptor of the shared memory in the child */
    ISOLATED_MESSAGES = 4,   /* descriptor for messages of halo's code in the child */
};

enum isolated_what { ISOLATED_OPEN, ISOLATED_PIECE, ISOLATED_RESET, ISOLATED_SAVE, ISOLATED_LEAVE };

struct isolated_head {
    struct futex posted;
    _Alignas(64) struct futex done;
    atomic_ullong frames;     /* frames processed since the opening or the last reset */
    atomic_ullong tail;       /* tail in frames; valid after the opening */
    atomic_bool has_priority; /* the child has a real-time priority; valid after the opening */
    int status;               /* status of the last order other than ISOLATED_PIECE */
    struct failure failure;   /* why that order failed */
    char folder[PATH_MAX];    /* ISOLATED_SAVE: folder to save to */
};

struct isolated_order {
    enum isolated_what what;
    int64_t position; /* frame of the piece in the sound */
    int processor;    /* CPU that computes the piece; negative: any */
    size_t frames;
    size_t change_count;
    size_t run_count; /* number of runs, set by the child */
};

/* The shared memory in one process. Inputs and outputs are channels of all instances. */
struct isolated_memory {
    struct isolated_head *head;
    size_t size; /* bytes */
    size_t slots, ports, inputs, outputs;
    size_t change_room, run_room;          /* most changes and runs in a piece */
    size_t slot, channel;                  /* bytes of a slot, and of a channel in it */
    size_t changes, runs, values, in, out; /* byte offsets within a slot */
};

struct isolated_piece {
    struct isolated_order *order;
    size_t change_count; /* changes that halo has added */
    struct plugin_change *changes;
    struct plugin_run *runs;
    float *values;   /* values by port */
    float *in, *out; /* channel after channel, `stride` samples apart */
    size_t stride;
};

/* Compute the layout. Both processes do, with the same result. */
void isolated_memory_plan(struct isolated_memory *memory, const struct plugin_info *info,
                          const struct plugin_instances_settings *settings);

/* Create the planned memory, zeroed. */
MUST_CHECK enum status isolated_memory_create(struct isolated_memory *memory, int *descriptor);

void isolated_memory_free(struct isolated_memory *memory);

/* Real-time. */
struct isolated_piece isolated_memory_piece(const struct isolated_memory *memory, uint32_t number);

/* Isolated plugin instances. halo posts a piece and waits for it. If there is a deadline, the child
 * may fall some pieces behind and catch up while halo plays silence. If it falls further behind,
 * pieces are skipped, but their changes of values are kept. */

struct isolated_instances; /* its first member is a struct plugin_instances */

/* Wait without a deadline until all orders are done. False: the child ended, or a signal came. */
bool isolated_wait(struct isolated_instances *isolated);

/* The internal command "plugin-instances": runs the child process. */
MUST_CHECK enum status plugin_instances_serve(int argc, char **argv);

#endif
