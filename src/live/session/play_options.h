/* The options that halo live and halo listen share: stages, masks, device, switches, the view. */
#ifndef HALO_PLAY_OPTIONS_H
#define HALO_PLAY_OPTIONS_H

#include "chain/chain_options.h"
#include "live/device/device.h"
#include "live/live_chain.h"
#include "view/view.h"

struct play_options {
    struct chain_options chain;
    const char *others[LIVE_CHOICES_MOST]; /* specs of the second mask and so on */
    size_t other_count;
    size_t choosing;   /* index of the stage whose masks can be chosen; SIZE_MAX: none */
    bool or_waits;     /* an --or has been read, and its mask has not */
    bool takes_sounds; /* --or before all stages stands between two sounds */
    size_t sound_ors;  /* number of such --or */
    struct device_request device;
    bool block_given;
    size_t layout_channels; /* channels of `layout`, after the check; 0: not known from it */
    const char *layout;     /* layout that the user states for the input; NULL: none */
    struct number_list input_map, output_map; /* channel maps; the check lets `device` use them */
    struct choices_way way; /* how masks are switched; copies get way.frames from `fade` */
    bool way_given;
    double fade;       /* seconds that a switch takes */
    double ceiling_db; /* ceiling of the limiter */
    double seconds;    /* seconds to run; 0: until stopped */
    bool force;
    bool json;
    double interval; /* seconds between two updates of the view; 0: the view chooses */
    bool plain;
    enum verbosity verbosity;
};

#define PLAY_OPTIONS_DEFAULTS                                                                      \
    {.chain = CHAIN_OPTIONS_DEFAULTS,                                                              \
     .choosing = SIZE_MAX,                                                                         \
     .device = {.block = 64, .wants_output = true},                                                \
     .fade = 0.02,                                                                                 \
     .ceiling_db = -1,                                                                             \
     .verbosity = VERBOSITY_NORMAL}

void play_options_free(struct play_options *options);

extern const struct option_row play_options_or[], play_options_device[], play_options_others[];
MUST_CHECK enum status play_options_parse_stage(void *options, const struct option_row *row,
                                                const char *value);

/* Groups of options for a command whose options contain a struct play_options at offset AT. */
#define PLAY_STAGES(AT)                                                                            \
    {.heading = "stages, in the order given",                                                      \
     .make_rows = chain_options_stages,                                                            \
     .parse = play_options_parse_stage,                                                            \
     .offset = AT},                                                                                \
    {                                                                                              \
        .rows = play_options_or, .offset = AT                                                      \
    }
#define PLAY_DEVICE(AT) {.heading = "the device", .rows = play_options_device, .offset = AT}
#define PLAY_OTHERS(HEADING, AT)                                                                   \
    {.heading = HEADING,                                                                           \
     .rows = chain_options_rows,                                                                   \
     .offset = (AT) + offsetof(struct play_options, chain)},                                       \
    {                                                                                              \
        .rows = play_options_others, .offset = AT                                                  \
    }

/* Checks that the options are consistent. The struct must not move afterwards. Errors: usage. */
MUST_CHECK enum status play_options_check(struct play_options *options);

/* Channels of the input that the user or the layout asks for; 0: as many as the device has. */
size_t play_options_channels(const struct play_options *options);

enum view_choice play_options_view(const struct play_options *options);

#endif
