/* The table of the formats' features in docs/plugins.md: what a cell says is tried. */
#include "command.h"
#include "plugin/plugin.h"
#include "plugin_rig.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { FORMATS = 4, FRAMES = 48000, CHANNELS = 2, CELL = 80 };

#define AMP "http://lv2plug.in/plugins/eg-amp"
#define DPL "http://gareus.org/oss/lv2/dpl#stereo"
#define FAT "http://gareus.org/oss/lv2/fat1"
#define RENDER "$HALO render in.wav out.wav -f --tail none --format float "
#define EQUAL " && cmp out.wav in.wav"

/* For each format a command that succeeds if it has the feature, and fails if it lacks it. NULL: no
 * command can tell: the format itself lacks it, or no package here has such a plugin
 * (test_plugin_ladspa sees side chains of LADSPA). */
static const struct feature {
    const char *row, *commands[FORMATS];
} features[] = {
    {"presets, `preset=`",
     {"$HALO render in.wav out.wav -f --lv2 " FAT ",preset=" FAT "/pset#live",
      RENDER "--ladspa amp_1181:amp,preset=loud", RENDER "--clap org.halo.test.keep,preset=half",
      RENDER "--vst3 rules:keep,preset=half"}},
    {"own state, `@state=`",
     {RENDER "--save-chain c.yml --lv2 " DPL " && grep -q @state= c.yml",
      RENDER "--save-chain c.yml --ladspa amp_1181:amp && grep -q @state= c.yml",
      RENDER "--save-chain c.yml --clap org.halo.test.keep && grep -q @state= c.yml",
      RENDER "--save-chain c.yml --vst3 rules:keep && grep -q @state= c.yml"}},
    {"values of other types, `param:`",
     {RENDER "--lv2 urn:halo:test:beat,@map=1:1,param:urn:halo:test:beat#level=3",
      RENDER "--ladspa amp_1181:amp,param:urn:x=3",
      RENDER "--clap org.halo.test.keep,param:urn:x=3", RENDER "--vst3 rules:keep,param:urn:x=3"}},
    {"changes at their frame, `at=`",
     {RENDER "--lv2 " AMP ",at=0.5s:gain=-20", RENDER "--ladspa amp_1181:amp,at=0.5s:amps_gain=-20",
      RENDER "--clap org.halo.test.keep,at=0.5s:gain=-20",
      RENDER "--vst3 rules:keep,at=0.5s:gain=-20"}},
    {"latency, aligned",
     {RENDER "--lv2 " DPL EQUAL,
      RENDER "--ladspa fast_lookahead_limiter_1913:fastLookaheadLimiter" EQUAL,
      RENDER "--clap org.halo.test.keep,delay=700" EQUAL,
      RENDER "--vst3 rules:keep,delay=700" EQUAL}},
    {"tail, `--tail full`", {NULL, NULL, NULL, NULL}}, /* by the members of the kinds */
    {"side chains, `@sidechain=`",
     {RENDER "--lv2 urn:zamaudio:ZamCompX2,sidechain=on,@map=1:1,@sidechain=2", NULL,
      RENDER "--clap org.halo.test.side-chain,@map=1:1,@sidechain=2",
      RENDER "--vst3 rules:side-chain,@map=1:1,@sidechain=2"}},
    {"tempo and position, `--tempo`",
     {RENDER "--tempo 90 --lv2 urn:halo:test:beat,@map=1:1", NULL,
      "RULES_TEMPO=90,4/4 " RENDER "--tempo 90 --clap org.halo.test.keep",
      "RULES_TEMPO=90,4/4 " RENDER "--tempo 90 --vst3 rules:keep"}},
    {"as many channels as the sound",
     {"$HALO plugins info " AMP "#1 | grep -q '1 > 1'", "$HALO plugins info 'amp_1181:amp#1'",
      "$HALO plugins info 'org.halo.test.keep#1'",
      "$HALO plugins info 'rules.vst3:wide#1' | grep -q '1 > 1'"}},
    {"samples of 64 bits",
     {NULL, NULL, RENDER "--clap org.halo.test.double", RENDER "--vst3 rules:double"}},
};

static const char *const kinds[FORMATS] = {"lv2", "ladspa", "clap", "vst3"};

/* Read the cells of the row of a table that begins with a name. */
static void read_row(const char *text, const char *row, char cells[FORMATS][CELL])
{
    char start[100];
    snprintf(start, sizeof start, "\n| %s |", row);
    const char *at = strstr(text, start);
    ck_assert_msg(at, "docs/plugins.md has no row '%s'", row);
    at += strlen(start);
    for (size_t f = 0; f < FORMATS; f++) {
        ck_assert_int_eq(sscanf(at, " %79[^|]|", cells[f]), 1);
        at = strchr(at, '|') + 1;
    }
}

static size_t check_row(const char *text, const struct feature *feature)
{
    size_t wrong = 0;
    char cells[FORMATS][CELL];
    read_row(text, feature->row, cells);
    for (size_t f = 0; f < FORMATS; f++) {
        bool claimed = strncmp(cells[f], "no", 2) != 0, found = claimed;
        if (strncmp(feature->row, "tail", 4) == 0)
            found = plugin_kind_named(kinds[f])->tail;
        else if (feature->commands[f])
            found = command_run(feature->commands[f], 0).code == 0;
        if (claimed == found)
            continue;
        printf("docs/plugins.md says of %s in %s: %s\n", feature->row, kinds[f], cells[f]);
        wrong++;
    }
    return wrong;
}

START_TEST(the_table_is_true)
{
    static char text[1 << 20];
    size_t wrong = 0;
    sound_noise_file("loud.wav", 7, SF_FORMAT_WAV | SF_FORMAT_FLOAT, PLUGIN_RIG_RATE, CHANNELS,
                     FRAMES);
    command_done("$HALO render loud.wav in.wav --gain -30 --format float");
    FILE *file = fopen(PLUGIN_DOCS "/plugins.md", "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        wrong += check_row(text, &features[i]);
    ck_assert_uint_eq(wrong, 0);
}

int main(void)
{
    plugin_rig_prepare();
    return suite_run();
}
