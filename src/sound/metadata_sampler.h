/* Data for samplers: the note at which a sound is as it is, the keys that it is for, its loops. WAV
 * has that in `smpl` and `inst`, AIFF in `INST` and markers, CAF in `inst` and regions. Such a
 * chunk goes to its own kind of container as it is, and is written anew for another
 * (metadata_sampler.c). What a new sound leaves of loops: metadata_loops.c. Private to metadata.
 */
#ifndef HALO_METADATA_SAMPLER_H
#define HALO_METADATA_SAMPLER_H

#include "sound/metadata.h"

/* Offsets and sizes, in bytes. */
enum {
    SMPL_NOTE = 12,
    SMPL_FRACTION = 16, /* of a semitone above the note, of 2^32 */
    SMPL_SMPTE = 20,
    SMPL_LOOPS = 28, /* their number */
    SMPL_HEADER = 36,
    SMPL_LOOP = 24, /* cue, direction, first and last frame, fraction of a frame, plays */
    INST_RIFF = 7,
    INST_AIFF = 20,
    INST_AIFF_LOOPS = 8,
    INST_AIFF_LOOP = 6, /* direction, markers of its start and end */
    INST_CAF = 28,
    INST_CAF_START = 12, /* the region that is played first, */
    INST_CAF_LOOPS = 16, /* the numbers of the loops' regions, */
    INST_CAF_NAME = 24,  /* and its name's in the table of strings */
};

/* Flags of a region of CAF. */
enum { REGION_LOOPS = 1, REGION_FORWARD = 2, REGION_BACKWARD = 4 };

enum { LOOP_SUSTAIN, LOOP_RELEASE, SAMPLER_LOOPS };

enum loop_direction { LOOP_FORWARD, LOOP_ALTERNATING, LOOP_BACKWARD };

struct sampler_loop {
    uint64_t start, end; /* frames; `end` is the one after it; equal: there is none */
    enum loop_direction direction;
};

struct metadata_sampler {
    bool is_there;
    uint8_t note; /* of MIDI; */
    int cents;    /* by which a sampler has to raise the sound for it to be that note, +-50 */
    uint8_t low_note, high_note, low_velocity, high_velocity;
    int gain; /* dB */
    struct sampler_loop loops[SAMPLER_LOOPS];
    struct metadata_chunk *of_note, *of_loops; /* that tell it */
};

/* What is to be written anew for a container of family `to`: nothing if its own chunks are there.
 * Chunks that it is made of are marked as kept, with what of them is lost, and markers that are the
 * ends of its loops and nothing else. */
struct metadata_sampler metadata_sampler_for(struct sound_metadata *metadata,
                                             enum metadata_family to);

bool sampler_loop_is_there(const struct sampler_loop *loop);

/* The contents of the chunks. The first sustains, the second is played after the key's release;
 * AIFF and CAF name their markers and regions by numbers from `id` on, two for a loop of AIFF. */
void metadata_sampler_put_smpl(const struct metadata_sampler *sampler, uint32_t rate,
                               struct metadata_buffer *content);
void metadata_sampler_put_inst(const struct metadata_sampler *sampler,
                               struct metadata_buffer *content); /* of WAV */
void metadata_sampler_put_aiff(const struct metadata_sampler *sampler, uint32_t id,
                               struct metadata_buffer *content);
void metadata_sampler_put_caf(const struct metadata_sampler *sampler, uint32_t id,
                              struct metadata_buffer *content);

/* ---- metadata_loops.c ---- */

/* It has neither label nor note. */
bool metadata_marker_is_nameless(const struct metadata_marker *marker);

struct metadata_marker *metadata_marker_of(const struct sound_metadata *metadata, uint32_t id);

/* Drop the loops that no longer close, as metadata_adjust does it. Errors: memory. */
MUST_CHECK enum status metadata_adjust_smpl(struct sound_metadata *metadata,
                                            struct metadata_chunk *chunk,
                                            const struct metadata_change *change);
MUST_CHECK enum status metadata_adjust_inst_of_aiff(struct sound_metadata *metadata,
                                                    struct metadata_chunk *chunk,
                                                    const struct metadata_change *change);
MUST_CHECK enum status metadata_adjust_inst_of_caf(struct sound_metadata *metadata,
                                                   struct metadata_chunk *chunk,
                                                   const struct metadata_change *change);

#endif
