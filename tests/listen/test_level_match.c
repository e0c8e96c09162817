/* Matched choices: levels against sums and ffmpeg's meter, delays to the sample. */
#include "base/noise.h"
#include "command.h"
#include "import/mask_load.h"
#include "listen/level_match.h"
#include "mask/mask_delay.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, SKIPPED = 77 };

static struct region *region_of(const char *path, double from, double to)
{
    struct region *region;
    const struct region_settings settings = {.path = path, .from = from, .to = to};
    ck_assert_int_eq(region_open(&settings, &region), STATUS_OK);
    return region;
}

static struct region *recording(const char *name, double from, double to)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("WAV"), name);
    return region_of(path, from, to);
}

static struct mask *filter_for(const char *name, const struct region *region)
{
    struct mask *mask;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("FILTERS"), name);
    ck_assert_int_eq(mask_load_with(path, &(struct mask_load_options){0}, &mask), STATUS_OK);
    if (mask->rate && mask->rate != region->format.rate)
        ck_assert_int_eq(mask_resample(mask, region->format.rate, NULL), STATUS_OK);
    ck_assert_int_eq(
        mask_route(mask, region->format.channels, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO),
        STATUS_OK);
    return suite_mask(mask);
}

static struct mask *changed(const struct mask *mask, const struct level_match *change)
{
    struct mask *copy;
    ck_assert_int_eq(level_match_apply(mask, change, &copy), STATUS_OK);
    return suite_mask(copy);
}

/* The same mask with a gain, after some frames of silence. */
static struct mask *variant(const struct mask *mask, double gain, size_t frames)
{
    return changed(mask,
                   &(struct level_match){.gain_db = gain, .zeros = frames, .origin = mask->origin});
}

static void measure(const struct level_match_settings *settings, struct region *region,
                    struct mask *const *masks, size_t count, struct level_match *matches)
{
    ck_assert_int_eq(level_match_measure(settings, &(struct mask_levels_sound){.region = region},
                                         (const struct mask *const *)masks, count, matches),
                     STATUS_OK);
}

/* The output of a mask over the looped region, once its tail has wrapped around. */
static struct sound looped(struct region *region, const struct mask *mask)
{
    size_t length = (size_t)(region->to - region->from), got;
    size_t times = (mask->taps - 1 + length - 1) / length + 1;
    struct block in = stream_block(region->format.channels, times * length);
    for (size_t i = 0; i < times; i++) {
        float *at[in.channels];
        for (size_t c = 0; c < in.channels; c++)
            at[c] = in.data[c] + i * length;
        ck_assert_int_eq(region_seek(region, region->from), STATUS_OK);
        ck_assert_int_eq(region_read(region, at, length, &got), STATUS_OK);
        ck_assert_uint_eq(got, length);
    }
    double **out = truth_render(mask, in.data, in.frames);
    struct sound sound =
        sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, region->format.rate, mask->outputs, length);
    for (size_t c = 0; c < mask->outputs; c++)
        for (size_t i = 0; i < length; i++)
            sound.block.data[c][i] = (float)out[c][in.frames - length + i];
    return sound;
}

static double rms_of(const struct sound *sound)
{
    double sum = 0;
    for (size_t c = 0; c < sound->block.channels; c++)
        for (size_t i = 0; i < sound->block.frames; i++)
            sum += pow((double)sound->block.data[c][i], 2);
    return 10 * log10(sum / (double)(sound->block.frames * sound->block.channels));
}

static double peak_of(const struct sound *sound)
{
    float peak = 0;
    for (size_t c = 0; c < sound->block.channels; c++)
        peak = fmaxf(peak, audio_peak(sound->block.data[c], sound->block.frames));
    return peak;
}

static void expect_line(const struct level_match *match, const char *label, bool aligned,
                        const char *right)
{
    char text[128];
    level_match_describe(match, label, RATE, aligned, text, sizeof text);
    ck_assert_str_eq(text, right);
}

static const enum level_match_by ways[] = {LEVEL_MATCH_RMS, LEVEL_MATCH_R128};

