#include "plugin/plugin_filter.h"

#include "base/realtime.h"
#include "plugin/plugin_instances.h"

#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plugin_filter {
    struct filter filter;
    struct plugin_filter_settings settings;
    struct plugin_instances *instances;
    bool reports_latency;
    struct { /* delays the output so that the sound keeps its place when the latency changes */
        size_t latency;
        struct block ring; /* output that is pending; empty if the latency is 0 */
        size_t at;         /* index in `ring` of the next frame to output */
    } align;
    struct plugin_latency latency; /* latency found so far */
    bool settled;                  /* the plugin has reported latency.settled */
    size_t prelude;                /* frames of silence to process before the sound */
    struct block aside;            /* output of the prelude */
    bool exact;                    /* values change at their frame; false: at the next block */
    bool changed;                  /* a value has changed since the beginning */
    size_t piece;                  /* most frames that the instances get at a time */
    struct block nothing;          /* a piece of silence */
    struct block side;             /* a piece of settings.side */
    const float **in;              /* buffers of a piece, for all inputs of the instances */
    float **out;

    float *values; /* values by port that the plugin has */
    struct plugin_change *changes;
    size_t change_count;
    uint64_t position; /* frames of input processed so far */
    size_t next;       /* index of the first point of the automation that is not done */
    struct plugin_point_state {
        bool begun; /* `from` is valid */
        bool done;
        float from; /* value at which the ramp starts */
    } *points;      /* state of each point of the automation */

    _Atomic float *requested; /* values by port that plugin_filter_set requested */
    _Atomic bool has_request; /* a value in `requested` is new */

    uint64_t bad;
    bool absurd;        /* the plugin output an invalid sample: silence from that block on */
    bool reported_late; /* live: a late block has been reported */
    char failure[300];
    char notice[200];
};

/* ---- the step: real-time ---- */

HALO_REALTIME static void change(struct plugin_filter *plugin, size_t frame, size_t port,
                                 float value)
{
    if (plugin->values[port] == value)
        return;
    plugin->values[port] = value;
    plugin->changed = true;
    plugin->changes[plugin->change_count++] =
        (struct plugin_change){.frame = frame, .port = port, .value = value};
}

HALO_REALTIME static void apply_requests(struct plugin_filter *plugin)
{
    if (!atomic_exchange(&plugin->has_request, false))
        return;
    for (size_t port = 0; port < plugin->settings.info->port_count; port++)
        if (plugin->settings.info->ports[port].is_input)
            change(plugin, 0, port, atomic_load(&plugin->requested[port]));
}

HALO_REALTIME static float interpolate(const struct plugin_port *port, float from, float to,
                                       float share)
{
    if (port->is_logarithmic && from > 0 && to > 0)
        return from * powf(to / from, share);
    float value = from + (to - from) * share;
    return port->is_integer ? rintf(value) : value;
}

/* Ramps share their steps, so that many of them cost no more blocks than one. */
HALO_REALTIME static bool is_step(const struct plugin_filter *plugin, uint64_t now)
{
    return !plugin->exact || now % PLUGIN_FILTER_STEP == 0;
}

HALO_REALTIME static void apply_point(struct plugin_filter *plugin, size_t index, uint64_t now,
                                      size_t frame)
{
    const struct automation_point *point = &plugin->settings.spec->automation.points[index];
    struct plugin_point_state *state = &plugin->points[index];
    if (state->done)
        return;
    if (!state->begun)
        state->from = plugin->values[point->target];
    state->begun = true;
    state->done = now - point->at >= point->over;
    float value = (float)point->value;
    if (!state->done && !is_step(plugin, now))
        return;
    if (!state->done)
        value = interpolate(&plugin->settings.info->ports[point->target], state->from, value,
                            (float)(now - point->at) / (float)point->over);
    change(plugin, frame, point->target, value);
}

/* Apply the points that are due at a frame of the piece. */
HALO_REALTIME static void apply_points(struct plugin_filter *plugin, size_t frame)
{
    const struct automation *automation = &plugin->settings.spec->automation;
    uint64_t position = plugin->position + frame;
    if (position < plugin->settings.before)
        return;
    uint64_t now = position - plugin->settings.before;
    for (size_t i = plugin->next; i < automation->count && automation->points[i].at <= now; i++)
        apply_point(plugin, i, now, frame);
    while (plugin->next < automation->count && plugin->points[plugin->next].done)
        plugin->next++;
}

