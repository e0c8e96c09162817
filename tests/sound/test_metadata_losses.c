/* What is around the samples and is damaged, there twice or unknown is named, and the sound is all
 * there: of a file, and of the same bytes in a pipe. */
#include "command.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RENDER "\"$HALO\" render --no-sync "
#define FAULTY "LD_PRELOAD='" FAULTS "' FAULT_MARK=mark FAULT='shrink /in. %d 0' "

enum { FRAMES = 700, CASES = 43 };

static void expect_frames(const char *name, const char *of)
{
    struct sound sound = sound_load(name);
    ck_assert_msg(sound.block.frames == FRAMES, "%s: %zu frames", of, sound.block.frames);
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_msg(sound.block.data[0][i] == (float)((int)(i * 97 % 5000) - 2500) / 32768,
                      "%s: frame %zu", of, i);
}

START_TEST(what_is_left_is_named)
{
    char name[64], named[128];
    const char *rows = command_done("python3 -S " TEST_SCRIPTS "/damaged_tags.py").out;
    int length, count = 0;
    for (; sscanf(rows, "%63[^\t]\t%127[^\n]\n%n", name, named, &length) == 2; rows += length) {
        const char *ending = strrchr(name, '.') + 1;
        char out[32], again[32];
        snprintf(out, sizeof out, "out%d.%s", count, ending);
        command_expect(render_done(name, out, "%s", "").err, named);
        expect_frames(out, name);
        /* What was left is not in OUT, and nothing more is lost the second time. */
        snprintf(again, sizeof again, "again.%s", ending);
        const char *said = render_done(out, again, "%s", "").err;
        ck_assert_msg(!strstr(said, "keep"), "%s\n%s", name, said);
        snprintf(out, sizeof out, "pipe.%s", ending);
        struct command_result pipe = render_call_pipe(name, out, "");
        ck_assert_msg(pipe.code == 0, "%s: %s", name, pipe.err);
        expect_frames(out, name);
        count++;
    }
    ck_assert_int_eq(count, CASES);
    /* All at once: ffmpeg takes longer to start than to read one. */
    command_done(
        "n=0; for f in out*.*; do in=\"$in -i $f\"; out=\"$out -map $n:a -f s16le $f.raw\"; "
        "n=$((n + 1)); done; ffmpeg -nostdin -v error $in $out; "
        "[ $(ls *.raw | wc -l) = %d ] && ! stat -c %%s *.raw | grep -v -x %d",
        CASES, 2 * FRAMES);
}

/* Parts of a marker for which AIFF and CAF have no place, or not enough. */
START_TEST(parts_of_markers_are_named)
{
    command_done("python3 -S - <<'END'\n"
                 "import sys\n"
                 "sys.path.insert(0, '" TEST_SCRIPTS "')\n"
                 "from damaged_tags import *\n"
                 "rgn = (b'ltxt', 2, struct.pack('<I', 7) + b'rgn ' + bytes(8) + b'words\\0')\n"
                 "open('in.wav', 'wb').write(wav(cues([(1, 5), (2, 9)]) + texts("
                 "(b'labl', 1, b'x' * 256), (b'labl', 2, b'b\\0'), (b'note', 2, b'n\\0'), rgn)))\n"
                 "END");
    command_expect(render_done("in.wav", "out.aiff", "%s", "").err,
                   "keep: 1 label, 1 note, 1 region text (the container has no place for it)");
    command_expect(render_done("in.wav", "out.caf", "%s", "").err,
                   "keep: 1 note, 1 region text (the container has no place for it)");
    struct command_result same = render_done("in.wav", "out.wav", "%s", "");
    ck_assert_msg(!strstr(same.err, "keep"), "%s", same.err);
}

/* Opus has the least room for comments: what does not fit is named. */
START_TEST(comments_fit_or_are_named)
{
    static const int sizes[] = {20000, 49000, 51000, 70000};
    command_done("python3 -S - %d %d %d %d <<'END'\n"
                 "import sys\n"
                 "sys.path.insert(0, '" TEST_SCRIPTS "')\n"
                 "from damaged_tags import *\n"
                 "for size in sys.argv[1:]:\n"
                 "    rows = [b'T%%04d=' %% i + b'x' * 89 for i in range(int(size) // 100)]\n"
                 "    open(size + '.flac', 'wb').write(flac([(4, comments(rows))]))\n"
                 "END",
                 sizes[0], sizes[1], sizes[2], sizes[3]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct command_result result = command_done(RENDER "%d.flac out.opus -f", sizes[i]);
        bool is_named = strstr(result.err, "does not keep: T0") != NULL;
        ck_assert_msg(is_named == (sizes[i] > 50000), "%d: %s", sizes[i], result.err);
    }
}

/* IN becomes shorter at any of its reads: an error, in time, or the right sound. */
START_TEST(files_that_shrink_are_refused)
{
    static const char *const endings[] = {"wav", "aiff", "caf", "w64", "flac", "ogg"};
    command_done("python3 -S " TEST_SCRIPTS "/metadata_files.py make wav wav.wav");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        int refused = 0, number = 1;
        command_done("rm -f in.*; " RENDER "wav.wav in.%s -q --gain 0", endings[i]);
        command_done(RENDER "in.%s right.wav -qf", endings[i]);
        for (;; number++) {
            remove(command_path("mark"));
            struct command_result result =
                command_run("cp in.%s whole; " FAULTY "timeout -s KILL 60 " RENDER
                            "in.%s out.wav -f; code=$?; mv whole in.%s; exit $code",
                            endings[i], number, endings[i], endings[i]);
            if (access(command_path("mark"), F_OK) != 0)
                break;
            ck_assert_int_lt(number, 400);
            refused += result.code == 1;
            ck_assert_msg(result.code <= 1, "%s %d: %d", endings[i], number, result.code);
            if (result.code == 1) {
                command_expect(result.err, "it became shorter while it was read");
                continue;
            }
            struct sound out = sound_load("out.wav"), right = sound_load("right.wav");
            sound_expect_same(&out, &right);
            ck_assert_msg(strstr(result.err, "keep") ||
                              command_run("cmp out.wav right.wav").code == 0,
                          "%s %d: %s", endings[i], number, result.err);
        }
        ck_assert_msg(refused > 3, "%s: %d of %d", endings[i], refused, number);
    }
}
