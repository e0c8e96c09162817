#include "signal/loudness.h"

#include "base/plural.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/ebur128_library.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 1024,
    HOPS = 4, /* hops of 100 ms in a block of 400 ms */
    BLOCKS_FIRST = 256,
    LAID_OUT_MOST = 6,
    PEAK_RATE = 48000, /* Hz; it only decides the oversampling, which must be 4 at any rate */
    PEAK_BEFORE = 24,  /* frames; libebur128's interpolation filter looks back no farther */
    PEAK_PIECE = 64,   /* frames, at least PEAK_BEFORE */
    PEAK_PHASES = 3,   /* phases between two samples */
    PEAK_TAPS = 12,    /* taps of each phase */
};

/* At least sum |h| of each phase of that filter, a sinc of 49 taps in a Hann window: 1.865. */
static const double PEAK_GAIN = 1.9;

static const double PEAK_MARGIN = 1.001; /* factor by which rounding changes a peak at most */

static const double GATE = -70, RELATIVE_GATE = -10; /* LUFS, LU */

struct loudness {
    ebur128_state *state;
    uint32_t rate;
    size_t channels;
    size_t hop; /* frames from one block to the next */
    float *interleaved;
    uint64_t frames;
    double energy;  /* sum of squares over all channels */
    double *blocks; /* LUFS of each block */
    size_t count, capacity;
};

void loudness_destroy(struct loudness *meter)
{
    if (!meter)
        return;
    if (meter->state)
        ebur128_destroy(&meter->state);
    free(meter->interleaved);
    free(meter->blocks);
    free(meter);
}

enum status loudness_create(uint32_t rate, size_t channels, struct loudness **result)
{
    TRY(library_open(&ebur128_library));
    struct loudness *meter = calloc(1, sizeof *meter);
    if (!meter)
        return fail_memory("a meter");
    meter->rate = rate;
    meter->channels = channels;
    meter->hop = (rate + 5) / 10; /* rounded as in libebur128 */
    meter->interleaved = audio_alloc(CHUNK * channels);
    enum status status = STATUS_OK;
    if (!meter->interleaved)
        status = fail_memory("a meter");
    /* With mode M's shorter window, libebur128 1.2.6 reads past its end below 18 Hz. */
    else if (!(meter->state = ebur128_init((unsigned)channels, rate, EBUR128_MODE_S)))
        status = fail(CAUSE_UNSUPPORTED, "cannot measure the loudness of %zu channel%s at %u Hz",
                      channels, plural_s(channels), rate);
    if (status != STATUS_OK) {
        loudness_destroy(meter);
        return status;
    }
    for (size_t c = 0; c < channels && channels > LAID_OUT_MOST; c++)
        ebur128_set_channel(meter->state, (unsigned)c, EBUR128_LEFT);
    *result = meter;
    return STATUS_OK;
}

/* Adds the block that ends here. Blocks are kept, since the gain decides which blocks count. */
static enum status add_block(struct loudness *meter)
{
    if (meter->count == meter->capacity) {
        size_t capacity = meter->capacity ? 2 * meter->capacity : BLOCKS_FIRST;
        double *blocks = realloc(meter->blocks, capacity * sizeof *blocks);
        if (!blocks)
            return fail_memory("measuring loudness");
        meter->blocks = blocks;
        meter->capacity = capacity;
    }
    double *level = &meter->blocks[meter->count++];
    *level = -INFINITY;
    (void)ebur128_loudness_momentary(meter->state, level);
    return STATUS_OK;
}

static size_t until_hop(const struct loudness *meter, size_t frames)
{
    size_t left = meter->hop - (size_t)(meter->frames % meter->hop);
    size_t most = left < CHUNK ? left : CHUNK;
    return frames < most ? frames : most;
}

static enum status add_interleaved(struct loudness *meter, size_t frames)
{
    if (ebur128_add_frames_float(meter->state, meter->interleaved, frames) != EBUR128_SUCCESS)
        return fail_memory("measuring loudness");
    for (size_t i = 0; i < frames * meter->channels; i++)
        meter->energy += (double)meter->interleaved[i] * (double)meter->interleaved[i];
    meter->frames += frames;
    bool ends_block = meter->frames % meter->hop == 0 && meter->frames >= HOPS * meter->hop;
    return ends_block ? add_block(meter) : STATUS_OK;
}

