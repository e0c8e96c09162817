/* Runs one LV2 plugin on noise. Unexpected errors fail the test. */
#ifndef HALO_TESTS_LV2_RIG_H
#define HALO_TESTS_LV2_RIG_H

#include "plugin/plugin.h"
#include "signal/audio.h"

struct lv2_rig {
    struct plugin_info *info;
    struct plugin *plugin;
    struct plugin_settings settings;
    struct block in; /* the complete input, in whole blocks */
    struct block out;
};

enum { RIG_RATE = 48000 };

/* Described by a child process, as commands do it. */
MUST_CHECK enum status lv2_rig_describe(const char *uri, struct plugin_info **info);

/* Whether this plugin is installed. */
bool lv2_rig_has(const char *uri);

/* Blocks of 64 frames unless the settings say otherwise; `frames` of noise as input. */
struct lv2_rig lv2_rig_open(const char *uri, struct plugin_settings settings, size_t frames);

/* Run the plugin over all of the noise. */
void lv2_rig_run(struct lv2_rig *rig);

/* Run one block, the first of the remaining input. */
void lv2_rig_step(struct lv2_rig *rig);

/* Destroys the plugin with its `in` and `out`. */
void lv2_rig_close(struct lv2_rig *rig);

/* The port with this symbol, and its current value. */
size_t lv2_rig_port(const struct lv2_rig *rig, const char *symbol);
float lv2_rig_value(const struct lv2_rig *rig, const char *symbol);
void lv2_rig_set(struct lv2_rig *rig, const char *symbol, float value);

/* `channel` of the output is `gain` times the noise of input 0, `delay` frames later, from frame
 * `first` on. Differences are at most `error`. */
void lv2_rig_expect(const struct lv2_rig *rig, size_t channel, float gain, size_t delay,
                    float error);

/* Opening with these settings fails with a message that contains `expected`. */
void lv2_rig_refused(const char *uri, struct plugin_settings settings, const char *expected);

#endif
