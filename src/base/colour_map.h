/* The colours of pictures: viridis, from dark to light, readable for the colour-blind and in grey.
 *
 * S. van der Walt, N. Smith, E. Firing, "viridis", 2015 (matplotlib's colour map; CC0), at every
 * 17th of its 256 entries, interpolated linearly. Threads: any.
 */
#ifndef HALO_COLOUR_MAP_H
#define HALO_COLOUR_MAP_H

enum { COLOUR_MAP_STOPS = 16 };

struct colour {
    unsigned char red, green, blue;
};

/* The colour for `share`, 0 (dark) to 1 (light). Other values are clamped. */
struct colour colour_map_at(double share);

/* The nearest of a 256-colour terminal's fixed colours, which are 16 to 255. */
int colour_map_terminal(struct colour colour);

#endif
