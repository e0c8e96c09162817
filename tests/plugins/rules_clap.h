/* CLAP plugins for tests that follow each rule of a plugin and end their process (SIGABRT) where
 * the host breaks one; and, by id, break one themselves. */
#ifndef HALO_TESTS_RULES_CLAP_H
#define HALO_TESTS_RULES_CLAP_H

#include "plugin/clap/clap_abi.h"

enum { RULES_RING = 4096, RULES_CHANNELS = 2, RULES_ECHO = 1000 /* frames */ };

enum rules_parameter {
    RULES_GAIN,
    RULES_MODE,
    RULES_DELAY,
    RULES_FREQUENCY,
    RULES_PEAK,
    RULES_VALUES
};

/* The one rule that a plugin breaks, or what it does beside its gain. */
enum rules_deed {
    RULES_KEEP,
    RULES_TAIL,        /* adds an echo after RULES_ECHO frames, and reports that tail */
    RULES_ENDLESS,     /* reports an endless tail */
    RULES_SIDE_CHAIN,  /* has a mono side chain, which it adds */
    RULES_TWO_OUTPUTS, /* has a second output port, which is silent */
    RULES_INIT_FALSE,
    RULES_CREATE_NULL,
    RULES_INCOMPLETE, /* has no process() */
    RULES_ACTIVATE_FALSE,
    RULES_START_FALSE,
    RULES_ERROR, /* process() fails, after filling the output */
    RULES_NAN,
    RULES_WRONG_THREAD,    /* calls functions of the main thread within process() */
    RULES_CALLBACK,        /* asks for the main thread, and sets its gain to -20 dB there */
    RULES_RESCAN,          /* changes its parameters and ports while it is active */
    RULES_MANY_PARAMETERS, /* 4 billion */
    RULES_MANY_PORTS,
    RULES_NO_RANGE, /* a parameter from NaN */
    RULES_REVERSED_RANGE,
    RULES_FAR_DEFAULT, /* a default far out of the range: taken to its end */
    RULES_LONG_NAMES,  /* texts without an end */
    RULES_STATE_FALSE, /* refuses to save */
    RULES_NOTES,       /* has an input for notes beside that for sound */
    RULES_INSTRUMENT,  /* has no input for sound */
    RULES_TIMER,       /* asks for timers and file descriptors, and does without */
    RULES_DOUBLE,      /* prefers 64 bits */
    RULES_EARLY,       /* its values change at the first frame of a block, as many plugins' do */
    RULES_INIT_CRASH,  /* the last */
    RULES_DEEDS,
};

struct rules {
    struct clap_plugin plugin;
    const struct clap_host *host;
    const struct clap_host_thread_check *threads;
    enum rules_deed deed;
    bool is_initialised, is_active, is_processing;
    uint32_t most;    /* frames of a block */
    uint32_t latency; /* frames, since the activation */
    double values[RULES_VALUES];
    uint32_t at; /* in the rings */
    double rate;
    int64_t song_next; /* where the next block should be: seconds, times 2^31; 0: unknown */
    float rings[RULES_CHANNELS][RULES_RING];
};

/* Ends the process where `kept` is false. */
void rules_check(bool kept, const char *rule);
void rules_on(const struct rules *rules, bool on_main);

const void *rules_extension(const struct clap_plugin *plugin, const char *id);
const void *rules_presets(void); /* the preset discovery factory */
const char *rules_name(enum rules_deed deed);
int32_t rules_process(const struct clap_plugin *plugin, const struct clap_process *process);
uint32_t rules_take_events(struct rules *rules, const struct clap_input_events *events,
                           uint32_t first, uint32_t frame);

#endif
