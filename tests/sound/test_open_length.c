/* Files whose header leaves their length open, since who wrote them wrote to a pipe. */
#include "command.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RENDER "\"$HALO\" render --no-sync "
#define SAID "leaves the length open"

enum { LENGTH = 5000, BYTES_MOST = 1 << 18 };

/* Where a container has the size of its samples. */
struct container {
    const char *name, *chunk; /* NULL: at byte `at` */
    size_t at, bytes;         /* behind the chunk's name */
    bool big_endian;
    int format;
};

static const struct container wav = {"wav", "data", 4, 4, false, SF_FORMAT_WAV};
static const struct container aiff = {"aiff", "SSND", 4, 4, true, SF_FORMAT_AIFF};
static const struct container au = {"au", NULL, 8, 4, true, SF_FORMAT_AU};
static const struct container caf = {"caf", "data", 4, 8, true, SF_FORMAT_CAF};
static const struct container w64 = {"w64", "data", 16, 8, false, SF_FORMAT_W64};

static void state_size(const char *name, const struct container *container, uint64_t size)
{
    static unsigned char bytes[BYTES_MOST];
    FILE *file = fopen(command_path(name), "r+b");
    ck_assert_ptr_nonnull(file);
    size_t count = fread(bytes, 1, sizeof bytes, file);
    unsigned char *chunk = container->chunk ? memmem(bytes, count, container->chunk, 4) : bytes;
    ck_assert_ptr_nonnull(chunk);
    for (size_t i = 0; i < container->bytes; i++)
        chunk[container->at + (container->big_endian ? container->bytes - 1 - i : i)] =
            (unsigned char)(size >> 8 * i);
    rewind(file);
    ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

static void expect_sound(const char *name, const struct sound *in, const char *of)
{
    struct sound out = sound_load(name);
    ck_assert_msg(out.block.frames == in->block.frames, "%s of %s: %zu frames", name, of,
                  out.block.frames);
    sound_expect_same(&out, in);
}

/* Sizes as they were seen, and what the programs do for other formats. */
START_TEST(open_lengths_go_to_the_end)
{
    const struct {
        const struct container *container;
        int subtype;
        size_t channels;
        uint64_t size;
    } rows[] = {
        {&wav, SF_FORMAT_PCM_16, 2, 0},
        {&wav, SF_FORMAT_PCM_16, 2, UINT32_MAX},
        {&wav, SF_FORMAT_PCM_16, 2, 0x7FFFF000},
        {&wav, SF_FORMAT_PCM_U8, 1, 0x7FFFF000},
        {&wav, SF_FORMAT_PCM_24, 3, 0x7FFFF000 - 1},
        {&wav, SF_FORMAT_PCM_24, 11, 0x7FFFF000 - 31},
        {&wav, SF_FORMAT_DOUBLE, 2, 0x7FFFF000},
        {&wav, SF_FORMAT_PCM_16, 2, 0x80000000},     /* arecord */
        {&wav, SF_FORMAT_FLOAT, 1, INT32_MAX},       /* lame, opusdec */
        {&wav, SF_FORMAT_PCM_16, 2, INT32_MAX - 44}, /* oggdec */
        {&wav, SF_FORMAT_PCM_16, 2, UINT32_MAX - 36},
        {&aiff, SF_FORMAT_PCM_16, 2, 0},
        {&aiff, SF_FORMAT_PCM_16, 2, UINT32_C(0x7F000008)},
        {&aiff, SF_FORMAT_PCM_24, 5, UINT32_C(0x7F000008) - 14},
        {&aiff, SF_FORMAT_FLOAT, 1, UINT32_C(0x7F000008)},
        {&au, SF_FORMAT_PCM_16, 2, 0},
        {&au, SF_FORMAT_PCM_16, 2, UINT32_MAX},
        {&au, SF_FORMAT_PCM_24, 1, UINT32_MAX - 1}, /* arecord */
        {&caf, SF_FORMAT_PCM_16, 2, UINT64_MAX},
        {&caf, SF_FORMAT_DOUBLE, 1, UINT64_MAX},
        {&w64, SF_FORMAT_PCM_16, 2, INT64_MAX}, /* FFmpeg */
        {&w64, SF_FORMAT_FLOAT, 3, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct container *container = rows[i].container;
        char of[80];
        snprintf(of, sizeof of, "%s, format %#x, size %#llx", container->name, rows[i].subtype,
                 (unsigned long long)rows[i].size);
        command_clean();
        struct sound in = sound_noise("in", i, container->format | rows[i].subtype, 48000,
                                      rows[i].channels, LENGTH);
        state_size("in", container, rows[i].size);
        struct command_result file = command_run(RENDER "in file.wav --precision double");
        ck_assert_msg(file.code == 0 && strstr(file.err, "in: ") && strstr(file.err, SAID),
                      "%s: %s", of, file.err);
        struct command_result pipe = command_run("cat in | " RENDER "- pipe.wav");
        ck_assert_msg(pipe.code == 0 && !strstr(pipe.err, SAID), "%s: %s", of, pipe.err);
        command_done(RENDER "- redirected.wav <in");
        expect_sound("file.wav", &in, of);
        expect_sound("pipe.wav", &in, of);
        expect_sound("redirected.wav", &in, of);
    }
}

START_TEST(they_are_masks_as_well)
{
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, LENGTH);
    const struct container *const containers[] = {&wav, &aiff, &au, &caf, &w64};
    for (size_t i = 0; i < 5; i++) {
        sound_noise_file("m", i, containers[i]->format | SF_FORMAT_PCM_16, 48000, 1, 100);
        render_done("in.wav", "right.au", "--mask m,gain=-20");
        state_size("m", containers[i],
                   containers[i]->bytes == 4 ? UINT32_MAX
                   : containers[i] == &w64   ? INT64_MAX
                                             : UINT64_MAX);
        struct command_result result =
            command_done(RENDER "in.wav out.au -f --mask m,gain=-20 && cmp out.au right.au");
        command_expect(result.err, "m: its header " SAID);
    }
}

/* The stream became longer than the size that was made up. Sparse: what is not silent stands where
 * it is looked for. */
START_TEST(more_than_was_made_up_is_read)
{
    const uint64_t sizes[] = {0x7FFFF000, INT32_MAX, 0x80000000};
    for (size_t i = 0; i < 3; i++) {
        command_clean();
        struct sound in =
            sound_noise("in.wav", i, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, LENGTH);
        sound_noise_file("long.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 10);
        state_size("long.wav", &wav, sizes[i]);
        /* 1.2e9 frames and then those */
        command_done("truncate -s 2400000044 long.wav && tail -c +45 in.wav >>long.wav");
        struct command_result result =
            render_done("long.wav", "out.wav", "--start 25000 --duration 0.1");
        command_expect(result.err, SAID);
        in.block.frames = 4800;
        expect_sound("out.wav", &in, "a long file");
        in.block.frames = LENGTH;
    }
}

/* Sounds that really have such a size, with and without chunks after them. */
START_TEST(true_sizes_are_believed)
{
    for (int has_chunk = 0; has_chunk < 2; has_chunk++) {
        command_clean();
        sound_noise_file("long.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 10);
        state_size("long.wav", &wav, 0x7FFFF000);
        command_done("truncate -s %u long.wav", 0x7FFFF000 + 44u);
        if (has_chunk)
            command_done("printf 'LIST\\20\\0\\0\\0INFOINAM\\4\\0\\0\\0abc\\0' >>long.wav");
        struct command_result result =
            render_done("long.wav", "out.wav", "--start 22369 --duration 0.5");
        ck_assert_ptr_null(strstr(result.err, SAID));
        command_refused(1, "it has 22369.5787 s", RENDER "long.wav none.wav --start 22369.6");
    }
}

/* What no program makes up. */
START_TEST(truncated_files_stay_refused)
{
    const struct {
        const struct container *container;
        uint64_t size;
    } rows[] = {
        {&wav, LENGTH * 4 + 4},        {&wav, LENGTH * 4 + 100000},
        {&wav, UINT32_C(0x70000000)},  {&wav, UINT32_C(0x7FFFF000) - 4},
        {&wav, UINT32_C(0x7FFFF004)},  {&wav, UINT32_C(0x80000004)},
        {&wav, UINT32_C(0xFFFF0000)},  {&aiff, LENGTH * 4 + 12},
        {&aiff, UINT32_C(0x70000000)}, {&au, LENGTH * 4 + 4},
        {&au, UINT32_C(0xF0000000)},   {&caf, LENGTH * 4 + 8},
        {&caf, UINT64_C(1) << 33},     {&w64, LENGTH * 4 + 64},
        {&w64, UINT64_C(1) << 40},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        sound_noise_file("in", i, rows[i].container->format | SF_FORMAT_PCM_16, 48000, 2, LENGTH);
        state_size("in", rows[i].container, rows[i].size);
        command_refused(1, "missing", RENDER "in out.wav");
        struct command_result rest = render_done("in", "out.wav", "--allow-truncated");
        ck_assert_msg(!strstr(rest.err, SAID), "%s", rest.err);
    }
}

START_TEST(chunks_of_aiff_are_no_samples)
{
    static const char *const tails[] = {
        "NAME\\0\\0\\0\\3abc\\0", "ANNO\\0\\0\\0\\4text(c) \\0\\0\\0\\2ab",
        "ID3 \\0\\0\\0\\12ID3\\3\\0\\0\\0\\0\\0\\0", "MARK\\0\\0\\0\\2\\0\\0"};
    const uint64_t sizes[] = {0, UINT32_C(0x7F000008)};
    for (size_t i = 0; i < 8; i++) {
        command_clean();
        struct sound in = sound_noise("in", i, SF_FORMAT_AIFF | SF_FORMAT_PCM_24, 48000, 1, LENGTH);
        state_size("in", &aiff, sizes[i % 2]);
        command_done("printf '%s' >>in", tails[i / 2]);
        command_done(RENDER "in out.aiff && cat in | " RENDER "- pipe.aiff");
        expect_sound("out.aiff", &in, tails[i / 2]);
        expect_sound("pipe.aiff", &in, tails[i / 2]);
    }
}

/* A stream of more than its made-up size: 2.1 GB, of which the last tenth of a second is not
 * silent; and files of it, which are sparse: the larger one of a size that the header has no room
 * for. */
START_TEST(aiff_goes_on_past_a_made_up_size)
{
    struct sound in = sound_noise("in", 1, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 48000, 1, LENGTH);
    in.block.frames = 4800;
    state_size("in", &aiff, UINT32_C(0x7F000008));
    command_done("tail -c %d in >samples && head -c -%d in >head", 2 * LENGTH, 2 * LENGTH);
    bool is_full = getenv("HALO_TEST_FULL");
    for (int seconds = 25000; seconds <= (is_full ? 50000 : 25000); seconds *= 2) {
        command_done("cp head long && truncate -s +%d000 long", 96 * seconds);
        command_done("cat samples >>long && " RENDER "long out.wav -f --start %d --duration 0.1",
                     seconds);
        expect_sound("out.wav", &in, "a long file");
    }
    if (is_full) {
        command_done("{ cat head; head -c 2140800000 /dev/zero; cat samples; } | " RENDER
                     "- pipe.wav --start 22300 --duration 0.1");
        expect_sound("pipe.wav", &in, "a long stream");
    }
    in.block.frames = LENGTH;
}

/* They are in the file all the time, which a stream's are not. */
START_TEST(chunks_at_the_end_are_kept)
{
    const struct {
        const struct container *container;
        uint64_t size;
        const char *tail;
    } rows[] = {{&aiff, UINT32_C(0x7F000008), "NAME\\0\\0\\0\\3abc\\0"},
                {&wav, UINT32_C(0x7FFFF000), "LIST\\20\\0\\0\\0INFOINAM\\3\\0\\0\\0abc\\0"},
                {&wav, UINT32_MAX, "LIST\\20\\0\\0\\0INFOINAM\\3\\0\\0\\0abc\\0"}};
    for (size_t i = 0; i < 3; i++) {
        command_clean();
        sound_noise_file("in", i, rows[i].container->format | SF_FORMAT_PCM_16, 48000, 1, LENGTH);
        state_size("in", rows[i].container, rows[i].size);
        command_done("printf '%s' >>in", rows[i].tail);
        ck_assert_ptr_null(strstr(render_done("in", "out.wav", "--gain -6").err, "keep"));
        command_done("grep -a INAM out.wav | grep -aq abc");
    }
}

/* The size of the WAV says that chunks follow its empty data: they may have any name, and are not
 * played. Bytes that are not chunks are sound, even if they begin with the name of one. */
START_TEST(chunks_after_no_samples_are_no_samples)
{
    static const struct {
        const char *after;
        int claims; /* bytes behind the header */
        int frames;
    } rows[] = {
        {"Qxyz\\4\\0\\0\\0abcd", 12, 0},   {"Qxyz\\3\\0\\0\\0abc\\0LIST\\4\\0\\0\\0INFO", 24, 0},
        {"Qxyz\\4\\0\\0\\0abcd", 0, 6}, /* the header's size was written before anything else */
        {"Qxyz\\2\\0\\0\\0abcd", 12, 6},   {"Qxyz\\5\\0\\0\\0abcd", 12, 6},
        {"Qx\\1z\\4\\0\\0\\0abcd", 12, 6}, {"abQxyz\\4\\0\\0\\0abcd", 14, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        command_done(
            "python3 -S -c 'import struct; import sys; sys.stdout.buffer.write(b\"RIFF\" + "
            "struct.pack(\"<I\", %d) + b\"WAVEfmt \" + struct.pack(\"<IHHIIHH\", 16, 1, 1, "
            "48000, 96000, 2, 16) + b\"data\" + bytes(4))' >in",
            36 + rows[i].claims);
        command_done("printf '%s' >>in", rows[i].after);
        command_done("cat in | " RENDER "- pipe.wav");
        struct sound out = sound_load("pipe.wav");
        ck_assert_msg((int)out.block.frames == rows[i].frames, "%zu: %zu frames", i,
                      out.block.frames);
    }
}

/* As sox has libsndfile write them to a pipe: the header once more before and behind the samples.
 * Not all of it may have arrived at once. */
START_TEST(headers_that_stand_twice_are_refused)
{
    const struct {
        const struct container *container;
        uint64_t none; /* the size of no samples */
    } rows[] = {{&caf, 4}, {&w64, 24}, {&w64, 23}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        sound_noise_file("in", i, rows[i].container->format | SF_FORMAT_PCM_16, 48000, 2, LENGTH);
        state_size("in", rows[i].container, rows[i].none);
        command_done("head -c -%d in >h && cat h in h >twice && cat h h h >none", 4 * LENGTH);
        command_refused(1, "stands there twice", RENDER "twice out.wav");
        command_refused(1, "stands there twice", "cat twice | " RENDER "- out.wav");
        command_refused(1, "stands there twice",
                        "{ cat h; sleep 0.1; cat in h; } | " RENDER "- out.wav");
        command_refused(1, "stands there twice", RENDER "none out.wav");
        command_refused(1, "stands there twice", RENDER "$WAV/drums.wav out.wav --mask twice");
        /* of no samples, without a second one */
        command_done("cat h | " RENDER "- out.wav");
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.frames, 0);
    }
}

START_TEST(a_batch_counts_them)
{
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof name, "%d.wav", i);
        sound_noise_file(name, 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, LENGTH);
        if (i > 0)
            state_size(name, &wav, 0x7FFFF000);
    }
    struct command_result result =
        command_done("\"$HALO\" batch --glob '*.wav' -O out --no-sync --report r --gain -6");
    command_expect(result.err, "2 of 3 inputs read to the end, since the header " SAID);
    ck_assert_str_eq(command_done("grep -c '\"length_open\":true' r").out, "2\n");
    result = command_done(RENDER "1.wav o.wav --json");
    command_expect(result.out, "\"length_open\": true");
    result = command_done(RENDER "0.wav o.wav -f --json");
    ck_assert_ptr_null(strstr(result.out, "length_open"));
    result = command_done("\"$HALO\" spectrogram 1.wav --json 2>&1 >/dev/null");
    command_expect(result.out, "1.wav: its header " SAID);
}

/* As the programs write them, into a pipe and from there into a file. */
START_TEST(programs_leave_lengths_open)
{
    static const char *const commands[] = {"sox $RAW - -t wav -",
                                           "sox $RAW - -b 24 -t wav -",
                                           "sox $RAW - -b 32 -t wav -",
                                           "sox $RAW - -e float -b 32 -t wav -",
                                           "sox $RAW - -B -t wav -",
                                           "sox $RAW - -t aiff -",
                                           "sox $RAW - -t aifc -",
                                           "sox $RAW - -t au -",
                                           "ffmpeg $FRAW -f wav -",
                                           "ffmpeg $FRAW -rf64 always -f wav -",
                                           "ffmpeg $FRAW -c:a pcm_f32le -f wav -",
                                           "ffmpeg $FRAW -f w64 -",
                                           "ffmpeg $FRAW -c:a pcm_f32le -f w64 -",
                                           "ffmpeg $FRAW -f caf -",
                                           "ffmpeg $FRAW -f aiff -",
                                           "ffmpeg $FRAW -f au -",
                                           "flac $LRAW -c - 2>/dev/null | flac -s -d -c -"};
    struct sound in = sound_noise("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, LENGTH);
    command_done("tail -c %d in.wav >raw", 4 * LENGTH);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        command_done("RAW='-D -t raw -r 48000 -c 2 -b 16 -e signed'; "
                     "FRAW='-nostdin -v error -f s16le -ar 48000 -ac 2 -i -'; "
                     "LRAW='-s --force-raw-format --sign=signed --endian=little --channels=2 "
                     "--bps=16 --sample-rate=48000'; "
                     "cat raw | %s 2>err | cat >open",
                     commands[i]);
        command_expect(render_done("open", "out.wav", "%s", "").err, SAID);
        command_done("cat open | " RENDER "- pipe.wav -f");
        expect_sound("out.wav", &in, commands[i]);
        expect_sound("pipe.wav", &in, commands[i]);
    }
}

/* libsndfile writes headers for sox that it cannot go back to. */
START_TEST(sox_is_told_what_it_wrote)
{
    static const char *const kinds[] = {"caf", "w64", "caf -b 24", "w64 -e float -b 32"};
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, LENGTH);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        command_done("sox in.wav -t %s - | cat >open", kinds[i]);
        command_refused(1, "-t wav", RENDER "open out.wav");
        command_refused(1, "-t wav", "sox in.wav -t %s - | " RENDER "- out.wav", kinds[i]);
        command_done("sox in.wav -t %s file && " RENDER "file out.wav -f", kinds[i]);
    }
}

