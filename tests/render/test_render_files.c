/* Files of halo render: formats read and written, without loss. */
#include "command.h"
#include "render_call.h"
#include "signal/loudness.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
    WAV24 = SF_FORMAT_WAV | SF_FORMAT_PCM_24,
    WAV32 = SF_FORMAT_WAV | SF_FORMAT_PCM_32,
    WAVU8 = SF_FORMAT_WAV | SF_FORMAT_PCM_U8,
    WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    WAVD = SF_FORMAT_WAV | SF_FORMAT_DOUBLE,
    MP3 = 0x230000 | 0x82, /* SF_FORMAT_MPEG and _LAYER_III, which older headers lack */
    FRAMES = 3000,
};

static void wait_until(bool (*ready)(void), const char *what)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    for (int i = 0; !ready(); i++) {
        ck_assert_msg(i < 15000, "%s did not appear", what);
        nanosleep(&pause, NULL);
    }
}

/* ---- formats ---- */

static bool can_hold(int format, int rate, int channels)
{
    SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
    return sf_format_check(&info);
}

static bool reads_to_its_end(const char *name)
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(command_path(name), SFM_READ, &info);
    static float samples[4 * FRAMES];
    if (!file)
        return false;
    sf_count_t capacity = (sf_count_t)(sizeof samples / sizeof *samples) / info.channels;
    sf_count_t read = sf_readf_float(file, samples, capacity);
    sf_close(file);
    return info.frames > 0 && read == info.frames;
}

/* Some formats are listed by libsndfile, yet it cannot write them, or read them back completely. */
static bool makes_readable_file(const char *name, int format, int rate, int channels)
{
    SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
    static float samples[2 * FRAMES];
    truth_noise(5, samples, 2 * FRAMES);
    for (size_t i = 0; i < 2 * FRAMES; i++)
        samples[i] *= 0.25f; /* a lossy format may overshoot */
    SNDFILE *file = sf_open(command_path(name), SFM_WRITE, &info);
    if (!file)
        return false;
    sf_count_t written = sf_writef_float(file, samples, FRAMES);
    sf_close(file);
    return written == FRAMES && reads_to_its_end(name);
}