enum status loudness_add(struct loudness *meter, const float *const *planar, size_t frames)
{
    for (size_t done = 0, part; done < frames; done += part) {
        part = until_hop(meter, frames - done);
        audio_interleave(planar, done, meter->channels, part, meter->interleaved);
        TRY(add_interleaved(meter, part));
    }
    return STATUS_OK;
}

enum status loudness_add_in_double(struct loudness *meter, const double *const *planar,
                                   size_t frames)
{
    for (size_t done = 0, part; done < frames; done += part) {
        part = until_hop(meter, frames - done);
        for (size_t c = 0; c < meter->channels; c++)
            for (size_t i = 0; i < part; i++)
                meter->interleaved[i * meter->channels + c] = (float)planar[c][done + i];
        TRY(add_interleaved(meter, part));
    }
    return STATUS_OK;
}

/* The mean of the blocks at or above the gate. Silence is below any gate. */
static double mean_above(const struct loudness *meter, double gate)
{
    double power = 0;
    size_t count = 0;
    for (size_t i = 0; i < meter->count; i++)
        if (meter->blocks[i] >= gate) {
            power += pow(10, meter->blocks[i] / 10);
            count++;
        }
    return count > 0 ? 10 * log10(power / (double)count) : -INFINITY;
}

double loudness_integrated_with(const struct loudness *meter, double gain_db)
{
    double level = -INFINITY, gate = GATE - gain_db;
    if (meter->count > 0) {
        level = mean_above(meter, fmax(gate, mean_above(meter, gate) + RELATIVE_GATE));
    } else if (meter->frames > 0) {
        uint64_t milliseconds = meter->frames * 1000 / meter->rate;
        (void)ebur128_loudness_window(meter->state, milliseconds ? milliseconds : 1, &level);
    }
    return level + gain_db;
}

double loudness_integrated(const struct loudness *meter)
{
    return loudness_integrated_with(meter, 0);
}

/* First all blocks count. Each gain then gates other blocks. */
double loudness_gain_to(const struct loudness *meter, double target)
{
    enum { LOUD = 300, ROUNDS = 20 };
    double gain = target - loudness_integrated_with(meter, LOUD) + LOUD;
    for (int i = 0; i < ROUNDS && isfinite(gain); i++)
        gain += target - loudness_integrated_with(meter, gain);
    return floor(gain * 100) / 100;
}

double loudness_rms(const struct loudness *meter)
{
    double samples = (double)meter->frames * (double)meter->channels;
    return samples > 0 ? 10 * log10(meter->energy / samples) : -INFINITY;
}

/* A channel's samples of a piece, after the samples before it. */
struct peak_piece {
    float samples[PEAK_BEFORE + PEAK_PIECE];
};

struct true_peak_channel {
    ebur128_state *state;
    bool primed; /* the meter has received the last PEAK_BEFORE samples */
    struct peak_piece piece;
};

struct true_peak {
    size_t channels;
    double highest; /* highest peak so far */
    float taps[PEAK_PHASES][PEAK_TAPS];
    struct true_peak_channel channel[];
};

/* Computes libebur128's taps: a sinc of 49 taps at four times the rate, in a Hann window. */
static void init_taps(struct true_peak *meter)
{
    enum { FACTOR = PEAK_PHASES + 1, MIDDLE = FACTOR * PEAK_TAPS / 2 };
    for (int phase = 1; phase <= PEAK_PHASES; phase++)
        for (int t = 0; t < PEAK_TAPS; t++) {
            double x = M_PI * (FACTOR * t + phase - MIDDLE);
            double window = 0.5 * (1 + cos(x / MIDDLE));
            meter->taps[phase - 1][t] = (float)(window * sin(x / FACTOR) / (x / FACTOR));
        }
}

