/* The channel layout of a sound that is rendered: what its file says, or --layout. */
#ifndef HALO_RENDER_LAYOUT_H
#define HALO_RENDER_LAYOUT_H

#include "sound/port.h"

/* Give the source the layout of that name; NULL: it keeps its own. Errors (usage): no such layout,
 * one of another number of channels. */
MUST_CHECK enum status render_layout_apply(const char *name, struct source *source);

#endif
