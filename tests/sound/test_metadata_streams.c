/* What follows the samples of a stream: chunks that are there when OUT's header is written. */
#include "command.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define FILES "python3 -S " METADATA_SCRIPTS "/metadata_files.py "
#define RENDER "\"$HALO\" render --no-sync "

static const char *const kinds[] = {"wav", "rf64", "w64", "aiff"};
static const char *const targets[] = {"wav", "rf64", "aiff", "caf"};
enum { KINDS = sizeof kinds / sizeof *kinds, TARGETS = sizeof targets / sizeof *targets };

/* The chunks of file.$k, which Python has read, are those of out.$k, wherever they stand. */
#define SAME_CHUNKS                                                                                \
    "for f in file out; do sed 's/ [a-z]*$//' $f.$k.chunks | sort >$f; done; diff file out >&2 "   \
    "&& cat out.$k.chunks"

/* A stream is rendered into a file as the file of the same bytes is, but for where it stands. */
START_TEST(chunks_after_the_samples_are_kept)
{
    command_done(FILES "last wav in.wav last rf64 in.rf64 last w64 in.w64 last aiff in.aiff");
    for (size_t i = 0; i < KINDS; i++)
        for (size_t k = 0; k < TARGETS; k++) {
            command_done(RENDER "in.%s file.%s.%s --gain -6 2>&1 | { grep keep || :; } >file.err",
                         kinds[i], kinds[i], targets[k]);
            command_done("cat in.%s | " RENDER
                         "- out.%s.%s --gain -6 2>&1 | { grep keep || :; } >out.err",
                         kinds[i], kinds[i], targets[k]);
            command_done("sed -i 's/^.* keep: //' file.err out.err && cmp file.err out.err");
        }
    command_done(FILES "chunks file.*.* out.*.*");
    for (size_t i = 0; i < KINDS * TARGETS; i++) {
        const char *chunks =
            command_done("k=%s.%s; " SAME_CHUNKS, kinds[i / TARGETS], targets[i % TARGETS]).out;
        ck_assert_msg(!strstr(chunks, " before\n") && strstr(chunks, " after\n"), "%s", chunks);
    }
}

/* Samples that end with an odd byte, and a stream of more than one block. */
START_TEST(samples_stay_what_they_are)
{
    command_done(
        "python3 -S - <<'END'\n"
        "import struct\n"
        "body = b'fmt ' + struct.pack('<IHHIIHH', 16, 1, 1, 48000, 48000, 1, 8)\n"
        "body += b'data' + struct.pack('<I', 300001) + bytes(i %% 251 for i in "
        "range(300001)) + b'\\0'\n"
        "body += b'LIST' + struct.pack('<I', 16) + b'INFOINAM' + "
        "struct.pack('<I', 3) + b'hi\\0\\0'\n"
        "open('in.wav', 'wb').write(b'RIFF' + struct.pack('<I', 4 + len(body)) + b'WAVE' + "
        "body + b'junk after the file')\n"
        "END");
    for (size_t k = 0; k < TARGETS; k++) {
        command_done("cat in.wav | " RENDER "- out.%s -qf --format pcm24", targets[k]);
        command_done("ffmpeg -v error -y -i out.%s -f u8 raw && tail -c +45 in.wav | "
                     "head -c 300001 | cmp - raw",
                     targets[k]);
        if (strcmp(targets[k], "w64") != 0)
            command_expect(
                command_done("ffprobe -v error -show_entries format_tags out.%s", targets[k]).out,
                "=hi\n");
    }
    command_done(FILES
                 "chunks out.*; for f in out.*.chunks; do grep -qx 'size right' $f || exit; done");
}

/* libsndfile takes what follows the samples of a W64 for samples. */
START_TEST(chunks_of_w64_are_no_samples)
{
    command_done(FILES "make wav in.wav make w64 in.w64");
    command_done(RENDER "in.wav wav.au -q && " RENDER "in.w64 file.au -q && cat in.w64 | " RENDER
                        "- stream.au -q && cmp wav.au file.au && cmp wav.au stream.au");
}