/* The frame of the sound, from `now` on, at which the next value changes. */
HALO_REALTIME static uint64_t next_time(const struct plugin_filter *plugin, uint64_t now)
{
    const struct automation *automation = &plugin->settings.spec->automation;
    uint64_t next = UINT64_MAX, step = (now / PLUGIN_FILTER_STEP + 1) * PLUGIN_FILTER_STEP;
    for (size_t i = plugin->next; i < automation->count; i++) {
        const struct automation_point *point = &automation->points[i];
        const struct plugin_point_state *state = &plugin->points[i];
        if (!state->begun) /* points after it have not begun either */
            return point->at < next ? point->at : next;
        uint64_t end = point->at + point->over, time = end < step ? end : step;
        if (!state->done && time < next)
            next = time;
    }
    return next;
}

/* The next frame of the piece after `frame` at which points must be applied. */
HALO_REALTIME static size_t next_frame(const struct plugin_filter *plugin, size_t frame,
                                       size_t frames)
{
    if (!plugin->exact)
        return frame + plugin->instances->block;
    uint64_t before = plugin->settings.before, position = plugin->position + frame;
    uint64_t next = next_time(plugin, position > before ? position - before : 0);
    uint64_t end = plugin->position + frames;
    return next < UINT64_MAX - before && next + before < end
               ? (size_t)(next + before - plugin->position)
               : frames;
}

HALO_REALTIME static void write_ring(float *ring, size_t length, size_t at, const float *from,
                                     size_t frames)
{
    size_t first = frames < length - at ? frames : length - at;
    memcpy(ring + at, from, first * sizeof *ring);
    memcpy(ring, from + first, (frames - first) * sizeof *ring);
}

HALO_REALTIME static void read_ring(float *ring, size_t length, size_t at, float *to, size_t frames)
{
    size_t first = frames < length - at ? frames : length - at;
    memcpy(to, ring + at, first * sizeof *ring);
    memcpy(to + first, ring, (frames - first) * sizeof *ring);
    memset(ring + at, 0, first * sizeof *ring);
    memset(ring, 0, (frames - first) * sizeof *ring);
}

/* Delay frames [from, from + frames) of the output in place, from the `reported` latency to
 * align.latency. If the latency became shorter, silence fills the gap. */
HALO_REALTIME static void keep_place(struct plugin_filter *plugin, size_t from, size_t frames,
                                     uint64_t reported)
{
    size_t length = plugin->align.ring.frames;
    if (plugin->align.latency == 0)
        return;
    size_t more = reported < plugin->align.latency ? plugin->align.latency - (size_t)reported : 0;
    for (size_t c = 0; c < plugin->align.ring.channels; c++) {
        float *ring = plugin->align.ring.data[c], *samples = plugin->out[c] + from;
        write_ring(ring, length, (plugin->align.at + more) % length, samples, frames);
        read_ring(ring, length, plugin->align.at, samples, frames);
    }
    plugin->align.at = (plugin->align.at + frames) % length;
}

static void notify(struct plugin_filter *plugin, const char *format, ...) PRINTF_LIKE(2, 3);
HALO_REALTIME static void notify(struct plugin_filter *plugin, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(plugin->notice, sizeof plugin->notice, format, arguments);
    va_end(arguments);
    plugin->filter.notice = plugin->notice;
}

/* The actual latency of the plugin in a block. */
HALO_REALTIME static uint64_t actual_latency(struct plugin_filter *plugin, uint64_t reported)
{
    if (!plugin->changed && reported > plugin->latency.most)
        plugin->latency.settled = reported;
    if (reported > plugin->latency.most)
        plugin->latency.most = reported;
    plugin->settled |= plugin->changed || reported == plugin->latency.settled;
    return plugin->settled ? reported : plugin->latency.settled;
}

