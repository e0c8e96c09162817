/* A plugin at work: everything here runs in the real-time step. */
#include "plugin/plugin_filter_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- values ---- */

static void change(struct plugin_filter *plugin, size_t frame, size_t port, float value)
{
    if (plugin->values[port] == value)
        return;
    plugin->values[port] = value;
    plugin->changed = true;
    plugin->changes[plugin->change_count++] =
        (struct plugin_change){.frame = frame, .port = port, .value = value};
}

static void take_wanted(struct plugin_filter *plugin)
{
    if (!atomic_exchange(&plugin->asked, false))
        return;
    for (size_t port = 0; port < plugin->settings.info->port_count; port++)
        if (plugin->settings.info->ports[port].is_input)
            change(plugin, 0, port, atomic_load(&plugin->wanted[port]));
}

static float on_the_way(const struct plugin_port *port, float from, float to, float part)
{
    if (port->is_logarithmic && from > 0 && to > 0)
        return from * powf(to / from, part);
    float value = from + (to - from) * part;
    return port->is_integer ? rintf(value) : value;
}

static void take_point(struct plugin_filter *plugin, size_t index, uint64_t now, size_t frame)
{
    const struct automation_point *point = &plugin->settings.spec->automation.points[index];
    if (plugin->done[index])
        return;
    if (!plugin->begun[index])
        plugin->from[index] = plugin->values[point->target];
    plugin->begun[index] = true;
    plugin->done[index] = now - point->at >= point->over;
    float value = point->value;
    if (!plugin->done[index])
        value = on_the_way(&plugin->settings.info->ports[point->target], plugin->from[index], value,
                           (float)(now - point->at) / (float)point->over);
    change(plugin, frame, point->target, value);
}

/* Those that are due where a block of the plugin's begins, `frame` within the piece. */
static void take_points(struct plugin_filter *plugin, size_t frame)
{
    const struct automation *automation = &plugin->settings.spec->automation;
    uint64_t position = plugin->position + frame;
    if (position < plugin->settings.before)
        return;
    uint64_t now = position - plugin->settings.before;
    for (size_t i = plugin->next; i < automation->count && automation->points[i].at <= now; i++)
        take_point(plugin, i, now, frame);
    while (plugin->next < automation->count && plugin->done[plugin->next])
        plugin->next++;
}

/* ---- latency ---- */

static void put_in(float *ring, size_t length, size_t at, const float *from, size_t frames)
{
    size_t first = frames < length - at ? frames : length - at;
    memcpy(ring + at, from, first * sizeof *ring);
    memcpy(ring, from + first, (frames - first) * sizeof *ring);
}

static void take_out(float *ring, size_t length, size_t at, float *to, size_t frames)
{
    size_t first = frames < length - at ? frames : length - at;
    memcpy(to, ring + at, first * sizeof *ring);
    memcpy(to + first, ring, (frames - first) * sizeof *ring);
    memset(ring + at, 0, first * sizeof *ring);
    memset(ring, 0, (frames - first) * sizeof *ring);
}

/* In place, frames [from, from + frames) of what comes out: what the plugin makes `told` frames
 * late goes out `latency` frames late. Where the latency became shorter, silence fills the gap. */
static void keep_place(struct plugin_filter *plugin, size_t from, size_t frames, uint64_t reported)
{
    size_t length = plugin->align.ring.frames;
    if (plugin->align.latency == 0)
        return;
    size_t more = reported < plugin->align.latency ? plugin->align.latency - (size_t)reported : 0;
    for (size_t c = 0; c < plugin->align.ring.channels; c++) {
        float *ring = plugin->align.ring.data[c], *samples = plugin->out[c] + from;
        put_in(ring, length, (plugin->align.at + more) % length, samples, frames);
        take_out(ring, length, plugin->align.at, samples, frames);
    }
    plugin->align.at = (plugin->align.at + frames) % length;
}

/* ---- sound ---- */

static void clean(struct plugin_filter *plugin, float *samples, size_t frames)
{
    for (size_t i = audio_find_nonfinite(samples, frames); i < frames; i++)
        if (!isfinite(samples[i])) {
            samples[i] = 0;
            plugin->bad++;
        }
}

/* The actual latency of the plugin in a block. */
static uint64_t believe(struct plugin_filter *plugin, uint64_t reported)
{
    if (!plugin->changed && reported > plugin->latency.most)
        plugin->latency.settled = reported;
    if (reported > plugin->latency.most)
        plugin->latency.most = reported;
    plugin->settled |= plugin->changed || reported == plugin->latency.settled;
    return plugin->settled ? reported : plugin->latency.settled;
}

