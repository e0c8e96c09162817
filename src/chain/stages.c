#include "chain/stages.h"

#include "base/realtime.h"
#include "chain/chain.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    BLOCK_DEFAULT = 1 << 16, /* block in frames if no stage prefers one */
    BLOCK_LEAST = 1 << 10,
    /* A job has at least this many blocks, unless they would be shorter than BLOCK_SHORT. So
     * reading, computing and writing overlap, and short jobs use little memory. */
    BLOCKS_LEAST = 8,
    BLOCK_SHORT = 1 << 13,
    BLOCK_SAMPLES_MOST = 1 << 23, /* most samples of a block in all channels: 32 MiB */
};

/* The kinds, in the order of --help: NAME is stage_NAME_ops of stage_NAME.c. */
#define STAGE_KINDS(ROW)                                                                           \
    ROW(mask)                                                                                      \
    ROW(gain)                                                                                      \
    ROW(lv2)                                                                                       \
    ROW(ladspa)                                                                                    \
    ROW(clap)                                                                                      \
    ROW(vst3)                                                                                      \
    ROW(spectral)                                                                                  \
    ROW(noise)

#define DECLARE(name) extern const struct stage_ops stage_##name##_ops;
STAGE_KINDS(DECLARE)

#define ENTRY(name) &stage_##name##_ops,
static const struct stage_ops *const kinds[] = {STAGE_KINDS(ENTRY)};
enum { KINDS = sizeof kinds / sizeof *kinds };
_Static_assert(sizeof kinds / sizeof *kinds <= STAGE_KINDS_MOST, "STAGE_KINDS_MOST is too small");

const struct stage_ops *stage_ops_at(size_t index)
{
    return index < KINDS ? kinds[index] : NULL;
}

const struct stage_ops *stage_ops_named(const char *option)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->option, option) == 0)
            return kinds[i];
    return NULL;
}

bool stage_path_in(const struct stage_ops *ops, char *const *spec, size_t word, size_t from,
                   struct stage_path *path)
{
    return ops->files && ops->files->path_in(spec, word, from, path);
}

struct stage_info stage_describe(const struct stage *stage)
{
    struct stage_info info = {.gain = 1};
    if (stage->ops->describe)
        stage->ops->describe(stage, &info);
    return info;
}

enum stage_needs stage_needs(const struct stage *stage)
{
    return stage->ops->passes ? stage->ops->passes->needs(stage) : STAGE_NEEDS_NOTHING;
}

enum status stage_check_passes(const struct stage_settings *settings, const char *what)
{
    if (settings->in_passes)
        return STATUS_OK;
    return fail(
        CAUSE_USAGE,
        "%s is for halo render and halo batch: it needs the power of the whole sound, which "
        "is known at its end",
        what);
}

enum status stage_refuse_times(void)
{
    return fail(CAUSE_USAGE, "at= is for files: a stream has no beginning to count from");
}

enum status stage_list_add(struct stage_list *list, const struct stage_ops *ops, const char *text,
                           const char *origin)
{
    struct stage *stages = realloc(list->stages, (list->count + 1) * sizeof *stages);
    if (stages)
        list->stages = stages;
    struct stage stage = {
        .ops = ops, .text = strdup(text), .origin = origin ? strdup(origin) : NULL};
    if (!stages || !stage.text || (origin && !stage.origin)) {
        free(stage.text);
        free(stage.origin);
        return fail_memory("a stage");
    }
    stages[list->count++] = stage;
    return STATUS_OK;
}

enum status stage_list_insert(struct stage_list *list, size_t at, const struct stage_ops *ops,
                              const char *text)
{
    TRY(stage_list_add(list, ops, text, NULL));
    struct stage stage = list->stages[list->count - 1];
    memmove(list->stages + at + 1, list->stages + at, (list->count - 1 - at) * sizeof stage);
    list->stages[at] = stage;
    return STATUS_OK;
}

enum status stage_list_copy(const struct stage_list *list, struct stage_list *copy)
{
    *copy = (struct stage_list){
        .precision = list->precision, .tempo = list->tempo, .tempos_differ = list->tempos_differ};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++) {
        const struct stage *stage = &list->stages[i];
        status = stage_list_add(copy, stage->ops, stage->text, stage->origin);
    }
    if (status != STATUS_OK)
        stage_list_free(copy);
    return status;
}

