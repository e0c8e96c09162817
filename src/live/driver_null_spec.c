#include "live/driver_null.h"

#include "base/decimal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    double least, most, otherwise;
} keys[NULL_NUMBERS] = {
    [NULL_RATE] = {"rate", 1000, 768000, 48000},
    [NULL_CHANNELS] = {"channels", 1, DEVICE_CHANNELS_MOST, 2},
    [NULL_PERIOD] = {"period", 1, DEVICE_FRAMES_MOST, 0}, /* 0: as --block */
    [NULL_PACE] = {"pace", 0, 1000, 1},                   /* 0: without a pause */
    [NULL_JITTER] = {"jitter", 0, 1000, 0},
    [NULL_VARY] = {"vary", 1, DEVICE_FRAMES_MOST, 0},
    [NULL_DRIFT] = {"drift", -10000, 10000, 0},
    [NULL_STEP] = {"step", 0, 1e15, 0},
    [NULL_AFTER] = {"after", -10000, 10000, 0},
    [NULL_XRUN] = {"xrun", 1, 1e15, 0},
    [NULL_LOSE] = {"lose", 1, 1e15, 0},
    [NULL_BACK] = {"back", 0, 1e6, 0},
    [NULL_TURN] = {"turn", 1, 1e15, 0},
    [NULL_TO] = {"to", 1000, 768000, 48000},
};

const char null_form[] =
    "in=FILE, out=FILE, rate=HZ, channels=N, period=FRAMES, pace=TIMES (real time; 0: as fast as "
    "possible), jitter=MS, vary=FRAMES, drift=PPM, step=FRAME and after=PPM (another drift from there), "
    "xrun=FRAME, lose=FRAME, back=TRIES, turn=FRAME and to=HZ";

static enum status parse_item(struct null_device *null, char *item)
{
    char *value = strchr(item, '=');
    if (value)
        *value++ = '\0';
    if (value && strcmp(item, "in") == 0)
        null->in = value;
    else if (value && strcmp(item, "out") == 0)
        null->out = value;
    else {
        size_t key = 0;
        while (key < NULL_NUMBERS && strcmp(item, keys[key].name) != 0)
            key++;
        if (key == NULL_NUMBERS || !value)
            return fail(CAUSE_USAGE, "device null has no '%s'; it has %s", item, null_form);
        if (!decimal_parse(value, &null->number[key]) || null->number[key] < keys[key].least ||
            null->number[key] > keys[key].most)
            return fail(CAUSE_USAGE, "device null: %s must be from %g to %g, not '%s'", item,
                        keys[key].least, keys[key].most, value);
    }
    return STATUS_OK;
}

enum status null_spec_parse(struct null_device *null, const char *spec)
{
    char *rest;
    for (size_t i = 0; i < NULL_NUMBERS; i++)
        null->number[i] = keys[i].otherwise;
    null->spec = strdup(spec ? spec : "");
    if (!null->spec)
        return fail_memory("a device");
    for (char *item = strtok_r(null->spec, ",", &rest); item; item = strtok_r(NULL, ",", &rest))
        TRY(parse_item(null, item));
    if (!null->in)
        return STATUS_OK;
    TRY(source_open_sound(null->in, true, &null->source));
    null->number[NULL_RATE] = null->source->format.rate;
    null->number[NULL_CHANNELS] =
        fmax(null->number[NULL_CHANNELS], (double)null->source->format.channels);
    return STATUS_OK;
}
