#include "signal/channel_layout.h"

#include "base/plural.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { AMBISONIC_ORDER_MOST = 6 };

static const char *const position_names[CHANNEL_POSITIONS] = {
    "FL", "FR", "FC",  "LFE", "BL",   "BR",  "FLC", "FRC", "BC",  "SL",
    "SR", "TC", "TFL", "TFC", "TFR",  "TBL", "TBC", "TBR", "DL",  "DR",
    "WL", "WR", "SDL", "SDR", "LFE2", "TSL", "TSR", "BFC", "BFL", "BFR"};

#define AT(POSITION) (UINT32_C(1) << CHANNEL_##POSITION)
#define STEREO (AT(FL) | AT(FR))
#define FRONT (STEREO | AT(FC))
#define FRONT_LOW (FRONT | AT(LFE))
#define BACK (AT(BL) | AT(BR))
#define SIDE (AT(SL) | AT(SR))
#define CENTRES (AT(FLC) | AT(FRC))
#define TOP_FRONT (AT(TFL) | AT(TFR))
#define TOP_BACK (AT(TBL) | AT(TBR))

static const struct {
    const char *name;
    uint32_t speakers;
} layouts[] = {
    {"mono", AT(FC)},
    {"stereo", STEREO},
    {"2.1", STEREO | AT(LFE)},
    {"3.0", FRONT},
    {"3.0(back)", STEREO | AT(BC)},
    {"3.1", FRONT_LOW},
    {"4.0", FRONT | AT(BC)},
    {"4.1", FRONT_LOW | AT(BC)},
    {"quad", STEREO | BACK},
    {"quad(side)", STEREO | SIDE},
    {"5.0", FRONT | BACK},
    {"5.0(side)", FRONT | SIDE},
    {"5.1", FRONT_LOW | BACK},
    {"5.1(side)", FRONT_LOW | SIDE},
    {"6.0", FRONT | AT(BC) | SIDE},
    {"6.0(front)", STEREO | CENTRES | SIDE},
    {"hexagonal", FRONT | BACK | AT(BC)},
    {"6.1", FRONT_LOW | AT(BC) | SIDE},
    {"6.1(back)", FRONT_LOW | BACK | AT(BC)},
    {"6.1(front)", STEREO | AT(LFE) | CENTRES | SIDE},
    {"7.0", FRONT | BACK | SIDE},
    {"7.0(front)", FRONT | CENTRES | SIDE},
    {"7.1", FRONT_LOW | BACK | SIDE},
    {"7.1(wide)", FRONT_LOW | BACK | CENTRES},
    {"7.1(wide-side)", FRONT_LOW | CENTRES | SIDE},
    {"7.1(top)", FRONT_LOW | BACK | TOP_FRONT},
    {"octagonal", FRONT | BACK | AT(BC) | SIDE},
    {"cube", STEREO | BACK | TOP_FRONT | TOP_BACK},
    {"5.1.4", FRONT_LOW | BACK | TOP_FRONT | TOP_BACK},
    {"7.1.2", FRONT_LOW | BACK | SIDE | TOP_FRONT},
    {"7.1.4", FRONT_LOW | BACK | SIDE | TOP_FRONT | TOP_BACK},
    {"downmix", AT(DL) | AT(DR)},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* Names of positions in other programs. */
static const struct {
    const char *name;
    enum channel_position position, instead; /* the position if the layout lacks the first */
} aliases[] = {
    {"L", CHANNEL_FL, CHANNEL_FL},  {"R", CHANNEL_FR, CHANNEL_FR},
    {"C", CHANNEL_FC, CHANNEL_FC},  {"M", CHANNEL_FC, CHANNEL_FC},
    {"LS", CHANNEL_SL, CHANNEL_BL}, {"RS", CHANNEL_SR, CHANNEL_BR},
    {"RL", CHANNEL_BL, CHANNEL_BL}, {"RR", CHANNEL_BR, CHANNEL_BR},
    {"RC", CHANNEL_BC, CHANNEL_BC}, {"SUB", CHANNEL_LFE, CHANNEL_LFE},
};

static const char *const scale_names[] = {
    [AMBISONIC_SN3D] = "SN3D", [AMBISONIC_N3D] = "N3D", [AMBISONIC_FUMA] = "FuMa"};

bool channel_layout_is_known(struct channel_layout layout)
{
    return layout.speakers || layout.ambisonic;
}

bool channel_layout_equals(struct channel_layout a, struct channel_layout b)
{
    return a.speakers == b.speakers && a.ambisonic == b.ambisonic;
}

size_t channel_layout_count(struct channel_layout layout)
{
    return (size_t)__builtin_popcount(layout.speakers);
}

struct channel_layout channel_layout_usual(size_t channels)
{
    static const uint32_t usual[] = {0,
                                     AT(FC),
                                     STEREO,
                                     FRONT,
                                     STEREO | BACK,
                                     FRONT | BACK,
                                     FRONT_LOW | BACK,
                                     FRONT_LOW | AT(BC) | SIDE,
                                     FRONT_LOW | BACK | SIDE};
    bool has_one = channels < sizeof usual / sizeof *usual;
    return (struct channel_layout){.speakers = has_one ? usual[channels] : 0};
}

struct channel_layout channel_layout_implied(size_t channels)
{
    return channel_layout_usual(channels <= 2 ? channels : 0);
}

/* ---- names ---- */

static size_t order_of(size_t channels)
{
    size_t order = 0;
    while ((order + 1) * (order + 1) < channels)
        order++;
    return order;
}

static void name_ambisonic(enum ambisonic scale, size_t channels, char text[CHANNEL_LAYOUT_TEXT])
{
    bool plain = scale == AMBISONIC_SN3D;
    snprintf(text, CHANNEL_LAYOUT_TEXT, "ambisonic %zu%s%s", order_of(channels), plain ? "" : " ",
             plain ? "" : scale_names[scale]);
}

static void name_positions(struct channel_layout layout, size_t channels,
                           char text[CHANNEL_LAYOUT_TEXT])
{
    size_t length = 0, count = channel_layout_count(layout);
    for (int p = 0; p < CHANNEL_POSITIONS; p++)
        if (layout.speakers & UINT32_C(1) << p)
            length += (size_t)snprintf(text + length, CHANNEL_LAYOUT_TEXT - length, "%s%s",
                                       length ? "+" : "", position_names[p]);
    if (channels > count)
        snprintf(text + length, CHANNEL_LAYOUT_TEXT - length, " and %zu other%s", channels - count,
                 plural_s(channels - count));
}

const char *channel_layout_name(struct channel_layout layout, size_t channels,
                                char text[CHANNEL_LAYOUT_TEXT])
{
    snprintf(text, CHANNEL_LAYOUT_TEXT, "unknown");
    if (layout.ambisonic)
        name_ambisonic(layout.ambisonic, channels, text);
    else if (layout.speakers)
        name_positions(layout, channels, text);
    for (size_t i = 0; i < LAYOUTS; i++)
        if (layouts[i].speakers == layout.speakers && channel_layout_count(layout) == channels)
            snprintf(text, CHANNEL_LAYOUT_TEXT, "%s", layouts[i].name);
    return text;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return strncasecmp(word, text, length) == 0 && word[length] == '\0';
}

enum channel_position channel_position_named(const char *name, size_t length,
                                             struct channel_layout layout)
{
    for (int p = 0; p < CHANNEL_POSITIONS; p++)
        if (is_word(position_names[p], name, length))
            return (enum channel_position)p;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is_word(aliases[i].name, name, length))
            return layout.speakers & UINT32_C(1) << aliases[i].position ? aliases[i].position
                                                                        : aliases[i].instead;
    return CHANNEL_OTHER;
}

