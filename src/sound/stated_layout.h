/* --layout: what the channels of an input are, where it does not say so or is wrong. Threads: any.
 */
#ifndef HALO_STATED_LAYOUT_H
#define HALO_STATED_LAYOUT_H

#include "signal/audio.h"

/* Give the format of `input`, as messages call it, the layout of that name; NULL: it keeps its own.
 * Errors (usage): no such layout, one of another number of channels. */
MUST_CHECK enum status stated_layout_apply(const char *name, const char *input,
                                           struct stream_format *format);

#endif