HALO_REALTIME static void align(struct plugin_filter *plugin)
{
    const struct plugin_instances *instances = plugin->instances;
    bool was_late = plugin->filter.late > 0;
    for (size_t i = 0, at = 0; i < instances->run_count; i++) {
        uint64_t latency = actual_latency(plugin, instances->runs[i].latency);
        for (size_t end = at + instances->runs[i].frames, part; at < end; at += part) {
            part = end - at < instances->block ? end - at : instances->block;
            keep_place(plugin, at, part, latency);
        }
    }
    plugin->filter.late = plugin->latency.most - plugin->align.latency;
    if (plugin->filter.late > 0 && !was_late && !plugin->filter.notice)
        notify(plugin, "%s now reports a latency of %llu frames: its output is %llu frames late",
               plugin->settings.info->id, (unsigned long long)plugin->latency.most,
               (unsigned long long)plugin->filter.late);
}

/* ---- absurd samples ---- */

HALO_REALTIME static void silence_bad(struct plugin_filter *plugin, float *samples, size_t frames)
{
    for (size_t i = audio_find_nonfinite(samples, frames); i < frames; i++)
        if (!isfinite(samples[i])) {
            samples[i] = 0;
            plugin->bad++;
        }
}

/* The frame of the sound for frame `index` of the output, which is later by the latency. */
HALO_REALTIME static uint64_t frame_of(const struct plugin_filter *plugin, size_t index)
{
    uint64_t late = plugin->settings.before + plugin->filter.latency;
    uint64_t frame = plugin->position + index;
    return frame > late ? frame - late : 0;
}

HALO_REALTIME static void fail_absurd(struct plugin_filter *plugin, size_t index, float sample)
{
    const char *id = plugin->settings.info->id;
    unsigned long long frame = frame_of(plugin, index);
    double seconds = (double)frame / plugin->settings.rate;
    plugin->absurd = true;
    if (isfinite(sample))
        snprintf(plugin->failure, sizeof plugin->failure,
                 "%s made a sample of %+.0f dBFS at %.3f s, in frame %llu; @allow-loud accepts it",
                 id, 20 * log10(fabs((double)sample)), seconds, frame);
    else
        snprintf(plugin->failure, sizeof plugin->failure,
                 "%s made a sample that is not a number at %.3f s, in frame %llu; @allow-loud "
                 "makes silence of it",
                 id, seconds, frame);
    plugin->filter.failure = plugin->failure;
}

HALO_REALTIME static size_t find_absurd(const float *samples, size_t frames)
{
    if (audio_peak(samples, frames) <= PLUGIN_FILTER_LOUDEST) /* false for NaN */
        return frames;
    size_t at = 0;
    while (at < frames && fabsf(samples[at]) <= PLUGIN_FILTER_LOUDEST)
        at++;
    return at;
}

/* Find the first absurd sample in all channels of a piece. */
HALO_REALTIME static void check_samples(struct plugin_filter *plugin, size_t frames)
{
    size_t first = frames, channel = 0;
    for (size_t c = 0; c < plugin->filter.outputs && first > 0; c++) {
        size_t at = find_absurd(plugin->out[c], first);
        if (at < first) {
            first = at;
            channel = c;
        }
    }
    if (first < frames && !plugin->filter.failure)
        fail_absurd(plugin, first, plugin->out[channel][first]);
}

HALO_REALTIME static void report(struct plugin_filter *plugin, uint64_t bad_before)
{
    struct filter *filter = &plugin->filter;
    struct plugin_instances *instances = plugin->instances;
    const char *id = plugin->settings.info->id;
    if (instances->failure && !filter->failure) {
        snprintf(plugin->failure, sizeof plugin->failure, "%s %s", id, instances->failure);
        filter->failure = plugin->failure;
    }
    if (instances->notice && !filter->notice) {
        filter->notice = instances->notice;
        instances->notice = NULL;
    }
    if (instances->late && !plugin->reported_late && !filter->notice) {
        notify(plugin,
               "%s missed a block: the dry sound is played instead; longer blocks (--block) give "
               "it more time",
               id);
        plugin->reported_late = true;
    }
    if (plugin->settings.live && plugin->bad && !bad_before && !filter->notice)
        notify(plugin, "%s produced NaN or infinite samples: they are silenced", id);
}