/* These decode what has lost something: as the stream of the same bytes. */
START_TEST(decoders_leave_lengths_open)
{
    static const char *const commands[] = {
        "lame --quiet - x.mp3 <in.wav && lame --quiet --decode x.mp3 -",
        "oggenc -Q - -o x.ogg <in.wav && cat x.ogg | oggdec -Q -o - -",
        "opusenc --quiet in.wav x.opus && cat x.opus | opusdec --quiet --force-wav - -",
        "arecord -q -D null -f S16_LE -c 2 -r 48000 | head -c 96044",
        "arecord -q -D null -f S24_3LE -c 2 -r 48000 | head -c 96044",
        "arecord -q -D null -f S16_BE -c 1 -r 48000 -t au | head -c 96044"};
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 20 * LENGTH);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        command_done("{ %s; } 2>err | cat >open", commands[i]);
        command_expect(render_done("open", "out.wav", "%s", "").err, SAID);
        command_done("cat open | " RENDER "- pipe.wav -f");
        struct sound pipe = sound_load("pipe.wav");
        ck_assert_uint_ge(pipe.block.frames, 16000);
        expect_sound("out.wav", &pipe, commands[i]);
    }
}

/* Samples beyond 4 GB, whose size began again at 0, and a tag behind some of them: the last frames
 * are found. argv: container, bytes beyond 4 GB, whether there is a tag. */
