/* The words that say what a chain consists of and what it runs on, alike in all commands. */
#ifndef HALO_CHAIN_OPTIONS_H
#define HALO_CHAIN_OPTIONS_H

#include "base/program.h"
#include "chain/stages.h"

struct chain_options {
    struct stage_list stages;
    struct stage_settings settings;
    size_t threads; /* 0: all; of a stream two */
};

#define CHAIN_OPTIONS_DEFAULTS {.settings = {.convolver = {.backend = "auto"}}}

void chain_options_free(struct chain_options *options);

/* The options that name stages, and what adds one to a struct chain_options: for a group. */
const struct option_row *chain_options_stages(void);
MUST_CHECK enum status chain_options_parse_stage(void *options, const struct option_row *row,
                                                 const char *value);

extern const struct option_row chain_options_rows[]; /* all others */

/* Check after parsing that what is said of a GPU is meant for one, and goes together. `block` is
 * what was asked for, or 0. */
MUST_CHECK enum status chain_options_check(struct chain_options *options, size_t block);

#endif