/* The samples of a channel of the map in a piece that begins at `at`. */
HALO_REALTIME static const float *input(const struct plugin_filter *plugin, size_t channel,
                                        const float *const *in, size_t at)
{
    if (channel == PLUGIN_MAP_SILENCE)
        return plugin->nothing.data[0];
    size_t channels = plugin->filter.inputs;
    return channel < channels ? in[channel] + at : plugin->side.data[channel - channels];
}

HALO_REALTIME static void read_side_chain(struct plugin_filter *plugin, size_t frames)
{
    struct plugin_side_chain *side = plugin->settings.side;
    const char *failure =
        side ? plugin_side_chain_read(side, plugin->instances->position, frames, plugin->side.data)
             : NULL;
    if (failure && !plugin->filter.failure)
        plugin->filter.failure = failure;
}

HALO_REALTIME static void run_piece(struct plugin_filter *plugin, const float *const *in,
                                    float *const *out, size_t at, size_t frames)
{
    const struct plugin_map *map = plugin->settings.map;
    struct plugin_instances *instances = plugin->instances;
    uint64_t bad = plugin->bad;
    instances->position = (int64_t)(plugin->position - plugin->settings.before);
    read_side_chain(plugin, frames);
    for (size_t i = 0; i < map->count; i++)
        plugin->in[i] = input(plugin, map->inputs[i], in, at);
    for (size_t c = 0; c < map->outputs; c++)
        plugin->out[c] = out[c] + at;
    plugin->change_count = 0;
    apply_requests(plugin);
    for (size_t frame = 0; frame < frames; frame = next_frame(plugin, frame, frames))
        apply_points(plugin, frame);
    uint64_t late = instances->late;
    instances->deadline = plugin->filter.deadline;
    instances->kind->process(instances, plugin->in, plugin->out, frames, plugin->changes,
                             plugin->change_count);
    plugin->filter.absent = instances->late != late;
    for (size_t c = 0; c < map->outputs && map->is_beside; c++)
        memcpy(plugin->out[c], in[c] + at, frames * sizeof(float));
    if (plugin->align.latency || plugin->reports_latency)
        align(plugin);
    for (size_t c = 0; c < map->outputs && plugin->settings.allow_loud; c++)
        silence_bad(plugin, plugin->out[c], frames);
    if (!map->is_beside && !plugin->settings.allow_loud)
        check_samples(plugin, frames);
    report(plugin, bad);
    plugin->position += frames;
}

/* Implements filter_kind.process. */
HALO_REALTIME static void plugin_filter_process(struct filter *filter, const float *const *in,
                                                float *const *out)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    for (size_t at = 0; at < filter->block; at += plugin->piece) {
        size_t left = filter->block - at;
        run_piece(plugin, in, out, at, left < plugin->piece ? left : plugin->piece);
    }
    for (size_t c = 0; c < filter->outputs && plugin->absurd; c++)
        memset(out[c], 0, filter->block * sizeof *out[c]);
}

/* Run the instances on the silence before the sound. */
static void plugin_filter_play_prelude(struct plugin_filter *plugin)
{
    struct plugin_instances *instances = plugin->instances;
    for (size_t i = 0; i < plugin->settings.map->count; i++)
        plugin->in[i] = plugin->nothing.data[0];
    for (size_t left = plugin->prelude, frames; left > 0; left -= frames) {
        frames = left < plugin->piece ? left : plugin->piece;
        plugin->change_count = 0;
        apply_requests(plugin);
        instances->position = -(int64_t)(left + plugin->settings.before);
        instances->kind->process(instances, plugin->in, plugin->aside.data, frames, plugin->changes,
                                 plugin->change_count);
    }
}

/* ---- set-up ---- */

enum {
    BLOCK_MOST = 8192, /* frames of a plugin's block */
    BLOCK_LEAST = 16,  /* smallest block that is used if it divides the filter's block */
    PIECE_MOST = 8192, /* most frames that the instances get at a time, in files */
};
static const double PATIENCE = 10, PATIENCE_LIVE = 2; /* seconds */

static const uint64_t TAIL_MOST = INT32_MAX; /* frames; longer ones are endless */