static bool check_reading(int format)
{
    const struct {
        int rate, channels;
    } shapes[] = {{48000, 2}, {48000, 1}, {8000, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (!can_hold(format, shapes[i].rate, shapes[i].channels) ||
            !makes_readable_file("in.any", format, shapes[i].rate, shapes[i].channels))
            continue;
        render_done("in.any", "out.wav", "--format float --quiet");
        struct sound in = sound_load("in.any"), out = sound_load("out.wav");
        ck_assert_msg(in.block.frames == out.block.frames, "format %#x: %zu frames, not %zu",
                      format, out.block.frames, in.block.frames);
        sound_expect_same(&out, &in);
        ck_assert_uint_eq(out.rate, in.rate);
        return true;
    }
    return false;
}

START_TEST(every_format_of_the_library_is_read)
{
    int majors = 0, subtypes = 0, read = 0;
    sf_command(NULL, SFC_GET_FORMAT_MAJOR_COUNT, &majors, sizeof majors);
    sf_command(NULL, SFC_GET_FORMAT_SUBTYPE_COUNT, &subtypes, sizeof subtypes);
    for (int m = 0; m < majors; m++) {
        SF_FORMAT_INFO major = {.format = m};
        sf_command(NULL, SFC_GET_FORMAT_MAJOR, &major, sizeof major);
        /* A raw file has no header, an SD2 consists of two files: neither can be recognised. */
        if (major.format == SF_FORMAT_RAW || major.format == SF_FORMAT_SD2)
            continue;
        for (int s = 0; s < subtypes; s++) {
            SF_FORMAT_INFO subtype = {.format = s};
            sf_command(NULL, SFC_GET_FORMAT_SUBTYPE, &subtype, sizeof subtype);
            read += check_reading(major.format | subtype.format);
        }
    }
    ck_assert_int_gt(read, 80); /* 1.0.31 and later have a hundred */
}

struct conversion {
    const char *from;
    int from_format;
    const char *to;
    int to_format;
    bool reported; /* 24 bits differ from the input: the program reports it */
};

/* Lossy formats and ALAC are written at 48000 Hz, which Opus supports. */
static const struct conversion conversions[] = {
    {"in.wav", WAVU8, "out.wav", WAVU8, false},
    {"in.wav", WAV16, "out.wav", WAV16, false},
    {"in.wav", WAV24, "out.wav", WAV24, false},
    {"in.wav", WAV32, "out.wav", WAV32, false},
    {"in.wav", WAVF, "out.wav", WAVF, false},
    {"in.wav", WAVD, "out.wav", WAVD, false},
    {"in.wav", WAV16, "out.WAV", WAV16, false},
    {"in.wav", WAV16, "out.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, false},
    {"in.wav", WAVF, "out.rf64", SF_FORMAT_RF64 | SF_FORMAT_FLOAT, false},
    {"in.wav", WAV16, "out.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16, false},
    {"in.wav", WAVF, "out.w64", SF_FORMAT_W64 | SF_FORMAT_FLOAT, false},
    {"in.wav", WAV16, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, false},
    {"in.wav", WAV24, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, false},
    {"in.wav", WAVF, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, true},
    {"in.wav", WAVD, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, true},
    {"in.wav", WAV32, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, true},
    {"in.wav", WAV16, "out.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, false},
    {"in.wav", WAVF, "out.aiff", SF_FORMAT_AIFF | SF_FORMAT_FLOAT, false},
    {"in.wav", WAV24, "out.aif", SF_FORMAT_AIFF | SF_FORMAT_PCM_24, false},
    {"in.wav", WAV24, "out.au", SF_FORMAT_AU | SF_FORMAT_PCM_24, false},
    {"in.wav", WAVD, "out.au", SF_FORMAT_AU | SF_FORMAT_DOUBLE, false},
    {"in.wav", WAV16, "out.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, false},
    {"in.wav", WAVF, "out.caf", SF_FORMAT_CAF | SF_FORMAT_FLOAT, false},
    {"in.wav", WAV16, "out.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, false},
    {"in.wav", WAV16, "out.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, false},
    {"in.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, "out.wav", WAV24, false},
    {"in.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
     false},
    {"in.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, "out.wav", WAV16, false},
    {"in.aiff", SF_FORMAT_AIFF | SF_FORMAT_FLOAT, "out.aiff", SF_FORMAT_AIFF | SF_FORMAT_FLOAT,
     false},
    {"in.au", SF_FORMAT_AU | SF_FORMAT_PCM_24, "out.wav", WAV24, false},
    {"in.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_32, "out.wav", WAV32, false},
    {"in.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16, "out.wav", WAV16, false},
    {"in.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_24, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24,
     false},
    {"in.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_24, "out.wav", WAV24, false},
    {"in.rf64", SF_FORMAT_RF64 | SF_FORMAT_FLOAT, "out.wav", WAVF, false},
    {"in.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, "out.wav", WAV24, true},
    {"in.wav", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, "out.wav", WAV24, true},
    {"in.au", SF_FORMAT_AU | SF_FORMAT_ALAW, "out.au", SF_FORMAT_AU | SF_FORMAT_PCM_24, true},
    {"in.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, "out.wav", WAV24, true},
    {"in.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24,
     true},
    {"in.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, "out.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24,
     true},
    {"in.mp3", MP3, "out.wav", WAV24, true},
    {"in.mp3", MP3, "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, true},
    {"in.wav", WAV16, "out.mp3", MP3, false},
};

/* The loss in a coarser sample format: half a step, and the dither. */
static double step_of(int format)
{
    switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_S8:
    case SF_FORMAT_PCM_U8:
        return 0x1p-7;
    case SF_FORMAT_PCM_16:
        return 0x1p-15;
    case SF_FORMAT_PCM_24:
        return 0x1p-23;
    case SF_FORMAT_FLOAT:
    case SF_FORMAT_DOUBLE:
    case SF_FORMAT_PCM_32:
        return 0x1p-23; /* the program's own blocks are float32 */
    default:
        return INFINITY; /* lossy */
    }
}

static void expect_near(const struct sound *out, const struct sound *in, double bound)
{
    ck_assert_uint_eq(out->block.channels, in->block.channels);
    ck_assert_uint_eq(out->block.frames, in->block.frames);
    for (size_t c = 0; c < in->block.channels; c++)
        for (size_t i = 0; i < in->block.frames; i++)
            ck_assert_msg(fabs((double)out->block.data[c][i] - (double)in->block.data[c][i]) <=
                              bound,
                          "channel %zu, frame %zu: %.9g, not %.9g", c, i,
                          (double)out->block.data[c][i], (double)in->block.data[c][i]);
}

static void check_conversion(const struct conversion *row)
{
    command_clean();
    if (!can_hold(row->from_format, 48000, 2) || !can_hold(row->to_format, 48000, 2)) {
        ck_assert_msg(row->from_format == MP3 || row->to_format == MP3, "%s to %s", row->from,
                      row->to); /* only that one depends on the library */
        return;
    }
    if (!makes_readable_file(row->from, row->from_format, 48000, 2))
        ck_abort_msg("cannot make %s of format %#x", row->from, row->from_format);
    struct command_result result = command_done("\"$HALO\" render %s %s", row->from, row->to);
    struct sound in = sound_load(row->from), out = sound_load(row->to);
    ck_assert_msg(sound_format_of(&out) == row->to_format, "%s %#x to %s: %#x, not %#x", row->from,
                  row->from_format, row->to, sound_format_of(&out), row->to_format);
    ck_assert_uint_eq(out.rate, in.rate);
    if (!isinf(step_of(row->to_format)))
        expect_near(&out, &in, 1.5 * step_of(row->to_format));
    size_t lines = command_lines(result.err);
    ck_assert_msg(lines == (row->reported ? 2 : 1), "%s %#x to %s prints:\n%s", row->from,
                  row->from_format, row->to, result.err);
    ck_assert_msg(!row->reported || strstr(result.err, "24"), "%s", result.err);
}

START_TEST(container_by_name_and_samples_as_the_input)
{
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        check_conversion(&conversions[i]);
}

START_TEST(format_and_container_can_be_chosen)
{
    const struct {
        const char *options, *to;
        int format;
    } rows[] = {
        {"--format pcm16", "a.wav", WAV16},
        {"--format pcm24", "b.wav", WAV24},
        {"--format pcm32", "c.wav", WAV32},
        {"--format float", "d.wav", WAVF},
        {"--format double", "e.wav", WAVD},
        {"--format pcm16", "f.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
        {"--format=pcm24", "g.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_24},
        {"--container aiff", "h.wav", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
        {"--container flac --format pcm24", "i", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
    };
    sound_noise_file("in.wav", 1, WAV16, 44100, 2, FRAMES);
    struct sound in = sound_load("in.wav");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_done("\"$HALO\" render in.wav %s %s", rows[i].to, rows[i].options);
        struct sound out = sound_load(rows[i].to);
        sound_expect_format(&out, rows[i].format, 44100, 2, FRAMES);
        sound_expect_same(&out, &in);
    }
}

START_TEST(any_rate_is_kept)
{
    const uint32_t rates[] = {1, 8000, 11025, 44100, 88200, 192000, 768000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        command_clean();
        sound_noise_file("in.wav", 1, WAV24, rates[i], 1, 100);
        render_done("in.wav", "out.wav", "%s", "");
        struct sound out = sound_load("out.wav");
        sound_expect_format(&out, WAV24, rates[i], 1, 100);
    }
}

START_TEST(one_frame_is_one)
{
    sound_noise_file("in.wav", 1, WAV24, 48000, 1, 1);
    command_expect(render_done("in.wav", "out.wav", "%s", "").err,
                   "out.wav: 1 frame (0.00 s), 1 channel,");
    command_done("head -c -2 in.wav >cut.wav");
    command_refused(1, "its header says 1 frame, 1 is missing", "\"$HALO\" render cut.wav cut.au");
    command_done("printf '1\\n' >m.txt");
    command_expect(command_done("\"$HALO\" render in.wav o.wav -v --threads 1 --mask m.txt").err,
                   "on 1 thread\n");
}

/* An identity filter loses no bit in any format that float32 can hold. */
START_TEST(identity_is_exact)
{
    const char *const stages[] = {"", "--mask \"$FILTERS/identity.txt\"", "--gain 0",
                                  "--gain 0 --mask \"$FILTERS/identity.txt\" --dither tpdf"};
    const int formats[] = {WAVU8, WAV16, WAV24, WAVF};
    for (size_t f = 0; f < 4; f++) {
        command_clean();
        sound_noise_file("in.wav", f, formats[f], 48000, 2, 70000);
        for (size_t s = 0; s < 4; s++) {
            command_done("\"$HALO\" render in.wav out.wav -f %s", stages[s]);
            struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
            sound_expect_format(&out, formats[f], 48000, 2, 70000);
            sound_expect_same(&out, &in);
        }
    }
}

/* ---- tags ---- */

struct tag {
    int type;
    const char *text;
};
static const struct tag tags[] = {
    {SF_STR_TITLE, "A title"},      {SF_STR_ARTIST, "Someone, Björk"},
    {SF_STR_COMMENT, "No comment"}, {SF_STR_COPYRIGHT, "(c) 2024"},
    {SF_STR_DATE, "2024-05-06"},    {SF_STR_ALBUM, "Their album"},
    {SF_STR_GENRE, "Noise"},        {SF_STR_TRACKNUMBER, "7"},
};
enum { TAGS = sizeof tags / sizeof *tags };

static void make_tagged(const char *name, int format)
{
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = format};
    SNDFILE *file = sf_open(command_path(name), SFM_WRITE, &info);
    const float samples[100] = {0};
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < TAGS; i++)
        sf_set_string(file, tags[i].type, tags[i].text);
    ck_assert_int_eq(sf_writef_float(file, samples, 100), 100);
    sf_close(file);
}

/* Bit i: tag i is present. */
static unsigned tags_of(const char *name)
{
    SF_INFO info = {0};
    unsigned found = 0;
    SNDFILE *file = sf_open(command_path(name), SFM_READ, &info);
    ck_assert_msg(file != NULL, "%s: %s", name, sf_strerror(NULL));
    for (unsigned i = 0; i < TAGS; i++) {
        const char *text = sf_get_string(file, tags[i].type);
        found |= (unsigned)(text && strcmp(text, tags[i].text) == 0) << i;
    }
    sf_close(file);
    return found;
}

START_TEST(tags_are_carried_over)
{
    const struct {
        const char *extension;
        int format;
    } kinds[] = {
        {"wav", WAV16},
        {"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
        {"ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
        {"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
        {"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
        {"rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
    };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    unsigned own[KINDS]; /* what the container can hold */
    char from[32], to[32];
    for (size_t i = 0; i < KINDS; i++) {
        snprintf(from, sizeof from, "in.%s", kinds[i].extension);
        make_tagged(from, kinds[i].format);
        own[i] = tags_of(from);
    }
    ck_assert_uint_gt(own[0], 0);
    ck_assert_uint_eq(own[1], (1u << TAGS) - 1);
    for (size_t i = 0; i < KINDS; i++)
        for (size_t j = 0; j < KINDS; j++) {
            snprintf(from, sizeof from, "in.%s", kinds[i].extension);
            snprintf(to, sizeof to, "out.%s", kinds[j].extension);
            command_done("\"$HALO\" render -f %s %s", from, to);
            ck_assert_msg(tags_of(to) == (own[i] & own[j]), "%s to %s: tags %#x, not %#x", from, to,
                          tags_of(to), own[i] & own[j]);
        }
}

START_TEST(tags_go_through_pipes)
{
    make_tagged("in.wav", WAV16);
    unsigned own = tags_of("in.wav");
    ck_assert_uint_gt(own, 1);
    command_done("cat in.wav | \"$HALO\" render - out.wav");
    ck_assert_uint_eq(tags_of("out.wav"), own);
    command_done("\"$HALO\" render in.wav - | cat >through.wav");
    ck_assert_uint_eq(tags_of("through.wav"), own);
    command_done("cat in.wav | \"$HALO\" render - - | \"$HALO\" render - twice.wav");
    ck_assert_uint_eq(tags_of("twice.wav"), own);
}

/* ---- streams ---- */

START_TEST(pipes_give_what_files_give)
{
    const int wavs[] = {WAVU8, WAV16, WAV24, WAV32, WAVF, WAVD, SF_FORMAT_WAVEX | SF_FORMAT_PCM_24};
    for (size_t i = 0; i < sizeof wavs / sizeof *wavs; i++)
        for (size_t channels = 1; channels <= 3; channels += 2) {
            /* An odd number of frames, and of bytes in some formats. */
            command_clean();
            sound_noise_file("in.wav", i, wavs[i], 44100, channels, 4999);
            sound_noise_file("m.wav", 77, WAVF, 44100, 1, 300);
            render_done("in.wav", "file.wav", "--mask m.wav,gain=-20");
            command_done("cat in.wav | \"$HALO\" render - - --mask m.wav,gain=-20 | cat >pipe.wav");
            command_done("cat in.wav | \"$HALO\" render - to.wav --mask m.wav,gain=-20");
            struct sound file = sound_load("file.wav"), pipe = sound_load("pipe.wav"),
                         to = sound_load("to.wav");
            sound_expect_format(&pipe, sound_format_of(&file), 44100, channels, 5298);
            sound_expect_format(&to, sound_format_of(&file), 44100, channels, 5298);
            sound_expect_same(&pipe, &file);
            sound_expect_same(&to, &file);
        }
}

/* Standard input and output may be files, or an offset in a file. */
START_TEST(redirected_streams_are_streams)
{
    const int formats[] = {WAV16, WAV24, WAVF, SF_FORMAT_AU | SF_FORMAT_PCM_16};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        command_clean();
        sound_noise_file("in", i, formats[i], 44100, 1, 4999);
        command_done("\"$HALO\" render - - <in >new");
        command_done("printf 'a head of 17 byte' >appended && \"$HALO\" render in - >>appended && "
                     "tail -c +18 appended >out");
        const char *const names[] = {"new", "out"};
        struct sound in = sound_load("in");
        for (size_t n = 0; n < 2; n++) {
            struct sound out = sound_load(names[n]);
            sound_expect_same(&out, &in);
        }
    }
}

START_TEST(au_goes_through_pipes)
{
    const int subtypes[] = {SF_FORMAT_PCM_S8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24,
                            SF_FORMAT_PCM_32, SF_FORMAT_FLOAT,  SF_FORMAT_DOUBLE};
    for (size_t i = 0; i < sizeof subtypes / sizeof *subtypes; i++) {
        command_clean();
        sound_noise_file("in.au", i, SF_FORMAT_AU | subtypes[i], 48000, 2, FRAMES);
        sound_noise_file("m.wav", 78, WAVF, 48000, 2, 65);
        render_done("in.au", "file.au", "--mask m.wav,gain=-20");
        command_done("cat in.au | \"$HALO\" render - - --mask m.wav,gain=-20 | cat >pipe.au");
        command_done(
            "\"$HALO\" render in.au - --container wav --mask m.wav,gain=-20 | cat >to.wav");
        struct sound file = sound_load("file.au"), pipe = sound_load("pipe.au"),
                     wav = sound_load("to.wav");
        sound_expect_format(&pipe, SF_FORMAT_AU | subtypes[i], 48000, 2, FRAMES + 64);
        sound_expect_same(&pipe, &file);
        ck_assert_int_eq(wav.format & SF_FORMAT_TYPEMASK, SF_FORMAT_WAV);
        if (subtypes[i] != SF_FORMAT_PCM_S8) /* a WAV's 8 bits are unsigned */
            sound_expect_same(&wav, &file);
    }
}

/* As written by programs that cannot seek back to the header. */
static void set_sizes(const char *name, uint32_t value, bool au)
{
    unsigned char bytes[4];
    for (size_t i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    int fd = open(command_path(name), O_RDWR);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, 4, au ? 8 : 4), 4);
    if (!au)
        ck_assert_int_eq(pwrite(fd, bytes, 4, 40), 4);
    close(fd);
}

START_TEST(zero_sizes_mean_a_stream)
{
    const uint32_t sizes[] = {0, UINT32_MAX};
    for (size_t i = 0; i < 2; i++)
        for (int au = 0; au < 2; au++) {
            command_clean();
            sound_noise_file("in", 1, au ? SF_FORMAT_AU | SF_FORMAT_PCM_16 : WAV16, 48000, 2, 5000);
            struct sound in = sound_load("in");
            set_sizes("in", sizes[i], au);
            command_done("cat in | \"$HALO\" render - pipe.wav");
            render_done("in", "file.wav", "%s", "");
            command_done("\"$HALO\" render - redirected.wav <in");
            command_done("cat in | \"$HALO\" render - - | \"$HALO\" render - twice.wav");
            const char *const names[] = {"pipe.wav", "file.wav", "redirected.wav", "twice.wav"};
            for (size_t n = 0; n < 4; n++) {
                struct sound out = sound_load(names[n]);
                /* Unknown in advance, but far from 4 GB: no RF64. */
                ck_assert_msg(out.block.frames == 5000, "%s: %zu frames, au %d, size %#x", names[n],
                              out.block.frames, au, sizes[i]);
                sound_expect_format(&out, WAV16, 48000, 2, 5000);
                sound_expect_same(&out, &in);
            }
        }
}

START_TEST(other_chunks_are_ignored)
{
    make_tagged("in.wav", WAV16); /* its LIST chunk lies before or after the samples */
    sound_noise_file("plain.wav", 2, WAV16, 48000, 1, 1001);
    command_done("{ cat plain.wav; printf 'junk\\003\\000\\000\\000abc\\000'; } >behind.wav");
    const char *const names[] = {"in.wav", "behind.wav"};
    const size_t frames[] = {100, 1001};
    for (size_t i = 0; i < 2; i++) {
        command_done("cat %s | \"$HALO\" render -f - out.wav", names[i]);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.frames, frames[i]);
    }
}

START_TEST(report_of_a_stream_goes_to_standard_error)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, FRAMES);
    struct command_result result =
        command_done("\"$HALO\" render in.wav - --json --quiet | cat >out.wav");
    ck_assert_uint_eq((size_t)command_number(result.err, "frames_out"), FRAMES);
    struct sound out = sound_load("out.wav");
    sound_expect_format(&out, WAV16, 48000, 1, FRAMES);
    result = command_done("\"$HALO\" render - out.wav --json --force <in.wav");
    ck_assert_uint_eq((size_t)command_number(result.out, "frames_in"), FRAMES);
}

START_TEST(streams_are_passed_on_while_they_arrive)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 200000);
    command_done("mkfifo in out");
    /* The writer keeps its end open until the reader has received nine tenths of the sound. */
    pid_t process = command_start("{ cat in.wav; while [ ! -e seen ]; do sleep 0.01; done; } >in & "
                                  "{ head -c 200000 >part; : >seen; cat >>part; } <out & "
                                  "\"$HALO\" render - - <in >out && wait");
    ck_assert_int_eq(command_wait(process).code, 0);
    command_done("\"$HALO\" render part out.wav && \"$HALO\" render in.wav same.wav && "
                 "cmp out.wav same.wav");
}

/* ---- OUT that is not a plain file ---- */

START_TEST(fifo_is_written_through)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 50000);
    command_done("mkfifo out.wav; cat out.wav >copy & \"$HALO\" render in.wav out.wav && wait && "
                 "[ -p out.wav ]");
    struct sound in = sound_load("in.wav"), copy = sound_load("copy");
    sound_expect_same(&copy, &in);
    command_done("mkfifo in.fifo; cat in.wav >in.fifo & \"$HALO\" render in.fifo back.wav");
    struct sound back = sound_load("back.wav");
    sound_expect_format(&back, WAV16, 48000, 2, 50000);
    ck_assert_str_eq(command_files(), "back.wav copy in.fifo in.wav out.wav");
}

START_TEST(devices_are_written_through)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 50000);
    command_done("\"$HALO\" render in.wav /dev/null && [ -c /dev/null ]");
    if (access("/dev/full", W_OK) == 0) {
        command_refused(1, "No space left", "\"$HALO\" render in.wav /dev/full");
        command_refused(1, "No space left", "\"$HALO\" render in.wav - >/dev/full");
        struct command_result report =
            command_run("\"$HALO\" render -q in.wav c.wav --json >/dev/full");
        ck_assert_int_eq(report.code, 1);
        ck_assert_uint_eq(command_lines(report.err), 1);
    }
    command_done("[ ! -e /dev/full ] || [ -c /dev/full ]");
}

/* A symbolic link that leads to a pipe. */
START_TEST(devices_named_for_streams_work)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 50000);
    command_done("cat in.wav | \"$HALO\" render /dev/stdin in.same.wav && cmp in.wav in.same.wav");
    command_done("\"$HALO\" render in.wav /dev/stdout | cat >out.wav");
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    sound_expect_same(&out, &in);
}

START_TEST(closed_pipe_is_an_error)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 300000);
    struct command_result result = command_run(
        "{ \"$HALO\" render in.wav -; echo $? >code; } | head -c 1000 >/dev/null; exit $(cat code)");
    ck_assert_int_eq(result.code, 1);
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert(strstr(result.err, "halo: ") == result.err);
}

START_TEST(symbolic_links_are_followed)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, FRAMES);
    command_done("mkdir folder other; ln -s ../other/target.wav folder/link.wav; "
                 "ln -s folder/link.wav out.wav; ln -s \"$PWD/absolute.wav\" a.wav");
    /* Dangling: the target is created. */
    command_done("\"$HALO\" render in.wav out.wav && [ -L out.wav ] && [ -L folder/link.wav ] && "
                 "[ -f other/target.wav ] && [ ! -L other/target.wav ]");
    command_done("\"$HALO\" render in.wav a.wav && [ -L a.wav ] && [ -f absolute.wav ]");
    /* To a file: the target is replaced, only with --force. */
    command_done("echo old >other/target.wav");
    command_refused(1, "--force", "\"$HALO\" render in.wav out.wav");
    command_done("[ \"$(cat other/target.wav)\" = old ]");
    command_done("\"$HALO\" render in.wav out.wav --force && [ -L out.wav ] && "
                 "[ -L folder/link.wav ]");
    struct sound out = sound_load("other/target.wav");
    sound_expect_format(&out, WAV16, 48000, 1, FRAMES);
    command_done("[ \"$(ls -A other folder)\" = 'folder:\nlink.wav\n\nother:\ntarget.wav' ]");
    command_done("ln -s circle.wav circle.wav");
    command_refused(1, "circle.wav", "\"$HALO\" render in.wav circle.wav");
}

static off_t size_of(const char *name)
{
    struct stat about;
    ck_assert_int_eq(stat(command_path(name), &about), 0);
    return about.st_size;
}

static unsigned mode_of(const char *name)
{
    struct stat about;
    ck_assert_int_eq(stat(command_path(name), &about), 0);
    return about.st_mode & 07777;
}

START_TEST(permissions_follow_the_umask)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 10);
    command_done(
        "umask 022; \"$HALO\" render in.wav a.wav; umask 077; \"$HALO\" render in.wav b.wav");
    ck_assert_uint_eq(mode_of("a.wav"), 0644);
    ck_assert_uint_eq(mode_of("b.wav"), 0600);
    command_done("umask 022; chmod 640 b.wav; chmod 755 a.wav; \"$HALO\" render -f in.wav b.wav; "
                 "\"$HALO\" render -f in.wav a.wav");
    ck_assert_uint_eq(mode_of("b.wav"), 0640);
    ck_assert_uint_eq(mode_of("a.wav"), 0755);
}

/* ---- no loss of existing files ---- */

START_TEST(existing_file_is_kept_without_force)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, FRAMES);
    command_done("echo precious >out.wav; touch -d 2001-02-03 out.wav; ls -i out.wav >before");
    command_refused(1, "out.wav", "\"$HALO\" render in.wav out.wav");
    command_done("[ \"$(cat out.wav)\" = precious ] && ls -i out.wav | cmp - before && "
                 "[ \"$(date -r out.wav +%%F)\" = 2001-02-03 ]");
    command_done("\"$HALO\" render in.wav out.wav --force");
    struct sound out = sound_load("out.wav");
    sound_expect_format(&out, WAV16, 48000, 1, FRAMES);
    ck_assert_str_eq(command_files(), "before in.wav out.wav");
}