/* Labels and the cues that they are for, on either side of the samples. */
START_TEST(labels_find_their_cues)
{
    static const char *const orders[] = {"labels", "cue"};
    command_done(FILES "apart labels labels.wav apart cue cue.wav");
    for (size_t i = 0; i < 2; i++) {
        command_done("mv %s.wav in.wav", orders[i]);
        for (size_t k = 0; k < TARGETS; k++) {
            const char *kept = command_done(RENDER "in.wav file.%s -f --gain -6", targets[k]).err;
            struct command_result result =
                command_done("cat in.wav | " RENDER "- out.%s -f --gain -6", targets[k]);
            const char *one = strstr(kept, "keep: "), *other = strstr(result.err, "keep: ");
            ck_assert_msg(one && other ? strcmp(one, other) == 0 : !one && !other, "%s%s", kept,
                          result.err);
        }
        /* A pipe gets cues that are there in time, and no label without a cue. */
        command_expect(command_done("cat in.wav | " RENDER "- - --gain -6 | cat >out.pipe").err,
                       "3 markers (it follows the samples of a stream)");
        command_done("rm -f *.chunks; " FILES "chunks file.* out.*");
        for (size_t k = 0; k < TARGETS; k++)
            command_done("k=%s; " SAME_CHUNKS, targets[k]);
        const char *chunks = command_done("cat out.pipe.chunks").out;
        bool is_there = i == 1;
        ck_assert_msg(!strstr(chunks, "LIST") && !strstr(chunks, "cue ") == !is_there, "%s",
                      chunks);
    }
}

/* OUT cannot take them: they are named, and what comes before the samples is kept. */
START_TEST(what_comes_too_late_is_named)
{
    static const char *const outs[] = {"- --container wav | cat >out.wav",
                                       "- --container flac | cat >out.flac", "out.flac -f",
                                       "out.ogg -f", "/dev/stdout | cat >out.wav"};
    command_done(FILES "make wav in.wav");
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        bool is_wav = strstr(outs[i], "wav");
        const char *container = i == 4 ? "--container wav" : "";
        struct command_result result =
            command_done("cat in.wav | " RENDER "--gain -6 %s - %s", container, outs[i]);
        command_expect(result.err, "smpl, inst, wxyz, 3 markers, TITLE, ARTIST, COMMENT, IARL (it "
                                   "follows the samples of a stream)");
        ck_assert_uint_eq(command_lines(strstr(result.err, "does not keep")), 1);
        if (is_wav)
            command_expect(command_done(FILES "chunks out.wav").out, "bext ");
    }
}

/* A text that OUT has is not lost where it comes again. */
START_TEST(what_came_before_is_not_too_late)
{
    command_done("python3 -S - <<'END'\n"
                 "import struct\n"
                 "def chunk(name, content):\n"
                 "    return name + struct.pack('<I', len(content)) + content\n"
                 "title, artist = chunk(b'INAM', b'one\\0'), chunk(b'IART', b'two\\0')\n"
                 "body = chunk(b'fmt ', struct.pack('<HHIIHH', 1, 1, 48000, 96000, 2, 16))\n"
                 "body += chunk(b'LIST', b'INFO' + title) + chunk(b'data', bytes(2000))\n"
                 "body += chunk(b'LIST', b'INFO' + title + artist)\n"
                 "open('in.wav', 'wb').write(chunk(b'RIFF', b'WAVE' + body))\n"
                 "END");
    command_expect(command_done("cat in.wav | " RENDER "- - --gain -6 | cat >out.wav").err,
                   "does not keep: ARTIST (it follows the samples of a stream)");
    command_done("cat in.wav | " RENDER "- out.wav -f --gain -6 2>err; ! grep keep err");
    ck_assert_uint_eq(
        command_lines(command_done("strings -n 3 out.wav | grep -x -e one -e two").out), 2);
}

/* Nothing follows: nothing is waited for, whether the writer goes on holding the pipe or writes
 * more.
 */
START_TEST(no_more_is_read_than_the_file_claims)
{
    command_done(FILES "with in.wav wxyz 01020304 && mkfifo pipe");
    command_done("exec 3<>pipe; { cat in.wav; printf more; } >&3 & exec 3<>pipe; " RENDER
                 "pipe out.wav -q --gain -6");
    command_expect(command_done(FILES "chunks out.wav").out, "wxyz 4 ");
}

