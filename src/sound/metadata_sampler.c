/* Data for samplers, from WAV to AIFF to CAF and back. */
#include "sound/metadata_sampler.h"

#include <math.h>
#include <string.h>

enum { NOTE_MOST = 127, CENTS_MOST = 50, GAIN_RIFF_MOST = 64, GAIN_MOST = 32767 };

bool sampler_loop_is_there(const struct sampler_loop *loop)
{
    return loop->start < loop->end;
}

static struct metadata_chunk *find(const struct sound_metadata *metadata,
                                   enum metadata_family family, const char *id, size_t least)
{
    for (size_t i = 0; i < metadata->chunk_count; i++) {
        struct metadata_chunk *chunk = &metadata->chunks[i];
        if (chunk->family == family && memcmp(chunk->id, id, 4) == 0 && chunk->size >= least)
            return chunk;
    }
    return NULL;
}

static bool is_riff(enum metadata_family family)
{
    return family == FAMILY_RIFF || family == FAMILY_RF64 || family == FAMILY_W64;
}

static int signed_at(const unsigned char *byte)
{
    return *byte < 128 ? *byte : *byte - 256;
}

/* ---- from WAV ---- */

/* That of the sound is so many cents above the note. */
static void set_pitch(struct metadata_sampler *sampler, unsigned note, unsigned above)
{
    bool is_nearer_next = above > CENTS_MOST && note < NOTE_MOST;
    sampler->note = (uint8_t)(note + is_nearer_next) & NOTE_MOST;
    sampler->cents = is_nearer_next ? 100 - (int)above : -(int)above;
}

/* A note that is none is lost, and the usual one stays. */
static bool is_note(uint64_t note, struct metadata_chunk *chunk)
{
    if (note > NOTE_MOST)
        chunk->lost |= LOST_PITCH;
    return note <= NOTE_MOST;
}

static void take_note(struct metadata_sampler *sampler, struct metadata_chunk *chunk)
{
    sampler->is_there = true;
    sampler->of_note = chunk;
    chunk->kept = true;
    chunk->lost = 0;
}

static void take_loops(struct metadata_sampler *sampler, struct metadata_chunk *chunk)
{
    sampler->is_there = true;
    sampler->of_loops = chunk;
    chunk->kept = true;
    chunk->lost = 0;
}

static void read_loops(struct metadata_sampler *sampler, struct metadata_chunk *smpl)
{
    uint64_t count = metadata_little(smpl->bytes + SMPL_LOOPS, 4);
    uint64_t room = (smpl->size - SMPL_HEADER) / SMPL_LOOP;
    size_t taken = 0;
    for (size_t i = 0; i < count && i < room; i++) {
        const unsigned char *row = smpl->bytes + SMPL_HEADER + i * SMPL_LOOP;
        uint64_t direction = metadata_little(row + 4, 4);
        if (taken >= SAMPLER_LOOPS || direction > LOOP_BACKWARD) {
            smpl->lost |= LOST_LOOPS;
            continue;
        }
        sampler->loops[taken++] =
            (struct sampler_loop){.start = metadata_little(row + 8, 4),
                                  .end = metadata_little(row + 12, 4) + 1,
                                  .direction = (enum loop_direction)direction};
        if (metadata_little(row + 16, 4) != 0)
            smpl->lost |= LOST_FRACTIONS;
        if (metadata_little(row + 20, 4) != 0)
            smpl->lost |= LOST_PLAYS;
    }
    if (smpl->size > SMPL_HEADER + (count < room ? count : room) * SMPL_LOOP)
        smpl->lost |= LOST_OWN;
}

