/* Loops of samplers in a new sound. */
#include "sound/metadata_sampler.h"

#include <string.h>

static const char open_loop[] = "their ends no longer meet";

struct metadata_marker *metadata_marker_of(const struct sound_metadata *metadata, uint32_t id)
{
    for (size_t i = 0; i < metadata->marker_count; i++)
        if (metadata->markers[i].id == id)
            return &metadata->markers[i];
    return NULL;
}

/* A loop closes if what follows its end is what follows its start. With a memory of what was before
 * that is so of a sound that is one period as a whole. `end`: the frame after it. */
static bool still_closes(uint64_t start, uint64_t end, const struct metadata_change *change)
{
    bool is_inside = start < end && (change->frames < 0 || end <= (uint64_t)change->frames);
    bool is_whole = change->wraps && start == 0 && end == (uint64_t)change->frames;
    return is_inside && (!change->has_memory || is_whole);
}

static enum status lose_loops(struct sound_metadata *metadata, size_t count)
{
    return count == 0 ? STATUS_OK
                      : metadata_lose(metadata, open_loop, "%zu sampler loop%s", count,
                                      count > 1 ? "s" : "");
}

static void put_number(unsigned char *at, uint64_t value)
{
    metadata_put_little(&(struct metadata_buffer){.bytes = at, .capacity = 4}, value, 4);
}

enum status metadata_adjust_smpl(struct sound_metadata *metadata, struct metadata_chunk *smpl,
                                 const struct metadata_change *change)
{
    if (smpl->size < SMPL_HEADER)
        return STATUS_OK;
    uint64_t count = metadata_little(smpl->bytes + SMPL_LOOPS, 4), kept = 0;
    if (count > (smpl->size - SMPL_HEADER) / SMPL_LOOP)
        count = (smpl->size - SMPL_HEADER) / SMPL_LOOP;
    unsigned char *loops = smpl->bytes + SMPL_HEADER;
    for (size_t i = 0; i < count; i++) {
        unsigned char *loop = loops + i * SMPL_LOOP;
        uint64_t first = metadata_little(loop + 8, 4), last = metadata_little(loop + 12, 4);
        if (first < change->start || last < first ||
            !still_closes(first - change->start, last - change->start + 1, change))
            continue;
        put_number(loop + 8, first - change->start);
        put_number(loop + 12, last - change->start);
        memmove(loops + kept++ * SMPL_LOOP, loop, SMPL_LOOP);
    }
    size_t after = SMPL_HEADER + (size_t)count * SMPL_LOOP;
    memmove(loops + kept * SMPL_LOOP, smpl->bytes + after, smpl->size - after);
    smpl->size -= (size_t)(count - kept) * SMPL_LOOP;
    put_number(smpl->bytes + SMPL_LOOPS, kept);
    return lose_loops(metadata, (size_t)(count - kept));
}

bool metadata_marker_is_nameless(const struct metadata_marker *marker)
{
    return !(marker->label && *marker->label) && !(marker->note && *marker->note) &&
           !(marker->text && *marker->text);
}

/* A marker or region that was there for a loop alone goes with it. */
static void forget(struct sound_metadata *metadata, uint32_t id)
{
    for (size_t i = metadata->marker_count; i-- > 0;)
        if (metadata->markers[i].id == id && metadata_marker_is_nameless(&metadata->markers[i]))
            metadata_remove_marker(metadata, i);
}

/* Numbers of the markers, or of the region, that a loop has; all 0: it has none. */
struct loop_ends {
    uint32_t ids[2];
    bool is_there, closes;
};

static enum status drop_loops(struct sound_metadata *metadata,
                              const struct loop_ends loops[SAMPLER_LOOPS])
{
    size_t lost = 0;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        const struct loop_ends *other = &loops[SAMPLER_LOOPS - 1 - i];
        if (!loops[i].is_there || loops[i].closes)
            continue;
        lost++;
        for (size_t k = 0; k < 2; k++)
            if (!other->closes ||
                (loops[i].ids[k] != other->ids[0] && loops[i].ids[k] != other->ids[1]))
                forget(metadata, loops[i].ids[k]);
    }
    return lose_loops(metadata, lost);
}

/* Between two markers. */
enum status metadata_adjust_inst_of_aiff(struct sound_metadata *metadata,
                                         struct metadata_chunk *inst,
                                         const struct metadata_change *change)
{
    struct loop_ends loops[SAMPLER_LOOPS];
    if (inst->size < INST_AIFF)
        return STATUS_OK;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        unsigned char *row = inst->bytes + INST_AIFF_LOOPS + i * INST_AIFF_LOOP;
        struct loop_ends *loop = &loops[i];
        *loop = (struct loop_ends){
            .ids = {(uint32_t)metadata_big(row + 2, 2), (uint32_t)metadata_big(row + 4, 2)},
            .is_there = metadata_big(row, 2) != 0};
        const struct metadata_marker *start = metadata_marker_of(metadata, loop->ids[0]);
        const struct metadata_marker *end = metadata_marker_of(metadata, loop->ids[1]);
        loop->closes =
            loop->is_there && start && end && still_closes(start->frame, end->frame, change);
        if (!loop->closes)
            memset(row, 0, INST_AIFF_LOOP);
    }
    return drop_loops(metadata, loops);
}

/* The number of a region. */
enum status metadata_adjust_inst_of_caf(struct sound_metadata *metadata,
                                        struct metadata_chunk *inst,
                                        const struct metadata_change *change)
{
    struct loop_ends loops[SAMPLER_LOOPS];
    if (inst->size < INST_CAF)
        return STATUS_OK;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        unsigned char *number = inst->bytes + INST_CAF_LOOPS + 4 * i;
        uint32_t id = (uint32_t)metadata_big(number, 4);
        struct metadata_marker *region = id ? metadata_marker_of(metadata, id) : NULL;
        bool closes = region && still_closes(region->frame, region->frame + region->length, change);
        loops[i] = (struct loop_ends){.ids = {id, id}, .is_there = id != 0, .closes = closes};
        if (closes)
            continue;
        put_number(number, 0);
        if (region)
            region->flags = 0;
    }
    return drop_loops(metadata, loops);
}
