/* Filter chains played by PipeWire, against halo's own render: a mask written for it, and a graph
 * of all kinds of filters, whose streams have their channels in different orders. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum {
    RATE = 48000,
    FRAMES = 2 * RATE,
    TAPS = 3000,
    END = 16384,  /* which pw-cat may not play */
    ATTEMPTS = 4, /* a busy machine may lose a period */
};

/* Where the wanted sound begins in the recorded one, by its first frame. */
static size_t begin_of(const struct sound *recorded, const struct sound *wanted)
{
    float first = wanted->block.data[0][0];
    size_t i = 0;
    while (i < recorded->block.frames && fabsf(recorded->block.data[0][i] - first) > 1e-6f)
        i++;
    return i;
}

/* In dB of the peak; infinite: not all of the sound is in the recording. */
static double error_of(const struct sound *recorded, const struct sound *wanted)
{
    double peak = 0, error = 0;
    size_t begin = begin_of(recorded, wanted), count = FRAMES - END;
    if (recorded->block.frames < begin + count)
        return INFINITY;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < count; i++) {
            double ours = (double)wanted->block.data[c][i];
            peak = fmax(peak, fabs(ours));
            error = fmax(error, fabs(ours - (double)recorded->block.data[c][begin + i]));
        }
    return 20 * log10(error / peak);
}

/* The least error of a few attempts, in which PipeWire plays in.wav through the chain. */
static double play(const char *chain, double enough)
{
    double least = INFINITY;
    struct sound wanted = sound_load("wanted.wav");
    for (size_t i = 0; i < ATTEMPTS && !(least < enough); i++) {
        command_done("rm -rf run && mkdir -m 700 run && "
                     "dbus-run-session -- %s %s in.wav out.wav run",
                     PLAY_PIPEWIRE, chain);
        struct sound out = sound_load("out.wav");
        least = fmin(least, error_of(&out, &wanted));
    }
    return least;
}

/* A room's decay, so that nothing clips. */
static void make_sounds(void)
{
    sound_noise_file("in.wav", 5, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, FRAMES);
    struct sound ir = sound_noise("ir.wav", 6, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 4, TAPS);
    for (size_t c = 0; c < 4; c++)
        for (size_t k = 0; k < TAPS; k++)
            ir.block.data[c][k] *= 0.05f * expf(-(float)k / 500);
    ir.block.data[0][0] = 0.3f;
    sound_save(&ir, "ir.wav");
}

START_TEST(a_written_mask)
{
    make_sounds();
    command_done("$HALO mask convert ir.wav room.conf --to pipewire --inputs 2 --force");
    command_done("$HALO render in.wav wanted.wav -f --mask ir.wav --tail none --format float");
    double error = play("room.conf", -114);
    ck_assert_msg(error < -114, "off by %g dB", error);
}

#define NODE(name, label, more) "{ type = builtin name = " name " label = " label " " more " }\n"
#define LINK(from, to) "{ output = \"" from ":Out\" input = \"" to "\" }\n"

/* Only what all versions since 0.3.65 read alike: shelves with the slope 1, lowpass without Q. Its
 * coefficients are single precision. */
START_TEST(a_graph)
{
    make_sounds();
    FILE *chain = fopen(command_path("graph.conf"), "w");
    fprintf(
        chain,
        "context.modules = [ { name = libpipewire-module-filter-chain args = {\n"
        "filter.graph = { nodes = [\n" NODE("l", "copy", "") NODE("r", "copy", "") NODE(
            "m1", "mixer",
            "control = { \"Gain 1\" = "
            "0.6 \"Gain 2\" = -0.3 }") NODE("m2", "mixer", "control = { \"Gain 2\" = 0.5 }")
            NODE("peak", "bq_peaking", "control = { Freq = 1000 Q = 1.3 Gain = -6 }")
                NODE("low", "bq_lowshelf", "control = { Freq = 300 Q = 0.70710678 Gain = 4 }") NODE(
                    "high", "bq_highshelf", "control = { Freq = 5000 Q = 0.70710678 Gain = -3 }")
                    NODE("notch", "bq_notch", "control = { Freq = 3000 Q = 2 }") NODE(
                        "band", "bq_bandpass",
                        "control = { Freq = 800 Q = 0.5 }") NODE("all", "bq_allpass",
                                                                 "control = { Freq = 700 Q = 0.9 }")
                        NODE("pass", "bq_lowpass", "control = { Freq = 9000 }") NODE(
                            "turn", "convolver",
                            "config = { filename = /hilbert length = 65 gain = 0.7 }")
                            NODE("room", "convolver",
                                 "config = { filename = \"%s\" channel = 1 offset = 10 length "
                                 "= 500 delay = 33 gain = 0.9 }") "] links = [\n" LINK("l",
                                                                                       "peak:In")
                                LINK("peak", "low:In") LINK("low", "high:In") LINK(
                                    "high", "notch:In") LINK("notch", "m1:In 1")
                                    LINK("r", "band:In") LINK("band", "all:In") LINK(
                                        "all", "pass:In") LINK("pass", "m1:In 2") LINK("l",
                                                                                       "turn:In")
                                        LINK("turn", "m2:In 1") LINK("r", "room:In") LINK(
                                            "room",
                                            "m2:In 2") "] inputs = [ \"l:In\" \"r:In\" ] outputs = [ \"m1:Out\" \"m2:Out\" ] }\n"
                                                       "audio.channels = 2 audio.position = [ FL FR ]\n"
                                                       "capture.props = { node.name = halo_input.graph media.class = Audio/Sink "
                                                       "audio.position = [ FR FL ] }\n"
                                                       "playback.props = { node.name = halo_output.graph node.passive = true } } } ]\n",
        command_path("ir.wav"));
    fclose(chain);
    command_done("$HALO render in.wav wanted.wav -f --mask graph.conf --tail none --format float");
    double error = play("graph.conf", -85);
    ck_assert_msg(error < -85, "off by %g dB", error);
}
