/* The step of isolated instances: all of it is real-time, but for waiting without a deadline. */
#include "plugin/plugin_isolated_state.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/stop.h"

#include <sched.h>
#include <string.h>

enum { POLL_NS = 50000000, REST_MOST = 63 };

/* ---- orders ---- */

/* Only the last change of each port at each frame is posted. */
HALO_REALTIME static void add_change(const struct isolated_instances *isolated,
                                     struct isolated_piece *piece,
                                     const struct plugin_change *change)
{
    size_t count = piece->change_count;
    for (size_t i = count; i-- > 0 && piece->changes[i].frame == change->frame;)
        if (piece->changes[i].port == change->port) {
            piece->changes[i].value = change->value;
            return;
        }
    if (count == isolated->memory.change_room)
        return; /* only if they are not sorted */
    piece->changes[count] = *change;
    piece->order->change_count = piece->change_count = count + 1;
}

HALO_REALTIME void isolated_add_changes(const struct isolated_instances *isolated,
                                        struct isolated_piece *piece,
                                        const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_change(isolated, piece, &changes[i]);
}

HALO_REALTIME struct isolated_piece isolated_begin(const struct isolated_instances *isolated,
                                                   enum isolated_what what)
{
    struct isolated_piece piece = isolated_memory_piece(&isolated->memory, isolated->posted);
    *piece.order = (struct isolated_order){.what = what, .processor = -1};
    return piece;
}

HALO_REALTIME void isolated_post(struct isolated_instances *isolated)
{
    isolated->posted++;
    if (isolated->child)
        plugin_child_posted(isolated->child, isolated->posted, isolated->frames);
    futex_raise(&isolated->memory.head->posted);
}

HALO_REALTIME const char *isolated_end(const struct isolated_instances *isolated)
{
    return isolated->overwritten ? "wrote over the memory that it shares with halo"
                                 : plugin_child_end(isolated->child);
}

/* Whether all orders are done but for `behind`. More answers than orders are none. */
HALO_REALTIME static bool is_near(struct isolated_instances *isolated, size_t behind)
{
    uint32_t missing = isolated->posted - atomic_load(&isolated->memory.head->done.value);
    isolated->overwritten |= missing > isolated->memory.slots;
    return missing <= behind;
}

/* Until all orders are done; `deadline` 0: however long that takes. False: not done, and either the
 * child has ended, or it is too late, or a signal came. */
HALO_REALTIME static bool wait_until(struct isolated_instances *isolated, int64_t deadline)
{
    struct futex *done = &isolated->memory.head->done;
    for (;;) {
        int64_t until = deadline ? deadline : monotonic_ns() + POLL_NS;
        (void)futex_wait(done, isolated->posted, isolated->spin, until);
        if (is_near(isolated, 0))
            return true;
        if (isolated_end(isolated)) /* it may have answered before */
            return is_near(isolated, 0);
        if (deadline ? monotonic_ns() >= deadline : stop_requested()) {
            isolated->given_up = !deadline;
            return false;
        }
    }
}

bool isolated_wait(struct isolated_instances *isolated)
{
    return wait_until(isolated, 0);
}

/* ---- pieces ---- */

HALO_REALTIME static void output_silence(struct isolated_instances *isolated, float *const *out,
                                         size_t frames)
{
    isolated->instances.run_count = 1;
    isolated->runs[0] =
        (struct plugin_run){.frames = frames, .latency = isolated->instances.latency};
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memset(out[c], 0, frames * sizeof(float));
}

HALO_REALTIME struct plugin_run isolated_run(const struct isolated_piece *piece, size_t index)
{
    const volatile struct plugin_run *reported = &piece->runs[index];
    const uint64_t latency = reported->latency;
    return (struct plugin_run){.frames = reported->frames,
                               .latency = latency < PLUGIN_LATENCY_MOST ? latency : 0};
}

/* What the child says of its runs is made to add up to the piece. */
HALO_REALTIME static void take_runs(struct isolated_instances *isolated,
                                    const struct isolated_piece *piece, size_t frames)
{
    struct plugin_instances *instances = &isolated->instances;
    size_t count = *(const volatile size_t *)&piece->order->run_count;
    size_t room = isolated->memory.run_room;
    instances->run_count = 0;
    for (size_t i = 0; i < count && i < room && frames > 0; i++) {
        struct plugin_run run = isolated_run(piece, i);
        run.frames = run.frames < frames ? run.frames : frames;
        frames -= run.frames;
        instances->latency = run.latency;
        isolated->runs[instances->run_count++] = run;
    }
    if (frames > 0 && instances->run_count == 0)
        isolated->runs[instances->run_count++] = (struct plugin_run){.latency = instances->latency};
    if (frames > 0)
        isolated->runs[instances->run_count - 1].frames += frames;
}