enum {
    PROBE_BLOCKS = 8,  /* blocks of silence before a latency counts */
    PROBE_POINTS = 64, /* points of automation that are tried */
};
static const double PROBE_SECONDS = 0.25;

static bool wants_power_of_two(const struct plugin_info *info)
{
    for (size_t i = 0; i < info->feature_count; i++)
        if (strcmp(info->features[i], "http://lv2plug.in/ns/ext/buf-size#powerOf2BlockLength") == 0)
            return true;
    return false;
}

/* Frames of the plugin's block. */
static size_t cut(const struct plugin_filter_settings *settings)
{
    size_t block = settings->block, divisor = block & -block;
    size_t most = settings->streamed ? BLOCK_MOST : PLUGIN_FILTER_BLOCK;
    if (divisor < BLOCK_LEAST && divisor < block && !wants_power_of_two(settings->info))
        return block;
    return divisor < most ? divisor : most;
}

static size_t piece_of(const struct plugin_filter_settings *settings, size_t block)
{
    if (settings->live || settings->block < PIECE_MOST)
        return settings->block;
    return block < PIECE_MOST ? PIECE_MOST / block * block : block;
}

/* The most changes in a piece: requested values, the first and last value of each point, and the
 * steps of ramps. Ramps of one port do not overlap. */
static size_t changes_most(const struct plugin_filter *plugin)
{
    const struct automation *automation = &plugin->settings.spec->automation;
    size_t ports = plugin->settings.info->port_count, ramps = 0;
    for (size_t i = 0; i < automation->count; i++)
        ramps += automation->points[i].over > 0;
    return ports + 2 * automation->count +
           (ramps < ports ? ramps : ports) * (plugin->piece / PLUGIN_FILTER_STEP + 1);
}

/* Open the instances, isolated or not. No other code depends on where the plugin runs. */
static enum status open_instances(const struct plugin_filter *plugin, size_t block, bool live,
                                  struct plugin_instances **instances)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct plugin_spec *spec = settings->spec;
    struct plugin_instances_settings request = {
        .plugin = {.rate = settings->rate,
                   .block = block,
                   .live = live,
                   .tempo = settings->tempo,
                   .has_side_chain = settings->map->has_side_chain,
                   .varied = plugin->exact && spec->automation.count > 0,
                   .preset = spec->preset,
                   .state = spec->state,
                   .setting_count = spec->setting_count,
                   .settings = spec->settings,
                   .read_count = spec->read_count,
                   .reads = spec->reads},
        .instances = settings->map->instances,
        .most = plugin->piece,
        .changes = changes_most(plugin),
        .patience = live ? PATIENCE_LIVE : PATIENCE,
    };
    struct plugin_change *changes = calloc(spec->value_count + 1, sizeof *changes);
    if (!changes)
        return fail_memory("a plugin");
    for (size_t i = 0; i < spec->value_count; i++)
        changes[i] =
            (struct plugin_change){.port = spec->values[i].port, .value = spec->values[i].value};
    enum status status =
        (settings->isolated ? plugin_instances_open_isolated : plugin_instances_open)(
            settings->info, changes, spec->value_count, &request, instances);
    free(changes);
    return status;
}

/* ---- latency, found with a separate instance ---- */

struct latency_probe {
    struct plugin_instances *instances;
    size_t piece;
    const float **in;
    struct block out;
    uint64_t most;
    uint64_t last;
    size_t blocks;  /* blocks processed */
    size_t settled; /* blocks before the last change of the latency */
};

static void note_latency(struct latency_probe *probe, uint64_t reported)
{
    if (probe->blocks > 0 && reported != probe->last)
        probe->settled = probe->blocks;
    probe->last = reported;
    probe->most = reported > probe->most ? reported : probe->most;
    probe->blocks++;
}

static void feed_silence(struct latency_probe *probe, size_t frames,
                         const struct plugin_change *first)
{
    probe->instances->position = -(int64_t)probe->piece; /* a piece before the sound */
    for (size_t at = 0; at < frames && !probe->instances->failure; at += probe->piece) {
        probe->instances->kind->process(probe->instances, probe->in, probe->out.data, probe->piece,
                                        first, at == 0 && first ? 1 : 0);
        for (size_t i = 0; i < probe->instances->run_count; i++)
            note_latency(probe, probe->instances->runs[i].latency);
    }
}

