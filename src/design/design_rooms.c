/* Rooms: the impulse response of a box by image sources (J. B. Allen, D. A. Berkley, "Image method
 * for efficiently simulating small-room acoustics", 1979).
 *
 * All walls reflect equally at all frequencies. Images are displaced at random by a few centimetres
 * to avoid sweeping echoes (E. De Sena, N. Antonello, M. Moonen, T. van Waterschoot, "On the
 * modeling of rectangular geometries in room acoustic simulations", 2015). The reflection
 * coefficient is found by solving: the room's Schroeder decay from -5 to -35 dB must match rt60.
 * Sabine's and Eyring's formulas do not hold for such a room. Lengths are in metres, times in
 * seconds. Time and memory grow with the cube of the decay time, divided by the room's volume.
 */
#include "base/noise.h"
#include "design/design_kind.h"
#include "signal/biquad.h"
#include "signal/window.h"

#include <math.h>
#include <stdlib.h>

enum {
    RECEIVERS = 2,
    ROOM_ZERO = 16,  /* tap of the direct sound */
    SLOTS = 400,     /* time slots in sums of energy */
    FRACTIONS = 256, /* fractions of a frame: errors of -44 dB at half the rate, less below */
    KERNEL = 2 * ROOM_ZERO,
    BISECTIONS = 50,
};

static const double SOUND_SPEED = 343; /* metres per second, in air at 20 degrees C */
static const double JITTER = 0.08;     /* metres */
static const double SOLVED = 1.3;      /* decay times; the sums of energy span so many */
static const double KERNEL_BETA = 6;
static const double IMAGES_MOST = 5e7;
static const double LENGTH = 1.1; /* decay times of the response; its last eighth is faded out */
static const double EARS = 0.2;   /* metres between the two receivers */
static const double DECAY_TOLERANCE = 0.15;
static const double BASS = 20; /* Hz; below, the images add up to an offset */

struct shoebox {
    double size[3];
    double source[3];
    double receivers[RECEIVERS][3];
    double rt60;
    uint64_t seed;
};

struct image {
    double distance;
    size_t reflections;
};

typedef void visit(void *context, struct image image);

/* Place of image k along an axis. It has |k| reflections; image 0 is the source. */
static double image_place(double size, double source, long k)
{
    return (double)k * size + (k % 2 == 0 ? source : size - source);
}

static uint64_t image_number(uint64_t seed, long x, long y, long z)
{
    return seed * UINT64_C(0xd1342543de82ef95) + ((uint64_t)(x + 0x8000) << 32) +
           ((uint64_t)(y + 0x8000) << 16) + (uint64_t)(z + 0x8000);
}

static double image_distance(const struct shoebox *room, const double *receiver, const long k[3])
{
    uint64_t state = image_number(room->seed, k[0], k[1], k[2]);
    bool moves = k[0] || k[1] || k[2];
    double square = 0;
    for (int axis = 0; axis < 3; axis++) {
        double at = image_place(room->size[axis], room->source[axis], k[axis]) - receiver[axis];
        if (moves)
            at += JITTER * (double)noise_next(&state);
        square += at * at;
    }
    return sqrt(square);
}

static long reach_of(double size, double radius)
{
    return (long)ceil(radius / size) + 1;
}

/* Visits all images within `radius`, and some a little farther away. */
static void visit_images(const struct shoebox *room, const double *receiver, double radius,
                         visit *call, void *context)
{
    long reach[3], k[3];
    reach[0] = reach_of(room->size[0], radius);
    for (k[0] = -reach[0]; k[0] <= reach[0]; k[0]++) {
        double x = image_place(room->size[0], room->source[0], k[0]) - receiver[0];
        double disc = sqrt(fmax(0, radius * radius - x * x));
        reach[1] = reach_of(room->size[1], disc);
        for (k[1] = -reach[1]; k[1] <= reach[1]; k[1]++) {
            double y = image_place(room->size[1], room->source[1], k[1]) - receiver[1];
            reach[2] = reach_of(room->size[2], sqrt(fmax(0, disc * disc - y * y)));
            for (k[2] = -reach[2]; k[2] <= reach[2]; k[2]++)
                call(context, (struct image){image_distance(room, receiver, k),
                                             (size_t)(labs(k[0]) + labs(k[1]) + labs(k[2]))});
        }
    }
}

static double direct_distance(const struct shoebox *room)
{
    return image_distance(room, room->receivers[0], (const long[3]){0, 0, 0});
}

/* Number of images in a response of `seconds`, for one receiver. */
static double room_images(const struct shoebox *room, double seconds)
{
    double radius = seconds * SOUND_SPEED + direct_distance(room);
    return 4 * M_PI / 3 * radius * radius * radius /
           (room->size[0] * room->size[1] * room->size[2]);
}

struct room_energies {
    double direct; /* distance of the direct sound, in metres */
    double slot;   /* length of a slot, in metres */
    size_t most;   /* the most reflections */
    double *sums;  /* slot after slot, by number of reflections */
};