#define MAKE_LARGE                                                                                 \
    "python3 -S - %s %d %d <<'END'\n"                                                              \
    "import struct, sys\n"                                                                         \
    "kind, more, tagged = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])\n"                       \
    "last = open('last.wav', 'rb').read()[-3200:]\n"                                               \
    "swapped = b''.join(last[i:i + 2][::-1] for i in range(0, len(last), 2))\n"                    \
    "last = last if kind == 'wav' else swapped\n"                                                  \
    "size = 2 ** 32 + more\n"                                                                      \
    "order = '<' if kind == 'wav' else '>'\n"                                                      \
    "tag = lambda name, text: name + struct.pack(order + 'I', len(text)) + text\n"                 \
    "low = lambda n: struct.pack(order + 'I', n %% 2 ** 32)\n"                                     \
    "rate = struct.pack('>HQ', 16383 + 12, 8000 << 51)\n"                                          \
    "if kind == 'wav':\n"                                                                          \
    "    head = b'RIFF' + low(size + 36) + b'WAVE' + tag(b'fmt ', struct.pack('<HHIIHH', 1, 2,"    \
    " 8000, 32000, 4, 16)) + b'data' + low(size)\n"                                                \
    "    behind = tag(b'LIST', b'INFO' + tag(b'INAM', b'A title\\0'))\n"                           \
    "else:\n"                                                                                      \
    "    head = b'FORM' + low(size + 46) + b'AIFF' + tag(b'COMM', struct.pack('>HIH', 2,"          \
    " size // 4, 16) + rate) + b'SSND' + low(size + 8) + bytes(8)\n"                               \
    "    behind = tag(b'NAME', b'A title.')\n"                                                     \
    "with open('large', 'wb') as file:\n"                                                          \
    "    file.write(head)\n"                                                                       \
    "    file.seek(len(head) + size - len(last))\n"                                                \
    "    file.write(last + (behind if tagged else b''))\n"                                         \
    "END"