static void try_values(struct latency_probe *probe, struct plugin_filter *plugin)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct automation *automation = &settings->spec->automation;
    struct plugin_latency *latency = &plugin->latency;
    size_t few = PROBE_BLOCKS * probe->instances->block;
    size_t many = (size_t)(PROBE_SECONDS * settings->rate);
    feed_silence(probe, many > few ? many : few, NULL);
    if (latency->settled < probe->last)
        latency->settled = probe->last;
    if (probe->settled > 0 && !settings->live && !settings->replayed)
        plugin->prelude = (probe->settled + 1) * probe->instances->block;
    for (size_t i = 0; i < automation->count && i < PROBE_POINTS; i++) {
        struct plugin_change value = {.port = automation->points[i].target,
                                      .value = (float)automation->points[i].value};
        feed_silence(probe, few, &value);
    }
    if (latency->most < probe->most)
        latency->most = probe->most;
}

/* The probe is not live, so that it waits for the plugin. */
static enum status find_latency(struct plugin_filter *plugin, size_t block)
{
    const struct plugin_map *map = plugin->settings.map;
    struct latency_probe probe = {.piece = plugin->piece, .in = plugin->in};
    plugin->latency = plugin->settings.latency;
    for (size_t i = 0; i < plugin->settings.info->port_count; i++)
        plugin->reports_latency |= !map->is_beside && plugin->settings.info->ports[i].is_latency;
    if (!plugin->reports_latency)
        return STATUS_OK;
    enum status status;
    if (!(status = open_instances(plugin, block, false, &probe.instances)) &&
        !(status = block_init(&probe.out, map->outputs, probe.piece, "a plugin"))) {
        for (size_t i = 0; i < map->count; i++)
            plugin->in[i] = plugin->nothing.data[0];
        try_values(&probe, plugin);
        if (probe.instances->failure)
            status = fail(CAUSE_OTHER, "cannot run %s: it %s while its latency was measured",
                          plugin->settings.info->id, probe.instances->failure);
    }
    plugin_instances_close(probe.instances);
    block_free(&probe.out);
    return status;
}

/* ---- the filter ---- */

static void begin(struct plugin_filter *plugin)
{
    size_t points = plugin->settings.spec->automation.count;
    plugin_filter_play_prelude(plugin);
    plugin->position = 0;
    plugin->next = 0;
    plugin->settled = plugin->changed = false;
    memset(plugin->points, 0, points * sizeof *plugin->points);
}

static void plugin_filter_reset(struct filter *filter)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    plugin->instances->kind->reset(plugin->instances);
    block_silence(&plugin->align.ring, 0, plugin->align.ring.frames);
    plugin->align.at = 0;
    atomic_store(&plugin->has_request, true); /* undo the automation */
    begin(plugin);
}

static void plugin_filter_destroy(struct filter *filter)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    plugin_instances_close(plugin->instances);
    block_free(&plugin->align.ring);
    block_free(&plugin->nothing);
    block_free(&plugin->side);
    block_free(&plugin->aside);
    free(plugin->in);
    free(plugin->out);
    free(plugin->values);
    free(plugin->changes);
    free(plugin->points);
    free(plugin->requested);
    free(plugin);
}

static const struct filter_kind plugin_filter_kind = {
    .name = "plugin",
    .process = plugin_filter_process,
    .reset = plugin_filter_reset,
    .destroy = plugin_filter_destroy,
};

/* Allocate the buffers that the step uses. */
static enum status make_buffers(struct plugin_filter *plugin)
{
    const struct plugin_filter_settings *settings = &plugin->settings;
    const struct automation *automation = &settings->spec->automation;
    size_t ports = settings->info->port_count, points = automation->count;
    plugin->in = calloc(settings->map->count + 1, sizeof *plugin->in);
    plugin->out = calloc(settings->map->outputs, sizeof *plugin->out);
    plugin->values = calloc(ports + 1, sizeof *plugin->values);
    plugin->changes = calloc(changes_most(plugin) + 1, sizeof *plugin->changes);
    plugin->points = calloc(points + 1, sizeof *plugin->points);
    plugin->requested = calloc(ports + 1, sizeof *plugin->requested);
    if (!plugin->in || !plugin->out || !plugin->values || !plugin->changes || !plugin->points ||
        !plugin->requested)
        return fail_memory("a plugin");
    if (settings->side)
        TRY(block_init(&plugin->side, settings->side->channels, plugin->piece, "a plugin"));
    return block_init(&plugin->nothing, 1, plugin->piece, "a plugin");
}

