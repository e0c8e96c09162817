/* The words that say what a chain consists of and what it runs on, alike in all commands. */
#ifndef HALO_CHAIN_OPTIONS_H
#define HALO_CHAIN_OPTIONS_H

#include "base/options.h"
#include "chain/stages.h"

/* The first member of a command's options: the rows below take it for their context. */
struct chain_options {
    struct stage_list stages;
    struct stage_settings settings;
    size_t threads; /* 0: all; of a stream two */
};

enum { CHAIN_OPTIONS_MOST = 24 }; /* rows, of stages and the rest */

void chain_options_init(struct chain_options *options);
void chain_options_free(struct chain_options *options);

/* The rows of the stages, and all others. Return how many there are. */
size_t chain_options_stages(struct option_row *rows);
size_t chain_options_rest(struct option_row *rows);

/* What one says of a GPU must be meant for one, and go together. `block` is what was asked
 * for, or 0. */
MUST_CHECK enum status chain_options_check(const struct chain_options *options, size_t block);

#endif
