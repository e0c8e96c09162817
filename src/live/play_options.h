/* The words that halo live and halo listen share: stages, masks to choose from, the device,
 * how a switch sounds, and what is shown. */
#ifndef HALO_PLAY_OPTIONS_H
#define HALO_PLAY_OPTIONS_H

#include "chain/chain_options.h"
#include "live/device.h"
#include "live/live_chain.h"
#include "view/view.h"

/* The first member of a command's options: the rows below take it for their context. */
struct play_options {
    struct chain_options chain; /* first: see there */
    const char *others[LIVE_CHOICES_MOST];
    size_t other_count;
    size_t choosing; /* the stage that has them; SIZE_MAX: none */
    bool or_waits;   /* for its mask */
    struct device_request device;
    size_t input_map[OPTIONS_LIST_MOST];
    size_t output_map[OPTIONS_LIST_MOST];
    struct choices_way way; /* without its frames */
    double fade;            /* seconds */
    double ceiling_db;
    double seconds; /* to run; 0: until it is stopped */
    bool force;
    bool json;
    double interval; /* seconds; 0: as the view likes it */
    bool plain;
    bool help;
    enum verbosity verbosity;
};

enum { PLAY_OPTIONS_MOST = CHAIN_OPTIONS_MOST + 28 };

void play_options_init(struct play_options *options);
void play_options_free(struct play_options *options);

/* Rows of the stages and --or; then of the device; then of the rest with the chain's. */
size_t play_options_stages(struct option_row *rows);
size_t play_options_device(struct option_row *rows);
size_t play_options_rest(struct option_row *rows);

/* After parsing. */
MUST_CHECK enum status play_options_check(struct play_options *options);

enum view_choice play_options_view(const struct play_options *options);

#endif
