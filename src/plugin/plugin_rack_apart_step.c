/* A rack apart at work. */
#include "plugin/plugin_rack_apart.h"

#include "base/stop.h"

#include <string.h>

enum { SPIN_NS = 50000, LOOK_MS = 50 };

/* ---- orders ---- */

static void add_change(struct apart_piece *piece, size_t room, size_t block,
                       const struct plugin_change *change)
{
    size_t count = piece->order->change_count;
    for (size_t i = count; i-- > 0 && piece->changes[i].frame / block == change->frame / block;)
        if (piece->changes[i].port == change->port) {
            piece->changes[i].value = change->value;
            return;
        }
    if (count == room)
        return; /* only where they are not in order */
    piece->changes[count] = *change;
    piece->order->change_count = count + 1;
}

void rack_apart_add_changes(const struct rack_apart *apart, struct apart_piece *piece,
                            const struct plugin_change *changes, size_t count)
{
    size_t room = apart->memory.blocks * apart->memory.ports;
    for (size_t i = 0; i < count; i++)
        add_change(piece, room, apart->rack.block, &changes[i]);
}

struct apart_piece rack_apart_begin(const struct rack_apart *apart, enum apart_what what)
{
    struct apart_piece piece = apart_memory_piece(&apart->memory, apart->posted);
    *piece.order = (struct apart_order){.what = what};
    return piece;
}

void rack_apart_post(struct rack_apart *apart)
{
    apart->posted++;
    shared_count_raise(&apart->memory.head->posted);
}

bool rack_apart_wait(struct rack_apart *apart)
{
    struct shared_count *done = &apart->memory.head->done;
    while (!shared_count_wait(done, apart->posted, SPIN_NS, LOOK_MS)) {
        if (plugin_child_end(apart->child))
            return shared_count_reached(done, apart->posted); /* its last answer, perhaps */
        if (stop_requested()) {
            apart->given_up = true;
            return false;
        }
    }
    return true;
}

/* ---- pieces ---- */

static void hand_out_silence(const struct rack_apart *apart, float *const *out, size_t frames)
{
    for (size_t c = 0; c < apart->memory.outputs; c++)
        memset(out[c], 0, frames * sizeof(float));
}

static void hand_out(struct rack_apart *apart, uint32_t number, float *const *out, size_t frames)
{
    const struct apart_piece piece = apart_memory_piece(&apart->memory, number);
    size_t blocks = frames / apart->rack.block;
    for (size_t c = 0; c < apart->memory.outputs; c++)
        memcpy(out[c], piece.out + c * piece.stride, frames * sizeof(float));
    memcpy(apart->values, piece.values, apart->memory.ports * sizeof(float));
    memcpy(apart->latencies, piece.latencies, blocks * sizeof *apart->latencies);
    apart->rack.latency = apart->latencies[blocks - 1];
}

static struct apart_piece begin_piece(const struct rack_apart *apart, const float *const *in,
                                      size_t frames)
{
    struct apart_piece piece = rack_apart_begin(apart, APART_PIECE);
    piece.order->frames = frames;
    for (size_t c = 0; c < apart->memory.inputs; c++)
        memcpy(piece.in + c * piece.stride, in[c], frames * sizeof(float));
    return piece;
}

void rack_apart_process_file(struct plugin_rack *rack, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count)
{
    struct rack_apart *apart = (struct rack_apart *)rack;
    if (!rack->failure && !apart->given_up) {
        struct apart_piece piece = begin_piece(apart, in, frames);
        rack_apart_add_changes(apart, &piece, changes, count);
        rack_apart_post(apart);
        if (rack_apart_wait(apart)) {
            hand_out(apart, apart->posted - 1, out, frames);
            return;
        }
        rack->failure = plugin_child_end(apart->child);
    }
    hand_out_silence(apart, out, frames);
}

/* ---- live ---- */

static void hand_out_last(struct rack_apart *apart, float *const *out, size_t frames)
{
    bool is_there =
        apart->has_last && shared_count_reached(&apart->memory.head->done, apart->posted);
    if (is_there) {
        hand_out(apart, apart->posted - 1, out, frames);
        return;
    }
    apart->rack.late += apart->has_begun;
    hand_out_silence(apart, out, frames);
}

static void keep_changes(struct rack_apart *apart, const struct plugin_change *changes,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < apart->kept_count && apart->kept[at].port != changes[i].port)
            at++;
        apart->kept[at] =
            (struct plugin_change){.port = changes[i].port, .value = changes[i].value};
        apart->kept_count += at == apart->kept_count;
    }
}

void rack_apart_process_live(struct plugin_rack *rack, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count)
{
    struct rack_apart *apart = (struct rack_apart *)rack;
    if (!rack->failure)
        rack->failure = plugin_child_end(apart->child);
    if (rack->failure) {
        hand_out_silence(apart, out, frames);
        return;
    }
    hand_out_last(apart, out, frames);
    apart->has_begun = true;
    uint32_t slots = (uint32_t)apart->memory.slots;
    apart->has_last = shared_count_reached(&apart->memory.head->done, apart->posted - slots + 1);
    if (!apart->has_last) {
        keep_changes(apart, changes, count);
        return;
    }
    struct apart_piece piece = begin_piece(apart, in, frames);
    rack_apart_add_changes(apart, &piece, apart->kept, apart->kept_count);
    rack_apart_add_changes(apart, &piece, changes, count);
    apart->kept_count = 0;
    rack_apart_post(apart);
}