START_TEST(sizes_that_began_again_are_read_to_the_end)
{
    static const struct {
        const char *kind;
        int more, tagged;
    } rows[] = {{"wav", 800000, 0},
                {"wav", 0, 0},
                {"wav", 40000, 1},
                {"aiff", 123456, 0},
                {"aiff", 40000, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        struct sound in =
            sound_noise("last.wav", i, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 2, 800);
        command_done(MAKE_LARGE, rows[i].kind, rows[i].more, rows[i].tagged);
        double frames = ((1 << 30) + rows[i].more / 4);
        struct command_result result =
            render_done("large", "out.wav", "--start %.9f", (frames - 800) / 8000);
        command_expect(result.err, SAID);
        expect_sound("out.wav", &in, rows[i].kind);
        if (rows[i].more > 0 && i < 3) { /* as many as the header says: a pipe's end is not known */
            command_expect(command_done("cat large | " RENDER "- pipe.wav").err,
                           "frames of its header, and not with a chunk");
            command_done("test $(wc -c <pipe.wav) = %d", rows[i].more + 44);
        }
        if (rows[i].tagged)
            command_done("grep -q 'A title' out.wav");
    }
}

/* More than 4 GB that are neither chunks nor a multiple of 4 GB of samples: the header counts. */
START_TEST(what_follows_a_true_size_is_no_sound)
{
    static const char *const rows[] = {
        "truncate -s 4500M long",                                        /* nothing that fits */
        "truncate -s +4294967292 long",                                  /* less than 4 GB */
        "truncate -s +4294967300 long && printf 'LIST\\4\\0\\0' >>long", /* a chunk that is cut */
    };
    static const int formats[] = {SF_FORMAT_WAV, SF_FORMAT_AIFF};
    for (size_t i = 0; i < 6; i++) {
        command_clean();
        struct sound in =
            sound_noise("long", i, formats[i / 3] | SF_FORMAT_PCM_16, 48000, 3, LENGTH);
        command_done("%s", rows[i % 3]);
        const char *said = render_done("long", "out.wav", "%s", "").err;
        ck_assert_msg(!strstr(said, SAID), "%s", said);
        if (i % 3 != 1)
            command_expect(said, "its header says 5000 frames, and more than 4 GB follow");
        expect_sound("out.wav", &in, rows[i % 3]);
    }
    /* A chunk of more than 4 GB is no doubt. */
    command_clean();
    sound_noise_file("long", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, LENGTH);
    command_done(
        "for i in 1 2; do printf 'wxyz\\0\\0\\0\\240' >>long && truncate -s +2684354560 long; "
        "done");
    const char *said = render_done("long", "out.wav", "%s", "").err;
    ck_assert_msg(!strstr(said, SAID) && !strstr(said, "4 GB"), "%s", said);
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, LENGTH);
}

