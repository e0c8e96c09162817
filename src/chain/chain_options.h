/* The options for the stages of a chain and what it runs on, the same in all commands. */
#ifndef HALO_CHAIN_OPTIONS_H
#define HALO_CHAIN_OPTIONS_H

#include "base/program.h"
#include "chain/stages.h"

#include <stdio.h>

struct chain_options {
    struct stage_list stages;
    struct stage_settings settings;
    bool precision_given;
    bool reproducible;         /* on the CPU, in blocks that suit a sound of unknown length */
    struct plugin_tempo tempo; /* --tempo; bpm 0: none, that of the stages */
    size_t threads;            /* 0: one per processor, two in a stream */
};

#define CHAIN_OPTIONS_DEFAULTS                                                                     \
    {                                                                                              \
        .settings = {.convolver = {.backend = "auto"} }                                            \
    }

void chain_options_free(struct chain_options *options);

/* The options that add stages to a struct chain_options, and their parser: for a group. */
const struct option_row *chain_options_stages(void);
MUST_CHECK enum status chain_options_parse_stage(void *options, const struct option_row *row,
                                                 const char *value);

extern const struct option_row chain_options_rows[]; /* all others */

/* The tempo of the settings: --tempo, which comes before that of the stages' chain files. Errors
 * (usage): these differ. */
MUST_CHECK enum status chain_options_settle_tempo(struct chain_options *options);

/* Settle the tempo after parsing, check that the options of a GPU are consistent, and take the CPU
 * where the result has to be reproducible; `block` is the one requested, or 0. Errors: usage. */
MUST_CHECK enum status chain_options_check(struct chain_options *options, size_t block);

/* The tempo of a chain as text: "120", or with a time signature "90,6/8" (4/4 by default).
 * Threads: the control thread. */

/* What the chain file at `path` has: NULL is none. Errors: it is no tempo. */
MUST_CHECK enum status chain_tempo_take(const char *text, const char *path,
                                        struct stage_list *list);

/* The line of a chain file, for loaded stages that have a tempo. */
void chain_tempo_print(const struct stage_list *list, FILE *stream);

#endif
