/* What every stage can be told beside its own words: how much of it is heard.
 *
 *   @mix=0..1             the stage's share; the rest is the sound that came to it, kept aligned
 *                         by the stage's latency. Each output gets the input of its number; where
 *                         there are fewer, they go round
 *   @bypass[=on|off]      as @mix=0: the stage goes on running, so that it can come back
 *   at=TIME:@mix=VALUE    later, at=TIME:@bypass=on likewise, see automation.h
 *
 * A live stage that is not done with a block in time is as bypassed until it is again; one that
 * fails is left out for good. A change is a ramp: over the time given, or AUTOMATION_SMOOTH
 * seconds. At rest at 1 no sample of the stage changes by a bit, at 0 none of what came to it.
 * Threads: stage_mix_set is for one control thread, while the step runs, or for the step itself.
 */
#ifndef HALO_STAGE_MIX_H
#define HALO_STAGE_MIX_H

#include "sound/automation.h"
#include "sound/filter.h"

/* What can be changed of a stage: the first two by this, the last by the stage itself. */
enum stage_control_kind { STAGE_CONTROL_MIX, STAGE_CONTROL_BYPASS, STAGE_CONTROL_OWN };

/* All zero: nothing is asked. */
struct stage_mix_spec {
    bool given;
    bool has_mix;
    float mix;
    bool bypass;
    struct automation automation; /* of enum stage_control_kind */
};

/* Whether a word is one of these. */
bool stage_mix_is_word(const char *word);

/* A value of one of them: "0.5", "on". Errors (usage): it cannot be that. */
MUST_CHECK enum status stage_mix_parse(enum stage_control_kind kind, const char *text,
                                       float *value);

/* Errors (usage): a value that it cannot have. */
MUST_CHECK enum status stage_mix_take(struct stage_mix_spec *spec, uint32_t rate,
                                      const char *word);

struct stage_mix_settings {
    const struct stage_mix_spec *spec; /* outlive the filter */
    uint32_t rate;
    uint64_t before; /* frames that the sound comes late to the stage: times count from there */
    size_t number;   /* of the stage, from 1; for the notice */
    bool live;       /* a stage that fails is left out from then on, which `notice` tells */
};

/* A filter around `stage`, which it owns from here, also when this fails. Errors: memory. */
MUST_CHECK enum status stage_mix_create(struct filter *stage,
                                        const struct stage_mix_settings *settings,
                                        struct filter **filter);

/* A bypass is 0 or 1. */
void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value);
float stage_mix_value(const struct filter *filter, enum stage_control_kind kind);

/* Real-time. For good, as a live stage that fails is. */
void stage_mix_leave_out(struct filter *filter);
bool stage_mix_is_left_out(const struct filter *filter);

/* Real-time. Whether the last block was not done in time; and for replays, from the next block on:
 * take it for silence, as it was then. */
bool stage_mix_is_absent(const struct filter *filter);
void stage_mix_make_absent(struct filter *filter, bool absent);

#endif
