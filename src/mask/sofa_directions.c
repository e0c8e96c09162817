#include "mask/sofa_directions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 24 };
static const double same_degrees = 0.05, same_distance = 0.05;
static const double degree = M_PI / 180;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double result[3])
{
    for (size_t i = 0; i < 3; i++)
        result[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* Returns the former length; a vector of none stays. */
static double scale_to_one(double a[3])
{
    double length = sqrt(dot(a, a));
    for (size_t i = 0; length > 0 && i < 3; i++)
        a[i] /= length;
    return length;
}

struct sofa_direction sofa_direction_of(double azimuth, double elevation)
{
    double level = cos(elevation * degree);
    return (struct sofa_direction){
        {level * cos(azimuth * degree), level * sin(azimuth * degree), sin(elevation * degree)}, 1};
}

double sofa_azimuth(const struct sofa_direction *direction)
{
    return atan2(direction->at[1], direction->at[0]) / degree;
}

double sofa_elevation(const struct sofa_direction *direction)
{
    return asin(fmax(-1, fmin(direction->at[2], 1))) / degree;
}

/* By the chord, which keeps small angles exact. */
double sofa_angle(const struct sofa_direction *a, const struct sofa_direction *b)
{
    double between[3] = {a->at[0] - b->at[0], a->at[1] - b->at[1], a->at[2] - b->at[2]};
    return 2 * asin(fmin(sqrt(dot(between, between)) / 2, 1)) / degree;
}

bool sofa_position(const struct sofa_array *array, const char *type, size_t index, double xyz[3])
{
    size_t first = array->count == 3 ? 0 : 3 * index;
    if (array->count < first + 3)
        return false;
    const float *values = array->values + first;
    struct sofa_direction direction = sofa_direction_of((double)values[0], (double)values[1]);
    bool is_spherical = strcmp(type, "spherical") == 0;
    for (size_t i = 0; i < 3; i++)
        xyz[i] = is_spherical ? direction.at[i] * (double)values[2] : (double)values[i];
    return isfinite(dot(xyz, xyz));
}

/* The axes of the head: front, left, top. */
static void head_of(const struct sofa_file *file, size_t measurement, double head[3][3])
{
    const struct sofa_array *view = &file->arrays[SOFA_VIEW], *up = &file->arrays[SOFA_UP];
    static const double level[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    memcpy(head, level, sizeof level);
    if (!sofa_position(view, view->type, measurement, head[0]) || scale_to_one(head[0]) == 0)
        memcpy(head[0], level[0], sizeof level[0]);
    if (!sofa_position(up, *up->type ? up->type : view->type, measurement, head[2]))
        memcpy(head[2], level[2], sizeof level[2]);
    cross(head[2], head[0], head[1]);
    if (scale_to_one(head[1]) < 1e-6) /* no top, or where it looks */
        memcpy(head[1], level[1], sizeof level[1]);
    cross(head[0], head[1], head[2]);
}

static bool find_direction(const struct sofa_file *file, size_t measurement,
                           struct sofa_direction *direction)
{
    const struct sofa_array *source = &file->arrays[SOFA_SOURCE];
    const struct sofa_array *listener = &file->arrays[SOFA_LISTENER];
    double head[3][3], from[3], to[3] = {0};
    head_of(file, measurement, head);
    if (file->emitters > 1) {
        *direction = (struct sofa_direction){{head[0][0], head[0][1], head[0][2]}, 1};
        return true;
    }
    if (!sofa_position(source, source->type, measurement, from))
        return false;
    if (!sofa_position(listener, listener->type, measurement, to))
        memset(to, 0, sizeof to);
    for (size_t i = 0; i < 3; i++)
        from[i] -= to[i];
    for (size_t i = 0; i < 3; i++)
        direction->at[i] = dot(head[i], from);
    direction->distance = scale_to_one(direction->at);
    return true;
}

static bool has_one_for_each(const struct sofa_file *file, enum sofa_variable variable)
{
    size_t count = file->arrays[variable].count;
    return count <= 3 || count == 3 * file->measurements;
}

enum status sofa_directions_create(const char *name, const struct sofa_file *file,
                                   struct sofa_direction **result)
{
    bool fits = has_one_for_each(file, SOFA_SOURCE) && has_one_for_each(file, SOFA_LISTENER) &&
                has_one_for_each(file, SOFA_VIEW) && has_one_for_each(file, SOFA_UP);
    struct sofa_direction *directions = calloc(file->measurements, sizeof *directions);
    if (!directions)
        return fail_memory("a mask");
    for (size_t m = 0; fits && m < file->measurements; m++)
        fits = find_direction(file, m, &directions[m]);
    if (!fits) {
        free(directions);
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: its positions are damaged, or not one for each of its "
                    "%zu measurements",
                    name, file->measurements);
    }
    *result = directions;
    return STATUS_OK;
}

size_t sofa_nearest(const struct sofa_direction *directions, size_t count,
                    const struct sofa_direction *wanted)
{
    size_t best = 0;
    for (size_t m = 1; m < count; m++) {
        double gain = sofa_angle(&directions[best], wanted) - sofa_angle(&directions[m], wanted);
        bool is_farther = directions[m].distance > directions[best].distance;
        if (gain > same_degrees || (gain > -same_degrees && is_farther))
            best = m;
    }
    return best;
}

/* The nearest in ascending order, one for each direction, all at about the distance of the first.
 */
static size_t find_neighbours(const struct sofa_direction *directions, size_t count,
                              const struct sofa_direction *wanted, size_t near[NEIGHBOURS])
{
    size_t found = 1;
    near[0] = sofa_nearest(directions, count, wanted);
    double distance = directions[near[0]].distance;
    for (size_t m = 0; m < count; m++) {
        double angle = sofa_angle(&directions[m], wanted);
        bool is_new = fabs(directions[m].distance - distance) <= same_distance * distance;
        for (size_t i = 0; i < found; i++)
            is_new = is_new && sofa_angle(&directions[m], &directions[near[i]]) > same_degrees;
        size_t at = found;
        while (at > 1 && sofa_angle(&directions[near[at - 1]], wanted) > angle)
            at--;
        if (!is_new || at == NEIGHBOURS)
            continue;
        found = found < NEIGHBOURS ? found + 1 : found;
        memmove(near + at + 1, near + at, (found - at - 1) * sizeof *near);
        near[at] = m;
    }
    return found;
}

/* Weights of three vectors whose sum is `wanted`, by Cramer's rule. False: it is not between. */
static bool weigh(const double a[3], const double b[3], const double c[3], const double wanted[3],
                  double weights[3])
{
    static const double least = -1e-6;
    double bc[3], ca[3], ab[3];
    cross(b, c, bc);
    cross(c, a, ca);
    cross(a, b, ab);
    double volume = dot(a, bc);
    if (fabs(volume) < 1e-9)
        return false;
    weights[0] = dot(wanted, bc) / volume;
    weights[1] = dot(wanted, ca) / volume;
    weights[2] = dot(wanted, ab) / volume;
    return weights[0] > least && weights[1] > least && weights[2] > least;
}

/* `c` NULL: two, with the third across them, which must get nothing. */
static bool weigh_group(const struct sofa_direction *a, const struct sofa_direction *b,
                        const struct sofa_direction *c, const struct sofa_direction *wanted,
                        double weights[3])
{
    double third[3];
    if (c)
        memcpy(third, c->at, sizeof third);
    else
        cross(a->at, b->at, third);
    if (!c && scale_to_one(third) == 0)
        return false;
    if (!c && fabs(dot(third, wanted->at)) > sin(same_degrees * degree))
        return false;
    double across = c ? 0 : dot(third, wanted->at);
    double within[3];
    for (size_t i = 0; i < 3; i++)
        within[i] = wanted->at[i] - across * third[i];
    return weigh(a->at, b->at, third, within, weights);
}

static size_t keep(const size_t near[], const size_t chosen[], const double weights[3],
                   struct sofa_weight result[SOFA_AROUND])
{
    double sum = weights[0] + weights[1] + weights[2];
    size_t count = 0;
    for (size_t i = 0; i < SOFA_AROUND; i++)
        if (weights[i] / sum > 1e-6)
            result[count++] = (struct sofa_weight){near[chosen[i]], weights[i] / sum};
    return count;
}

/* Neighbours are in ascending order, so that the first group that surrounds it, by its farthest, is
 * the smallest. The pair is tried before the three that end with the same neighbour. */
size_t sofa_around(const struct sofa_direction *directions, size_t count,
                   const struct sofa_direction *wanted, struct sofa_weight result[SOFA_AROUND])
{
    size_t near[NEIGHBOURS], found = find_neighbours(directions, count, wanted, near);
    double weights[3];
    result[0] = (struct sofa_weight){near[0], 1};
    if (sofa_angle(&directions[near[0]], wanted) <= same_degrees)
        return 1;
    for (size_t last = 1; last < found; last++)
        for (size_t a = 0; a < last; a++) {
            const struct sofa_direction *one = &directions[near[a]], *end = &directions[near[last]];
            if (weigh_group(one, end, NULL, wanted, weights))
                return keep(near, (size_t[]){a, last, a}, weights, result);
            for (size_t b = a + 1; b < last; b++)
                if (weigh_group(one, &directions[near[b]], end, wanted, weights))
                    return keep(near, (size_t[]){a, b, last}, weights, result);
        }
    return 1;
}