/* A stream that ends where it says, in a chunk, or in a part that was not asked for. */
START_TEST(a_true_size_of_a_stream_is_not_doubted)
{
    static const char *const sounds[] = {"cat in", "cat in; printf 'LIST\\4\\0\\0\\0INFO'",
                                         "cat in; printf 'ID3x\\0\\0'", "cat in; printf '\\0\\0'"};
    static const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_U8,
                                  SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
                                  SF_FORMAT_RF64 | SF_FORMAT_PCM_16};
    for (size_t i = 0; i < 12; i++) {
        command_clean();
        struct sound in = sound_noise("in", i, formats[i / 4], 48000, 1, LENGTH + 1);
        const char *said = command_done("{ %s; } | " RENDER "- out.wav", sounds[i % 4]).err;
        ck_assert_msg(!strstr(said, "goes on"), "%s", said);
        expect_sound("out.wav", &in, sounds[i % 4]);
    }
    command_clean();
    sound_noise_file("in", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 48000, 1, LENGTH + 1);
    command_expect(command_done("{ cat in; head -c 9 /dev/zero; } | " RENDER "- out.wav").err,
                   "standard input goes on behind the 5001 frames of its header");
    const char *said =
        command_done("{ cat in; head -c 9 /dev/zero; } | " RENDER "- part.wav --duration 0.01").err;
    ck_assert_ptr_null(strstr(said, "goes on"));
}