static void sum_energy(void *context, struct image image)
{
    struct room_energies *energies = context;
    double at = (image.distance - energies->direct) / energies->slot;
    if (at >= 0 && at < SLOTS && image.reflections <= energies->most)
        energies->sums[(size_t)at * (energies->most + 1) + image.reflections] +=
            1 / (image.distance * image.distance);
}

static double energy_of(const struct room_energies *energies, size_t slot, double reflection)
{
    double square = reflection * reflection, sum = 0;
    const double *sums = energies->sums + slot * (energies->most + 1);
    for (size_t n = energies->most + 1; n > 0; n--)
        sum = sum * square + sums[n - 1];
    return sum;
}

/* The slope of the remaining energy from -5 to -35 dB, by a straight line, in dB per slot. */
static double slope_of(const double *decay, size_t slots)
{
    double count = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < slots; i++) {
        double level = 10 * log10(decay[i] / decay[0]), at = (double)i;
        if (!(level <= -5 && level >= -35))
            continue;
        count++, x += at, y += level, xx += at * at, xy += at * level;
    }
    return count < 2 ? -INFINITY : (count * xy - x * y) / (count * xx - x * x);
}

static double decay_slope(const struct room_energies *energies, double reflection)
{
    double decay[SLOTS + 1] = {0};
    for (size_t i = SLOTS; i > 0; i--)
        decay[i - 1] = decay[i] + energy_of(energies, i - 1, reflection);
    return slope_of(decay, SLOTS);
}

