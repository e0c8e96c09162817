/* Prepares a preset beside a running stream, on a thread of its own, and offers it to the step
 * (live_change.h). It computes on the CPU. The control thread asks how far it is, and never waits
 * for a file.
 *
 * Threads: the control thread.
 */
#ifndef HALO_PRESET_LOADER_H
#define HALO_PRESET_LOADER_H

#include "live/live.h"
#include "live/live_chain.h"
#include "live/preset.h"

enum { PRESET_REASON = 1000 /* bytes, with its 0 */ };

/* A preset with its chain; `coming` is first, so that live_change_taken returns one. */
struct prepared_preset {
    struct live_coming coming; /* its slot is the old one once it was taken */
    struct preset *preset;
    struct live_chain chain;
    char reason[PRESET_REASON]; /* why it could not be prepared; "": it was */
};

void prepared_preset_free(struct prepared_preset *prepared);

struct preset_loader_request {
    const struct preset_source *source; /* pointers but `live` need not outlive the call */
    const struct play_options *options; /* its settings; of PRESET_OF_OPTIONS all */
    double gain_db;                     /* of PRESET_OF_OPTIONS */
    const struct live_chain_request *like;
    struct live *live; /* must outlive the loader; its slots are of as many outputs */
    size_t outputs;
    struct choices_way way; /* of the crossfade */
    unsigned number;        /* of its slot */
};

/* The request for a chain of the preset; else like another one. */
struct live_chain_request preset_chain_request(const struct preset *preset,
                                               const struct live_chain_request *like);

struct preset_loader;

/* Only while no other change is under way. Errors: the name, memory, no thread. */
MUST_CHECK enum status preset_loader_start(const struct preset_loader_request *request,
                                           struct preset_loader **loader);

/* True: it is done and freed; *prepared, which the caller owns, was offered to the step, or has a
 * reason. */
bool preset_loader_take(struct preset_loader *loader, struct prepared_preset **prepared);

/* When no step runs. Returns when it no longer uses the stream; what it still reads it frees
 * itself. NULL is ignored. */
void preset_loader_abandon(struct preset_loader *loader);

#endif