/* When rendering over a file fails, the file stays as it was, including its inode. */
START_TEST(failure_keeps_the_existing_file)
{
    struct sound bad = sound_create(WAVF, 48000, 1, 200000);
    bad.block.data[0][190000] = NAN;
    sound_save(&bad, "in.wav");
    command_done("echo precious >out.wav; ls -i out.wav >before");
    command_refused(1, "in.wav", "\"$HALO\" render in.wav out.wav --force");
    command_refused(1, "in.wav", "\"$HALO\" render in.wav new.wav");
    command_refused(1, "in.wav", "\"$HALO\" render in.wav new.wav --normalize -1");
    command_done("[ \"$(cat out.wav)\" = precious ] && ls -i out.wav | cmp - before");
}

START_TEST(input_is_never_the_output)
{
    const char *const names[] = {"in.wav",   "./in.wav",         "symbolic.wav",
                                 "hard.wav", "folder/../in.wav", "folder/in.wav"};
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, FRAMES);
    command_done("cp in.wav copy; mkdir folder; ln -s in.wav symbolic.wav; ln in.wav hard.wav; "
                 "ln -s ../in.wav folder/in.wav");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int force = 0; force < 2; force++) {
            command_refused(0, names[i], "\"$HALO\" render in.wav %s %s", names[i],
                            force ? "--force" : "");
            command_refused(0, "in.wav", "\"$HALO\" render %s in.wav %s", names[i],
                            force ? "--force" : "");
        }
    command_refused(0, "in.wav", "\"$HALO\" render - in.wav --force <in.wav");
    command_done("cmp in.wav copy && [ -L symbolic.wav ]");
}

