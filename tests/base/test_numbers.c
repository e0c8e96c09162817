/* The bits of samples from IN to OUT: integers that nothing changes, and all that a double is. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum {
    WAVD = SF_FORMAT_WAV | SF_FORMAT_DOUBLE,
    FRAMES = 20000,
};

static void save_doubles(const char *name, int format, const double *samples, sf_count_t count)
{
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = format};
    SNDFILE *file = sf_open(command_path(name), SFM_WRITE, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(sf_write_double(file, samples, count), count);
    sf_close(file);
}

static void load_doubles(const char *name, double *samples, sf_count_t count)
{
    SF_INFO info = {0};
    SNDFILE *file = sf_open(command_path(name), SFM_READ, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(sf_read_double(file, samples, count), count);
    sf_close(file);
}

/* Noise in all bits that the format has. */
static void save_integers(const char *name, int format)
{
    static int samples[FRAMES];
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = format};
    uint32_t state = 1;
    for (size_t i = 0; i < FRAMES; i++) {
        state = state * 1664525 + 1013904223;
        samples[i] = (int)(state ^ (state >> 16));
    }
    SNDFILE *file = sf_open(command_path(name), SFM_WRITE, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(sf_write_int(file, samples, FRAMES), FRAMES);
    sf_close(file);
}

static size_t count_differing(const char *one, const char *other)
{
    static int samples[2][FRAMES];
    const char *const names[] = {one, other};
    for (size_t f = 0; f < 2; f++) {
        SF_INFO info = {0};
        SNDFILE *file = sf_open(command_path(names[f]), SFM_READ, &info);
        ck_assert_ptr_nonnull(file);
        ck_assert_int_eq(info.frames, FRAMES);
        ck_assert_int_eq(sf_read_int(file, samples[f], FRAMES), FRAMES);
        sf_close(file);
    }
    size_t count = 0;
    for (size_t i = 0; i < FRAMES; i++)
        count += samples[0][i] != samples[1][i];
    return count;
}

static void save_long_identity(void)
{
    struct sound mask = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 1, 5000);
    mask.block.data[0][0] = 1;
    sound_save(&mask, "long.wav");
}

struct integers {
    const char *in, *out;
    int format;
};

START_TEST(integers_that_nothing_changes_are_exact)
{
    static const struct integers cases[] = {
        {"in.wav", "out.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_U8},
        {"in.aiff", "out.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_S8},
        {"in.wav", "out.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
        {"in.wav", "out.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24},
        {"in.wav", "out.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_32},
        {"in.flac", "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_S8},
        {"in.flac", "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
        {"in.flac", "out.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_24},
        {"in.caf", "out.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16},
        {"in.caf", "out.wav", SF_FORMAT_CAF | SF_FORMAT_ALAC_24},
        {"in.caf", "out.wav", SF_FORMAT_CAF | SF_FORMAT_ALAC_32},
    };
    static const char *const stages[] = {"", "--gain 0", "--mask one.txt --dither shaped",
                                         "--mask long.wav --tail none --precision double"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        command_clean();
        sound_text("one.txt", "1\n");
        save_long_identity();
        save_integers(cases[i].in, cases[i].format);
        for (size_t s = 0; s < 4; s++) {
            command_done("\"$HALO\" render %s %s -f -q %s", cases[i].in, cases[i].out, stages[s]);
            size_t differing = count_differing(cases[i].in, cases[i].out);
            ck_assert_msg(differing == 0, "format %#x, %s: %zu samples differ", cases[i].format,
                          stages[s], differing);
        }
    }
}

/* By transforms in single precision. */
START_TEST(a_long_identity_changes_no_16_bits)
{
    const int formats[] = {SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16};
    for (size_t f = 0; f < 2; f++) {
        command_clean();
        save_long_identity();
        save_integers("in.wav", SF_FORMAT_WAV | formats[f]);
        command_done("\"$HALO\" render in.wav out.wav -q --mask long.wav --tail none");
        ck_assert_uint_eq(count_differing("in.wav", "out.wav"), 0);
    }
}

START_TEST(single_precision_is_there_if_asked)
{
    save_integers("in.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_32);
    command_done("\"$HALO\" render in.wav out.wav -q --precision single");
    ck_assert_uint_gt(count_differing("in.wav", "out.wav"), FRAMES / 2);
}

static const double extremes[] = {1e200,  -1e300, 1e-300,  -0.0,      0.0, 5e-324,
                                  1e-310, -1e39,  1.7e308, -2.5e-308, 0.1, 1 + 0x1p-52};
enum { EXTREMES = sizeof extremes / sizeof *extremes };

START_TEST(doubles_go_through_as_they_are)
{
    static const char *const ways[] = {"", "--precision double --gain 0", "--format double",
                                       "--precision double --format double --edge reflect",
                                       "--block 5 --gain 0"};
    double back[EXTREMES];
    save_doubles("in.wav", WAVD, extremes, EXTREMES);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        command_done("\"$HALO\" render in.wav out.wav -f -q %s", ways[w]);
        load_doubles("out.wav", back, EXTREMES);
        ck_assert_msg(memcmp(back, extremes, sizeof back) == 0, "changed by %s", ways[w]);
    }
    command_done("cat in.wav | \"$HALO\" render - - -q | cat >out.wav");
    load_doubles("out.wav", back, EXTREMES);
    ck_assert_mem_eq(back, extremes, sizeof back);
}

/* The same numbers; a sum has no -0. */
START_TEST(masks_and_normalizing_are_in_double)
{
    double back[EXTREMES];
    sound_text("one.txt", "1\n");
    save_doubles("in.wav", WAVD, extremes, EXTREMES);
    command_done("\"$HALO\" render in.wav out.wav -q --mask one.txt --edge wrap");
    load_doubles("out.wav", back, EXTREMES);
    for (size_t i = 0; i < EXTREMES; i++)
        ck_assert(back[i] == extremes[i]);
    command_done("\"$HALO\" render in.wav out.wav -f -q --normalize 0");
    load_doubles("out.wav", back, EXTREMES);
    for (size_t i = 0; i < EXTREMES; i++)
        ck_assert_double_le(fabs(back[i] - extremes[i] / 1.7e308),
                            fabs(extremes[i] / 1.7e308) * 0x1p-50 + 0x1p-1070);
    const double large[] = {1e200, 0, -1e190};
    save_doubles("mask.wav", WAVD, large, 3);
    const double small[] = {1e-150, 3e-150, 0};
    save_doubles("small.wav", WAVD, small, 3);
    command_done("\"$HALO\" render small.wav out.wav -f -q --mask mask.wav --tail none");
    load_doubles("out.wav", back, 3);
    ck_assert_double_le(fabs(back[1] - 3e50), 3e50 * 0x1p-50);
}

/* What is not finite in the report is left out; what is single says so. */
START_TEST(what_is_single_says_so)
{
    save_doubles("in.wav", WAVD, extremes, EXTREMES);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav -f --json -v --precision double");
    json_t *report = command_json(result.out);
    ck_assert_double_eq(command_json_number(report, "peak"), 1.7e308);
    command_refused(1, "single precision",
                    "\"$HALO\" render in.wav none.wav --spectral identity2d");
    command_refused(1, "choose --format double",
                    "\"$HALO\" render in.wav none.wav --precision double --format float");
}
