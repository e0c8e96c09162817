/* A isolated instances at work. */
#include "plugin/plugin_isolated.h"

#include "base/stop.h"

#include <string.h>

enum { SPIN_NS = 50000, LOOK_MS = 50 };

/* ---- orders ---- */

static void add_change(struct isolated_piece *piece, size_t capacity, size_t block,
                       const struct plugin_change *change)
{
    size_t count = piece->order->change_count;
    for (size_t i = count; i-- > 0 && piece->changes[i].frame / block == change->frame / block;)
        if (piece->changes[i].port == change->port) {
            piece->changes[i].value = change->value;
            return;
        }
    if (count == capacity)
        return; /* only where they are not in order */
    piece->changes[count] = *change;
    piece->order->change_count = count + 1;
}

void isolated_add_changes(const struct isolated_instances *isolated, struct isolated_piece *piece,
                            const struct plugin_change *changes, size_t count)
{
    size_t capacity = isolated->memory.blocks * isolated->memory.ports;
    for (size_t i = 0; i < count; i++)
        add_change(piece, capacity, isolated->instances.block, &changes[i]);
}

struct isolated_piece isolated_begin(const struct isolated_instances *isolated, enum isolated_what what)
{
    struct isolated_piece piece = isolated_memory_piece(&isolated->memory, isolated->posted);
    *piece.order = (struct isolated_order){.what = what};
    return piece;
}

void isolated_post(struct isolated_instances *isolated)
{
    isolated->posted++;
    futex_raise(&isolated->memory.head->posted);
}

bool isolated_wait(struct isolated_instances *isolated)
{
    struct futex *done = &isolated->memory.head->done;
    while (!futex_wait(done, isolated->posted, SPIN_NS, LOOK_MS)) {
        if (plugin_child_end(isolated->child))
            return futex_reached(done, isolated->posted); /* its last answer, perhaps */
        if (stop_requested()) {
            isolated->given_up = true;
            return false;
        }
    }
    return true;
}

/* ---- pieces ---- */

static void hand_out_silence(const struct isolated_instances *isolated, float *const *out, size_t frames)
{
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memset(out[c], 0, frames * sizeof(float));
}

static void hand_out(struct isolated_instances *isolated, uint32_t number, float *const *out, size_t frames)
{
    const struct isolated_piece piece = isolated_memory_piece(&isolated->memory, number);
    size_t blocks = frames / isolated->instances.block;
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memcpy(out[c], piece.out + c * piece.stride, frames * sizeof(float));
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    memcpy(isolated->latencies, piece.latencies, blocks * sizeof *isolated->latencies);
    isolated->instances.latency = isolated->latencies[blocks - 1];
}

static struct isolated_piece begin_piece(const struct isolated_instances *isolated, const float *const *in,
                                      size_t frames)
{
    struct isolated_piece piece = isolated_begin(isolated, APART_PIECE);
    piece.order->frames = frames;
    for (size_t c = 0; c < isolated->memory.inputs; c++)
        memcpy(piece.in + c * piece.stride, in[c], frames * sizeof(float));
    return piece;
}

void isolated_process_file(struct plugin_instances *instances, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (!instances->failure && !isolated->given_up) {
        struct isolated_piece piece = begin_piece(isolated, in, frames);
        isolated_add_changes(isolated, &piece, changes, count);
        isolated_post(isolated);
        if (isolated_wait(isolated)) {
            hand_out(isolated, isolated->posted - 1, out, frames);
            return;
        }
        instances->failure = plugin_child_end(isolated->child);
    }
    hand_out_silence(isolated, out, frames);
}

/* ---- live ---- */

static void hand_out_last(struct isolated_instances *isolated, float *const *out, size_t frames)
{
    bool is_there =
        isolated->has_last && futex_reached(&isolated->memory.head->done, isolated->posted);
    if (is_there) {
        hand_out(isolated, isolated->posted - 1, out, frames);
        return;
    }
    isolated->instances.late += isolated->has_begun;
    hand_out_silence(isolated, out, frames);
}

static void keep_changes(struct isolated_instances *isolated, const struct plugin_change *changes,
                         size_t count)
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

void isolated_process_live(struct plugin_instances *instances, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (!instances->failure)
        instances->failure = plugin_child_end(isolated->child);
    if (instances->failure) {
        hand_out_silence(isolated, out, frames);
        return;
    }
    hand_out_last(isolated, out, frames);
    isolated->has_begun = true;
    uint32_t slots = (uint32_t)isolated->memory.slots;
    isolated->has_last = futex_reached(&isolated->memory.head->done, isolated->posted - slots + 1);
    if (!isolated->has_last) {
        keep_changes(isolated, changes, count);
        return;
    }
    struct isolated_piece piece = begin_piece(isolated, in, frames);
    isolated_add_changes(isolated, &piece, isolated->kept, isolated->kept_count);
    isolated_add_changes(isolated, &piece, changes, count);
    isolated->kept_count = 0;
    isolated_post(isolated);
}