/* The peak between the samples of a piece, except for rounding. */
SIMD_CLONES
static float interpolated_peak(const struct true_peak *meter, const float *now)
{
    float sum[PEAK_PIECE], peak = 0;
    for (int phase = 0; phase < PEAK_PHASES; phase++) {
        memset(sum, 0, sizeof sum);
        for (int t = 0; t < PEAK_TAPS; t++)
            for (int i = 0; i < PEAK_PIECE; i++)
                sum[i] += meter->taps[phase][t] * now[i - t];
        for (int i = 0; i < PEAK_PIECE; i++)
            peak = fabsf(sum[i]) > peak ? fabsf(sum[i]) : peak;
    }
    return peak;
}

/* Whether the piece may have a higher peak than the sound so far. */
static bool may_exceed(const struct true_peak *meter, const float *now, size_t frames)
{
    double peak = (double)audio_peak(now - PEAK_BEFORE, PEAK_BEFORE + frames);
    if (PEAK_GAIN * peak <= meter->highest)
        return false;
    return frames < PEAK_PIECE || PEAK_MARGIN * peak > meter->highest ||
           PEAK_MARGIN * (double)interpolated_peak(meter, now) > meter->highest;
}

enum status true_peak_create(size_t channels, struct true_peak **result)
{
    TRY(library_open(&ebur128_library));
    struct true_peak *meter = calloc(1, sizeof *meter + channels * sizeof *meter->channel);
    if (!meter)
        return fail_memory("a meter");
    meter->channels = channels;
    init_taps(meter);
    for (size_t c = 0; c < channels; c++) {
        meter->channel[c].state = ebur128_init(1, PEAK_RATE, EBUR128_MODE_TRUE_PEAK);
        if (!meter->channel[c].state) {
            true_peak_destroy(meter);
            return fail_memory("a meter");
        }
    }
    *result = meter;
    return STATUS_OK;
}

void true_peak_destroy(struct true_peak *meter)
{
    for (size_t c = 0; meter && c < meter->channels; c++)
        if (meter->channel[c].state)
            ebur128_destroy(&meter->channel[c].state);
    free(meter);
}

/* Gives libebur128, which is slow, only a piece that may exceed the peak so far. Few can. */
static void measure_piece(struct true_peak *meter, struct true_peak_channel *channel, size_t frames)
{
    float *before = channel->piece.samples, *now = before + PEAK_BEFORE;
    double peak = 0;
    if (may_exceed(meter, now, frames)) {
        if (!channel->primed)
            (void)ebur128_add_frames_float(channel->state, before, PEAK_BEFORE);
        (void)ebur128_add_frames_float(channel->state, now, frames);
        (void)ebur128_prev_true_peak(channel->state, 0, &peak);
        meter->highest = fmax(meter->highest, peak);
        channel->primed = true;
    } else {
        channel->primed = false;
    }
    memmove(before, before + frames, PEAK_BEFORE * sizeof *before);
}

void true_peak_add(struct true_peak *meter, const float *const *planar, size_t frames)
{
    for (size_t c = 0; c < meter->channels; c++)
        meter->highest = fmax(meter->highest, (double)audio_peak(planar[c], frames));
    for (size_t c = 0; c < meter->channels; c++)
        for (size_t done = 0, part; done < frames; done += part) {
            struct true_peak_channel *channel = &meter->channel[c];
            part = frames - done < PEAK_PIECE ? frames - done : PEAK_PIECE;
            memcpy(channel->piece.samples + PEAK_BEFORE, planar[c] + done, part * sizeof(float));
            measure_piece(meter, channel, part);
        }
}

void true_peak_add_in_double(struct true_peak *meter, const double *const *planar, size_t frames)
{
    for (size_t c = 0; c < meter->channels; c++)
        for (size_t done = 0, part; done < frames; done += part) {
            struct true_peak_channel *channel = &meter->channel[c];
            part = frames - done < PEAK_PIECE ? frames - done : PEAK_PIECE;
            for (size_t i = 0; i < part; i++)
                channel->piece.samples[PEAK_BEFORE + i] = (float)planar[c][done + i];
            measure_piece(meter, channel, part);
        }
}

double true_peak_finish(struct true_peak *meter)
{
    for (size_t c = 0; c < meter->channels; c++) {
        memset(meter->channel[c].piece.samples + PEAK_BEFORE, 0, PEAK_BEFORE * sizeof(float));
        measure_piece(meter, &meter->channel[c], PEAK_BEFORE);
    }
    return meter->highest;
}
