/* A file and the same bytes in a pipe give the same sound, or neither gives one: containers with
 * headers that lie, that no sound has, or that are cut; and two files behind one another. */
#include "base/atomic_file.h"
#include "base/files_read.h"
#include "command.h"
#include "render/render_job.h"
#include "sound.h"
#include "suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#define RENDER "\"$HALO\" render --no-sync "

static void add_line(void *text, const char *line)
{
    snprintf((char *)text + strlen(text), FAILURE_BYTES - strlen(text), "halo: %s\n", line);
}

/* What halo render IN OUT -f --format float does, and all that it says. */
static struct command_result render(const char *in, const char *out)
{
    static char lines[2][FAILURE_BYTES];
    struct command_result result = {.out = "", .err = lines[*in == '-']};
    struct render_options options = RENDER_OPTIONS_DEFAULTS;
    options.input = in;
    options.output = out;
    options.request.samples = "float";
    options.force = true;
    result.err[0] = '\0';
    messages_to(add_line, result.err);
    result.code = (int)render_options_check(&options);
    if (result.code == STATUS_OK)
        result.code = (int)render_job_run(&options, &options.chain.stages,
                                          &(struct render_job_settings){.alone = true});
    messages_to(NULL, NULL);
    files_read_forget(in);
    render_options_free(&options);
    return result;
}

/* The same of a pipe, which holds such a file. */
static struct command_result render_pipe(const char *in, const char *out)
{
    char bytes[1 << 16];
    int ends[2], was = dup(STDIN_FILENO), file = open(in, O_RDONLY | O_CLOEXEC);
    ck_assert(was >= 0 && file >= 0 && pipe2(ends, O_CLOEXEC) == 0);
    ssize_t size = read(file, bytes, sizeof bytes);
    ck_assert(size >= 0 && size < (ssize_t)sizeof bytes &&
              write(ends[1], bytes, (size_t)size) == size);
    ck_assert_int_eq(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    close(file);
    close(ends[0]);
    close(ends[1]);
    struct command_result result = render("-", out);
    __fpurge(stdin);
    clearerr(stdin);
    dup2(was, STDIN_FILENO);
    close(was);
    return result;
}

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
    ck_assert_int_eq(chdir(command_folder()), 0);
    ck_assert_int_eq(atomic_file_no_sync(NULL, NULL, NULL), STATUS_OK);
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
                                         : render(name, "file.wav");
        struct command_result pipe =
            by_program ? command_run("cat %s | " RENDER "- pipe.wav -f --format float", name)
                       : render_pipe(name, "pipe.wav");
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
    }                                                                                              \
    END_TEST

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

SUITE_MAIN("odd_headers", wav_is_the_same, wav_of_floats_is_the_same, rf64_is_the_same,
           w64_is_the_same, aiff_is_the_same, aiff_of_floats_is_the_same, caf_is_the_same,
           au_is_the_same, flac_is_the_same, ogg_is_the_same, opus_is_the_same)
