/* Rooms. */
#include "mask/design_kind.h"
#include "mask/room_image.h"
#include "signal/biquad.h"

#include <math.h>

static const double IMAGES_MOST = 5e7;
static const double LENGTH = 1.1; /* in decay times; the last eighth is faded out */
static const double EARS = 0.2;   /* metres from one receiver to the other */
/* Where nothing else cuts, all images adding up make a pressure that no air keeps. */
static const double BASS = 20; /* Hz */

/* "6x5x3" */
static enum status read_size(const struct design_spec *spec, double size[3])
{
    const char *text = design_option(spec, "size");
    struct design_range metres = {DESIGN_PLAIN, 1, 200};
    char *end = (char *)text;
    for (int axis = 0; text && axis < 3; axis++) {
        TRY(design_parse(spec, "size=, in metres,", end, metres, &end, &size[axis]));
        if (*end != (axis < 2 ? 'x' : '\0'))
            return fail(STATUS_USAGE,
                        "%s: size= is length, width and height in metres, such as "
                        "6x5x3, not '%s'",
                        spec->kind->name, text);
        end++;
    }
    return STATUS_OK;
}

/* The source stands before the middle between the ears, away from the room's own middle, where
 * left and right would hear the same. */
static void place(struct room *room)
{
    static const double source[] = {0.43, 0.3, 0.45}, ears[] = {0.43, 0.71, 0.53};
    for (int axis = 0; axis < 3; axis++) {
        room->source[axis] = source[axis] * room->size[axis];
        for (int r = 0; r < ROOM_RECEIVERS; r++)
            room->receivers[r][axis] = ears[axis] * room->size[axis];
    }
    room->receivers[0][0] -= EARS / 2;
    room->receivers[1][0] += EARS / 2;
}

static enum status read_room(const struct design_spec *spec, struct room *room)
{
    size_t seed = 1;
    *room = (struct room){.size = {6, 5, 3}, .rt60 = 0.5};
    TRY(design_no_value(spec));
    TRY(design_number(spec, "rt60", (struct design_range){DESIGN_SECONDS, 0.05, 10}, &room->rt60));
    TRY(read_size(spec, room->size));
    TRY(design_count(spec, "seed", 0, 1000000000, &seed));
    room->seed = seed;
    place(room);
    return STATUS_OK;
}

static enum status fill_room(const struct room *room, struct design *design)
{
    double reflection = 0;
    TRY(room_solve(room, &reflection));
    struct biquad bass = biquad_make(BIQUAD_HIGHPASS, BASS, 0, M_SQRT1_2, design->rate);
    for (size_t r = 0; r < ROOM_RECEIVERS; r++) {
        double *taps = design_column(design, r);
        TRY(room_render(room, reflection, r, design->rate, taps, design->taps));
        biquad_filter(&bass, taps, design->taps);
        phase_fade_out(taps + design->taps - design->taps / 8, design->taps / 8);
    }
    note_detail("room: the walls reflect %.3f of the pressure", reflection);
    return STATUS_OK;
}

static enum status make_room(const struct design_spec *spec, struct design *design)
{
    struct room room;
    TRY(read_room(spec, &room));
    double seconds = LENGTH * room.rt60, taps = ceil(seconds * design->rate) + ROOM_ZERO;
    if (room_images(&room, seconds) > IMAGES_MOST)
        return fail(STATUS_USAGE,
                    "room: %gx%gx%g m with rt60=%g has %.0f million reflections, and %.0f are the "
                    "most: a larger size= or a shorter rt60=",
                    room.size[0], room.size[1], room.size[2], room.rt60,
                    room_images(&room, seconds) / 1e6, IMAGES_MOST / 1e6);
    if (taps > DESIGN_TAPS_MOST)
        return fail(STATUS_USAGE, "room: rt60=%g takes %.0f taps at %u Hz, and %d are the most",
                    room.rt60, taps, design->rate, DESIGN_TAPS_MOST);
    TRY(design_alloc(design, ROOM_RECEIVERS, (size_t)taps));
    design->origin = ROOM_ZERO;
    return fill_room(&room, design);
}

const struct design_kind design_rooms[] = {
    {"room", "room:rt60=0.8,size=6x5x3,seed=1", "rt60, size, seed",
     "a box of so many metres with bare walls, heard by two microphones 20 cm apart; rt60= is\n"
     "the time to -60 dB (0.5 s), seed= another room of the same kind",
     .make = make_room},
    {0},
};