struct way {
    const char *extension, *options;
};

static void check_same_bytes(const struct way *ways, size_t count)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 20000);
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < count; i++)
            command_done("\"$HALO\" render in.wav %zu-%d.%s --mask \"$FILTERS/lowpass-1k.wav\" %s",
                         i, again, ways[i].extension, ways[i].options);
        sleep(again ? 0 : 1); /* some containers could store the time of day */
    }
    for (size_t i = 0; i < count; i++)
        command_done("cmp %zu-0.%s %zu-1.%s", i, ways[i].extension, i, ways[i].extension);
}

START_TEST(same_command_same_bytes)
{
    const struct way ways[] = {
        {"wav", "--format pcm16"},
        {"wav", ""},
        {"aiff", "--format pcm16"},
        {"aiff", ""},
        {"flac", ""},
        {"au", "--format pcm24"},
        {"caf", ""},
        {"w64", ""},
        {"rf64", "--format pcm16"},
        {"rf64", ""},
        {"wav", "--normalize -1 --format pcm16"},
    };
    check_same_bytes(ways, sizeof ways / sizeof *ways);
}

/* An Ogg stream has a random serial number from libsndfile: the samples are equal, the bytes are
 * not. */
START_TEST(same_command_same_samples_of_ogg)
{
    const char *const extensions[] = {"ogg", "opus"};
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 20000);
    for (size_t i = 0; i < 2; i++) {
        for (int again = 0; again < 2; again++)
            command_done("\"$HALO\" render in.wav %d.%s && \"$HALO\" render %d.%s %s-%d.wav", again,
                         extensions[i], again, extensions[i], extensions[i], again);
        command_done("cmp %s-0.wav %s-1.wav", extensions[i], extensions[i]);
    }
}

/* ---- truncated files ---- */