enum status stage_list_confirm(const struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].filter && list->stages[i].ops->confirm)
            TRY(list->stages[i].ops->confirm(list->stages[i].filter));
    return STATUS_OK;
}

bool stage_list_runs_beside(const struct stage_list *list)
{
    bool runs_beside = true;
    for (size_t i = 0; i < list->count; i++)
        runs_beside = runs_beside && !list->stages[i].ops->one_at_a_time;
    return runs_beside;
}

bool stage_list_is_memoryless(const struct stage_list *list)
{
    bool is_memoryless = true;
    for (size_t i = 0; i < list->count; i++)
        is_memoryless &= list->stages[i].ops->is_memoryless && !list->stages[i].automated;
    return is_memoryless;
}

void stage_list_unload(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stage *stage = &list->stages[i];
        (stage->ops->destroy ? stage->ops->destroy : free)(stage->data);
        automation_free(&stage->mix.automation);
        *stage = (struct stage){.ops = stage->ops,
                                .text = stage->text,
                                .origin = stage->origin,
                                .drawn = stage->drawn,
                                .latency = stage->latency};
    }
}

void stage_list_free(struct stage_list *list)
{
    stage_list_unload(list);
    for (size_t i = 0; i < list->count; i++) {
        free(list->stages[i].text);
        free(list->stages[i].origin);
    }
    free(list->stages);
    *list = (struct stage_list){0};
}

struct automation_time stage_time(const struct stage *stage)
{
    int64_t frames = stage->settings.convolver.frames;
    return (struct automation_time){stage->rate, frames > 0 ? (uint64_t)frames : 0};
}

static enum status load_stage(struct stage *stage, char **spec, const struct stream_format *format,
                              const struct stage_settings *settings)
{
    stage->settings = *settings;
    stage->inputs = stage->outputs = format->channels;
    stage->rate = format->rate;
    TRY(stage_mix_take_all(&stage->mix, stage_time(stage), spec));
    stage->automated = stage->mix.automation.count > 0;
    TRY(stage->ops->load(stage, spec, format));
    if (settings->streamed && stage->automated)
        return stage_refuse_times();
    return STATUS_OK;
}

enum status stage_list_load_part(struct stage_list *list, const struct stage_settings *settings,
                                 struct stream_format *format, size_t first, size_t end)
{
    list->precision = settings->convolver.precision;
    for (size_t i = first; i < end; i++) {
        struct stage *stage = &list->stages[i];
        char **spec = spec_split(stage->text);
        if (!spec)
            return fail_memory("a stage");
        const char *before = log_prefix(stage->origin);
        enum status status = load_stage(stage, spec, format, settings);
        log_prefix(before);
        free(spec);
        TRY(status);
        stream_format_set_channels(format, stage->outputs);
    }
    return STATUS_OK;
}

enum status stage_list_load(struct stage_list *list, const struct stage_settings *settings,
                            struct stream_format *format)
{
    return stage_list_load_part(list, settings, format, 0, list->count);
}

void stage_list_expect(const struct stage_list *list, const struct stage_settings *settings,
                       const struct stream_format *format)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].ops->expect)
            list->stages[i].ops->expect(list->stages[i].text, settings, format);
}

size_t stage_list_grain(const struct stage_list *list)
{
    size_t grain = 1;
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].ops->grain > grain)
            grain = list->stages[i].ops->grain;
    return grain;
}

size_t stage_list_block(const struct stage_list *list, size_t channels, struct workers *workers,
                        uint64_t frames, size_t wanted)
{
    size_t widest = channels, block = 0, grain = stage_list_grain(list);
    uint64_t most = frames;
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].outputs > widest)
            widest = list->stages[i].outputs;
    if (frames > BLOCK_SHORT)
        most = frames / BLOCKS_LEAST > BLOCK_SHORT ? frames / BLOCKS_LEAST : BLOCK_SHORT;
    if (most > BLOCK_SAMPLES_MOST / widest)
        most = BLOCK_SAMPLES_MOST / widest;
    if (most < BLOCK_LEAST)
        most = BLOCK_LEAST;
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        const struct stage_ops *ops = stage->ops;
        size_t preferred =
            ops->preferred_block ? ops->preferred_block(stage, workers, (size_t)most) : 0;
        if (preferred > block)
            block = preferred;
    }
    if (wanted > 0 && (block == 0 || block == wanted))
        return wanted;
    if (block == 0)
        block = most < BLOCK_DEFAULT ? (size_t)most : BLOCK_DEFAULT;
    return block > grain ? block / grain * grain : grain;
}

