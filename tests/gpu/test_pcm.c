/* Packing sound as integers: samples that do not fit exactly are not packed. */
#include "gpu/pcm.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <string.h>

enum { FRAMES = 5000 };

static float sample_of(enum pcm pcm, const unsigned char *bytes, size_t i)
{
    if (pcm == PCM_16) {
        short value;
        memcpy(&value, bytes + 2 * i, sizeof value);
        return (float)value / 32768.0f;
    }
    const unsigned char *three = bytes + 3 * i;
    int value = three[0] | three[1] << 8 | (signed char)three[2] * 65536;
    return (float)value / 8388608.0f;
}

static void quantised(uint64_t seed, int bits, float *samples)
{
    truth_noise(seed, samples, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        samples[i] = (float)ldexp(rint(ldexp((double)samples[i], bits - 1)), 1 - bits);
    samples[0] = -1.0f;
    samples[1] = (float)(1 - ldexp(1, 1 - bits));
    samples[2] = 0.0f;
}

START_TEST(integer_samples_are_restored)
{
    static float samples[FRAMES];
    static unsigned char bytes[4 * FRAMES];
    const enum pcm forms[] = {PCM_16, PCM_24};
    for (size_t f = 0; f < 2; f++) {
        quantised(f, f == 0 ? 16 : 24, samples);
        ck_assert(pcm_pack(forms[f], samples, FRAMES, bytes));
        for (size_t i = 0; i < FRAMES; i++)
            ck_assert(sample_of(forms[f], bytes, i) == samples[i]);
    }
    ck_assert(pcm_pack(PCM_FLOAT, samples, FRAMES, bytes));
    ck_assert_int_eq(memcmp(bytes, samples, sizeof samples), 0);
}

START_TEST(other_samples_are_refused)
{
    static float samples[FRAMES];
    static unsigned char bytes[4 * FRAMES];
    const float wrong[] = {0x1p-16f, 1.0f, -1.0001f, 1e30f, -INFINITY, NAN, 0.5f + 0x1p-20f};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
        for (size_t at = 0; at < FRAMES; at += FRAMES - 1) {
            quantised(3, 16, samples);
            samples[at] = wrong[w];
            ck_assert_msg(!pcm_pack(PCM_16, samples, FRAMES, bytes), "%g", (double)wrong[w]);
        }
    quantised(4, 24, samples);
    ck_assert(!pcm_pack(PCM_16, samples, FRAMES, bytes));
    samples[77] = 0x1p-25f;
    ck_assert(!pcm_pack(PCM_24, samples, FRAMES, bytes));
}