size_t channel_layout_index(struct channel_layout layout, enum channel_position position)
{
    const uint32_t before = layout.speakers & ((UINT32_C(1) << position) - 1);
    return channel_layout_count((struct channel_layout){.speakers = before});
}

/* Parses "ambisonic 1" or "ambisonic 1 FuMa". */
static bool parse_ambisonic(const char *text, struct channel_layout *layout, size_t *channels)
{
    if (strncmp(text, "ambisonic ", 10) != 0 || text[10] < '0' ||
        text[10] > '0' + AMBISONIC_ORDER_MOST)
        return false;
    size_t order = (size_t)(text[10] - '0');
    const char *scale = text[11] == ' ' ? text + 12 : "SN3D";
    *channels = (order + 1) * (order + 1);
    for (int s = AMBISONIC_SN3D; s <= AMBISONIC_FUMA; s++)
        if (strcasecmp(scale, scale_names[s]) == 0)
            *layout = (struct channel_layout){.ambisonic = (enum ambisonic)s};
    return layout->ambisonic && (text[11] == ' ' || text[11] == '\0');
}

static enum status parse_positions(const char *text, struct channel_layout *layout,
                                   size_t *channels)
{
    for (const char *name = text;; name++) {
        size_t length = strcspn(name, "+");
        enum channel_position position = channel_position_named(name, length, *layout);
        if (length == 0 || position == CHANNEL_OTHER)
            return fail(CAUSE_USAGE,
                        "unknown channel layout '%s'; use a name such as stereo, 2.1, quad, 5.0, "
                        "5.1, 5.1(side), 6.1, 7.1, 7.1.4, 'ambisonic 1', none, or positions joined "
                        "by +, such as FL+FR+LFE",
                        text);
        if (layout->speakers >> position != 0)
            return fail(CAUSE_USAGE,
                        "channel layout '%s': %s has to stand further left, and once, since "
                        "channels are in the order FL FR FC LFE BL BR FLC FRC BC SL SR TC ...",
                        text, position_names[position]);
        layout->speakers |= UINT32_C(1) << position;
        ++*channels;
        name += length;
        if (!*name)
            return STATUS_OK;
    }
}