/* What is read of a stream may be a part, or some of its channels. */
START_TEST(parts_of_streams_keep_it)
{
    static const char *const parts[] = {"--start 0.01 --duration 0.02", "--start 0.05",
                                        "--channel 1"};
    command_done(FILES "last wav in.wav");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        command_done("cat in.wav | " RENDER "- out%zu.wav -q %s", i, parts[i]);
    command_done(FILES "chunks out*; for f in *.chunks; do grep -q '^wxyz 17' $f || exit; done");
}

START_TEST(user_decides_of_those_too)
{
    command_done(FILES "last wav in.wav");
    command_done("cat in.wav | " RENDER "- none.wav -q --gain -6 --metadata none");
    ck_assert_str_eq(command_done(FILES "chunks none.wav").out, "size right\n");
    command_done("echo '{\"tags\": {\"TITLE\": \"Another\", \"ARTIST\": null}}' >tags.json");
    command_done("cat in.wav | " RENDER "- tags.wav -q --gain -6 --metadata tags.json");
    const char *tags = command_done("strings tags.wav").out;
    ck_assert_msg(strstr(tags, "Another") && !strstr(tags, "A title") && !strstr(tags, "An artist"),
                  "%s", tags);
    command_expect(tags, "A comment");
}

/* A header that leaves the length open: chunks after the samples are not played, whether they are
 * padded or not, in a pipe and in a file; what only begins like chunks is. */
START_TEST(chunks_after_an_open_length_are_no_samples)
{
    static const char *const sizes[] = {"0", "0xFFFFFFFF", "0x7FFFF000"};
    static const char *const tails[] = {
        "chunk(b'LIST', b'INFO' + chunk(b'INAM', b'hi\\0'))",
        "chunk(b'bext', bytes(602)) + chunk(b'wxyz', b'odd', pad=b'')",
        "chunk(b'acid', noise)",
    };
    static const char *const sounds[] = {"noise[:50000]", "b''",
                                         "noise[:2000] + chunk(b'LIST', noise[:30000]) + noise[:9]",
                                         "noise[:70000] + b'LIST\\x10\\0\\0\\0LI'"};
    bool full = getenv("HALO_TEST_FULL"); /* each size with all sounds, not with half */
    char words[4096];
    size_t length = 0, count = 0;
    command_done("cat >make.py <<'END'\n"
                 "import random, struct, sys\n"
                 "random.seed(1)\n"
                 "noise = random.randbytes(70001)\n"
                 "def chunk(name, content, pad=b'\\0'):\n"
                 "    odd = pad if len(content) %% 2 else b''\n"
                 "    return name + struct.pack('<I', len(content)) + content + odd\n"
                 "start = chunk(b'fmt ', struct.pack('<HHIIHH', 1, 1, 48000, 48000, 1, 8))\n"
                 "def write(name, start, size, rest):\n"
                 "    open(name, 'wb').write(b'RIFF' + struct.pack('<I', 0xFFFFFFFF) + b'WAVE' + "
                 "start + b'data' + struct.pack('<I', size) + rest)\n"
                 "for n in range(1, len(sys.argv), 3):\n"
                 "    sound, tail = eval(sys.argv[n + 1]), eval(sys.argv[n + 2])\n"
                 "    sound += bytes(len(sound) %% 2)\n"
                 "    write('in%%d.wav' %% (n // 3), start, int(sys.argv[n], 0), sound + tail)\n"
                 "    write('right%%d.wav' %% (n // 3), start, len(sound), sound)\n"
                 "END");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t s = full ? 0 : i % 2; s < sizeof sounds / sizeof *sounds; s += full ? 1 : 2)
            length += (size_t)snprintf(words + length, sizeof words - length, " %s \"%s\" \"%s\"",
                                       sizes[i], sounds[s], tails[(i + s) % 3]);
    command_done("python3 -S make.py%s", words);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t s = full ? 0 : i % 2; s < sizeof sounds / sizeof *sounds; s += full ? 1 : 2) {
            command_done("mv in%zu.wav in.wav && mv right%zu.wav right.wav", count, count);
            count++;
            command_done("cat right.wav | " RENDER "- right.au -qf && tail -c +25 right.au >raw");
            const char *said =
                command_done("cat in.wav | " RENDER "- out.au -f && cmp out.au right.au").err;
            command_expect(said, "out.au does not keep: ");
            command_expect(said, "(it follows the samples of a stream)");
            command_done(RENDER "in.wav out.au -qf && cmp out.au right.au");
            command_done("cat in.wav | " RENDER "- - --metadata none -q --container au | "
                         "tail -c +25 | cmp - raw");
        }
    /* A file is sought in all the same. */
    command_done("python3 -S make.py 0xFFFFFFFF \"noise[:5000]\" \"%s\" "
                 "0xFFFFFFFF \"b'LIST\\0\\0\\0\\0' * 65536\" \"b'x'\" "
                 "0xFFFFFFFF \"noise\" \"b''\"",
                 tails[0]);
    command_done("mv in0.wav in.wav && mv right0.wav right.wav");
    for (const char *const *ends = (const char *const[]){"in", "right", NULL}; *ends; ends++)
        command_done(RENDER "right.wav wrapped.au -qf --edge wrap --mask %s.wav,gain=-60 && " RENDER
                            "%s.wav %s.au -qf --edge wrap --gain -3 --metadata none && "
                            "mv wrapped.au %s-mask.au",
                     *ends, *ends, *ends, *ends);
    command_done("cmp in.au right.au && cmp in-mask.au right-mask.au");
    /* What looks like chunks all the way is looked at once. */
    command_done("ulimit -t 10; cat in1.wav | " RENDER "- out.au -qf && " RENDER
                 "in1.wav out.au -qf");
    /* Nothing is said where nothing is lost. */
    ck_assert_ptr_null(strstr(command_done(RENDER "in2.wav out.au -f").err, "keep"));
}