START_TEST(truncated_files_are_refused)
{
    const struct {
        const char *name;
        int format;
    } rows[] = {
        {"in.wav", WAV16},
        {"in.wav", WAVF},
        {"in.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
        {"in.aifc", SF_FORMAT_AIFF | SF_FORMAT_FLOAT},
        {"in.au", SF_FORMAT_AU | SF_FORMAT_PCM_24},
        {"in.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
        {"in.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
        {"in.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
        {"in.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
    };
    enum { LENGTH = 50000 };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        struct sound in = sound_noise(rows[i].name, i, rows[i].format, 48000, 2, LENGTH);
        off_t whole = size_of(rows[i].name);
        /* An odd number of bytes: not at a frame boundary. */
        command_done("truncate -s $(($(stat -c %%s %s) * 2 / 3 | 1)) %s", rows[i].name,
                     rows[i].name);
        command_refused(1, "missing", "\"$HALO\" render %s out.wav", rows[i].name);
        struct command_result refused = command_run("\"$HALO\" render %s out.wav", rows[i].name);
        command_done("\"$HALO\" render %s out.wav --allow-truncated --format float", rows[i].name);
        struct sound out = sound_load("out.wav");
        ck_assert_msg(out.block.frames > LENGTH / 2 && out.block.frames < LENGTH * 3 / 4,
                      "%s: %zu frames", rows[i].name, out.block.frames);
        /* The missing amount: the frames that are then not rendered, or the bytes. */
        char frames[32], bytes[32];
        snprintf(frames, sizeof frames, "%zu", LENGTH - out.block.frames);
        snprintf(bytes, sizeof bytes, "%lld", (long long)(whole - size_of(rows[i].name)));
        ck_assert_msg(strstr(refused.err, frames) || strstr(refused.err, bytes),
                      "%s: no %s or %s in %s", rows[i].name, frames, bytes, refused.err);
        in.block.frames = out.block.frames;
        sound_expect_same(&out, &in);
        in.block.frames = LENGTH;
    }
}

/* It has no length in its header, but a mark on its last page. */
START_TEST(ogg_without_its_end_is_refused)
{
    const int formats[] = {SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_OGG | SF_FORMAT_OPUS};
    for (size_t i = 0; i < 2; i++) {
        command_clean();
        sound_noise_file("in.ogg", 1, formats[i], 48000, 2, 400000);
        command_done(
            "last=$(grep -abo OggS in.ogg | tail -1 | cut -d: -f1); head -c $last in.ogg >1; "
            "head -c $((last / 2)) in.ogg >2; head -c -1 in.ogg >3; head -c $((last + 10)) in.ogg >4");
        for (int cut = 1; cut <= 4; cut++) {
            command_refused(1, "is truncated: its end is missing", "\"$HALO\" render %d out.wav",
                            cut);
            command_refused(1, "is truncated: its end is missing",
                            "cat %d | \"$HALO\" render - out.wav -q", cut);
            command_done("\"$HALO\" render %d a.wav -f --allow-truncated && "
                         "cat %d | \"$HALO\" render - b.wav -f --allow-truncated",
                         cut, cut);
        }
        /* What follows the end is none of its sound. */
        command_done("{ cat in.ogg; head -c 9000 /dev/zero; } >5; \"$HALO\" render in.ogg a.au -f; "
                     "\"$HALO\" render 5 b.au -f; cmp a.au b.au");
    }
}

/* libsndfile reads the first of them. */
START_TEST(ogg_chains_are_refused)
{
    const int formats[] = {SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_OGG | SF_FORMAT_OPUS};
    static const char only_first[] = "a chain of Ogg streams, of which only the first";
    for (size_t i = 0; i < 2; i++) {
        command_clean();
        sound_noise_file("1", 1, formats[i], 48000, 2, 100000);
        sound_noise_file("2", 2, formats[i], 48000, 2, 400000);
        command_done("cat 1 2 >chain; \"$HALO\" render 1 a.au");
        command_refused(1, only_first, "\"$HALO\" render chain out.wav");
        command_refused(1, only_first, "cat chain | \"$HALO\" render - out.wav -q");
        struct command_result result =
            command_done("\"$HALO\" render chain b.au --allow-truncated; cmp a.au b.au");
        command_expect(result.err, only_first);
        result = command_done("cat chain | \"$HALO\" render - c.au -q --allow-truncated; "
                              "cmp a.au c.au");
        command_expect(result.err, only_first);
    }
}

START_TEST(truncated_streams_are_refused)
{
    const int formats[] = {WAV16, SF_FORMAT_AU | SF_FORMAT_PCM_16};
    for (size_t i = 0; i < 2; i++) {
        command_clean();
        sound_noise_file("in", 1, formats[i], 48000, 1, 50000);
        command_done("head -c 60000 in >cut");
        command_refused(1, "missing", "cat cut | \"$HALO\" render - out.wav");
        command_refused(1, "missing", "cat cut | \"$HALO\" render - - >/dev/null");
        command_done("cat cut | \"$HALO\" render - out.wav --allow-truncated");
        struct sound out = sound_load("out.wav");
        ck_assert_uint_ge(out.block.frames, 29950);
        ck_assert_uint_le(out.block.frames, 30000);
    }
}

/* Only the sound counts: a truncated chunk after it does not matter. */
START_TEST(sound_before_a_truncated_chunk_is_read)
{
    sound_noise_file("in.wav", 2, WAV16, 48000, 1, 1000);
    command_done("printf 'LIST\\100\\000\\000\\000INFO' >>in.wav");
    render_done("in.wav", "out.wav", "%s", "");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, 1000);
}

/* ---- levels ---- */

/* Errors of the rounded sound in steps of 16 bits: their mean and mean square. */
static void error_moments(const struct sound *out, const struct sound *in, double *mean,
                          double *square)
{
    *mean = *square = 0;
    double count = (double)in->block.frames;
    for (size_t i = 0; i < in->block.frames; i++) {
        double error = ((double)out->block.data[0][i] - (double)in->block.data[0][i]) * 32768;
        ck_assert_msg(fabs(error) < 1.5001, "frame %zu is %g steps off", i, error);
        *mean += error / count;
        *square += error * error / count;
    }
}

START_TEST(dither_is_triangular_or_none)
{
    double mean, square;
    struct sound in = sound_noise("in.wav", 3, WAVF, 48000, 1, 200000);
    command_done("\"$HALO\" render in.wav tpdf.wav --format pcm16 --dither tpdf && "
                 "\"$HALO\" render in.wav default.wav --format pcm16 && cmp tpdf.wav default.wav");
    render_done("in.wav", "none.wav", "--format pcm16 --dither none");
    struct sound tpdf = sound_load("tpdf.wav"), none = sound_load("none.wav");
    error_moments(&none, &in, &mean, &square);
    ck_assert_double_le(fabs(mean), 0.01);
    ck_assert_double_eq_tol(square, 1.0 / 12, 0.002); /* rounding alone */
    error_moments(&tpdf, &in, &mean, &square);
    ck_assert_double_le(fabs(mean), 0.01);
    ck_assert_double_eq_tol(square, 1.0 / 12 + 1.0 / 6, 0.005); /* and triangular dither */
}

/* A tone of less than half a step: rounding removes it, dither keeps it. */
START_TEST(dither_keeps_what_is_below_a_step)
{
    enum { LENGTH = 96000 };
    struct sound in = sound_create(WAVF, 48000, 1, LENGTH);
    for (size_t i = 0; i < LENGTH; i++)
        in.block.data[0][i] = (float)(0.4 / 32768 * sin(2 * acos(-1.0) * (double)i / 96));
    sound_save(&in, "in.wav");
    render_done("in.wav", "tpdf.wav", "--format pcm16");
    render_done("in.wav", "none.wav", "--format pcm16 --dither none");
    struct sound tpdf = sound_load("tpdf.wav"), none = sound_load("none.wav");
    double amplitude = 0;
    for (size_t i = 0; i < LENGTH; i++) {
        ck_assert(none.block.data[0][i] == 0);
        amplitude += (double)tpdf.block.data[0][i] * sin(2 * acos(-1.0) * (double)i / 96);
    }
    ck_assert_double_eq_tol(amplitude * 2 / LENGTH * 32768, 0.4, 0.03);
}

/* Steps of the format from full scale to zero. */
static double steps_of(int format)
{
    return 1 / step_of(format);
}

static size_t check_saturation(const struct sound *in, const struct sound *out, double gain)
{
    double steps = steps_of(out->format);
    size_t clipped = 0;
    for (size_t c = 0; c < in->block.channels; c++)
        for (size_t i = 0; i < in->block.frames; i++) {
            double wanted = (double)in->block.data[c][i] * gain;
            double held = fmin(fmax(wanted, -1), (steps - 1) / steps);
            ck_assert_msg(fabs((double)out->block.data[c][i] - held) <= 1.5 / steps + 1e-6,
                          "frame %zu: %g became %g", i, wanted, (double)out->block.data[c][i]);
            clipped += rint(wanted * steps) > steps - 1 || rint(wanted * steps) < -steps;
        }
    return clipped;
}

START_TEST(integers_saturate_and_are_reported)
{
    const int formats[] = {WAVU8, WAV16, WAV24, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                           SF_FORMAT_AIFF | SF_FORMAT_PCM_S8};
    const char *const names[] = {"out.wav", "out.wav", "out.wav", "out.flac", "out.aiff"};
    for (size_t i = 0; i < 5; i++)
        for (int dither = 0; dither < 2; dither++) {
            const char *dithering = dither ? "tpdf" : "none";
            command_clean();
            struct sound in = sound_noise("in", i, formats[i], 48000, 2, 20000);
            struct command_result result = command_done(
                "\"$HALO\" render in %s --gain 9.5 --json --dither %s", names[i], dithering);
            struct sound out = sound_load(names[i]);
            double clipped = command_number(result.out, "clipped");
            double truth = (double)check_saturation(&in, &out, pow(10, 9.5 / 20));
            /* With dither, a sample at the exact limit falls on either side. */
            ck_assert_double_le(fabs(clipped - truth), dither ? truth * 0.02 + 2 : 0);
            char message[32], *advice = strstr(result.err, "--gain ");
            snprintf(message, sizeof message, "%.0f samples", clipped);
            ck_assert_msg(strstr(result.err, message) != NULL, "%s", result.err);
            ck_assert_msg(advice != NULL, "%s", result.err);
            double gain = strtod(advice + strlen("--gain "), NULL);
            ck_assert_double_lt(gain, 0);
            result = command_done("\"$HALO\" render in -f %s --gain 9.5 --gain %g --json "
                                  "--dither %s",
                                  names[i], gain, dithering);
            ck_assert_msg(command_number(result.out, "clipped") == 0, "--gain %g: still %g of %g",
                          gain, command_number(result.out, "clipped"), clipped);
            ck_assert_ptr_null(strstr(result.err, "clipped"));
            /* No more than that: half a dB louder, it would clip. */
            result = command_done("\"$HALO\" render in -f %s --gain 9.5 --gain %g --json "
                                  "--dither %s",
                                  names[i], gain + 0.5, dithering);
            ck_assert_double_gt(command_number(result.out, "clipped"), 0);
        }
}

/* Steps below full scale, where the sound itself fits. */
START_TEST(the_advice_holds_where_dither_alone_clips)
{
    static const char *const dithers[] = {"tpdf", "shaped"};
    for (size_t i = 0; i < 2; i++) {
        command_clean();
        struct sound in = sound_create(WAVF, 48000, 1, 20000);
        for (size_t n = 0; n < 20000; n++)
            in.block.data[0][n] = 1 - 1.1F / 32768;
        sound_save(&in, "in.wav");
        struct command_result result = command_done(
            "\"$HALO\" render in.wav out.wav --json --format pcm16 --dither %s", dithers[i]);
        ck_assert_double_gt(command_number(result.out, "clipped"), 0);
        const char *advice = strstr(result.err, "--gain ");
        ck_assert_msg(advice && strtod(advice + strlen("--gain "), NULL) < 0, "%s", result.err);
        double gain = strtod(advice + strlen("--gain "), NULL);
        result = command_done("\"$HALO\" render in.wav out.wav -f --json --gain %g --format pcm16 "
                              "--dither %s",
                              gain, dithers[i]);
        ck_assert_double_eq(command_number(result.out, "clipped"), 0);
    }
}

START_TEST(floats_do_not_clip)
{
    struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 1, 10000);
    struct command_result result = command_done("\"$HALO\" render in.wav out.wav --gain 40 --json");
    struct sound out = sound_load("out.wav");
    for (size_t i = 0; i < 10000; i++)
        in.block.data[0][i] *= 100;
    expect_near(&out, &in, 50 * 0x1p-22);
    ck_assert_double_eq(command_number(result.out, "clipped"), 0);
    ck_assert_double_eq_tol(command_number(result.out, "peak"), 50, 0.1);
    ck_assert_ptr_null(strstr(result.err, "clipped"));
}

static double peak_of(const char *name)
{
    struct sound sound = sound_load(name);
    double peak = 0;
    for (size_t c = 0; c < sound.block.channels; c++)
        for (size_t i = 0; i < sound.block.frames; i++)
            peak = fmax(peak, fabs((double)sound.block.data[c][i]));
    return peak;
}

START_TEST(normalizing_sets_the_peak)
{
    const double levels[] = {-1, -0.1, -20, 0, 6};
    const char *const stages[] = {"", "--gain 40", "--mask \"$FILTERS/small-room.wav\",gain=-30"};
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 30000);
    sound_noise_file("in16.wav", 1, WAV16, 48000, 2, 30000);
    for (size_t l = 0; l < 5; l++)
        for (size_t s = 0; s < 3; s++) {
            double wanted = pow(10, levels[l] / 20);
            command_done("\"$HALO\" render -f in.wav out.wav --normalize %g %s", levels[l],
                         stages[s]);
            ck_assert_double_eq_tol(peak_of("out.wav"), wanted, wanted * 1e-5);
        }
    struct command_result result =
        command_done("\"$HALO\" render in16.wav out16.wav --normalize -1dB --gain 40 --json");
    ck_assert_double_eq(command_number(result.out, "clipped"), 0);
    ck_assert_double_eq_tol(peak_of("out16.wav"), pow(10, -1.0 / 20), 3.0 / 32768);
    static const char *const limited[] = {"o.wav", "o.flac", "o.caf --format pcm24"};
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++)
        command_refused(2, "holds no peak above 0 dBFS",
                        "\"$HALO\" render in16.wav %s --normalize 3", limited[i]);
    render_done("in16.wav", "o.wav", "--normalize 3 --format float");
    ck_assert_double_eq_tol(peak_of("o.wav"), pow(10, 3.0 / 20), 1e-5);
    command_done("cat in.wav | \"$HALO\" render - - --normalize -1 | cat >stream.wav");
    command_done("\"$HALO\" render in.wav file.wav --normalize -1 && cmp -s stream.wav file.wav || "
                 "\"$HALO\" render stream.wav again.wav");
    ck_assert_double_eq_tol(peak_of("stream.wav"), pow(10, -1.0 / 20), 1e-5);
}

