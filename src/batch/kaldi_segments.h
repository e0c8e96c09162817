/* Parts of recordings as Kaldi lists them: a file `segments` beside a wav.scp.
 *
 *   wav.scp     RECORDING PATH
 *   segments    UTTERANCE RECORDING START END [CHANNEL]     seconds; END -1: to the end
 *
 * Threads: the control thread.
 */
#ifndef HALO_KALDI_SEGMENTS_H
#define HALO_KALDI_SEGMENTS_H

#include "base/status.h"

#include <jansson.h>

struct kaldi_recordings;

/* Of a wav.scp. Errors: reading it, a line without a path, an id that occurs twice (usage). */
MUST_CHECK enum status kaldi_recordings_load(const char *scp, struct kaldi_recordings **recordings);
void kaldi_recordings_destroy(struct kaldi_recordings *recordings);

/* A line of `segments` as a new job. Errors (usage): no such line, no such recording. */
MUST_CHECK enum status kaldi_segment_read(const struct kaldi_recordings *recordings,
                                          const char *line, json_t **job);

#endif
