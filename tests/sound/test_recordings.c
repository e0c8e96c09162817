/* Independent recordings, those of Debian's alsa-utils, through masks of filters/: every sample
 * against the truth. Skipped where they are not installed. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDINGS "/usr/share/sounds/alsa"

enum { SKIPPED = 77, TAPS_MOST = 4096 };

static const char *const names[] = {
    "Front_Center", "Front_Left", "Front_Right", "Noise",      "Rear_Center",
    "Rear_Left",    "Rear_Right", "Side_Left",   "Side_Right",
};

/* One column of numbers, without the program's reader. */
static struct sound load_text(const char *path)
{
    static float taps[TAPS_MOST];
    char line[256];
    float value;
    size_t count = 0;
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "cannot read %s", path);
    while (fgets(line, sizeof line, file))
        if (count < TAPS_MOST && line[0] != '#' && sscanf(line, "%f", &value) == 1)
            taps[count++] = value;
    fclose(file);
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, count);
    memcpy(sound.block.data[0], taps, count * sizeof *taps);
    return sound;
}

static struct sound load_mask(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("FILTERS"), name);
    return strstr(name, ".txt") ? load_text(path) : sound_load(path);
}

static void check(const char *name, const char *filter, const struct mask_path *paths, size_t count)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s.wav", RECORDINGS, name);
    struct command_result result = command_done(
        "\"$HALO\" render %s out.wav --force --format float --json --mask \"$FILTERS/%s\"", path,
        filter);
    struct sound in = sound_load(path), columns = load_mask(filter), out = sound_load("out.wav");
    struct mask *mask = sound_mask(&columns, paths, count, in.block.channels);
    size_t frames = in.block.frames + mask->taps - 1;
    ck_assert_double_eq(command_number(result.out, "frames_in"), (double)in.block.frames);
    sound_expect_format(&out, SF_FORMAT_WAV | SF_FORMAT_FLOAT, in.rate, mask->outputs, frames);
    sound_expect_truth(&out, mask, &in.block, 0);
}

static void check_all(const char *filter, const struct mask_path *paths, size_t count)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i], filter, paths, count);
}

START_TEST(through_a_short_mask)
{
    check_all("telephone.wav", NULL, 0);
}

START_TEST(through_text)
{
    check_all("gaussian.txt", NULL, 0);
}

START_TEST(through_the_hall)
{
    const struct mask_path to_two[] = {{0, 0, 0}, {0, 1, 1}};
    check_all("hall.wav", to_two, 2);
}

START_TEST(through_a_true_stereo_room)
{
    const struct mask_path both[] = {{0, 0, 0}, {0, 1, 1}, {0, 0, 2}, {0, 1, 3}};
    check_all("room-true-stereo.wav", both, 4);
}

int main(void)
{
    DIR *folder = opendir(RECORDINGS);
    if (!folder) {
        puts(RECORDINGS " is not there: install alsa-utils");
        return SKIPPED;
    }
    closedir(folder);
    return suite_run();
}
