/* The options for the stages, threads and devices of a chain, the same in all commands. */
#ifndef HALO_CHAIN_OPTIONS_H
#define HALO_CHAIN_OPTIONS_H

#include "base/program.h"
#include "chain/stages.h"

#include <stdio.h>

struct chain_options {
    struct stage_list stages;
    struct stage_settings settings;
    bool precision_given;
    bool reproducible; /* run on the CPU, in blocks that do not depend on the sound's length */
    struct plugin_tempo tempo; /* --tempo; bpm 0: not given, the stages' tempo is used */
    size_t threads;            /* 0: one per processor, or two in a stream */
};

#define CHAIN_OPTIONS_DEFAULTS                                                                     \
    {                                                                                              \
        .settings = {.convolver = {.backend = "auto"} }                                            \
    }

void chain_options_free(struct chain_options *options);

/* The options that add stages to a struct chain_options, with their parser, as a group. */
const struct option_row *chain_options_stages(void);
MUST_CHECK enum status chain_options_parse_stage(void *options, const struct option_row *row,
                                                 const char *value);

extern const struct option_row chain_options_rows[]; /* all options but those of stages */

/* Set settings.tempo: --tempo, or that of the stages' chain files. Errors (usage): they differ. */
MUST_CHECK enum status chain_options_settle_tempo(struct chain_options *options);

/* Call after parsing: settle the tempo, check the options for GPUs, choose the CPU if the result
 * must be reproducible. `block`: the requested block in frames, or 0. Errors: usage. */
MUST_CHECK enum status chain_options_check(struct chain_options *options, size_t block);

/* The tempo of a chain as text: "120", or "90,6/8" (4/4 by default). On the control thread. */

/* Take the tempo `text` of the chain file at `path`, or NULL. Errors: `text` is no tempo. */
MUST_CHECK enum status chain_tempo_take(const char *text, const char *path,
                                        struct stage_list *list);

/* Print the tempo line of a chain file if the loaded stages have a tempo. */
void chain_tempo_print(const struct stage_list *list, FILE *stream);

#endif