enum status channel_layout_parse(const char *text, struct channel_layout *layout, size_t *channels)
{
    *layout = (struct channel_layout){0};
    *channels = 0;
    if (strcmp(text, "none") == 0 || parse_ambisonic(text, layout, channels))
        return STATUS_OK;
    for (size_t i = 0; i < LAYOUTS; i++)
        if (strcasecmp(layouts[i].name, text) == 0) {
            layout->speakers = layouts[i].speakers;
            *channels = channel_layout_count(*layout);
            return STATUS_OK;
        }
    return parse_positions(text, layout, channels);
}

bool channel_number_read(const char *name, size_t length, size_t *number)
{
    enum { DIGITS_MOST = 4 };
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9' || i == DIGITS_MOST)
            return false;
        *number = 10 * *number + (size_t)(name[i] - '0');
    }
    return length > 0;
}

enum status channel_layout_find(const char *option, const char *of, const char *advice,
                                size_t channels, struct channel_layout layout, const char *name,
                                size_t length, size_t *channel)
{
    char text[CHANNEL_LAYOUT_TEXT];
    int shown = (int)length;
    if (channel_number_read(name, length, channel)) {
        if ((*channel)-- >= 1 && *channel < channels)
            return STATUS_OK;
        return fail(CAUSE_USAGE, "%s: %s has no channel %.*s: it has %zu, counted from 1", option,
                    of, shown, name, channels);
    }
    enum channel_position position = channel_position_named(name, length, layout);
    if (position == CHANNEL_OTHER)
        return fail(CAUSE_USAGE,
                    "%s: '%.*s' is no channel; use FL FR FC LFE BL BR SL SR ... or numbers from 1",
                    option, shown, name);
    *channel = channel_layout_index(layout, position);
    if (layout.speakers & UINT32_C(1) << position)
        return STATUS_OK;
    if (!layout.speakers)
        return fail(
            CAUSE_USAGE,
            "%s: halo does not know which of the %zu channel%s of %s is %.*s; use numbers from "
            "1%s",
            option, channels, plural_s(channels), of, shown, name, advice);
    return fail(CAUSE_USAGE, "%s: %s has no channel %.*s: its layout is %s", option, of, shown,
                name, channel_layout_name(layout, channels, text));
}
