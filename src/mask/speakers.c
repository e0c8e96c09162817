#include "mask/speakers.h"

#include "base/decimal.h"

#include <math.h>
#include <string.h>

#define LFE {0, 0, true}
#define FRONT {30, 0, false}, {-30, 0, false}, {0, 0, false}, LFE
#define SIDES                                                                                      \
    {110, 0, false},                                                                               \
    {                                                                                              \
        -110, 0, false                                                                             \
    }
#define REAR_AND_SIDES                                                                             \
    {135, 0, false}, {-135, 0, false}, {90, 0, false},                                             \
    {                                                                                              \
        -90, 0, false                                                                              \
    }

static const struct speaker_layout {
    const char *name;
    struct speakers speakers;
} layouts[] = {
    {"mono", {1, {{0, 0, false}}}},
    {"stereo", {2, {{30, 0, false}, {-30, 0, false}}}},
    {"quad", {4, {{45, 0, false}, {-45, 0, false}, {135, 0, false}, {-135, 0, false}}}},
    {"5.1", {6, {FRONT, SIDES}}},
    {"7.1", {8, {FRONT, REAR_AND_SIDES}}},
    {"5.1.4",
     {10, {FRONT, SIDES, {30, 30, false}, {-30, 30, false}, {110, 30, false}, {-110, 30, false}}}},
    {"7.1.4",
     {12,
      {FRONT,
       REAR_AND_SIDES,
       {45, 30, false},
       {-45, 30, false},
       {135, 30, false},
       {-135, 30, false}}}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static bool parse_one(const char **text, struct speaker *speaker)
{
    char *end;
    *speaker = (struct speaker){0};
    if (!decimal_read(*text, &end, &speaker->azimuth))
        return false;
    if (*end == '/' && !decimal_read(end + 1, &end, &speaker->elevation))
        return false;
    *text = end;
    return fabs(speaker->azimuth) <= 360 && fabs(speaker->elevation) <= 90;
}

/* Two at least: 3.1 alone would be a layout that is not known. */
static bool parse_list(const char *text, struct speakers *speakers)
{
    speakers->count = 0;
    do {
        if (speakers->count == SPEAKERS_MOST || !parse_one(&text, &speakers->at[speakers->count]))
            return false;
        speakers->count++;
    } while (*text++ == ':');
    return text[-1] == '\0' && speakers->count > 1;
}

enum status speakers_parse(const char *text, struct speakers *speakers)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        if (strcmp(text, layouts[i].name) == 0) {
            *speakers = layouts[i].speakers;
            return STATUS_OK;
        }
    if (parse_list(text, speakers))
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "speakers= is mono, stereo, quad, 5.1, 7.1, 5.1.4, 7.1.4 or a list of at most %d "
                "directions in degrees, azimuth to the left and elevation, as 30:-30:110/15, not "
                "'%s'",
                SPEAKERS_MOST, text);
}

const char *speakers_usual(size_t channels)
{
    for (size_t i = 0; i < LAYOUTS; i++)
        if (layouts[i].speakers.count == channels)
            return layouts[i].name;
    return NULL;
}