START_TEST(a_softer_later_copy_is_the_same)
{
    static const char *const names[] = {"hall.wav", "lowpass-1k.wav", "identity.txt"};
    struct region *region = recording("drums.wav", 1, 4.5);
    for (size_t n = 0; n < 3; n++)
        for (size_t w = 0; w < 2; w++) {
            const struct level_match_settings settings = {.by = ways[w], .align = true};
            struct level_match matches[2];
            struct mask *masks[2], *matched[2];
            masks[0] = filter_for(names[n], region);
            masks[1] = variant(masks[0], -6, 100);
            measure(&settings, region, masks, 2, matches);
            ck_assert_double_eq_tol(matches[0].gain_db, -6, 0.01);
            ck_assert_double_eq_tol(matches[1].gain_db, 0, 1e-9);
            ck_assert_int_eq(matches[1].later, 100);
            ck_assert_uint_eq(matches[0].shift, 100);
            ck_assert_uint_eq(matches[1].shift, 0);
            expect_line(&matches[0], "A", true, "A: -6.0 dB");
            expect_line(&matches[1], "B", true, "B: 0.0 dB, 2.1 ms later, aligned");
            expect_line(&matches[1], "B", false, "B: 0.0 dB, 2.1 ms later, not aligned");
            for (size_t i = 0; i < 2; i++)
                matched[i] = changed(masks[i], &matches[i]);
            ck_assert_uint_eq(matched[0]->taps, matched[1]->taps);
            ck_assert_uint_eq(matched[0]->origin, matched[1]->origin);
            double most = audio_peak_in_double(matched[0]->coefficients,
                                               matched[0]->taps * matched[0]->columns);
            size_t wrong = 0;
            for (size_t k = 0; k < matched[0]->taps * matched[0]->columns; k++)
                wrong +=
                    fabs(matched[0]->coefficients[k] - matched[1]->coefficients[k]) > 1e-3 * most;
            ck_assert_uint_eq(wrong, 0);
        }
    region_close(region);
}

/* The very same sound, late: whatever part of it is measured. */
START_TEST(a_late_copy_is_as_loud)
{
    static const struct {
        double from, to;
        uint64_t frames;
    } parts[] = {{0.5, 2, 0}, {0.5, 2, 72000}, {0.5, 2, 100000}, {0, 0.3, 0}, {0, 0.3, 14400}};
    static const size_t delays[] = {2000, 7919, RATE};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (size_t d = 0; d < sizeof delays / sizeof *delays; d++) {
            struct region *region = recording("drums.wav", parts[p].from, parts[p].to);
            struct level_match matches[2];
            struct mask *masks[2];
            masks[0] = filter_for("identity.txt", region);
            masks[1] = variant(masks[0], 0, delays[d]);
            ck_assert_int_eq(
                level_match_measure(
                    &(struct level_match_settings){.by = LEVEL_MATCH_R128, .align = true},
                    &(struct mask_levels_sound){.region = region, .frames = parts[p].frames},
                    (const struct mask *const *)masks, 2, matches),
                STATUS_OK);
            ck_assert_uint_eq(matches[0].shift, delays[d]);
            ck_assert_double_eq_tol(matches[0].gain_db, 0, 1e-4);
            ck_assert_double_eq_tol(matches[1].gain_db, 0, 1e-4);
            region_close(region);
        }
}

/* A click in silence is below the gate of -70 LUFS, and is heard. */
START_TEST(sounds_below_the_gate_are_matched)
{
    struct sound click = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, 3 * RATE);
    struct level_match matches[2];
    struct mask *masks[2];
    char path[512];
    click.block.data[0][RATE] = 0.02F;
    sound_save(&click, "click.wav");
    snprintf(path, sizeof path, "%s/click.wav", command_folder());
    struct region *region = region_of(path, 0, 0);
    masks[0] = filter_for("identity.txt", region);
    masks[1] = variant(masks[0], -12, 0);
    measure(&(struct level_match_settings){.by = LEVEL_MATCH_R128}, region, masks, 2, matches);
    ck_assert_double_lt(matches[0].loudness, -70);
    ck_assert_double_eq_tol(matches[0].gain_db, -12, 0.01);
    ck_assert_double_eq_tol(matches[1].gain_db, 0, 1e-9);
    region_close(region);
}

/* Against sums over the loop as defined: long tails over a short region, several masks at once,
 * a region of the sound. */
START_TEST(levels_are_measured_over_the_loop)
{
    static const char *const names[] = {"hall.wav", "telephone.wav", "comb.txt", "slap-echo.wav",
                                        "reverse.wav"};
    enum { COUNT = sizeof names / sizeof *names };
    static const double ends[] = {0.31, 2.5};
    const struct level_match_settings settings = {.by = LEVEL_MATCH_RMS};
    for (size_t e = 0; e < 2; e++) {
        struct region *region = recording("drums.wav", 0.3, ends[e]);
        struct mask *masks[COUNT];
        struct level_match matches[COUNT];
        double quietest = INFINITY;
        for (size_t i = 0; i < COUNT; i++)
            masks[i] = filter_for(names[i], region);
        measure(&settings, region, masks, COUNT, matches);
        for (size_t i = 0; i < COUNT; i++) {
            struct sound sound = looped(region, masks[i]);
            ck_assert_double_eq_tol(matches[i].loudness, rms_of(&sound), 0.001);
            ck_assert_double_eq_tol(matches[i].peak, peak_of(&sound), 1e-3 * peak_of(&sound));
            quietest = fmin(quietest, rms_of(&sound));
        }
        for (size_t i = 0; i < COUNT; i++) {
            ck_assert_double_eq_tol(matches[i].gain_db, quietest - matches[i].loudness, 0.002);
            ck_assert_double_le(matches[i].gain_db, 0);
            ck_assert_uint_eq(matches[i].shift, 0); /* not requested */
        }
        region_close(region);
    }
}