START_TEST(normalizing_keeps_the_samples_in_proportion)
{
    struct sound in = sound_noise("in.wav", 9, WAVF, 48000, 2, 150000);
    struct sound columns = sound_noise_mask("m.wav", 10, 1, 700);
    render_done("in.wav", "out.wav", "--normalize -3 --mask m.wav");
    struct sound out = sound_load("out.wav");
    struct mask *mask = sound_mask(&columns, NULL, 0, 2);
    double **truth = truth_render(mask, in.block.data, 150000), peak = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 150699; i++)
            peak = fmax(peak, fabs(truth[c][i]));
    mask_scale(mask, pow(10, -3.0 / 20) / peak, NULL);
    ck_assert_uint_eq(out.block.frames, 150699);
    sound_expect_truth(&out, mask, &in.block, 0);
}

/* By the meter of loudness and true peaks, of the samples that were written. */
static void expect_loudness(const char *path, double lufs)
{
    struct sound sound = sound_load(path);
    const float *const *planar = (const float *const *)sound.block.data;
    struct loudness *meter;
    struct true_peak *peak;
    ck_assert_int_eq(loudness_create((uint32_t)sound.rate, sound.block.channels, &meter),
                     STATUS_OK);
    ck_assert_int_eq(true_peak_create(sound.block.channels, &peak), STATUS_OK);
    ck_assert_int_eq(loudness_add(meter, planar, sound.block.frames), STATUS_OK);
    true_peak_add(peak, planar, sound.block.frames);
    double most = 20 * log10(true_peak_finish(peak)), level = loudness_integrated(meter);
    ck_assert_msg(most <= -1, "%s: %g dBTP", path, most);
    if (isfinite(lufs))
        ck_assert_msg(fabs(level - lufs) < 0.02, "%s: %g LUFS, not %g", path, level, lufs);
    else
        ck_assert_msg(most > -1.05, "%s: %g dBTP", path, most);
    loudness_destroy(meter);
    true_peak_destroy(peak);
}

START_TEST(normalizing_sets_the_loudness)
{
    static const char *const formats[] = {"float", "pcm16", "pcm24 --dither shaped", "double",
                                          "pcm16 --precision double"};
    sound_noise_file("noise.wav", 1, WAVF, 48000, 2, 100000);
    command_done("cp \"$WAV/click.wav\" ."); /* a peak with little loudness */
    render_done("noise.wav", "quiet.wav", "--gain -60,at=1s:gain=-80");
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        static const char *const stages[] = {"noise.wav",
                                             "quiet.wav --mask \"$FILTERS/small-room.wav\"",
                                             "noise.wav --gain 30 --tail until:-40dB"};
        for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
            command_done("\"$HALO\" render -f -o out.wav %s --normalize -23LUFS --format %s",
                         stages[s], formats[i]);
            expect_loudness("out.wav", -23);
        }
        struct command_result result =
            command_done("\"$HALO\" render click.wav out.wav -f --json --normalize '-10 LUFS' "
                         "--format %s",
                         formats[i]);
        ck_assert_ptr_nonnull(strstr(result.err, "LUFS, not -10: a peak would be above -1 dBTP"));
        ck_assert_double_le(command_number(result.out, "true_peak_db"), -1);
        expect_loudness("out.wav", NAN);
    }
    render_done("noise.wav", "out.wav", "--gain -300 --normalize -16LUFS");
    expect_loudness("out.wav", -16);
    command_refused(2, "LUFS from -70 to 0", "\"$HALO\" render noise.wav o.wav --normalize 3LUFS");
    command_refused(2, "LUFS from -70 to 0", "\"$HALO\" render noise.wav o.wav --normalize xLUFS");
}

