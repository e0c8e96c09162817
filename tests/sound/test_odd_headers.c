/* A file and the same bytes in a pipe give the same sound, or neither gives one: containers with
 * headers that lie, that no sound has, or that are cut; and two files behind one another. */
#include "command.h"
#include "render_call.h"
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
    return same;
}

/* Good files, and their options. */
static const char *const goods[] = {"i.wav",
                                    "f.wav --format float",
                                    "i.rf64 --format pcm24",
                                    "i.w64",
                                    "i.aiff",
                                    "f.aiff --format float",
                                    "i.caf",
                                    "i.au --format pcm24",
                                    "i.flac",
                                    "i.ogg",
                                    "i.opus"};

/* Python starts once: a line for each odd file of all kinds. */
static const char *make_files(void)
{
    static const char *rows;
    if (rows)
        return rows;
    sound_noise_file("noise.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 2000);
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++)
        command_done(RENDER "noise.wav %s -q", goods[i]);
    return rows = command_done("python3 -S " TEST_SCRIPTS "/odd_headers.py [if].*").out;
}

static void try_container(const char *good)
{
    char name[64], odd[128];
    int length, count = 0;
    size_t begins = strcspn(good, " ");
    const char *rows = make_files();
    for (; sscanf(rows, "%63[^\t]\t%127[^\n]\n%n", name, odd, &length) == 2; rows += length) {
        if (strncmp(name, good, begins) != 0 || name[begins] != '-')
            continue;
        bool by_program = count % 16 == 0;
        struct command_result file = by_program
                                         ? command_run(RENDER "%s file.wav -f --format float", name)
                                         : render_call(name, "file.wav", "--format float");
        struct command_result pipe =
            by_program ? command_run("cat %s | " RENDER "- pipe.wav -f --format float", name)
                       : render_call_pipe(name, "pipe.wav", "--format float");
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

#define OF(NAME, GOOD)                                                                             \
    START_TEST(NAME)                                                                               \
    {                                                                                              \
        try_container(goods[GOOD]);                                                                \
    }

OF(wav_is_the_same, 0)
OF(wav_of_floats_is_the_same, 1)
OF(rf64_is_the_same, 2)
OF(w64_is_the_same, 3)
OF(aiff_is_the_same, 4)
OF(aiff_of_floats_is_the_same, 5)
OF(caf_is_the_same, 6)
OF(au_is_the_same, 7)
OF(flac_is_the_same, 8)
OF(ogg_is_the_same, 9)
OF(opus_is_the_same, 10)

int main(void)
{
    suite_keeps_files = true;
    return suite_run();
}
