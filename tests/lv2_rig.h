/* One LV2 plugin at work for a test, on noise. What goes wrong that should not fails the test. */
#ifndef HALO_TESTS_LV2_RIG_H
#define HALO_TESTS_LV2_RIG_H

#include "plugin/plugin.h"
#include "signal/audio.h"

struct lv2_rig {
    struct plugin_info *info;
    struct plugin *plugin;
    struct plugin_settings settings;
    struct block in; /* all that was fed, in whole blocks */
    struct block out;
};

enum { RIG_RATE = 48000 };

/* Is there such a plugin? */
bool lv2_rig_has(const char *uri);

/* Blocks of 64 where settings say nothing; `frames` of noise to come. */
struct lv2_rig lv2_rig_open(const char *uri, struct plugin_settings settings, size_t frames);

/* All of the noise goes through. */
void lv2_rig_run(struct lv2_rig *rig);

/* One block of what is there, the first. */
void lv2_rig_step(struct lv2_rig *rig);

/* Destroyed, with its `in` and `out`. */
void lv2_rig_close(struct lv2_rig *rig);

/* The port of that symbol, and what it says now. */
size_t lv2_rig_port(const struct lv2_rig *rig, const char *symbol);
float lv2_rig_value(const struct lv2_rig *rig, const char *symbol);
void lv2_rig_set(struct lv2_rig *rig, const char *symbol, float value);

/* `channel` of what came out is `gain` times the noise of input 0 that went in `delay` frames
 * before, from the first of these on. The differences are at most `error`. */
void lv2_rig_expect(const struct lv2_rig *rig, size_t channel, float gain, size_t delay,
                    float error);

/* The settings fail to make the plugin, with these words. */
void lv2_rig_refused(const char *uri, struct plugin_settings settings, const char *spec);

#endif