/* A sine has the same pitch, level and place at another rate, whatever is taken of it. */
START_TEST(another_rate_is_the_same_sound)
{
    static const struct {
        uint32_t from, to;
        const char *options;
        double start;
    } rows[] = {{48000, 44100, "", 0},
                {44100, 96000, "--precision double --format double", 0},
                {48000, 16000, "--start 0.25 --duration 1s", 0.25},
                {22050, 48000, "--mask one.txt --tail none --channel 2", 0}};
    sound_text("one.txt", "1\n");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct sound in = sound_create(WAVF, rows[r].from, 2, 2 * rows[r].from);
        for (size_t i = 0; i < in.block.frames; i++)
            in.block.data[0][i] = in.block.data[1][i] =
                0.5f * (float)sin(2 * M_PI * 1000 * (double)i / rows[r].from);
        sound_save(&in, "in.wav");
        render_done("in.wav", "out.wav", "--rate %u %s", rows[r].to, rows[r].options);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.rate, rows[r].to);
        ck_assert_uint_eq(out.block.frames, (rows[r].start > 0 ? 1 : 2) * rows[r].to);
        for (size_t i = rows[r].to / 5; i < 4 * rows[r].to / 5; i++)
            ck_assert_double_eq_tol(
                (double)out.block.data[0][i],
                0.5 * sin(2 * M_PI * 1000 * ((double)i / rows[r].to + rows[r].start)), 1e-5);
    }
}

START_TEST(a_tail_can_have_a_time)
{
    sound_noise_file("in.wav", 3, WAVF, 48000, 1, 30000);
    sound_noise_mask("m.wav", 4, 1, 9001);
    render_done("in.wav", "full.wav", "--mask m.wav");
    struct sound full = sound_load("full.wav");
    static const char *const times[] = {"0.1s", "250ms", "0"};
    for (size_t t = 0; t < 3; t++) {
        size_t frames = 30000 + (size_t[]){4800, 12000, 0}[t];
        render_done("in.wav", "out.wav", "--mask m.wav --tail %s --block 4096", times[t]);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.frames, frames);
        for (size_t i = 0; i < frames; i++)
            ck_assert_double_eq_tol((double)out.block.data[0][i],
                                    i < 39000 ? (double)full.block.data[0][i] : 0, 1e-4);
        command_done("cat in.wav | \"$HALO\" render - - --mask m.wav --tail %s >o.wav", times[t]);
        out = sound_load("o.wav");
        ck_assert_uint_eq(out.block.frames, frames);
    }
    command_refused(2, "full, none, a time", "\"$HALO\" render in.wav o.wav --tail long");
    command_refused(2, "full or none",
                    "\"$HALO\" render in.wav o.wav -f --mask m.wav,level=input --tail 1s");
}

START_TEST(channels_have_names)
{
    struct sound in = sound_noise("in.wav", 3, WAVF, 48000, 6, 3000);
    render_done("in.wav", "out.wav", "--layout 5.1 --channel LFE,1,Ls");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.channels, 3);
    for (size_t i = 0; i < 3000; i++) {
        ck_assert_float_eq(out.block.data[0][i], in.block.data[3][i]);
        ck_assert_float_eq(out.block.data[1][i], in.block.data[0][i]);
        ck_assert_float_eq(out.block.data[2][i], in.block.data[4][i]);
    }
    command_refused(2, "no channel TFL",
                    "\"$HALO\" render in.wav o.wav --layout 5.1 --channel TFL");
    command_refused(2, "halo does not know which",
                    "\"$HALO\" render in.wav o.wav --layout none --channel FL");
    command_refused(2, "'left' is no channel", "\"$HALO\" render in.wav o.wav --channel left");
    command_refused(2, "separated by commas", "\"$HALO\" render in.wav o.wav --channel 1,");
}

START_TEST(encoders_have_a_quality)
{
    static const char *const endings[] = {"ogg", "opus", "mp3"};
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 96000);
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        struct command_result tried = command_run("\"$HALO\" render in.wav try.%s", endings[e]);
        off_t before = 0;
        for (int q = 0; q <= 10 && tried.code == 0; q += 5) {
            struct stat about;
            char name[40];
            snprintf(name, sizeof name, "%s/q%d.%s", command_folder(), q, endings[e]);
            command_done("\"$HALO\" render in.wav q%d.%s --quality %d", q, endings[e], q);
            ck_assert_int_eq(stat(name, &about), 0);
            ck_assert_int_gt(about.st_size, before + before / 4);
            before = about.st_size;
        }
    }
    command_refused(2, "loses nothing", "\"$HALO\" render in.wav o.flac --quality 5");
    command_refused(2, "from 0 to 10", "\"$HALO\" render in.wav o.ogg --quality 11");
}

START_TEST(silence_cannot_be_normalized_and_stays)
{
    sound_sparse("in.wav", 48000, 1, 1000);
    render_done("in.wav", "out.wav", "--normalize -1");
    ck_assert_double_eq(peak_of("out.wav"), 0);
    render_done("in.wav", "out.wav", "--normalize -16LUFS");
    ck_assert_double_eq(peak_of("out.wav"), 0);
}

/* ---- interruption ---- */

static pid_t interrupted;

static bool something_is_being_written(void)
{
    return command_has_written(interrupted, 100000);
}

static void interrupt(int number, bool (*when)(void), const char *options)
{
    char before[4096];
    snprintf(before, sizeof before, "%s", command_files());
    pid_t process = command_start("exec \"$HALO\" render %s", options);
    interrupted = process;
    wait_until(when, options);
    ck_assert_int_eq(kill(process, number), 0);
    struct command_result result = command_wait(process);
    ck_assert_msg(result.code != 0, "%s: exit code %d, %s", options, result.code, result.err);
    ck_assert_msg(strcmp(command_files(), before) == 0, "%s\nleft files: %s", options,
                  command_files());
    ck_assert_ptr_null(strstr(result.err, "rror")); /* no error */
}

START_TEST(signals_leave_no_partial_file)
{
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 3; i++) {
        command_clean();
        sound_sparse("in.wav", 48000, 1, UINT64_C(2000000000));
        command_done("echo precious >old.wav; ls -i old.wav >before");
        interrupt(numbers[i], something_is_being_written,
                  "in.wav out.wav --mask \"$FILTERS/hall.wav\",channel=1");
        interrupt(numbers[i], something_is_being_written,
                  "in.wav old.wav --force --mask \"$FILTERS/lowpass-1k.wav\"");
        command_done("[ \"$(cat old.wav)\" = precious ] && ls -i old.wav | cmp - before");
    }
}

/* The letter of its state in /proc: 'S' while it waits, but for a processor. */
static char state_of(pid_t process)
{
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state;
}

/* It sleeps for longer than anything in its start-up does. */
static bool halo_waits(void)
{
    static const struct timespec pause = {.tv_nsec = 10000000};
    for (int looks = 0; looks < 20; looks++) {
        nanosleep(&pause, NULL);
        if (state_of(interrupted) != 'S')
            return false;
    }
    return true;
}

START_TEST(signals_end_a_wait)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 100000);
    command_done("mkfifo stalled closed; head -c 20000 in.wav >part");
    /* Open for reading and writing: neither end is ever missing, and no end of file arrives. */
    int fifo = open(command_path("stalled"), O_RDWR | O_NONBLOCK);
    ck_assert_int_ge(fifo, 0);
    for (int full = 0; full < 2; full++) {
        interrupt(SIGINT, halo_waits, "stalled out.wav");
        interrupt(SIGTERM, halo_waits, "- out.wav --json <stalled");
        interrupt(SIGINT, halo_waits, "closed out.wav");
        interrupt(SIGINT, halo_waits, "in.wav closed");
        interrupt(SIGINT, halo_waits, "stalled out.wav --normalize -1");
        /* The second time, a header and some sound have arrived. */
        command_done("cat part >stalled");
    }
    close(fifo);
}

/* Nothing is visible from outside: the spool has no name. */
static bool spool_grows(void)
{
    static const struct timespec pause = {.tv_nsec = 300000000};
    nanosleep(&pause, NULL);
    return true;
}

