/* The impulse response of a rectangular room by its image sources.
 *
 * J. B. Allen, D. A. Berkley, "Image method for efficiently simulating small-room acoustics", 1979.
 * Every wall reflects alike at all frequencies. Reflections between parallel walls would sweep:
 * images are moved at random by a few centimetres (E. De Sena, N. Antonello, M. Moonen, T. van
 * Waterschoot, "On the modeling of rectangular geometries in room acoustic simulations", 2015).
 * The reflection coefficient is not Sabine's or Eyring's, which such a room does not follow, but
 * solved for: the energy of the images is summed by time and number of reflections, and the
 * coefficient found with which the Schroeder decay of that from -5 to -35 dB is as asked for.
 *
 * Lengths in metres, times in seconds. Threads: any. Not real-time: time and memory grow with the
 * cube of the decay time over the room's volume.
 */
#ifndef HALO_ROOM_IMAGE_H
#define HALO_ROOM_IMAGE_H

#include "base/status.h"

#include <stdint.h>

enum { ROOM_RECEIVERS = 2 };

struct room {
    double size[3];
    double source[3];
    double receivers[ROOM_RECEIVERS][3];
    double rt60;
    uint64_t seed;
};

/* Images that a response of `seconds` sums up, of one receiver. */
double room_images(const struct room *room, double seconds);

/* The reflection coefficient, 0..1, for which the room decays in its rt60. Errors: memory; none. */
MUST_CHECK enum status room_solve(const struct room *room, double *reflection);

/* A receiver's response: tap ROOM_ZERO is where the direct sound comes to the first receiver,
 * which it does with gain 1. Errors: memory. */
enum { ROOM_ZERO = 16 };
MUST_CHECK enum status room_render(const struct room *room, double reflection, size_t receiver,
                                   double rate, double *taps, size_t count);

#endif
