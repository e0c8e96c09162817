/* Reads a mask on a thread of its own, since a disk may be slow, and a network file hang. The
 * control thread asks whether it is done, and never waits.
 *
 * Threads: the control thread.
 */
#ifndef HALO_CHOICE_LOADER_H
#define HALO_CHOICE_LOADER_H

#include "chain/stages.h"
#include "mask/mask.h"

struct choice_loader;

/* Begin to read the mask of a spec (stage_mask_read). Errors: memory, no thread. */
MUST_CHECK enum status choice_loader_start(const char *text, const struct stream_format *format,
                                           const struct stage_settings *settings,
                                           struct choice_loader **loader);

enum { CHOICE_LOADER_REASON = 1000 /* bytes, with its 0 */ };

/* True: it is done and freed; *mask is the mask, which the caller owns, or NULL where reading
 * failed, for the reason given. */
bool choice_loader_take(struct choice_loader *loader, struct mask **mask,
                        char reason[CHOICE_LOADER_REASON]);

/* Its thread frees what it reads, once it can. NULL is ignored. */
void choice_loader_abandon(struct choice_loader *loader);

#endif
