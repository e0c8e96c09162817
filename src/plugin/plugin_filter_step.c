/* The step of a plugin filter: all of it is real-time. */
#include "plugin/plugin_filter_state.h"

#include "base/realtime.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

/* The time of the sound when the next value changes, `now` or later. */
HALO_REALTIME static uint64_t next_time(const struct plugin_filter *plugin, uint64_t now)
{
    const struct automation *automation = &plugin->settings.spec->automation;
    uint64_t next = UINT64_MAX, step = (now / PLUGIN_FILTER_STEP + 1) * PLUGIN_FILTER_STEP;
    for (size_t i = plugin->next; i < automation->count; i++) {
        const struct automation_point *point = &automation->points[i];
        const struct plugin_point_state *state = &plugin->points[i];
        if (!state->begun) /* nor are those after it */
            return point->at < next ? point->at : next;
        uint64_t end = point->at + point->over, time = end < step ? end : step;
        if (!state->done && time < next)
            next = time;
    }
    return next;
}

/* The frame of the piece at which points are to be applied after `frame`. */
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
 * align.latency. Where the latency became shorter, silence fills the gap. */
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

/* In the sound, whose first frame comes out after the latency. */
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

/* The first one of all channels. */
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

/* What a channel of the map has in a piece that begins at `at`. */
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

HALO_REALTIME void plugin_filter_process(struct filter *filter, const float *const *in,
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

void plugin_filter_play_prelude(struct plugin_filter *plugin)
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
