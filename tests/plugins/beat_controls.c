/* A plugin that learns of the beat by its controls: outputs the tempo, plus beats of a bar and
 * unit as fractions (as beat.c), and the position in beats, counted on from the start of each run;
 * 0 where the transport stands. */
#include <lv2/core/lv2.h>
#include <stdint.h>
#include <stdlib.h>

enum beat_control { IN, TEMPO, BEATS, BPM, BEATS_PER_BAR, UNIT, SPEED, BAR, BAR_BEAT, PORTS };

struct beat_controls {
    float *ports[PORTS];
    double rate;
};

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    (void)descriptor, (void)bundle, (void)features;
    struct beat_controls *beat = calloc(1, sizeof *beat);
    if (beat)
        beat->rate = rate;
    return beat;
}

static void connect_port(LV2_Handle instance, uint32_t port, void *data)
{
    ((struct beat_controls *)instance)->ports[port] = data;
}

static void run(LV2_Handle instance, uint32_t frames)
{
    const struct beat_controls *beat = instance;
    float *const *ports = beat->ports, speed = *ports[SPEED];
    float bpm = *ports[BPM], length = *ports[BEATS_PER_BAR];
    double beats = (double)*ports[BAR] * (double)length + (double)*ports[BAR_BEAT];
    for (uint32_t i = 0; i < frames; i++) {
        ports[TEMPO][i] = speed * (bpm + length / 100 + *ports[UNIT] / 10000);
        ports[BEATS][i] = speed * (float)(beats + i / beat->rate * (double)bpm / 60);
    }
}

static const LV2_Descriptor descriptor = {.URI = "urn:halo:test:beat-controls",
                                          .instantiate = instantiate,
                                          .connect_port = connect_port,
                                          .run = run,
                                          .cleanup = free};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    return index == 0 ? &descriptor : NULL;
}
