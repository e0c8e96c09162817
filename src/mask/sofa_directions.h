/* The directions in which the responses of a SOFA file were measured, as the listener's head sees
 * them: x to the front, y to the left, z upwards. Angles in degrees, azimuth from the front to the
 * left (90: left, -90: right), elevation upwards; distances in metres. Threads: any.
 */
#ifndef HALO_SOFA_DIRECTIONS_H
#define HALO_SOFA_DIRECTIONS_H

#include "mask/sofa_file.h"

struct sofa_direction {
    double at[3]; /* of length 1 */
    double distance;
};

/* One for each measurement, to be freed: of its source, relative to its listener; in files with
 * several sources at once (data type FIR-E) that in which the listener looks. Errors: positions of
 * another number than of measurements, one that is no number, memory. */
MUST_CHECK enum status sofa_directions_create(const char *name, const struct sofa_file *file,
                                              struct sofa_direction **directions);

struct sofa_direction sofa_direction_of(double azimuth, double elevation);
double sofa_azimuth(const struct sofa_direction *direction); /* -180 < azimuth <= 180 */
double sofa_elevation(const struct sofa_direction *direction);
double sofa_angle(const struct sofa_direction *a, const struct sofa_direction *b);

/* A position of an array by its type, in metres: of the only one, or of number `index`. False:
 * there is none. */
bool sofa_position(const struct sofa_array *array, const char *type, size_t index, double xyz[3]);

enum { SOFA_AROUND = 3 };
struct sofa_weight {
    size_t measurement;
    double weight; /* together 1 */
};

/* The nearest measurement; of several in one direction, the farthest away. */
size_t sofa_nearest(const struct sofa_direction *directions, size_t count,
                    const struct sofa_direction *wanted);

/* The two or three of the nearest between which `wanted` lies, at about the distance of the
 * nearest, weighted so that their weighted sum points there; or the nearest alone. Returns how
 * many. */
size_t sofa_around(const struct sofa_direction *directions, size_t count,
                   const struct sofa_direction *wanted, struct sofa_weight weights[SOFA_AROUND]);

#endif