/* RF64 by another name (ITU-R BS.2088). */
START_TEST(bw64_is_rf64)
{
    struct sound in = sound_noise("in.wav", 3, SF_FORMAT_RF64 | SF_FORMAT_PCM_24, 48000, 3, LENGTH);
    command_done("head -c 4 in.wav | grep -q RF64 && { printf BW64; tail -c +5 in.wav; } >in");
    command_done(RENDER "in file.wav -q && cat in | " RENDER "- pipe.wav -q");
    expect_sound("file.wav", &in, "a file");
    expect_sound("pipe.wav", &in, "a pipe");
    sound_noise_file("m.wav", 1, SF_FORMAT_RF64 | SF_FORMAT_FLOAT, 48000, 1, 50);
    command_done("{ printf BW64; tail -c +5 m.wav; } >mask.wav && " RENDER
                 "in.wav one.au --mask m.wav -q && " RENDER "in.wav other.au --mask mask.wav -q && "
                 "cmp one.au other.au");
}

int main(void)
{
    if (system("for p in sox ffmpeg flac lame oggenc oggdec opusenc opusdec arecord; do "
               "command -v $p || exit 1; done >/dev/null 2>&1") != 0)
        suite_leave_out("programs_leave_lengths_open sox_is_told_what_it_wrote "
                        "decoders_leave_lengths_open");
    return suite_run();
}
