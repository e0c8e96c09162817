/* The options of every stage: how much of it is heard.
 *
 *   @mix=0..1             the share of the stage; the rest is its input, delayed by the latency of
 *                         the stage. Output n gets input n, modulo the number of inputs
 *   @bypass[=on|off]      as @mix=0; the stage keeps running
 *   at=TIME:@mix=VALUE    later; also at=TIME:@bypass=on, see automation.h
 *
 * A live stage that misses its block is bypassed until it is in time again; one that fails is left
 * out for good. Changes are ramps over the time given, or AUTOMATION_SMOOTH seconds. At rest, a mix
 * of 1 is bit for bit the stage, and 0 bit for bit its input.
 * Threads: stage_mix_set is for one control thread, while the step runs, or for the step itself.
 */
#ifndef HALO_STAGE_MIX_H
#define HALO_STAGE_MIX_H

#include "base/options.h"
#include "sound/automation.h"
#include "sound/filter.h"

/* Controls of a stage: the first two of its mix, the last its own. */
enum stage_control_kind { STAGE_CONTROL_MIX, STAGE_CONTROL_BYPASS, STAGE_CONTROL_OWN };

/* All zero: no options. */
struct stage_mix_spec {
    bool given;
    bool has_mix;
    double mix;
    bool bypass;
    struct automation automation; /* of enum stage_control_kind */
};

/* The options, for completion. */
extern const struct option_row stage_mix_rows[];

/* Whether a word of a spec is one of these options. */
bool stage_mix_is_word(const char *word);

/* Parse a value such as "0.5" or "on". Errors (usage): invalid value. */
MUST_CHECK enum status stage_mix_parse(enum stage_control_kind kind, const char *text,
                                       double *value);

/* Parse an option into `spec`. Errors (usage): invalid value. */
MUST_CHECK enum status stage_mix_take(struct stage_mix_spec *spec, struct automation_time time,
                                      const char *word);

/* Take these options out of a spec. Errors: as above. */
MUST_CHECK enum status stage_mix_take_all(struct stage_mix_spec *spec, struct automation_time time,
                                          char **words);

/* The share of the input at the start, 0 to 1. */
double stage_mix_dry(const struct stage_mix_spec *spec);

struct stage_mix_settings {
    const struct stage_mix_spec *spec; /* outlive the filter */
    uint32_t rate;
    uint64_t before; /* latency of the stages before, in frames: times count from there */
    size_t number;   /* of the stage, from 1; for the notice */
    bool live;       /* leave out a stage that fails, and set `notice` */
};

/* Make a filter around `stage`, which it owns, also on failure; the second in double precision.
 * Errors: memory. */
MUST_CHECK enum status stage_mix_create(struct filter *stage,
                                        const struct stage_mix_settings *settings,
                                        struct filter **filter);
MUST_CHECK enum status stage_mix_create_in_double(struct filter *stage,
                                                  const struct stage_mix_settings *settings,
                                                  struct filter **filter);

/* A bypass is 0 or 1. */
void stage_mix_set(struct filter *filter, enum stage_control_kind kind, float value);
float stage_mix_value(const struct filter *filter, enum stage_control_kind kind);

/* Real-time. Leave the stage out for good. */
void stage_mix_leave_out(struct filter *filter);
bool stage_mix_is_left_out(const struct filter *filter);

/* Real-time. Whether the last block missed its time; and for replays: from the next block on, take
 * the output for silence, as it was when live. */
bool stage_mix_is_absent(const struct filter *filter);
void stage_mix_make_absent(struct filter *filter, bool absent);

#endif