START_TEST(signals_leave_no_spool)
{
    sound_sparse("in.wav", 48000, 1, UINT64_C(1000000000));
    interrupt(SIGINT, spool_grows, "in.wav out.wav --normalize -1 --gain 3");
    interrupt(SIGTERM, spool_grows,
              "in.wav out.wav --edge wrap --tail none --mask \"$FILTERS/lowpass-1k.wav\"");
}

/* A disk of 128 KiB, in a name space that is removed afterwards. */
#define ON_SMALL_DISK                                                                              \
    "unshare -rm sh -c 'mount -t tmpfs -o size=128k tmpfs disk && echo precious >disk/old.wav && " \
    "{ %s; code=$?; ls -A disk >left; cat disk/old.wav >>left; exit $code; }'"

START_TEST(full_disk_leaves_no_partial_file)
{
    const char *const outs[] = {"disk/out.wav", "disk/out.flac", "disk/out.ogg", "disk/old.wav -f",
                                "disk/out.wav --normalize -1"};
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 600000); /* 2.4 MB */
    command_done("mkdir disk");
    if (command_run(ON_SMALL_DISK, ":").code != 0) {
        puts("not run: full_disk_leaves_no_partial_file, for want of the right to mount");
        return; /* the limit below stands in for it */
    }
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        char line[128];
        snprintf(line, sizeof line, "\"$HALO\" render in.wav %s", outs[i]);
        struct command_result result = command_run(ON_SMALL_DISK, line);
        ck_assert_msg(result.code == 1, "%s: exit code %d\n%s", outs[i], result.code, result.err);
        ck_assert_msg(command_lines(result.err) == 1 && strstr(result.err, "No space left"),
                      "%s prints: %s", outs[i], result.err);
        struct command_result left = command_run("cat left");
        ck_assert_msg(strcmp(left.out, "old.wav\nprecious\n") == 0, "%s left %s", outs[i],
                      left.out);
    }
}

START_TEST(file_size_limit_leaves_no_partial_file)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 600000);
    command_done("echo precious >old.wav");
    command_refused(1, "out.wav",
                    "ulimit -f 100; trap '' XFSZ; exec \"$HALO\" render in.wav out.wav");
    /* As with a shell's limit: by a signal, unless the program ignores it. */
    command_refused(1, "out.wav", "ulimit -f 100; (\"$HALO\" render in.wav out.wav)");
    command_refused(1, "old.wav", "ulimit -f 100; (\"$HALO\" render in.wav old.wav --force)");
    command_done("[ \"$(cat old.wav)\" = precious ]");
    command_refused(1, "mask.wav: File too large",
                    "ulimit -f 100; (\"$HALO\" mask convert in.wav mask.wav)");
    command_refused(1, "mask.txt: File too large",
                    "ulimit -f 100; (\"$HALO\" mask convert in.wav mask.txt)");
    command_refused(1, "made.wav",
                    "ulimit -f 100; (\"$HALO\" mask make lowpass:100,taps=99999 -o made.wav)");
}

/* ---- size ---- */

/* In KiB. Up to a minute of sound the blocks grow, with an upper bound; after that memory stays
 * constant. */
START_TEST(memory_does_not_grow_with_the_sound)
{
    const char *const commands[] = {
        "\"$HALO\" render $IN /dev/null --mask \"$FILTERS/small-room.wav\"",
        "cat $IN | \"$HALO\" render - - --mask \"$FILTERS/small-room.wav\" >/dev/null",
        "\"$HALO\" render $IN out.wav --force --normalize -1 --gain 3 --threads 1",
        "\"$HALO\" render $IN /dev/null --mask \"$FILTERS/small-room.wav\" --edge wrap --tail none",
        "\"$HALO\" render $IN /dev/null --mask \"$FILTERS/small-room.wav\" --edge reflect --tail none",
        "\"$HALO\" render $IN /dev/null --mask \"$FILTERS/small-room.wav\" --tail until:-80dB",
    };
    const char *const names[] = {"10.wav", "60.wav", "180.wav"};
    sound_sparse("10.wav", 48000, 2, 10 * 48000);
    sound_sparse("60.wav", 48000, 2, 60 * 48000);
    sound_sparse("180.wav", 48000, 2, 180 * 48000);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        long memory[3];
        for (size_t n = 0; n < 3; n++) {
            memory[n] = command_memory("IN=%s; %s", names[n], commands[i]);
        }
        ck_assert_msg(memory[2] <= memory[1] + 4096 && memory[2] <= memory[0] + (64 << 10),
                      "%s: %ld, %ld and %ld KiB", commands[i], memory[0], memory[1], memory[2]);
    }
}

static double free_gigabytes(void)
{
    struct command_result result = command_run("df -k --output=avail . | tail -1");
    return strtod(result.out, NULL) / 1e6;
}

/* 1.1 GB of 16 bits, silent except for some noise at the end; a hole on the disk. */
enum { FRAMES_LONG = 550000000, FRAMES_LAST = 1000 };

static void make_long(const char *name)
{
    sound_sparse(name, 48000, 1, FRAMES_LONG);
    sound_noise_file("end.wav", 4, WAV16, 48000, 1, FRAMES_LAST);
    command_done("tail -c %d end.wav >end && dd if=end of=%s bs=2 seek=%d conv=notrunc",
                 2 * FRAMES_LAST, name, 22 + FRAMES_LONG - FRAMES_LAST);
}

/* What `line` prints is a WAV with the samples of in.wav; only the headers may differ. */
static void expect_same_samples(const char *line)
{
    command_done("%s | { head -c 4096 >head; at=$(grep -abo data head | head -n 1 | cut -d: -f1); "
                 "{ tail -c +$((at + 9)) head; cat; } | cmp -i 44:0 in.wav -; }",
                 line);
}

/* As 64 bits it takes 4.4 GB. */
START_TEST(wav_past_4_gb_is_rf64)
{
    if (!getenv("HALO_TEST_FULL"))
        return;
    if (free_gigabytes() < 5) {
        puts("not run: wav_past_4_gb_is_rf64, for want of 5 GB of disk");
        return;
    }
    make_long("in.wav");
    render_done("in.wav", "out.wav", "--format double");
    SF_INFO info = {0};
    SNDFILE *file = sf_open(command_path("out.wav"), SFM_READ, &info);
    ck_assert_ptr_nonnull(file);
    sf_close(file);
    ck_assert_int_eq(info.format, SF_FORMAT_RF64 | SF_FORMAT_DOUBLE);
    ck_assert_int_eq(info.frames, FRAMES_LONG);
    /* And it is read back, by name, from a pipe, and from a pipe that never was a file. */
    expect_same_samples("\"$HALO\" render out.wav - --format pcm16");
    expect_same_samples("cat out.wav | \"$HALO\" render - - --format pcm16");
    command_done("rm out.wav");
    expect_same_samples("\"$HALO\" render in.wav - --format double | "
                        "\"$HALO\" render - - --format pcm16");
}

/* Its first frame is unlike the others, by which a length would be guessed. */
START_TEST(mp3_without_a_length_is_read_to_its_end)
{
    command_done(
        "for first in 0 0.5; do ffmpeg -v error -y -f lavfi -i anoisesrc=d=2:a=$first:seed=1 -f lavfi -i "
        "anoisesrc=d=2:a=0.3:seed=2 -filter_complex concat=n=2:v=0:a=1 -c:a libmp3lame -q:a 5 -write_xing 0 "
        "v.mp3 && $HALO render v.mp3 a.wav -f && cat v.mp3 | $HALO render - b.wav -f && cmp a.wav b.wav && "
        "test $(soxi -s a.wav) -ge 176400 || exit 1; done");
}

/* Fewer bytes of samples than some headers have. */
START_TEST(sounds_of_a_few_frames_stay_as_they_are)
{
    static const size_t lengths[] = {0, 1, 2, 5};
    static const char *const endings[] = {"wav", "rf64", "w64", "aiff", "caf", "au"},
                             *const formats[] = {"pcm16", "pcm24", "float", "double"};
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
        command_clean();
        struct sound in =
            sound_noise("in.wav", n, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, lengths[n]);
        for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
            for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
                command_done("\"$HALO\" render --no-sync in.wav out.%s -qf --format %s", endings[e],
                             formats[f]);
                char name[16];
                snprintf(name, sizeof name, "out.%s", endings[e]);
                struct sound out = sound_load(name);
                ck_assert_msg(out.block.frames == lengths[n], "%s of %s: %zu frames", name,
                              formats[f], out.block.frames);
                sound_expect_same(&out, &in);
            }
    }
}
