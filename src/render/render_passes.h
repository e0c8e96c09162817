/* The passes of a render. A stage that must know the power of the whole sound (stages.h) ends or
 * begins a pass. The output of a pass is kept on disk until the next pass reads it.
 *
 *   --mask low.txt --mask room.wav,level=input --noise street.wav,snr=10 --gain -3
 *   |------ 0 ---||----------- 1 ------------||------------ 2 -----------------|
 *
 * All passes but the first also read frames before and after the sound, so that stages that look
 * back or ahead give the same output as in one pass. A power is the mean square of all samples of
 * all channels that are written. With --tail none these are as many frames as the sound has.
 * Threads: the control thread. */
#ifndef HALO_RENDER_PASSES_H
#define HALO_RENDER_PASSES_H

#include "chain/stages.h"
#include "render/render_options.h"
#include "sound/engine.h"

struct render_pass {
    struct stage_list stages; /* stages of this pass; owned by the render's list */
    struct filter *chain;
    struct source *source; /* output of the pass before; NULL: the pass reads the sound */
};

/* All zero: no passes. */
struct render_passes {
    size_t count;
    struct render_pass *passes;
    struct filter
        /* sums of latency and tail of all passes, and the block; `late` of passes that ran */
        whole;
    bool in_double;
    uint64_t sound; /* frames of the sound, known after the first of several passes */
};

/* Create the chains of all passes, from loaded stages. `block`: their block in frames. Errors:
 * memory, those of the stages. Call render_passes_free() also after an error. */
MUST_CHECK enum status render_passes_create(struct render_passes *passes,
                                            const struct stage_list *stages, size_t channels,
                                            size_t block, struct workers *workers);
void render_passes_free(struct render_passes *passes);
struct render_pass *render_passes_last(const struct render_passes *passes);

/* Errors (usage): options that do not work if the power of the whole sound must be known. */
MUST_CHECK enum status render_passes_check(const struct render_passes *passes,
                                           const struct render_options *options);

/* Run all passes but the last, which is then ready. Ends early with STATUS_OK if a plugin is late
 * and run->stop_late is set. `beside`: see spool_open. Errors: engine_run's; a silent sound. */
MUST_CHECK enum status render_passes_run(struct render_passes *passes, struct source *sound,
                                         const char *beside, enum tail tail,
                                         const struct engine_run_settings *run);

#endif
