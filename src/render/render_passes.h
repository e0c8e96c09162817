/* The passes of a render. A stage that has to know the power of the whole sound (stages.h) ends a
 * pass, or begins one: what a pass makes is kept on disk until the next one reads it.
 *
 *   --mask low.txt --mask room.wav,level=input --noise street.wav,snr=10 --gain -3
 *   |------ 0 ---||----------- 1 ------------||------------ 2 -----------------|
 *
 * All but the first read more frames than the sound has, on both sides of it, so that stages that
 * look back or ahead give what they would give in one pass. A power is the mean square of all
 * samples of all channels of what is written: with --tail none of as many frames as the sound has.
 * Threads: the control thread.
 */
#ifndef HALO_RENDER_PASSES_H
#define HALO_RENDER_PASSES_H

#include "chain/stages.h"
#include "render/render_options.h"
#include "sound/engine.h"

struct render_pass {
    struct stage_list stages; /* of the render's, which owns them */
    struct filter *chain;
    struct source *source; /* what it reads: what the pass before made; NULL: the sound */
};

/* All zero: none. */
struct render_passes {
    size_t count;
    struct render_pass *passes;
    struct filter
        whole; /* latency, tail and block of all passes; `late` is that of those that ran */
    bool in_double;
    uint64_t sound; /* frames of the sound, once the first of several passes ran */
};

/* The chains of all passes, in blocks of that length. The stages are loaded. Errors: memory, those
 * of the stages. To be freed in any case. */
MUST_CHECK enum status render_passes_create(struct render_passes *passes,
                                            const struct stage_list *stages, size_t channels,
                                            size_t block, struct workers *workers);
void render_passes_free(struct render_passes *passes);
struct render_pass *render_passes_last(const struct render_passes *passes);

/* Errors (usage): options that a sound cannot have whose power is known at its end. */
MUST_CHECK enum status render_passes_check(const struct render_passes *passes,
                                           const struct render_options *options);

/* All but the last pass, which is ready to run then. Ends early, with STATUS_OK, if a plugin is
 * late and `run` says so. `beside`: for spool_open. Errors: those of engine_run; a sound without
 * power. */
MUST_CHECK enum status render_passes_run(struct render_passes *passes, struct source *sound,
                                         const char *beside, enum tail tail,
                                         const struct engine_run_settings *run);

#endif