static enum status set_latency(struct plugin_filter *plugin, size_t block)
{
    TRY(find_latency(plugin, block));
    size_t latency = plugin->align.latency = (size_t)plugin->latency.most;
    if (latency > 0)
        TRY(block_init(&plugin->align.ring, plugin->filter.outputs, latency + block, "a plugin"));
    if (plugin->prelude > 0)
        TRY(block_init(&plugin->aside, plugin->filter.outputs, plugin->piece, "a plugin"));
    plugin->filter.latency = plugin->align.latency;
    return STATUS_OK;
}

/* A reported tail is exact as long as no value changes. But a tail of 0 counts as unknown: many
 * plugins answer 0 without having computed a tail. */
static void set_tail_length(struct plugin_filter *plugin)
{
    uint64_t tail = plugin->instances->tail;
    if (plugin->settings.map->is_beside || tail == 0 || tail > TAIL_MOST)
        return;
    plugin->filter.tail = tail;
    plugin->filter.tail_unknown = plugin->settings.spec->automation.count > 0;
}

enum status plugin_filter_create(const struct plugin_filter_settings *settings,
                                 struct filter **result)
{
    struct plugin_filter *plugin = calloc(1, sizeof *plugin);
    if (!plugin)
        return fail_memory("a plugin");
    size_t block = cut(settings);
    plugin->filter = (struct filter){.kind = &plugin_filter_kind,
                                     .inputs = settings->channels,
                                     .outputs = settings->map->outputs,
                                     .block = settings->block,
                                     .tail_unknown = !settings->map->is_beside};
    plugin->settings = *settings;
    plugin->piece = piece_of(settings, block);
    plugin->exact = plugin_is_exact(settings->info);
    enum status status;
    if ((status = make_buffers(plugin)) || (status = set_latency(plugin, block)) ||
        (status = open_instances(plugin, block, settings->live, &plugin->instances))) {
        plugin_filter_destroy(&plugin->filter);
        return status;
    }
    set_tail_length(plugin);
    for (size_t i = 0; i < settings->info->port_count; i++) {
        plugin->values[i] = plugin->instances->values[i];
        atomic_init(&plugin->requested[i], plugin->instances->values[i]);
    }
    begin(plugin);
    *result = &plugin->filter;
    return STATUS_OK;
}

struct plugin_filter_info plugin_filter_info(const struct filter *filter)
{
    const struct plugin_filter *plugin = (const struct plugin_filter *)filter;
    return (struct plugin_filter_info){.instances = plugin->instances->instances,
                                       .block = plugin->instances->block,
                                       .isolated = plugin->settings.isolated,
                                       .bad = plugin->bad,
                                       .missed = plugin->instances->late,
                                       .latency = plugin->latency};
}

void plugin_filter_set(struct filter *filter, size_t port, float value)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    struct plugin_range range =
        plugin_port_range(&plugin->settings.info->ports[port], plugin->settings.rate);
    atomic_store(&plugin->requested[port], fmaxf(range.minimum, fminf(range.maximum, value)));
    atomic_store(&plugin->has_request, true);
}

float plugin_filter_value(const struct filter *filter, size_t port)
{
    return atomic_load(&((const struct plugin_filter *)filter)->requested[port]);
}

enum status plugin_filter_confirm(struct filter *filter)
{
    struct plugin_instances *instances = ((struct plugin_filter *)filter)->instances;
    return instances->kind->confirm ? instances->kind->confirm(instances) : STATUS_OK;
}

enum status plugin_filter_save(struct filter *filter, const char *folder)
{
    struct plugin_instances *instances = ((struct plugin_filter *)filter)->instances;
    return instances->kind->save(instances, folder);
}