static enum status solve(const struct shoebox *room, const struct room_energies *energies,
                         double *reflection)
{
    double wanted = -60 * SOLVED / SLOTS, low = 0.01, high = 0.99999;
    if (decay_slope(energies, low) > wanted || decay_slope(energies, high) < wanted)
        return fail(CAUSE_OTHER,
                    "a room of %gx%gx%g m cannot decay in %g s: too few echoes come in that time; "
                    "set a longer rt60= or a smaller size=",
                    room->size[0], room->size[1], room->size[2], room->rt60);
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        if (decay_slope(energies, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    *reflection = (low + high) / 2;
    return STATUS_OK;
}

static enum status room_solve(const struct shoebox *room, double *reflection)
{
    double direct = direct_distance(room), span = SOLVED * room->rt60 * SOUND_SPEED;
    struct room_energies energies = {.direct = direct, .slot = span / SLOTS};
    for (int axis = 0; axis < 3; axis++)
        energies.most += (size_t)reach_of(room->size[axis], span + direct);
    energies.sums = calloc(SLOTS * (energies.most + 1), sizeof(double));
    if (!energies.sums)
        return fail_memory("a room");
    visit_images(room, room->receivers[0], span + direct, sum_energy, &energies);
    enum status status = solve(room, &energies, reflection);
    free(energies.sums);
    return status;
}

struct room_response {
    double direct, rate;
    double *powers; /* powers of the reflection coefficient */
    size_t most;
    double (*kernels)[KERNEL]; /* a short low-pass for each fraction of a frame */
    double *taps;
    size_t count;
};

static void add_image(void *context, struct image image)
{
    struct room_response *response = context;
    double at = (image.distance - response->direct) / SOUND_SPEED * response->rate;
    size_t reflections = image.reflections < response->most ? image.reflections : response->most;
    double gain = response->powers[reflections] * response->direct / image.distance;
    if (at < -1)
        return;
    /* The kernel's middle is at tap ROOM_ZERO - 1 plus its fraction. */
    size_t place = (size_t)lround((at + 1) * FRACTIONS);
    const double *kernel = response->kernels[place % FRACTIONS];
    for (size_t i = 0, tap = place / FRACTIONS; i < KERNEL && tap < response->count; i++, tap++)
        response->taps[tap] += gain * kernel[i];
}

static void fill_kernels(double (*kernels)[KERNEL])
{
    for (size_t f = 0; f < FRACTIONS; f++)
        for (size_t i = 0; i < KERNEL; i++) {
            double time = (double)i - (ROOM_ZERO - 1) - (double)f / FRACTIONS;
            double inside = 1 - time * time / (ROOM_ZERO * ROOM_ZERO);
            double sinc = time == 0 ? 1 : sin(M_PI * time) / (M_PI * time);
            kernels[f][i] = sinc * window_kaiser(KERNEL_BETA, inside);
        }
}

/* Renders a receiver's response. The first one has the direct sound at tap ROOM_ZERO, gain 1. */
static enum status room_render(const struct shoebox *room, double reflection, size_t receiver,
                               double rate, double *taps, size_t count)
{
    double direct = direct_distance(room);
    double radius = direct + (double)count / rate * SOUND_SPEED;
    struct room_response response = {.direct = direct, .rate = rate, .taps = taps, .count = count};
    for (int axis = 0; axis < 3; axis++)
        response.most += (size_t)reach_of(room->size[axis], radius);
    response.powers = calloc(response.most + 1, sizeof(double));
    response.kernels = calloc(FRACTIONS, sizeof *response.kernels);
    bool ok = response.powers && response.kernels;
    if (ok) {
        fill_kernels(response.kernels);
        for (size_t n = 0; n <= response.most; n++)
            response.powers[n] = pow(reflection, (double)n);
        visit_images(room, room->receivers[receiver], radius, add_image, &response);
    }
    free(response.kernels);
    free(response.powers);
    return ok ? STATUS_OK : fail_memory("a room");
}

static enum status read_size(const struct design_spec *spec, double size[3])
{
    const char *text = design_option(spec, "size");
    char *end = (char *)text;
    for (int axis = 0; text && axis < 3; axis++) {
        TRY(design_parse(spec, "size=, in metres,", end, DESIGN_RANGE(PLAIN, 1, 200), &end,
                         &size[axis]));
        if (*end != (axis < 2 ? 'x' : '\0'))
            return fail(CAUSE_USAGE,
                        "%s: size= is length, width and height in metres, such as 6x5x3, not '%s'",
                        spec->kind->name, text);
        end++;
    }
    return STATUS_OK;
}

/* Places source and receivers. The source is in front of the receivers and off the middle of the
 * room, where both would receive the same. */
static void place(struct shoebox *room)
{
    static const double source[] = {0.43, 0.3, 0.45}, ears[] = {0.43, 0.71, 0.53};
    for (int axis = 0; axis < 3; axis++) {
        room->source[axis] = source[axis] * room->size[axis];
        for (int r = 0; r < RECEIVERS; r++)
            room->receivers[r][axis] = ears[axis] * room->size[axis];
    }
    room->receivers[0][0] -= EARS / 2;
    room->receivers[1][0] += EARS / 2;
}

static enum status read_room(const struct design_spec *spec, struct shoebox *room)
{
    size_t seed = 1;
    *room = (struct shoebox){.size = {6, 5, 3}, .rt60 = 0.5};
    TRY(design_no_value(spec));
    TRY(design_number(spec, "rt60", DESIGN_RANGE(SECONDS, 0.05, 10), &room->rt60));
    TRY(read_size(spec, room->size));
    TRY(design_count(spec, "seed", 0, 1000000000, &seed));
    room->seed = seed;
    place(room);
    return STATUS_OK;
}

/* Checks the decay. With few echoes, no reflection coefficient gives the wanted slope. */
static enum status check_decay(const struct shoebox *room, double rate, const double *taps,
                               size_t count)
{
    double *decay = calloc(count + 1, sizeof *decay);
    if (!decay)
        return fail_memory("a room");
    for (size_t i = count; i > 0; i--)
        decay[i - 1] = decay[i] + taps[i - 1] * taps[i - 1];
    double seconds = -60 / slope_of(decay, count) / rate;
    if (!(fabs(seconds / room->rt60 - 1) <= DECAY_TOLERANCE))
        note(
            "room: it decays as rt60=%.2g does (from -5 to -35 dB), not as rt60=%g: too few echoes "
            "come in that time in %gx%gx%g m; a longer rt60= or a smaller size= comes closer",
            seconds, room->rt60, room->size[0], room->size[1], room->size[2]);
    free(decay);
    return STATUS_OK;
}

static enum status fill_room(const struct shoebox *room, struct design *design)
{
    double reflection = 0;
    TRY(room_solve(room, &reflection));
    struct biquad bass = biquad_make(BIQUAD_HIGHPASS, BASS, 0, M_SQRT1_2, design->rate);
    for (size_t r = 0; r < RECEIVERS; r++) {
        double *taps = design_column(design, r);
        TRY(room_render(room, reflection, r, design->rate, taps, design->taps));
        biquad_filter(&bass, taps, design->taps);
        phase_fade_out(taps + design->taps - design->taps / 8, design->taps / 8);
    }
    TRY(check_decay(room, design->rate, design_column(design, 0), design->taps));
    note_detail("room: the walls reflect %.3f of the pressure", reflection);
    return STATUS_OK;
}

static enum status make_room(const struct design_spec *spec, struct design *design)
{
    struct shoebox room;
    TRY(read_room(spec, &room));
    double seconds = LENGTH * room.rt60, taps = ceil(seconds * design->rate) + ROOM_ZERO;
    if (room_images(&room, seconds) > IMAGES_MOST)
        return fail(CAUSE_USAGE,
                    "room: %gx%gx%g m with rt60=%g has %.0f million reflections, but at most %.0f "
                    "are possible: set a larger size= or a shorter rt60=",
                    room.size[0], room.size[1], room.size[2], room.rt60,
                    room_images(&room, seconds) / 1e6, IMAGES_MOST / 1e6);
    if (taps > DESIGN_TAPS_MOST)
        return fail(CAUSE_USAGE,
                    "room: rt60=%g takes %.0f taps at %u Hz, but at most %d are possible",
                    room.rt60, taps, design->rate, DESIGN_TAPS_MOST);
    TRY(design_alloc(design, RECEIVERS, (size_t)taps));
    design->origin = ROOM_ZERO;
    return fill_room(&room, design);
}

const struct design_kind design_rooms[] = {
    {"room", "room:rt60=0.8,size=6x5x3,seed=1", "rt60, size, seed",
     "a box of that many metres with bare walls, recorded by two microphones 20 cm apart; rt60= "
     "is\n"
     "the time to -60 dB (0.5 s), seed= varies the room",
     .make = make_room},
    {0},
};
