/* Routing a sound of loudspeakers to two ears through the responses of HeSuVi, a virtual surround
 * for headphones, whose order PipeWire's virtual surround shares. */
#include "mask/mask.h"

#include <stdlib.h>

enum { ALL = 14, HALF = 7, EARS = 2 };

enum hesuvi_speaker { FL, FR, FC, LFE, BL, BR, SL, SR, PLACES };

/* The columns from each loudspeaker to the left and the right ear; LFE is heard from the front, as
 * PipeWire has it. The second 7 mirror the first, so that a file for two equal ears holds those
 * alone. */
static const size_t columns_of[PLACES][EARS] = {
    [FL] = {0, 1}, [FR] = {8, 7},   [FC] = {6, 13}, [LFE] = {6, 13},
    [BL] = {4, 5}, [BR] = {12, 11}, [SL] = {2, 3},  [SR] = {10, 9},
};

/* By the order of channels in WAV files. Five and six have their surrounds at the sides. */
static const struct hesuvi_layout {
    size_t channels;
    enum hesuvi_speaker places[PLACES];
} layouts[] = {
    {1, {FC}},
    {2, {FL, FR}},
    {4, {FL, FR, BL, BR}},
    {5, {FL, FR, FC, SL, SR}},
    {6, {FL, FR, FC, LFE, SL, SR}},
    {8, {FL, FR, FC, LFE, BL, BR, SL, SR}},
};

static const struct hesuvi_layout *layout_of(size_t channels)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].channels == channels)
            return &layouts[i];
    return NULL;
}

bool mask_may_be_hesuvi(const struct mask *mask)
{
    return mask->columns == ALL || mask->columns == HALF;
}

enum status mask_route_hesuvi(struct mask *mask, size_t channels, enum mask_map map)
{
    const struct hesuvi_layout *layout = layout_of(channels);
    if (map != MASK_MAP_AUTO)
        return fail(CAUSE_USAGE, "mask %s: order=hesuvi and map= exclude each other", mask->name);
    if (!mask_may_be_hesuvi(mask))
        return fail(CAUSE_USAGE,
                    "mask %s: order=hesuvi is for a mask of 14 or 7 channels, but it has %zu",
                    mask->name, mask->columns);
    if (!layout)
        return fail(CAUSE_USAGE,
                    "mask %s: order=hesuvi is for a sound of 1, 2, 4, 5, 6 or 8 channels (mono, "
                    "stereo, quad, 5.0, 5.1, 7.1), but it has %zu",
                    mask->name, channels);
    free(mask->paths);
    mask->paths = calloc(EARS * channels, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("a mask");
    mask->path_count = EARS * channels;
    mask->inputs = channels;
    mask->outputs = EARS;
    for (size_t p = 0; p < mask->path_count; p++) {
        size_t column = columns_of[layout->places[p / EARS]][p % EARS];
        mask->paths[p] = (struct mask_path){p / EARS, p % EARS, column % mask->columns};
    }
    return STATUS_OK;
}
