/* A mask written for PipeWire, played by PipeWire, against halo's own render. */
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

static double play(const struct sound *wanted)
{
    command_done("rm -rf run && mkdir -m 700 run && "
                 "dbus-run-session -- %s room.conf in.wav out.wav run",
                 PLAY_PIPEWIRE);
    struct sound out = sound_load("out.wav");
    double error = error_of(&out, wanted);
    sound_free(&out);
    return error;
}

START_TEST(pipewire_plays_what_halo_renders)
{
    struct sound in = sound_noise("in.wav", 5, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, FRAMES);
    struct sound ir = sound_noise("ir.wav", 6, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 4, TAPS);
    for (size_t c = 0; c < 4; c++) /* a room's decay, so that nothing clips */
        for (size_t k = 0; k < TAPS; k++)
            ir.block.data[c][k] *= 0.05f * expf(-(float)k / 500);
    ir.block.data[0][0] = 0.3f;
    sound_save(&ir, "ir.wav");
    command_done("$HALO mask convert ir.wav room.conf --to pipewire --inputs 2");
    command_done("$HALO render in.wav wanted.wav --mask ir.wav --tail none --format float");
    struct sound wanted = sound_load("wanted.wav");
    double error = INFINITY;
    for (size_t i = 0; i < ATTEMPTS && !(error < -114); i++)
        error = play(&wanted);
    ck_assert_msg(error < -114, "off by %g dB", error);
    sound_free(&wanted);
    sound_free(&ir);
    sound_free(&in);
}
END_TEST

SUITE_MAIN("mask_played", pipewire_plays_what_halo_renders)