/* Whatever the delays, origins and kinds, the final delays are equal. */
START_TEST(delays_are_matched)
{
    static const char *const names[] = {"identity.txt",       "lowpass-1k.wav",   "hall.wav",
                                        "moving-average.txt", "highpass-100.wav", "reverse.wav"};
    static const int later[] = {0, 600, 0, 23, 2000, 35519}; /* from filters/README.md */
    enum { COUNT = sizeof names / sizeof *names };
    const struct level_match_settings settings = {.by = LEVEL_MATCH_NONE, .align = true};
    struct region *region = recording("drums.wav", 0, 1);
    for (size_t centred = 0; centred <= COUNT; centred++) {
        struct mask *masks[COUNT], *matched;
        struct level_match matches[COUNT];
        int64_t delay, first = 0;
        for (size_t i = 0; i < COUNT; i++) {
            masks[i] = filter_for(names[i], region);
            if (i == centred)
                mask_align(masks[i], MASK_ALIGN_CENTRE);
        }
        measure(&settings, region, masks, COUNT, matches);
        uint64_t fewest = UINT64_MAX;
        for (size_t i = 0; i < COUNT; i++) {
            int origin = (int)masks[i]->origin - (int)masks[0]->origin;
            ck_assert_int_eq(matches[i].later, later[i] - origin);
            ck_assert(isnan(matches[i].loudness));
            ck_assert_double_eq(matches[i].gain_db, 0);
            matched = changed(masks[i], &matches[i]);
            ck_assert_uint_eq(matched->origin, matches[0].origin);
            ck_assert_int_eq(mask_delay(matched, MASK_DELAY_AUTO, &delay), STATUS_OK);
            first = i == 0 ? delay : first;
            ck_assert_int_eq(delay, first);
            fewest = matches[i].zeros < fewest ? matches[i].zeros : fewest;
        }
        ck_assert_uint_eq(fewest, 0);
    }
    region_close(region);
}

/* Not aligned: but origins of masks still refer to the same time. */
START_TEST(origins_are_matched)
{
    const struct level_match_settings settings = {.by = LEVEL_MATCH_NONE};
    struct region *region = recording("drums.wav", 0, 1);
    struct mask *masks[] = {filter_for("hall.wav", region), filter_for("gaussian.txt", region)};
    struct level_match matches[2];
    mask_align(masks[1], MASK_ALIGN_CENTRE);
    measure(&settings, region, masks, 2, matches);
    ck_assert_uint_eq(matches[0].zeros, 16);
    ck_assert_uint_eq(matches[1].zeros, 0);
    ck_assert_uint_eq(matches[0].origin, 16);
    ck_assert_uint_eq(matches[1].origin, 16);
    ck_assert_uint_eq(matches[0].shift + matches[1].shift, 0);
    region_close(region);
}

START_TEST(no_choice_exceeds_the_ceiling)
{
    struct region *region = recording("drums.wav", 0, 3);
    struct mask *masks[3];
    struct level_match matches[3];
    masks[0] = filter_for("identity.txt", region);
    masks[1] = variant(masks[0], 20, 0);
    masks[2] = variant(masks[0], 14, 7);
    struct sound dry = looped(region, masks[0]);
    double peak = audio_to_db(peak_of(&dry));
    measure(&(struct level_match_settings){.by = LEVEL_MATCH_NONE, .ceiling = 0.5}, region, masks,
            3, matches);
    double common = audio_to_db(0.5) - (peak + 20);
    for (size_t i = 0; i < 3; i++)
        ck_assert_double_eq_tol(matches[i].gain_db, common, 0.001);
    measure(&(struct level_match_settings){.by = LEVEL_MATCH_RMS, .ceiling = 0.125}, region, masks,
            3, matches);
    common = fmin(0, audio_to_db(0.125) - peak);
    ck_assert_double_eq_tol(matches[0].gain_db, common, 0.001);
    ck_assert_double_eq_tol(matches[1].gain_db, common - 20, 0.001);
    ck_assert_double_eq_tol(matches[2].gain_db, common - 14, 0.001);
    region_close(region);
}

