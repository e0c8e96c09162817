#include "base/colour_map.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static const struct colour viridis[COLOUR_MAP_STOPS] = {
    {0x44, 0x01, 0x54}, {0x48, 0x1A, 0x6C}, {0x47, 0x2F, 0x7D}, {0x41, 0x44, 0x87},
    {0x39, 0x56, 0x8C}, {0x31, 0x68, 0x8E}, {0x2A, 0x78, 0x8E}, {0x23, 0x88, 0x8E},
    {0x1F, 0x98, 0x8B}, {0x22, 0xA8, 0x84}, {0x35, 0xB7, 0x79}, {0x54, 0xC5, 0x68},
    {0x7A, 0xD1, 0x51}, {0xA5, 0xDB, 0x36}, {0xD2, 0xE2, 0x1B}, {0xFD, 0xE7, 0x25},
};

static unsigned char between(unsigned char low, unsigned char high, double share)
{
    return (unsigned char)lrint(low + share * (high - low));
}

struct colour colour_map_at(double share)
{
    double place = fmin(fmax(share, 0), 1) * (COLOUR_MAP_STOPS - 1);
    size_t index = (size_t)fmin(floor(place), COLOUR_MAP_STOPS - 2);
    const struct colour *low = &viridis[index], *high = low + 1;
    double part = place - (double)index;
    return (struct colour){
        .red = between(low->red, high->red, part),
        .green = between(low->green, high->green, part),
        .blue = between(low->blue, high->blue, part),
    };
}

/* ---- 256 colours: a cube of 6 x 6 x 6 from 16 on, then 24 greys ---- */

static const int levels[] = {0, 95, 135, 175, 215, 255};
enum { LEVELS = sizeof levels / sizeof *levels, CUBE = 16, GREYS = 232, GREY_COUNT = 24 };

static int level_near(int value)
{
    int best = 0;
    for (int i = 1; i < LEVELS; i++)
        if (abs(levels[i] - value) < abs(levels[best] - value))
            best = i;
    return best;
}

static int distance(struct colour colour, int red, int green, int blue)
{
    int reds = colour.red - red, greens = colour.green - green, blues = colour.blue - blue;
    return reds * reds + greens * greens + blues * blues;
}

int colour_map_terminal(struct colour colour)
{
    int red = level_near(colour.red), green = level_near(colour.green),
        blue = level_near(colour.blue);
    int mean = (colour.red + colour.green + colour.blue) / 3;
    int grey = mean < 8 ? 0 : (mean - 3) / 10;
    grey = grey < GREY_COUNT ? grey : GREY_COUNT - 1;
    int level = 8 + 10 * grey;
    bool is_grey = distance(colour, level, level, level) <
                   distance(colour, levels[red], levels[green], levels[blue]);
    return is_grey ? GREYS + grey : CUBE + 36 * red + 6 * green + blue;
}
