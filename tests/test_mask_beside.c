/* Beside the programs themselves: what they make of their configuration, halo makes of it. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool installed(const char *program)
{
    return command_run("command -v %s >/dev/null", program).code == 0;
}

/* Sound for sound to -120 dB of the peak. */
static void expect_equal(const char *ours, const char *theirs)
{
    struct sound a = sound_load(ours), b = sound_load(theirs);
    double worst = 0, peak = 0;
    ck_assert_uint_eq(a.block.channels, b.block.channels);
    ck_assert_uint_eq(a.block.frames, b.block.frames);
    for (size_t c = 0; c < a.block.channels; c++)
        for (size_t i = 0; i < a.block.frames; i++) {
            double other = (double)b.block.data[c][i];
            worst = fmax(worst, fabs((double)a.block.data[c][i] - other));
            peak = fmax(peak, fabs(other));
        }
    ck_assert_double_gt(peak, 1e-3);
    ck_assert_msg(worst <= 1e-6 * peak, "%s and %s differ by %.1f dB", ours, theirs,
                  20 * log10(worst / peak));
    sound_free(&a);
    sound_free(&b);
}

static void make_sounds(size_t channels)
{
    int format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    /* Silence at the end: what fconvolver makes of the tail by itself is not the tail. */
    struct sound in = sound_create(format, 48000, channels, 30000);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < 20000; i++)
            in.block.data[c][i] = (float)((double)(rand() % 20001 - 10000) / 20000);
    sound_save(&in, "in.wav");
    sound_free(&in);
    command_done("mkdir -p irs");
    sound_noise_file("irs/room.wav", 8, format, 48000, 2, 3000);
    sound_noise_file("irs/long one.wav", 9, format, 48000, 1, 7001);
}

static void expect_as_fconvolver(size_t channels, const char *text)
{
    command_clean();
    make_sounds(channels);
    sound_text("a.conf", text);
    command_done("fconvolver -T a.conf in.wav theirs.wav");
    command_done("$HALO render in.wav ours.wav --mask a.conf --tail none --format float");
    expect_equal("ours.wav", "theirs.wav");
}

START_TEST(fconvolver_reads)
{
    expect_as_fconvolver(2, "# gains, delays, offsets, lengths and channels, some on one path\n"
                            "/cd irs\n"
                            "/convolver/new 2 2 256 8000 0.5\n"
                            "/input/name 1 In.L\n"
                            "/impulse/read 1 1 0.05 100 10 500 1 room.wav\n"
                            "/impulse/read 1 1 -0.025 0 0 0 2 room.wav\n"
                            "/impulse/read 2 2 0.03 999 0 0 1 \"long one.wav\"\n");
}
END_TEST

START_TEST(fconvolver_makes)
{
    expect_as_fconvolver(2, "/convolver/new 2 3 64 6000\n"
                            "/impulse/dirac 1 1 0.3 2048\n"
                            "/impulse/hilbert 1 2 -0.5 2048 4096\n"
                            "/impulse/hilbert 2 3 0.25 1500 1001\n"
                            "/impulse/copy 2 1 1 2\n"
                            "# what comes later is in the copy, too\n"
                            "/impulse/dirac 1 2 0.1 5\n");
}
END_TEST

START_TEST(fconvolver_cuts)
{
    expect_as_fconvolver(1, "/cd irs\r\n/convolver/new 1 1 256 2048\r\n"
                            "/impulse/read 1 1 0.05 1000 0 0 1 room.wav\r\n");
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {fconvolver_reads, fconvolver_makes, fconvolver_cuts};
    if (!installed("fconvolver")) {
        puts("skipped: fconvolver is not installed (Debian's package jconvolver)");
        return 77;
    }
    return suite_run("mask_beside", tests, sizeof tests / sizeof *tests);
}
