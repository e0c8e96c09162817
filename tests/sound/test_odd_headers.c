/* A file and the same bytes in a pipe give the same sound, or neither gives one: containers with
 * headers that lie, that no sound has, or that are cut; and two files behind one another. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

#define RENDER "\"$HALO\" render --no-sync "

static bool is_same_sound(void)
{
    struct sound file = sound_load("file.wav"), pipe = sound_load("pipe.wav");
    bool same = file.rate == pipe.rate && file.block.channels == pipe.block.channels &&
                file.block.frames == pipe.block.frames;
    for (size_t c = 0; same && c < file.block.channels; c++)
        same = file.block.frames == 0 || memcmp(file.block.data[c], pipe.block.data[c],
                                                file.block.frames * sizeof(float)) == 0;
    sound_free(&file);
    sound_free(&pipe);
    return same;
}

static void try_container(const char *ending, const char *format)
{
    char name[64], odd[128];
    int length, count = 0;
    command_clean();
    sound_noise_file("noise.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 2000);
    command_done(RENDER "noise.wav in.%s -qf %s", ending, format);
    const char *rows = command_done("python3 -S " TEST_SCRIPTS "/odd_headers.py in.%s", ending).out;
    for (; sscanf(rows, "%63[^\t]\t%127[^\n]\n%n", name, odd, &length) == 2; rows += length) {
        struct command_result file = command_run(RENDER "%s file.wav -f --format float", name);
        struct command_result pipe =
            command_run("cat %s | " RENDER "- pipe.wav -f --format float", name);
        bool same = file.code == pipe.code && file.code <= 1;
        ck_assert_msg(same && (file.code == 1 || is_same_sound()),
                      "%s (%s): %d from a file\n%sand %d from a pipe\n%s", name, odd, file.code,
                      file.err, pipe.code, pipe.err);
        if (file.code == 1)
            ck_assert_msg(command_lines(file.err) == 1 && command_lines(pipe.err) == 1, "%s%s",
                          file.err, pipe.err);
        count++;
    }
    ck_assert_int_ge(count, 8);
}

#define OF(NAME, ENDING, FORMAT)                                                                   \
    START_TEST(NAME)                                                                               \
    {                                                                                              \
        try_container(ENDING, FORMAT);                                                             \
    }                                                                                              \
    END_TEST

OF(wav_is_the_same, "wav", "")
OF(wav_of_floats_is_the_same, "wav", "--format float")
OF(rf64_is_the_same, "rf64", "--format pcm24")
OF(w64_is_the_same, "w64", "")
OF(aiff_is_the_same, "aiff", "")
OF(aiff_of_floats_is_the_same, "aiff", "--format float")
OF(caf_is_the_same, "caf", "")
OF(au_is_the_same, "au", "--format pcm24")
OF(flac_is_the_same, "flac", "")
OF(ogg_is_the_same, "ogg", "")
OF(opus_is_the_same, "opus", "")

SUITE_MAIN("odd_headers", wav_is_the_same, wav_of_floats_is_the_same, rf64_is_the_same,
           w64_is_the_same, aiff_is_the_same, aiff_of_floats_is_the_same, caf_is_the_same,
           au_is_the_same, flac_is_the_same, ogg_is_the_same, opus_is_the_same)
