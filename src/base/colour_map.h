/* The colours of pictures: viridis, from dark to light, which the colour-blind read too and which
 * stays in order where it is printed grey.
 *
 * S. van der Walt, N. Smith, E. Firing, "viridis", 2015 (matplotlib's colour map; CC0), at every
 * 17th of its 256 entries, straight between. Threads: any.
 */
#ifndef HALO_COLOUR_MAP_H
#define HALO_COLOUR_MAP_H

enum { COLOUR_MAP_STOPS = 16 };

struct colour {
    unsigned char red, green, blue;
};

/* `share` is 0 (dark) to 1 (light); what is beyond has the colour of the end. */
struct colour colour_map_at(double share);

/* The nearest of the 240 fixed colours of a terminal with 256: 16..255. */
int colour_map_terminal(struct colour colour);

#endif