static bool is_double(const struct stage *stage)
{
    return stage->settings.convolver.precision == PRECISION_DOUBLE;
}

/* Put a filter into a mix filter, if the stage has a mix or may fail in a stream. */
static enum status wrap(struct stage *stage, size_t number)
{
    struct stage_mix_settings settings = {.spec = &stage->mix,
                                          .rate = stage->rate,
                                          .before = stage->before,
                                          .number = number,
                                          .live = stage->settings.convolver.live};
    if (!stage->mix.given && !(stage->ops->may_fail && stage->settings.streamed))
        return STATUS_OK;
    struct filter *inner = stage->widened ? stage->widened : stage->filter;
    return (is_double(stage) ? stage_mix_create_in_double : stage_mix_create)(inner, &settings,
                                                                              &stage->mixed);
}

enum precision stage_precision(const struct stage *stage)
{
    bool in_double = is_double(stage) && stage->filter->kind->process_in_double;
    return in_double ? PRECISION_DOUBLE : PRECISION_SINGLE;
}

enum precision stage_list_precision(const struct stage_list *list)
{
    enum precision least = list->precision;
    for (size_t i = 0; i < list->count; i++)
        if (stage_precision(&list->stages[i]) < least)
            least = stage_precision(&list->stages[i]);
    return least;
}

void stage_list_warn_of_precision(const struct stage_list *list)
{
    for (size_t i = 0; list->precision == PRECISION_DOUBLE && i < list->count; i++)
        if (stage_precision(&list->stages[i]) == PRECISION_SINGLE)
            warning(
                "stage %zu, --%s %s, computes in single precision, which limits the result to 24 "
                "bits",
                i + 1, list->stages[i].ops->option, list->stages[i].text);
}

static enum status append(struct stage *stage, size_t number, uint64_t before,
                          struct workers *workers, struct filter *chain)
{
    stage->before = before + chain->latency;
    stage->tail_before = chain->tail;
    stage->tail_unknown = chain->tail_unknown;
    TRY(stage->ops->create(stage, chain->block, workers, &stage->filter));
    if (stage_precision(stage) < stage->settings.convolver.precision)
        TRY(precision_adapter_create_in_double(stage->filter, &stage->widened));
    TRY(wrap(stage, number));
    struct filter *outermost = stage->mixed     ? stage->mixed
                               : stage->widened ? stage->widened
                                                : stage->filter;
    return (is_double(stage) ? chain_append_in_double : chain_append)(chain, outermost);
}

enum status stage_list_create(struct stage_list *list, size_t channels, size_t block,
                              struct workers *workers, struct filter **result)
{
    struct filter *chain = NULL;
    enum status status =
        (list->precision == PRECISION_DOUBLE ? chain_create_in_double
                                             : chain_create)(channels, block, &chain);
    for (size_t i = 0; i < list->count && status == STATUS_OK; i++)
        status = append(&list->stages[i], i + 1, list->before, workers, chain);
    if (status != STATUS_OK)
        goto fail;
    *result = chain;
    return STATUS_OK;
fail:
    filter_destroy(chain);
    return status;
}

void stage_list_discard(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].ops->discard)
            list->stages[i].ops->discard(&list->stages[i]);
}

void stage_list_keep_latencies(struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].ops->keep_latency)
            list->stages[i].ops->keep_latency(&list->stages[i]);
}

/* ---- controls ---- */

static struct stage_control own_control(const struct stage *stage, size_t index)
{
    const struct plugin_port *port = &stage->ops->controls->ports(stage)->ports[index];
    return (struct stage_control){.kind = STAGE_CONTROL_OWN,
                                  .port = port,
                                  .port_index = index,
                                  .range = plugin_port_range(port, stage->rate),
                                  .value = stage->ops->controls->value(stage->filter, index)};
}