START_TEST(silence_is_left_out)
{
    struct region *region = recording("drums.wav", 0, 2);
    struct mask *masks[3];
    struct level_match matches[3];
    masks[1] = filter_for("identity.txt", region);
    masks[0] = variant(masks[1], -INFINITY, 50);
    masks[2] = variant(masks[1], 3, 10);
    measure(&(struct level_match_settings){.by = LEVEL_MATCH_R128, .align = true}, region, masks, 3,
            matches);
    ck_assert(isinf(matches[0].loudness));
    ck_assert_double_eq(matches[0].gain_db, 0);
    ck_assert_double_eq_tol(matches[1].gain_db, 0, 1e-9);
    ck_assert_double_eq_tol(matches[2].gain_db, -3, 0.01);
    ck_assert_int_eq(matches[2].later - matches[1].later, 10);
    expect_line(&matches[0], "A", true, "A: silent here, level unchanged");
    region_close(region);
}

/* The last seconds of a live input: the frames before them feed the masks but are not measured,
 * and nothing loops. */
START_TEST(sound_in_memory_does_not_loop)
{
    struct mask *mask = truth_noise_mask(5, 2, 3000);
    struct level_match match;
    struct block block;
    uint64_t state = 9;
    block = stream_block(2, 50000);
    for (size_t i = 0; i < 100000; i++)
        block.data[i % 2][i / 2] = noise_next(&state) * (i < 30000 ? 1 : 0.1F);
    double **out = truth_render(mask, block.data, block.frames), sum = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 20000; i < 50000; i++)
            sum += out[c][i] * out[c][i];
    const struct mask *masks[] = {mask};
    const struct mask_levels_sound sound = {.block = &block, .rate = RATE, .before = 20000};
    ck_assert_int_eq(level_match_measure(&(struct level_match_settings){.by = LEVEL_MATCH_RMS},
                                         &sound, masks, 1, &match),
                     STATUS_OK);
    ck_assert_double_eq_tol(match.loudness, 10 * log10(sum / 60000), 0.001);
}

struct seen {
    uint64_t frames;
    int64_t total;
    size_t calls;
};

static void look(void *context, uint64_t frames, int64_t total)
{
    struct seen *seen = context;
    ck_assert_uint_gt(frames, seen->frames);
    ck_assert(seen->calls == 0 || total == seen->total);
    *seen = (struct seen){frames, total, seen->calls + 1};
}

START_TEST(progress_reaches_its_end)
{
    struct seen seen = {0};
    struct region *region = recording("drums.wav", 0, 0);
    struct mask *masks[] = {filter_for("identity.txt", region),
                            filter_for("telephone.wav", region)};
    struct level_match matches[2];
    const struct level_match_settings settings = {.by = LEVEL_MATCH_R128,
                                                  .progress = {look, &seen}};
    measure(&settings, region, masks, 2, matches);
    ck_assert_int_eq((int64_t)seen.frames, seen.total);
    ck_assert_int_ge(seen.total, 2 * (int64_t)region->frames);
    region_close(region);
}

START_TEST(matched_choices_are_equally_loud_to_ffmpeg)
{
    static const char *const names[] = {"telephone.wav", "hall.wav"};
    struct region *region = recording("drums.wav", 0, 0);
    struct mask *masks[2], *matched[2];
    struct level_match matches[2];
    double levels[2];
    for (size_t i = 0; i < 2; i++)
        masks[i] = filter_for(names[i], region);
    measure(&(struct level_match_settings){.by = LEVEL_MATCH_R128, .align = true}, region, masks, 2,
            matches);
    for (size_t i = 0; i < 2; i++) {
        matched[i] = changed(masks[i], &matches[i]);
        struct sound sound = looped(region, matched[i]);
        sound_save(&sound, "matched.wav");
        levels[i] = sound_ffmpeg_loudness("matched.wav");
    }
    ck_assert_double_eq_tol(levels[0], levels[1], 0.05);
    ck_assert_double_eq_tol(levels[0], fmin(matches[0].loudness, matches[1].loudness), 0.1);
    ck_assert_double_gt(fabs(matches[0].loudness - matches[1].loudness), 1);
    region_close(region);
}

int main(void)
{
    bool is_there = system("command -v ffmpeg >/dev/null 2>&1") == 0;
    if (!is_there)
        suite_leave_out("matched_choices_are_equally_loud_to_ffmpeg");
    int failed = suite_run();
    if (failed || is_there)
        return failed;
    puts("skipped: ffmpeg is not installed");
    return SKIPPED;
}