HALO_REALTIME static void output(struct isolated_instances *isolated, uint32_t number,
                                 float *const *out, size_t frames)
{
    const struct isolated_piece piece = isolated_memory_piece(&isolated->memory, number);
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memcpy(out[c], piece.out + c * piece.stride, frames * sizeof(float));
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    take_runs(isolated, &piece, frames);
}

HALO_REALTIME static struct isolated_piece begin_piece(const struct isolated_instances *isolated,
                                                       const float *const *in, size_t frames)
{
    struct isolated_piece piece = isolated_begin(isolated, ISOLATED_PIECE);
    piece.order->frames = frames;
    piece.order->position = isolated->instances.position;
    for (size_t c = 0; c < isolated->memory.inputs; c++)
        memcpy(piece.in + c * piece.stride, in[c], frames * sizeof(float));
    return piece;
}

/* Those of a piece that is not posted count from the next one's first frame. */
HALO_REALTIME static void keep_changes(struct isolated_instances *isolated,
                                       const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < isolated->kept_count && isolated->kept[at].port != changes[i].port)
            at++;
        isolated->kept[at] =
            (struct plugin_change){.port = changes[i].port, .value = changes[i].value};
        isolated->kept_count += at == isolated->kept_count;
    }
}

/* Where both have a real-time priority, the step and the child take turns on the step's processor:
 * that one is awake, has the sound in its caches, and nothing more urgent to do. Unless both are
 * bound to it, the kernel parts them. */

HALO_REALTIME static int stay_here(const struct isolated_instances *isolated, cpu_set_t *allowed)
{
    cpu_set_t here;
    int processor = sched_getcpu();
    if (!isolated->takes_turns || !isolated->instances.deadline || processor < 0 ||
        processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof *allowed, allowed) != 0)
        return -1;
    CPU_ZERO(&here);
    CPU_SET((size_t)processor, &here);
    return sched_setaffinity(0, sizeof here, &here) == 0 ? processor : -1;
}

/* To be run on `processor`. */
HALO_REALTIME static void post_piece(struct isolated_instances *isolated, const float *const *in,
                                     size_t frames, const struct plugin_change *changes,
                                     size_t count, int processor)
{
    struct isolated_piece piece = begin_piece(isolated, in, frames);
    piece.order->processor = processor;
    isolated->frames += frames;
    isolated_add_changes(isolated, &piece, isolated->kept, isolated->kept_count);
    isolated_add_changes(isolated, &piece, changes, count);
    isolated->kept_count = 0;
    isolated_post(isolated);
}

/* Whether to wait for the next piece: not while the child is behind, nor where others of the chain
 * took all the time, and after one that came too late, longer each time, so that a child that is
 * always too slow takes little of the step's time. */
HALO_REALTIME static bool is_worth_waiting(struct isolated_instances *isolated, bool was_behind)
{
    if (!isolated->instances.deadline)
        return true;
    if (isolated->resting > 0) {
        isolated->resting--;
        return false;
    }
    return !was_behind && monotonic_ns() < isolated->instances.deadline;
}

HALO_REALTIME static void note_wait(struct isolated_instances *isolated, bool in_time)
{
    isolated->resting = in_time ? 0 : isolated->rest;
    if (in_time)
        isolated->rest -= isolated->rest > 0;
    else if (isolated->rest < REST_MOST)
        isolated->rest = 2 * isolated->rest + 1;
}

/* False: the answer did not come in time, or never will. */
HALO_REALTIME static bool exchange_piece(struct isolated_instances *isolated,
                                         const float *const *in, float *const *out, size_t frames,
                                         const struct plugin_change *changes, size_t count)
{
    cpu_set_t allowed;
    int processor = stay_here(isolated, &allowed);
    post_piece(isolated, in, frames, changes, count, processor);
    bool in_time = wait_until(isolated, isolated->instances.deadline);
    if (processor >= 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
    note_wait(isolated, in_time);
    if (in_time)
        output(isolated, isolated->posted - 1, out, frames);
    return in_time;
}

HALO_REALTIME void isolated_process(struct plugin_instances *instances, const float *const *in,
                                    float *const *out, size_t frames,
                                    const struct plugin_change *changes, size_t count)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (instances->failure || isolated->given_up) {
        output_silence(isolated, out, frames);
        return;
    }
    if (!is_near(isolated, isolated->memory.slots - 1))
        keep_changes(isolated, changes, count);
    else if (!is_worth_waiting(isolated, !is_near(isolated, 0)))
        post_piece(isolated, in, frames, changes, count, -1);
    else if (exchange_piece(isolated, in, out, frames, changes, count))
        return;
    instances->failure = isolated_end(isolated);
    instances->late += !instances->failure;
    output_silence(isolated, out, frames);
}