static void align(struct plugin_filter *plugin, size_t frames)
{
    const struct plugin_instances *instances = plugin->instances;
    bool was_late = plugin->filter.late > 0;
    for (size_t at = 0; at < frames; at += instances->block) {
        uint64_t reported = believe(plugin, instances->latencies[at / instances->block]);
        keep_place(plugin, at, instances->block, reported);
    }
    uint64_t most = plugin->latency.most + plugin->settings.delay;
    plugin->filter.late = most - plugin->align.latency;
    if (plugin->filter.late == 0 || was_late || plugin->filter.notice)
        return;
    snprintf(plugin->notice, sizeof plugin->notice,
             "%s now reports a latency of %llu frames: its output is %llu frames late",
             plugin->settings.info->id, (unsigned long long)plugin->latency.most,
             (unsigned long long)plugin->filter.late);
    plugin->filter.notice = plugin->notice;
}

static void report(struct plugin_filter *plugin, uint64_t bad_before)
{
    struct filter *filter = &plugin->filter;
    struct plugin_instances *instances = plugin->instances;
    if (instances->failure && !filter->failure) {
        snprintf(plugin->failure, sizeof plugin->failure, "%s %s", plugin->settings.info->id,
                 instances->failure);
        filter->failure = plugin->failure;
    }
    if (instances->notice && !filter->notice) {
        filter->notice = instances->notice;
        instances->notice = NULL;
    }
    /* The blocks that a chain is warmed up with come all at once. */
    bool is_warm = plugin->position > plugin->settings.rate;
    if (instances->late && is_warm && !plugin->reported_late && !filter->notice) {
        snprintf(plugin->notice, sizeof plugin->notice,
                 "%s missed a block: the dry sound is played instead", plugin->settings.info->id);
        filter->notice = plugin->notice;
        plugin->reported_late = true;
    }
    if (plugin->settings.live && plugin->bad && !bad_before && !filter->notice) {
        snprintf(plugin->notice, sizeof plugin->notice,
                 "%s produced NaN or infinite samples: they are silenced",
                 plugin->settings.info->id);
        filter->notice = plugin->notice;
    }
}

static void run_piece(struct plugin_filter *plugin, const float *const *in, float *const *out,
                      size_t at, size_t frames)
{
    const struct plugin_map *map = plugin->settings.map;
    struct plugin_instances *instances = plugin->instances;
    uint64_t bad = plugin->bad;
    for (size_t i = 0; i < map->count; i++)
        plugin->in[i] = map->inputs[i] == PLUGIN_MAP_SILENCE ? plugin->nothing.data[0]
                                                             : in[map->inputs[i]] + at;
    for (size_t c = 0; c < map->outputs; c++)
        plugin->out[c] = out[c] + at;
    plugin->change_count = 0;
    take_wanted(plugin);
    for (size_t frame = 0; frame < frames; frame += instances->block)
        take_points(plugin, frame);
    uint64_t late = instances->late;
    instances->kind->process(instances, plugin->in, plugin->out, frames, plugin->changes,
                        plugin->change_count);
    plugin->filter.absent = instances->late != late;
    for (size_t c = 0; c < map->outputs; c++)
        if (map->is_beside)
            memcpy(plugin->out[c], in[c] + at, frames * sizeof(float));
        else
            clean(plugin, plugin->out[c], frames);
    if (plugin->align.latency || plugin->reports_latency)
        align(plugin, frames);
    report(plugin, bad);
    plugin->position += frames;
}

void plugin_filter_process(struct filter *filter, const float *const *in, float *const *out)
{
    struct plugin_filter *plugin = (struct plugin_filter *)filter;
    for (size_t at = 0; at < filter->block; at += plugin->piece) {
        size_t left = filter->block - at;
        run_piece(plugin, in, out, at, left < plugin->piece ? left : plugin->piece);
    }
}

void plugin_filter_play_prelude(struct plugin_filter *plugin)
{
    struct plugin_instances *instances = plugin->instances;
    for (size_t i = 0; i < plugin->settings.map->count; i++)
        plugin->in[i] = plugin->nothing.data[0];
    for (size_t left = plugin->prelude, frames; left > 0; left -= frames) {
        frames = left < plugin->piece ? left : plugin->piece;
        plugin->change_count = 0;
        take_wanted(plugin);
        instances->kind->process(instances, plugin->in, plugin->aside.data, frames, plugin->changes,
                            plugin->change_count);
    }
}
