/* The options of every stage that set how much of its output is heard.
 *
 *   @mix=0..1             the share of the stage; the rest is its input, delayed by the latency of
 *                         the stage. Output n gets input n, modulo the number of inputs
 *   @wet=DB               instead: the level of the stage, added to all of its input
 *   @bypass[=on|off]      its input alone; the stage keeps running
 *   at=TIME:@mix=VALUE    later; also of the others, see automation.h. Before the first, a mix is 1
 *                         and a level 0 dB
 *
 * A live stage that misses its block is bypassed until it is in time again. A stage that fails is
 * left out for good. Changes are ramps over the time given, or AUTOMATION_SMOOTH seconds. At rest,
 * the output with a mix of 1 is exactly the stage's, and with 0 exactly its input. Threads: while
 * the step runs, one control thread or the step itself may call stage_mix_set. */
#ifndef HALO_STAGE_MIX_H
#define HALO_STAGE_MIX_H

#include "base/options.h"
#include "plugin/plugin.h"
#include "sound/automation.h"
#include "sound/filter.h"

/* Controls of a stage. Its mix has MIX or WET, and BYPASS. OWN is a control of the stage itself. */
enum stage_control_kind {
    STAGE_CONTROL_MIX,
    STAGE_CONTROL_WET,
    STAGE_CONTROL_BYPASS,
    STAGE_CONTROL_OWN
};

/* All zero: no options. */
struct stage_mix_spec {
    bool given;
    bool has_mix, has_wet; /* @mix= or @wet= was given, for the start or a later time; never both */
    bool has_value;        /* `value` is given for the start */
    double value;          /* share (mix) or dB (wet) */
    bool bypass;
    struct automation automation; /* targets are enum stage_control_kind */
};

/* The controls of a mix, indexed by enum stage_control_kind. */
extern const struct plugin_port stage_mix_ports[];

/* The options, for completion. */
extern const struct option_row stage_mix_rows[];

/* Whether a word of a spec is an option of the mix. */
bool stage_mix_is_word(const char *word);

/* Parse a value such as "0.5" or "on". Errors (usage): invalid value. */
MUST_CHECK enum status stage_mix_parse(enum stage_control_kind kind, const char *text,
                                       double *value);

/* Parse an option into `spec`. Errors (usage): invalid value. */
MUST_CHECK enum status stage_mix_take(struct stage_mix_spec *spec, struct automation_time time,
                                      const char *word);

/* Move the options of the mix from `words` into `spec`. Errors: those of stage_mix_take(). */
MUST_CHECK enum status stage_mix_take_all(struct stage_mix_spec *spec, struct automation_time time,
                                          char **words);

/* Factors of the stage's output and of its input. */
struct stage_mix_gains {
    double wet, dry;
};

/* Values at the start of the sound: the share or dB, and the factors. */
double stage_mix_start(const struct stage_mix_spec *spec);
struct stage_mix_gains stage_mix_gains(const struct stage_mix_spec *spec);

struct stage_mix_settings {
    const struct stage_mix_spec *spec; /* outlives the filter */
    uint32_t rate;
    uint64_t before; /* latency of the stages before, in frames: the sound begins after it */
    size_t number;   /* number of the stage from 1, for the notice */
    bool live;       /* leave out a stage that fails, and set `notice` */
};

/* Make a filter around `stage`; owns it, even on failure. _in_double: doubles. Errors: memory. */
MUST_CHECK enum status stage_mix_create(struct filter *stage,
                                        const struct stage_mix_settings *settings,
                                        struct filter **filter);
MUST_CHECK enum status stage_mix_create_in_double(struct filter *stage,
                                                  const struct stage_mix_settings *settings,
                                                  struct filter **filter);

/* Set and get a control, and ask whether the mix has it. STAGE_CONTROL_BYPASS is 0 or 1. */
void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value);
float stage_mix_value(const struct filter *filter, enum stage_control_kind kind);
bool stage_mix_has(const struct filter *filter, enum stage_control_kind kind);
struct stage_mix_gains stage_mix_gains_now(const struct filter *filter); /* real-time */

/* Real-time. Leave the stage out for good. */
void stage_mix_leave_out(struct filter *filter);
bool stage_mix_is_left_out(const struct filter *filter);

/* Real-time. _is_absent: whether the last block missed its deadline. _make_absent, for replays:
 * from the next block on, the stage's output counts as silence, as if it were late. */
bool stage_mix_is_absent(const struct filter *filter);
void stage_mix_make_absent(struct filter *filter, bool absent);

#endif