/* It is passed on as it comes: nothing waits but what may be chunks. The writer keeps its end open
 * until nine tenths have arrived. */
START_TEST(an_open_length_delays_nothing)
{
    command_done("mkfifo in out && head -c 300000 /dev/zero | tr '\\0' L >sound");
    command_done("printf 'RIFF\\377\\377\\377\\377WAVEfmt \\20\\0\\0\\0\\1\\0\\1\\0"
                 "\\200\\273\\0\\0\\200\\273\\0\\0\\1\\0\\10\\0data\\0\\0\\0\\0' >head");
    pid_t process =
        command_start("{ cat head sound; while [ ! -e seen ]; do sleep 0.01; done; } >in & "
                      "{ head -c 200000 >part; : >seen; cat >>part; } <out & "
                      "\"$HALO\" render -q - - <in >out && wait");
    ck_assert_int_eq(command_wait(process).code, 0);
    command_done("tail -c 300000 part | cmp - sound");
}

/* Whole files whose claims are wrong, and loops of which both parts come late. */
START_TEST(false_claims_are_noticed)
{
    command_done(FILES "last wav cut.wav && printf '\\377' | "
                       "dd of=cut.wav bs=1 seek=6 conv=notrunc status=none");
    command_expect(command_done("cat cut.wav | " RENDER "- out.wav --gain -6").err,
                   "some of it (it is cut short");
    command_expect(command_done(FILES "chunks out.wav").out, "wxyz 17");
    command_done("python3 -S - <<'END'\n"
                 "import struct\n"
                 "data = bytes(2000)\n"
                 "body = b'fmt ' + struct.pack('<IHHIIHH', 16, 1, 1, 48000, 96000, 2, 16)\n"
                 "body += b'data' + struct.pack('<I', 2000) + data\n"
                 "body += b'wxyz' + struct.pack('<I', 1 << 25) + bytes(1 << 25)\n"
                 "open('large.wav', 'wb').write(b'RIFF' + struct.pack('<I', 4 + len(body)) + "
                 "b'WAVE' + body)\n"
                 "END");
    command_expect(command_done("cat large.wav | " RENDER "- out.wav -f --gain -6").err,
                   "some of it (it is cut short, or more than halo reads)");
    command_expect(command_done("cat large.wav | " RENDER "- - --gain -6 | cat >out.wav").err,
                   "some of it (it follows the samples of a stream)");
}

int main(void)
{
    if (system("command -v ffmpeg >/dev/null 2>&1") != 0)
        suite_leave_out("samples_stay_what_they_are");
    return suite_run();
}
