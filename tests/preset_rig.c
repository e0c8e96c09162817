#include "preset_rig.h"

#include "live_rig.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>

enum { RATE = LIVE_RIG_RATE };

void preset_rig_begin(void)
{
    command_clean();
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    setenv("XDG_STATE_HOME", command_path("state"), 1);
    struct block signal = live_rig_noise(2, 0, 60 * RATE, 0.05f);
    live_rig_save(&signal, "in.wav");
    signal.channels = 1;
    live_rig_save(&signal, "mono.wav");
    signal.channels = 2;
    sound_text("half.txt", "0.5\n");
    sound_text("quarter.txt", "0.25\n");
    sound_noise_mask("room.txt", 3, 1, 3000);
    sound_noise_mask("hall.txt", 4, 1, 30000);
}

void preset_rig_make_of(size_t channels, const char *name, const char *stages)
{
    command_done("\"$HALO\" live --plain -q --device null:pace=0 --channels %zu --rate 48000 "
                 "--seconds 0.05 %s --save-preset '%s'",
                 channels, stages, name);
}

void preset_rig_make(const char *name, const char *stages)
{
    preset_rig_make_of(2, name, stages);
}

const char *preset_rig_text(const char *name)
{
    static char text[4096];
    char path[256];
    snprintf(path, sizeof path, "%s/config/halo/presets/%s", command_folder(), name);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}
