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
        const unsigned char *loop = loops + i * SMPL_LOOP;
        if (still_closes(metadata_little(loop + 8, 4), metadata_little(loop + 12, 4) + 1, change))
            memmove(loops + kept++ * SMPL_LOOP, loop, SMPL_LOOP);
    }
    size_t after = SMPL_HEADER + (size_t)count * SMPL_LOOP;
    memmove(loops + kept * SMPL_LOOP, smpl->bytes + after, smpl->size - after);
    smpl->size -= (size_t)(count - kept) * SMPL_LOOP;
    put_number(smpl->bytes + SMPL_LOOPS, kept);
    return lose_loops(metadata, (size_t)(count - kept));
}

/* Between two markers. */
enum status metadata_adjust_inst_of_aiff(struct sound_metadata *metadata,
                                         struct metadata_chunk *inst,
                                         const struct metadata_change *change)
{
    size_t lost = 0;
    if (inst->size < INST_AIFF)
        return STATUS_OK;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        unsigned char *loop = inst->bytes + INST_AIFF_LOOPS + i * INST_AIFF_LOOP;
        const struct metadata_marker *start =
            metadata_marker_of(metadata, (uint32_t)metadata_big(loop + 2, 2));
        const struct metadata_marker *end =
            metadata_marker_of(metadata, (uint32_t)metadata_big(loop + 4, 2));
        bool was_there = metadata_big(loop, 2) != 0;
        if (was_there && start && end && still_closes(start->frame, end->frame, change))
            continue;
        memset(loop, 0, INST_AIFF_LOOP);
        lost += was_there;
    }
    return lose_loops(metadata, lost);
}

enum status metadata_adjust_inst_of_caf(struct sound_metadata *metadata,
                                        struct metadata_chunk *inst,
                                        const struct metadata_change *change)
{
    size_t lost = 0;
    if (inst->size < INST_CAF)
        return STATUS_OK;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        unsigned char *number = inst->bytes + INST_CAF_LOOPS + 4 * i;
        uint32_t id = (uint32_t)metadata_big(number, 4);
        struct metadata_marker *region = id ? metadata_marker_of(metadata, id) : NULL;
        if (region && still_closes(region->frame, region->frame + region->length, change))
            continue;
        if (region)
            region->flags = 0;
        put_number(number, 0);
        lost += id != 0;
    }
    return lose_loops(metadata, lost);
}
