/* What halo render does with its output, whether it comes from a chain or a replay
 * (render_replay.c). */
#ifndef HALO_RENDER_OUTPUT_H
#define HALO_RENDER_OUTPUT_H

#include "render/render_options.h"
#include "sound/port.h"

/* Reads what the input has besides its samples, as --metadata says. Errors: memory, its file. */
MUST_CHECK enum status render_read_metadata(const struct render_options *options,
                                            struct source *source);

/* `change`: what became of the sound; its format is filled in here. Errors: as sink_open_sound. */
MUST_CHECK enum status render_open_sink(const struct render_options *options,
                                        const struct source *source,
                                        const struct stream_format *format, int sound_format,
                                        int64_t frames, struct metadata_change *change,
                                        struct sink **sink);

/* After the last of so many frames: what goes behind OUT's samples is put there, and what follows
 * those of a stream, too, or is named. `source`: the file or stream itself. Errors: as
 * source_read_metadata_after and sink_put_metadata. */
MUST_CHECK enum status render_end_metadata(const struct render_options *options,
                                           struct source *source, uint64_t frames,
                                           struct metadata_change *change, struct sink *sink);

/* Before the output takes its name. Errors: the proof failed. */
MUST_CHECK enum status render_judge(const struct render_options *options, const struct sink *sink,
                                    const struct proof_result *result);

/* --replay LOG: a live recording rendered as it was heard. */
MUST_CHECK enum status render_replay(struct render_options *options);

#endif
