/* The chain that a stream plays, as options from which another chain like it can be made. Threads:
 * the control thread. */
#ifndef HALO_PRESENT_H
#define HALO_PRESENT_H

#include "live/session/stream_session.h"

/* Copies the stages as they are heard, with masks loaded since and changed controls. `choice`: from
 * 0, the one whose mask the choosing stage gets. Other members are shared with the chain. Free the
 * stages in any case. Errors: memory. */
MUST_CHECK enum status present_stages(const struct stream_session *stream, size_t choice,
                                      struct stage_list *list);
void present_stages_free(struct stage_list *list);

/* Limits the settings to the CPU. While a GPU kernel polls for blocks, a GPU's memory cannot be
 * freed. So chains prepared while a stream runs use the CPU. */
void present_keep_to_cpu(struct convolver_settings *convolver);

#endif
