/* A plugin that says where it thinks it is, by the events that it got: outputs seconds, bars, and
 * the tempo plus beats of a bar and unit as fractions (tempo + beats / 100 + unit / 10000). All are
 * 0 where the transport stands; `offset`, a control, and the parameter #level are added. */
#include <lv2/atom/atom.h>
#include <lv2/atom/util.h>
#include <lv2/core/lv2.h>
#include <lv2/patch/patch.h>
#include <lv2/time/time.h>
#include <lv2/urid/urid.h>
#include <stdlib.h>
#include <string.h>

enum beat_port { IN, TIME, SECONDS, BARS, TEMPO, OFFSET, PORTS };

struct beat {
    void *ports[PORTS];
    LV2_URID_Map *map;
    double rate;
    double frame, bar; /* of the next sample */
    float speed, bpm, beats, level;
    int unit;
};

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    (void)descriptor, (void)bundle;
    struct beat *beat = calloc(1, sizeof *beat);
    if (!beat)
        return NULL;
    beat->rate = rate;
    for (; *features; features++)
        if (strcmp((*features)->URI, LV2_URID__map) == 0)
            beat->map = (*features)->data;
    return beat;
}

static void connect_port(LV2_Handle instance, uint32_t port, void *data)
{
    ((struct beat *)instance)->ports[port] = data;
}

static LV2_URID id_of(const struct beat *beat, const char *uri)
{
    return beat->map->map(beat->map->handle, uri);
}

static double number(const LV2_Atom_Object *object, LV2_URID key, const struct beat *beat)
{
    const LV2_Atom *atom = NULL;
    lv2_atom_object_get(object, key, &atom, 0);
    if (!atom)
        return -1;
    if (atom->type == id_of(beat, LV2_ATOM__Long))
        return (double)((const LV2_Atom_Long *)atom)->body;
    if (atom->type == id_of(beat, LV2_ATOM__Int))
        return ((const LV2_Atom_Int *)atom)->body;
    return atom->type == id_of(beat, LV2_ATOM__Float) ? (double)((const LV2_Atom_Float *)atom)->body
                                                      : -1;
}

static void take(struct beat *beat, const LV2_Atom_Object *object)
{
    if (object->body.otype == id_of(beat, LV2_PATCH__Set))
        beat->level = (float)number(object, id_of(beat, LV2_PATCH__value), beat);
    if (object->body.otype != id_of(beat, LV2_TIME__Position))
        return;
    beat->frame = number(object, id_of(beat, LV2_TIME__frame), beat);
    beat->speed = (float)number(object, id_of(beat, LV2_TIME__speed), beat);
    beat->bpm = (float)number(object, id_of(beat, LV2_TIME__beatsPerMinute), beat);
    beat->beats = (float)number(object, id_of(beat, LV2_TIME__beatsPerBar), beat);
    beat->unit = (int)number(object, id_of(beat, LV2_TIME__beatUnit), beat);
    beat->bar = number(object, id_of(beat, LV2_TIME__bar), beat) +
                number(object, id_of(beat, LV2_TIME__barBeat), beat) / (double)beat->beats;
}

static void write(struct beat *beat, uint32_t at)
{
    float offset = *(const float *)beat->ports[OFFSET] + beat->level;
    float rolls = beat->speed, bars = beat->speed == 0 ? 0 : (float)beat->bar;
    ((float *)beat->ports[SECONDS])[at] = offset + rolls * (float)(beat->frame / beat->rate);
    ((float *)beat->ports[BARS])[at] = offset + bars;
    ((float *)beat->ports[TEMPO])[at] =
        offset + rolls * (beat->bpm + beat->beats / 100 + (float)beat->unit / 10000);
    if (beat->speed == 0)
        return;
    beat->frame++;
    beat->bar += (double)beat->bpm / 60 / beat->rate / (double)beat->beats;
}

static void run(LV2_Handle instance, uint32_t frames)
{
    struct beat *beat = instance;
    uint32_t at = 0;
    LV2_ATOM_SEQUENCE_FOREACH((const LV2_Atom_Sequence *)beat->ports[TIME], event)
    {
        for (; at < event->time.frames && at < frames; at++)
            write(beat, at);
        take(beat, (const LV2_Atom_Object *)&event->body);
    }
    for (; at < frames; at++)
        write(beat, at);
}

static const LV2_Descriptor descriptor = {.URI = "urn:halo:test:beat",
                                          .instantiate = instantiate,
                                          .connect_port = connect_port,
                                          .run = run,
                                          .cleanup = free};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    return index == 0 ? &descriptor : NULL;
}
