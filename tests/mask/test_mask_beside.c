/* Against other programs: halo makes of their configurations what they make themselves. */
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

/* Sounds are equal to -120 dB of the peak. */
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
}

static void make_sounds(size_t channels)
{
    int format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    /* Ends in silence, since fconvolver does not output the complete tail. */
    struct sound in = sound_create(format, 48000, channels, 30000);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < 20000; i++)
            in.block.data[c][i] = (float)((double)(rand() % 20001 - 10000) / 20000);
    sound_save(&in, "in.wav");
    command_done("mkdir -p irs");
    sound_noise_file("irs/room.wav", 8, format, 48000, 2, 3000);
    sound_noise_file("irs/long one.wav", 9, format, 48000, 1, 7001);
}

static void expect_as_fconvolver(size_t channels, const char *text)
{
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

START_TEST(fconvolver_cuts)
{
    expect_as_fconvolver(1, "/cd irs\r\n/convolver/new 1 1 256 2048\r\n"
                            "/impulse/read 1 1 0.05 1000 0 0 1 room.wav\r\n");
}

/* ---- BruteFIR ---- */

/* Settings it needs explicitly. */
static const char brutefir_head[] =
    "float_bits: 64; sampling_rate: 48000; filter_length: 1024,4; overflow_warnings: false;\n"
    "show_progress: false; max_dither_table_size: 0; allow_poll_mode: false;\n"
    "modules_path: \"/usr/lib/brutefir\"; monitor_rate: false; powersave: false;\n"
    "lock_memory: false; sdf_length: -1; convolver_config: \"wisdom\";\n";

static void save_raw(const struct sound *sound, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < sound->block.frames; i++)
        for (size_t c = 0; c < sound->block.channels; c++)
            ck_assert_uint_eq(fwrite(&sound->block.data[c][i], sizeof(float), 1, file), 1);
    fclose(file);
}

/* theirs.raw as theirs.wav, cut to the length of the input. */
static void wrap_raw(size_t channels, size_t frames)
{
    char path[4096];
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, channels, frames);
    snprintf(path, sizeof path, "%s/theirs.raw", command_folder());
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    for (size_t i = 0; i < frames; i++)
        for (size_t c = 0; c < channels; c++)
            ck_assert_uint_eq(fread(&sound.block.data[c][i], sizeof(float), 1, file), 1);
    fclose(file);
    sound_save(&sound, "theirs.wav");
}

START_TEST(brutefir_network)
{
    /* The input 1 is "0": numbers without quotes are indices. */
    static const char rest[] =
        "coeff \"a\" { filename: \"a.raw\"; format: \"S24_4LE\"; attenuation: 3.0;\n"
        "  blocks: -1; skip: 8; shared_mem: false; };\n"
        "coeff 1 { filename: \"b.txt\"; format: \"text\"; attenuation: 0; blocks: 2; skip: 0;\n"
        "  shared_mem: false; };\n"
        "input \"1\",\"0\" { device: \"file\" { path: \"in.raw\"; }; sample: \"FLOAT_LE\";\n"
        "  channels: %s; delay: 0,7; maxdelay: -1; mute: false,false; };\n"
        "output 0,1 { device: \"file\" { path: \"theirs.raw\"; }; sample: \"FLOAT_LE\";\n"
        "  channels: %s; delay: 3,0; maxdelay: -1; mute: false,false; dither: false; };\n"
        "filter 0 { from_inputs: \"1\"/6/-1, \"0\"; to_outputs: 0//0.5; coeff: \"a\";\n"
        "  process: 0; delay: 0; crossfade: false; };\n"
        "filter 1 { from_inputs: 1; to_filters: 2; coeff: 1; process: 0; delay: 0;\n"
        "  crossfade: false; };\n"
        "# this one only mixes\n"
        "filter \"end\" { from_filters: 1/2; to_outputs: 1,0/-3; coeff: -1; process: 0;\n"
        "  delay: 1; crossfade: false; };\n";
    static const char *const channels[][2] = {
        {"2", "2"}, {"2/1,0", "2"}, {"2/0,1", "2/1,0"}, {"2/1,0", "2/1,0"}};
    if (!installed("brutefir")) {
        puts("brutefir is not installed: its configuration is not compared");
        return;
    }
    command_clean();
    make_sounds(2);
    struct sound in = sound_load("in.wav");
    save_raw(&in, "in.raw");
    int32_t taps[3000]; /* of 24 bits */
    for (size_t k = 0; k < 3000; k++)
        taps[k] = (rand() % 2001 - 1000) * 168;
    FILE *raw = fopen(command_path("a.raw"), "wb");
    ck_assert_uint_eq(fwrite(taps, sizeof *taps, 3000, raw), 3000);
    fclose(raw);
    command_done("seq 1 2500 | awk '{ print sin($1 * $1) / 100 }' > b.txt");
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        char text[8192];
        size_t head = (size_t)snprintf(text, sizeof text, "%s", brutefir_head);
        snprintf(text + head, sizeof text - head, rest, channels[i][0], channels[i][1]);
        sound_text("brutefir.conf", text);
        command_done("rm -f theirs.raw; brutefir -quiet -nodefault brutefir.conf");
        wrap_raw(2, in.block.frames);
        command_done(
            "$HALO render in.wav ours.wav -f --mask brutefir.conf --tail none --format float");
        expect_equal("ours.wav", "theirs.wav");
    }
}

/* ---- configurations written by halo ---- */

START_TEST(written_for_fconvolver)
{
    make_sounds(2);
    command_done("$HALO mask convert $FILTERS/crossfeed.wav 'my room.conf' --to jconvolver");
    command_done("fconvolver -T 'my room.conf' in.wav theirs.wav");
    command_done("$HALO render in.wav ours.wav --mask $FILTERS/crossfeed.wav --tail none "
                 "--format float");
    expect_equal("ours.wav", "theirs.wav");
}

START_TEST(written_for_brutefir)
{
    if (!installed("brutefir"))
        return;
    command_clean();
    make_sounds(2);
    struct sound in = sound_load("in.wav");
    save_raw(&in, "in.raw");
    command_done("$HALO mask convert $FILTERS/room-true-stereo.wav a.conf --to brutefir");
    command_done("brutefir -quiet -nodefault a.conf < in.raw > theirs.raw");
    wrap_raw(2, in.block.frames);
    command_done("$HALO render in.wav ours.wav --mask $FILTERS/room-true-stereo.wav --tail none "
                 "--format float");
    expect_equal("ours.wav", "theirs.wav");
}

int main(void)
{
    if (!installed("fconvolver")) {
        puts("skipped: fconvolver is not installed (Debian's package jconvolver)");
        return 77;
    }
    return suite_run();
}