static void read_smpl(struct metadata_sampler *sampler, struct metadata_chunk *smpl)
{
    uint64_t note = metadata_little(smpl->bytes + SMPL_NOTE, 4);
    uint64_t fraction = metadata_little(smpl->bytes + SMPL_FRACTION, 4);
    take_loops(sampler, smpl);
    if (is_note(note, smpl))
        set_pitch(sampler, (unsigned)note,
                  (unsigned)((fraction * 100 + (UINT64_C(1) << 31)) >> 32));
    if (metadata_little(smpl->bytes, 8) != 0) /* manufacturer and product */
        smpl->lost |= LOST_OWN;
    if (metadata_little(smpl->bytes + SMPL_SMPTE, 8) != 0)
        smpl->lost |= LOST_SMPTE;
    read_loops(sampler, smpl);
}

/* It has the same in the form that AIFF has, and wins. */
static void read_inst_of_riff(struct metadata_sampler *sampler, struct metadata_chunk *inst)
{
    const unsigned char *bytes = inst->bytes;
    int cents = signed_at(bytes + 1);
    take_note(sampler, inst);
    if (is_note(bytes[0], inst)) {
        if (sampler->of_loops && (bytes[0] != sampler->note || cents != sampler->cents))
            sampler->of_loops->lost |= LOST_PITCH;
        sampler->note = bytes[0];
        sampler->cents = cents;
    }
    sampler->gain = signed_at(bytes + 2);
    sampler->low_note = bytes[3];
    sampler->high_note = bytes[4];
    sampler->low_velocity = bytes[5];
    sampler->high_velocity = bytes[6];
}

static void read_riff(struct sound_metadata *metadata, struct metadata_sampler *sampler)
{
    struct metadata_chunk *smpl = find(metadata, FAMILY_RIFF, "smpl", SMPL_HEADER);
    struct metadata_chunk *inst = find(metadata, FAMILY_RIFF, "inst", INST_RIFF);
    if (smpl)
        read_smpl(sampler, smpl);
    if (inst)
        read_inst_of_riff(sampler, inst);
}

/* ---- from AIFF ---- */

static void read_aiff(struct sound_metadata *metadata, struct metadata_sampler *sampler)
{
    struct metadata_chunk *inst = find(metadata, FAMILY_AIFF, "INST", INST_AIFF);
    if (!inst)
        return;
    const unsigned char *bytes = inst->bytes;
    take_note(sampler, inst);
    take_loops(sampler, inst);
    if (is_note(bytes[0], inst)) {
        sampler->note = bytes[0];
        sampler->cents = signed_at(bytes + 1);
    }
    sampler->low_note = bytes[2];
    sampler->high_note = bytes[3];
    sampler->low_velocity = bytes[4];
    sampler->high_velocity = bytes[5];
    sampler->gain = (int16_t)metadata_big(bytes + 6, 2);
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        const unsigned char *row = bytes + INST_AIFF_LOOPS + i * INST_AIFF_LOOP;
        struct metadata_marker *start =
            metadata_marker_of(metadata, (uint32_t)metadata_big(row + 2, 2));
        struct metadata_marker *end =
            metadata_marker_of(metadata, (uint32_t)metadata_big(row + 4, 2));
        uint64_t mode = metadata_big(row, 2);
        if (mode == 0)
            continue;
        if (mode > 2 || !start || !end || start->frame >= end->frame) {
            inst->lost |= LOST_LOOPS;
            continue;
        }
        sampler->loops[i] =
            (struct sampler_loop){.start = start->frame,
                                  .end = end->frame,
                                  .direction = mode == 2 ? LOOP_ALTERNATING : LOOP_FORWARD};
        start->in_loop |= metadata_marker_is_nameless(start);
        end->in_loop |= metadata_marker_is_nameless(end);
    }
}

/* ---- from CAF ---- */

static float float_at(const unsigned char *bytes)
{
    uint32_t bits = (uint32_t)metadata_big(bytes, 4);
    float value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0;
}

static float within(float value, float least, float most)
{
    return value < least ? least : value > most ? most : value;
}

