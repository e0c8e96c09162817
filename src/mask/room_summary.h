/* A room's acoustics as a table of text and as JSON. */
#ifndef HALO_ROOM_SUMMARY_H
#define HALO_ROOM_SUMMARY_H

#include "mask/room_acoustics.h"

#include <jansson.h>

/* Print to standard output, each line after two blanks; `head`: the width of the first column. */
void room_summary_print(const struct room_acoustics *room, const char *title, int head);

/* Returns a new reference: an array of bands, with null for what cannot be measured; null if it is
 * no room. NULL: memory. */
json_t *room_summary_array(const struct room_acoustics *room);

#endif