static struct stage_control mix_control(const struct stage *stage, enum stage_control_kind kind)
{
    return (struct stage_control){.kind = kind,
                                  .port = &stage_mix_ports[kind],
                                  .range = plugin_port_range(&stage_mix_ports[kind], stage->rate),
                                  .value = stage_mix_value(stage->mixed, kind)};
}

/* Get control *index of a stage. False: there are fewer; their number is subtracted from *index. */
static bool control_of(const struct stage *stage, size_t *index, struct stage_control *control)
{
    const struct plugin_info *info =
        stage->ops->controls ? stage->ops->controls->ports(stage) : NULL;
    for (size_t i = 0; info && i < info->port_count; i++) {
        if (info->ports[i].type != PLUGIN_CONTROL || !info->ports[i].is_input || (*index)-- > 0)
            continue;
        *control = own_control(stage, i);
        return true;
    }
    for (enum stage_control_kind kind = STAGE_CONTROL_MIX;
         stage->mixed && kind <= STAGE_CONTROL_BYPASS; kind++) {
        if (!stage_mix_has(stage->mixed, kind) || (*index)-- > 0)
            continue;
        *control = mix_control(stage, kind);
        return true;
    }
    return false;
}

bool stage_controls_at(const struct stage_list *list, size_t index, struct stage_control *control)
{
    for (size_t s = 0; s < list->count; s++) {
        if (!control_of(&list->stages[s], &index, control))
            continue;
        control->stage = s;
        return true;
    }
    return false;
}

enum status stage_controls_find(const struct stage_list *list, size_t index, const char *name,
                                struct stage_control *control)
{
    if (index >= list->count)
        return fail(CAUSE_USAGE, "there is no stage %zu: the chain has %zu", index + 1,
                    list->count);
    const struct stage *stage = &list->stages[index];
    size_t port = 0;
    if (*name == '@') {
        enum stage_control_kind kind = STAGE_CONTROL_MIX;
        while (kind < STAGE_CONTROL_OWN && strcmp(name, stage_mix_ports[kind].symbol) != 0)
            kind++;
        if (!stage->mixed || kind == STAGE_CONTROL_OWN || !stage_mix_has(stage->mixed, kind))
            return fail(CAUSE_USAGE, "stage %zu has no control '%s'; %s%s", index + 1, name,
                        stage->has_mixes ? "each of its masks has its own @mix="
                        : stage->mixed   ? "there are @bypass and "
                                         : "give it @mix=1 at the start",
                        !stage->mixed                                    ? ""
                        : stage_mix_has(stage->mixed, STAGE_CONTROL_WET) ? "@wet"
                                                                         : "@mix");
        *control = mix_control(stage, kind);
    } else if (stage->ops->controls) {
        TRY(plugin_spec_port(stage->ops->controls->ports(stage), name, &port));
        *control = own_control(stage, port);
    } else {
        return fail(CAUSE_USAGE, "stage %zu has no control '%s': it is not a plugin", index + 1,
                    name);
    }
    control->stage = index;
    return STATUS_OK;
}

enum status stage_controls_parse(const struct stage_list *list, const struct stage_control *control,
                                 const char *text, float *value)
{
    const struct stage *stage = &list->stages[control->stage];
    if (control->kind == STAGE_CONTROL_OWN)
        return plugin_spec_value(stage->ops->controls->ports(stage), control->port_index,
                                 stage->rate, text, value);
    double parsed;
    TRY(stage_mix_parse(control->kind, text, &parsed));
    *value = (float)parsed;
    return STATUS_OK;
}

float stage_controls_fit(const struct stage_control *control, double value)
{
    return (float)fmax(control->range.minimum, fmin(control->range.maximum, value));
}

HALO_REALTIME void stage_controls_set(const struct stage_list *list,
                                      const struct stage_control *control, float value)
{
    const struct stage *stage = &list->stages[control->stage];
    if (control->kind == STAGE_CONTROL_OWN)
        stage->ops->controls->set(stage->filter, control->port_index, value);
    else
        stage_mix_set(stage->mixed, control->kind, value);
}