static void read_region(struct metadata_sampler *sampler, size_t index,
                        struct metadata_marker *region, struct metadata_chunk *inst)
{
    bool backward = region->flags & REGION_BACKWARD;
    bool forward = region->flags & REGION_FORWARD;
    if (region->length == 0) {
        inst->lost |= LOST_LOOPS;
        return;
    }
    sampler->loops[index] = (struct sampler_loop){.start = region->frame,
                                                  .end = region->frame + region->length,
                                                  .direction = !backward ? LOOP_FORWARD
                                                               : forward ? LOOP_ALTERNATING
                                                                         : LOOP_BACKWARD};
    region->in_loop = metadata_marker_is_nameless(region);
}

static void read_caf(struct sound_metadata *metadata, struct metadata_sampler *sampler)
{
    struct metadata_chunk *inst = find(metadata, FAMILY_CAF, "inst", INST_CAF);
    if (!inst)
        return;
    const unsigned char *bytes = inst->bytes;
    float pitch = float_at(bytes);
    take_note(sampler, inst);
    take_loops(sampler, inst);
    if (pitch >= 0 && pitch <= NOTE_MOST)
        set_pitch(sampler, (unsigned)lrintf(pitch * 100) / 100,
                  (unsigned)lrintf(pitch * 100) % 100);
    else
        inst->lost |= LOST_PITCH;
    sampler->low_note = bytes[4];
    sampler->high_note = bytes[5];
    sampler->low_velocity = bytes[6];
    sampler->high_velocity = bytes[7];
    float gain = within(float_at(bytes + 8), -GAIN_MOST, GAIN_MOST);
    sampler->gain = (int)lrintf(gain);
    if ((float)sampler->gain != gain)
        inst->lost |= LOST_GAIN;
    if (metadata_big(bytes + INST_CAF_START, 4) != 0)
        inst->lost |= LOST_START;
    if (metadata_big(bytes + INST_CAF_NAME, 4) != 0)
        inst->lost |= LOST_NAME;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        uint32_t id = (uint32_t)metadata_big(bytes + INST_CAF_LOOPS + 4 * i, 4);
        struct metadata_marker *region = id ? metadata_marker_of(metadata, id) : NULL;
        if (region)
            read_region(sampler, i, region, inst);
        else if (id)
            inst->lost |= LOST_LOOPS;
    }
}

/* ---- into any ---- */

/* What the family has no form for. */
static void fit(struct metadata_sampler *sampler, enum metadata_family to)
{
    struct sampler_loop *loops = sampler->loops;
    int most = is_riff(to) ? GAIN_RIFF_MOST : GAIN_MOST;
    bool is_second_alone = is_riff(to) && !sampler_loop_is_there(&loops[LOOP_SUSTAIN]) &&
                           sampler_loop_is_there(&loops[LOOP_RELEASE]);
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        bool is_narrow = to != FAMILY_CAF && loops[i].end > UINT32_MAX;
        bool is_foreign = to == FAMILY_AIFF && loops[i].direction == LOOP_BACKWARD;
        if (!is_narrow && !is_foreign && !is_second_alone)
            continue;
        if (sampler_loop_is_there(&loops[i]))
            sampler->of_loops->lost |= LOST_LOOPS;
        loops[i] = (struct sampler_loop){0};
    }
    if (sampler->gain > most || sampler->gain < -most) {
        sampler->of_note->lost |= LOST_GAIN;
        sampler->gain = 0;
    }
}

struct metadata_sampler metadata_sampler_for(struct sound_metadata *metadata,
                                             enum metadata_family to)
{
    struct metadata_sampler sampler = {
        .note = 60, .high_note = NOTE_MOST, .low_velocity = 1, .high_velocity = NOTE_MOST};
    for (size_t i = 0; i < metadata->marker_count; i++)
        metadata->markers[i].in_loop = false;
    bool has_own = is_riff(to) ? find(metadata, FAMILY_RIFF, "smpl", 0) ||
                                     find(metadata, FAMILY_RIFF, "inst", 0)
                               : find(metadata, to, to == FAMILY_AIFF ? "INST" : "inst", 0) != NULL;
    if (has_own)
        return sampler;
    read_riff(metadata, &sampler);
    if (!sampler.is_there)
        read_aiff(metadata, &sampler);
    if (!sampler.is_there)
        read_caf(metadata, &sampler);
    if (sampler.is_there)
        fit(&sampler, to);
    return sampler;
}

void metadata_sampler_put_smpl(const struct metadata_sampler *sampler, uint32_t rate,
                               struct metadata_buffer *content)
{
    int below = sampler->cents > 0 && sampler->note > 0; /* by which the note is one lower */
    int above = sampler->cents > 0 ? below * (100 - sampler->cents) : -sampler->cents;
    size_t count = 0;
    for (size_t i = 0; i < SAMPLER_LOOPS; i++)
        count += sampler_loop_is_there(&sampler->loops[i]);
    metadata_put_little(content, 0, 8);
    metadata_put_little(content, rate ? (UINT64_C(1000000000) + rate / 2) / rate : 0, 4);
    metadata_put_little(content, (uint64_t)(sampler->note - below), 4);
    metadata_put_little(content, ((uint64_t)above << 32) / 100, 4);
    metadata_put_little(content, 0, 8);
    metadata_put_little(content, count, 4);
    metadata_put_little(content, 0, 4);
    for (size_t i = 0; i < count; i++) {
        const struct sampler_loop *loop = &sampler->loops[i];
        metadata_put_little(content, i, 4);
        metadata_put_little(content, loop->direction, 4);
        metadata_put_little(content, loop->start, 4);
        metadata_put_little(content, loop->end - 1, 4);
        metadata_put_little(content, 0, 8);
    }
}

static void put_ranges(const struct metadata_sampler *sampler, struct metadata_buffer *content)
{
    const uint8_t ranges[] = {sampler->low_note, sampler->high_note, sampler->low_velocity,
                              sampler->high_velocity};
    metadata_put(content, ranges, sizeof ranges);
}

void metadata_sampler_put_inst(const struct metadata_sampler *sampler,
                               struct metadata_buffer *content)
{
    metadata_put_little(content, sampler->note, 1);
    metadata_put_little(content, (uint64_t)sampler->cents, 1);
    metadata_put_little(content, (uint64_t)sampler->gain, 1);
    put_ranges(sampler, content);
}

void metadata_sampler_put_aiff(const struct metadata_sampler *sampler, uint32_t id,
                               struct metadata_buffer *content)
{
    metadata_put_big(content, sampler->note, 1);
    metadata_put_big(content, (uint64_t)sampler->cents, 1);
    put_ranges(sampler, content);
    metadata_put_big(content, (uint64_t)sampler->gain, 2);
    for (size_t i = 0; i < SAMPLER_LOOPS; i++) {
        const struct sampler_loop *loop = &sampler->loops[i];
        bool is_there = sampler_loop_is_there(loop);
        metadata_put_big(content, is_there ? (uint64_t)loop->direction + 1 : 0, 2);
        metadata_put_big(content, is_there ? id++ : 0, 2);
        metadata_put_big(content, is_there ? id++ : 0, 2);
    }
}

static void put_float(struct metadata_buffer *content, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    metadata_put_big(content, bits, 4);
}

void metadata_sampler_put_caf(const struct metadata_sampler *sampler, uint32_t id,
                              struct metadata_buffer *content)
{
    put_float(content, (float)sampler->note - (float)sampler->cents / 100);
    put_ranges(sampler, content);
    put_float(content, (float)sampler->gain);
    metadata_put_big(content, 0, 4);
    for (size_t i = 0; i < SAMPLER_LOOPS; i++)
        metadata_put_big(content, sampler_loop_is_there(&sampler->loops[i]) ? id++ : 0, 4);
    metadata_put_big(content, 0, 4);
}
