/* The guard against feedback in the live step, on loops of any spectrum and on sounds that are no
 * feedback.
 *
 * The input is a source and what was played, later, through a path: a wire or a room.
 * HALO_TEST_FULL=1: thirty minutes of loud sounds instead of one, all notes, and rooms.
 * HALO_TEST_TABLE=1 prints what docs/measurements.md has.
 */
#include "command.h"
#include "live/feedback_guard.h"
#include "live/live.h"
#include "live/recorder.h"
#include "signal/audio.h"
#include "sound.h"
#include "sound/gain.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, BLOCK_MOST = 1024, SECONDS_MOST = 100, TAPS_MOST = 2400, EVENTS_MOST = 64 };

#define CEILING 0.891251f /* -1 dB */
#define NEVER SIZE_MAX

static float source[SECONDS_MOST * RATE], played[SECONDS_MOST * RATE];

struct loop {
    size_t frames, block; /* block 0: 64 */
    double gain_db;
    size_t delay; /* of the path; 0: there is none */
    float path[TAPS_MOST];
    size_t path_taps;
    size_t opened; /* since that frame there is no path, either */
    const char *record;
    bool first_mute; /* it ends there */
    bool fades_in;
};

struct outcome {
    size_t over; /* the first frame above the ceiling, or NEVER */
    float peak;  /* of what was played */
    struct live_event events[EVENTS_MOST];
    size_t event_count;
    size_t mutes;
};

static double convolve(const float *taps, size_t count, const float *samples, size_t at)
{
    float sums[8] = {0};
    size_t k = 0;
    for (; k + 8 <= count && k + 8 <= at + 1; k += 8)
        for (size_t i = 0; i < 8; i++)
            sums[i] += taps[k + i] * samples[at - k - i];
    for (; k < count && k <= at; k++)
        sums[0] += taps[k] * samples[at - k];
    double sum = 0;
    for (size_t i = 0; i < 8; i++)
        sum += (double)sums[i];
    return sum;
}

/* Plays `source` into `played`. */
static struct outcome run(const struct loop *loop, bool guarded)
{
    const struct live_settings settings = {.rate = RATE,
                                           .ceiling = (double)CEILING,
                                           .gain = audio_from_db(loop->gain_db),
                                           .guard = guarded,
                                           .at_once = !loop->fades_in};
    struct outcome outcome = {.over = NEVER};
    size_t block = loop->block ? loop->block : 64;
    struct filter *chain;
    struct live *live;
    struct recorder *recorder = NULL;
    ck_assert_int_eq(gain_create(1, block, 1, &chain), STATUS_OK);
    const struct stream_format format = {.rate = RATE, .channels = 1};
    if (loop->record)
        ck_assert_int_eq(recorder_open(loop->record, true, &format, SECONDS_MOST, &recorder),
                         STATUS_OK);
    ck_assert_int_eq(recorder_keep(recorder), STATUS_OK);
    ck_assert_int_eq(live_create(&settings, chain, recorder, NULL, &live), STATUS_OK);
    for (size_t at = 0; at + block <= loop->frames && !(loop->first_mute && outcome.mutes);
         at += block) {
        float in[BLOCK_MOST], *out = played + at;
        const float *row = in;
        bool closed = loop->delay > 0 && (loop->opened == 0 || at < loop->opened);
        for (size_t i = 0; i < block; i++) {
            in[i] = source[at + i];
            if (closed && at + i >= loop->delay)
                in[i] += (float)convolve(loop->path, loop->path_taps, played, at + i - loop->delay);
        }
        live_process(live, &row, &out);
        outcome.peak = fmaxf(outcome.peak, audio_peak(out, block));
        if (outcome.over == NEVER && audio_peak(in, block) * (float)settings.gain > CEILING)
            outcome.over = at;
        while (outcome.event_count < EVENTS_MOST &&
               live_receive(live, &outcome.events[outcome.event_count]))
            outcome.mutes += outcome.events[outcome.event_count++].what == LIVE_FEEDBACK;
    }
    live_destroy(live);
    filter_destroy(chain);
    struct recording recording;
    if (recorder)
        ck_assert_int_eq(recorder_close(recorder, &recording), STATUS_OK);
    return outcome;
}

static size_t first_of(const struct outcome *outcome, enum live_control what)
{
    for (size_t i = 0; i < outcome->event_count; i++)
        if (outcome->events[i].what == what)
            return outcome->events[i].frame;
    return NEVER;
}

/* ---- loops ---- */

static double response(const float *taps, size_t count, double frequency)
{
    double re = 0, im = 0;
    for (size_t k = 0; k < count; k++) {
        re += (double)taps[k] * cos(2 * M_PI * frequency * (double)k / RATE);
        im -= (double)taps[k] * sin(2 * M_PI * frequency * (double)k / RATE);
    }
    return hypot(re, im);
}

/* Direct sound and a decay of noise, within a loudspeaker's band; at its loudest frequency it
 * returns as loud as it was. */
static void make_room(struct loop *loop, uint64_t seed, double direct, double decay)
{
    double most = 0, low = 0, high = 0;
    truth_noise(seed, loop->path, TAPS_MOST);
    for (size_t k = 0; k < TAPS_MOST; k++) {
        double noise = 0.1 * (double)loop->path[k] * exp(-(double)k / decay);
        low += 0.5 * ((k == 0 ? direct : 0) + noise - low);
        high += 0.04 * (low - high);
        loop->path[k] = (float)(low - high);
    }
    loop->path_taps = TAPS_MOST;
    for (double f = 100; f < 12000; f += 10)
        most = fmax(most, response(loop->path, TAPS_MOST, f));
    for (size_t k = 0; k < TAPS_MOST; k++)
        loop->path[k] /= (float)most;
}

static struct loop wire(double delay_ms, double gain_db, double seconds)
{
    return (struct loop){.frames = (size_t)(seconds * RATE),
                         .gain_db = gain_db,
                         .delay = (size_t)(delay_ms * RATE / 1000),
                         .path = {1},
                         .path_taps = 1};
}

static void silence(void)
{
    memset(source, 0, sizeof source);
}

static void noise(uint64_t seed, double amplitude, size_t frames)
{
    truth_noise(seed, source, frames);
    for (size_t i = 0; i < frames; i++)
        source[i] *= (float)amplitude;
}

/* Adds a recording, again and again. */
static void add_recording(const char *name, double gain)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("WAV"), name);
    struct sound sound = sound_load(path);
    for (size_t i = 0; i < SECONDS_MOST * RATE; i++)
        source[i] += (float)gain * sound.block.data[0][i % sound.block.frames];
}

/* ---- sounds that are no feedback ---- */

#define KICK(t) (exp(-6 * (t)) * sin(2 * M_PI * 60 * (t)))

static double limit_hard(double x, double gain)
{
    return tanh(gain * x) / tanh(gain);
}

static double chord(double t)
{
    return (sin(2 * M_PI * 220 * t) + sin(2 * M_PI * 277.2 * t) + sin(2 * M_PI * 329.6 * t)) / 3;
}

/* Notes of half a second, each with an attack of `attack` seconds. */
static double melody(double t, double attack)
{
    const double notes[] = {440, 523.25, 659.26, 880, 698.46, 587.33, 110, 55};
    double within = fmod(t, 0.5), f = notes[(size_t)(t / 0.5) % 8];
    double level = within < attack ? within / attack : 1;
    return within > 0.48 ? 0 : level * sin(2 * M_PI * f * within);
}

static double organ(double t)
{
    double sum = 0;
    for (int h = 1; h <= 4; h++)
        sum += sin(2 * M_PI * 130.81 * h * t) / h + sin(2 * M_PI * 164.81 * h * t) / h +
               sin(2 * M_PI * 196 * h * t) / h;
    return sum / 4;
}

/* A bar that repeats itself to the sample: kick, hats, a bass with harmonics or none. */
static double techno(size_t frame, bool pure)
{
    size_t at = frame % (RATE / 2);
    double t = (double)at / RATE, hat = at % (RATE / 8) < RATE / 40 ? 0.3 : 0;
    double bass = pure ? sin(2 * M_PI * 56 * t) : 0.3 * (fmod(t * 110, 1) - 0.5);
    return KICK(t) + 0.8 * bass + hat * (double)source[SECONDS_MOST * RATE - RATE + at];
}

enum { KINDS = 20 };

static const char *const kinds[KINDS] = {"brickwalled music",
                                         "a master of recordings",
                                         "the same, 12 dB louder",
                                         "techno",
                                         "techno, pure bass",
                                         "organ",
                                         "speech",
                                         "drums at +6 dBFS",
                                         "a clipped guitar",
                                         "pink noise",
                                         "white noise",
                                         "sines",
                                         "a sweep",
                                         "a square wave",
                                         "a sawtooth",
                                         "bursts of noise",
                                         "tremolo",
                                         "a melody of sines",
                                         "slow attacks of sines",
                                         "repeated noise"};

static double synthesise(size_t kind, size_t i, size_t frames)
{
    double t = (double)i / RATE, seconds = (double)frames / RATE, random = (double)source[i];
    const double sines[] = {50, 440, 1000, 3000};
    switch (kind) {
    case 0:
        return limit_hard(KICK(fmod(t, 0.5)) + 0.5 * chord(t) + 0.05 * random, 8);
    case 3:
    case 4:
        return limit_hard(techno(i, kind == 4), kind == 4 ? 1 : 4);
    case 5:
        return organ(t);
    case 11:
        return fmod(t, 3) > 2.8 ? 0 : sin(2 * M_PI * sines[(size_t)(t / 3) % 4] * t);
    case 12:
        return sin(2 * M_PI * 20 * seconds / log(1000) * (pow(1000, t / seconds) - 1));
    case 13:
        return sin(2 * M_PI * 137 * t) > 0 ? 1 : -1;
    case 14:
        return 2 * (double)(i % 1024) / 1024 - 1;
    case 15:
        return fmod(t, 1.3) < 0.4 ? 4 * random : 0;
    case 16:
        return sin(2 * M_PI * 700 * t) * (0.6 + 0.4 * sin(2 * M_PI * 5 * t));
    case 17:
        return melody(t, 0.01);
    case 18:
        return melody(t / 4, 0.05 + 0.05 * (double)((size_t)(t / 2) % 5)); /* 0.2 to 1 s */
    default:
        return random;
    }
}

/* Gain in dB that goes with it. */
static double make_sound(size_t kind, size_t frames)
{
    const double gains[KINDS] = {0, 0, 12, 6, 6, 6, 18, 0, 3, 12, 6, 3, 6, 6, 3, 0, 6, 6, 6, 3};
    silence();
    if (kind == 1 || kind == 2 || kind == 7 || kind == 8)
        add_recording("drums.wav", kind == 8 ? 0 : kind == 7 ? 2 : 1);
    if (kind == 1 || kind == 2 || kind == 8)
        add_recording("guitar.wav", kind == 8 ? 12 : 1);
    if (kind == 1 || kind == 2 || kind == 6)
        add_recording("voice.wav", kind == 6 ? 1 : 0.5);
    if (kind == 9)
        add_recording("pink-noise.wav", 1);
    else if (kind < 1 || kind > 8 || (kind > 2 && kind < 6))
        noise(kind, 1, SECONDS_MOST * RATE);
    for (size_t i = 0; i < frames; i++)
        source[i] =
            (float)(kind == 1 || kind == 2    ? limit_hard((double)source[i], kind == 1 ? 10 : 3)
                    : kind == 8               ? fmax(-1, fmin(1, (double)source[i]))
                    : kind == 19 && i >= 4096 ? (double)source[i - 4096]
                                              : synthesise(kind, i, frames));
    return gains[kind];
}

/* No sample differs from the output without the guard. */
START_TEST(loud_sounds_stay_as_they_are)
{
    static float with[SECONDS_MOST * RATE];
    size_t frames = (getenv("HALO_TEST_FULL") ? 90 : 4) * RATE;
    for (size_t kind = 0; kind < KINDS; kind++) {
        struct loop loop = {.frames = frames};
        loop.gain_db = make_sound(kind, frames);
        struct outcome outcome = run(&loop, true);
        ck_assert_msg(outcome.event_count == 0, "%s: muted after %.2f s", kinds[kind],
                      (double)outcome.events[0].frame / RATE);
        ck_assert_msg(outcome.over != NEVER, "%s is not loud", kinds[kind]);
        memcpy(with, played, frames * sizeof *with);
        (void)run(&loop, false);
        ck_assert_mem_eq(with, played, frames * sizeof *with);
    }
}

/* ---- notes that repeat themselves ---- */

enum { NOTES = 7, HIT = RATE };

static const char *const notes[NOTES] = {
    "a gated sine",       "a pluck that clips",   "a soft pluck", "a gated square wave",
    "a drum of a record", "a guitar of a record", "a hat"};

/* `t`: seconds since the note began. */
static double play_note(size_t kind, double t, double period, const float *recorded)
{
    switch (kind) {
    case 0:
        return t < period / 2 ? 0.95 * sin(2 * M_PI * 2000 * t) : 0;
    case 1:
        return fmax(-1, fmin(1, 3 * exp(-10 * t) * sin(2 * M_PI * 440 * t)));
    case 2:
        return 0.95 * exp(-6 * t) * sin(2 * M_PI * 880 * t);
    case 3:
        return t < period / 2 ? (sin(2 * M_PI * 110 * t) > 0 ? 0.8 : -0.8) : 0;
    default:
        return 0.95 * (double)recorded[(size_t)lround(t * RATE)];
    }
}

/* From its loudest sample on, to the peak 1. */
static void record_hit(size_t kind, float *hit)
{
    silence();
    if (kind == 6)
        noise(7, 1, HIT);
    else
        add_recording(kind == 4 ? "drums.wav" : "guitar.wav", 1);
    size_t loudest = 0;
    for (size_t i = 0; i + HIT < SECONDS_MOST * RATE / 8; i++)
        loudest = fabsf(source[i]) > fabsf(source[loudest]) ? i : loudest;
    size_t from = loudest > 1000 ? loudest - 1000 : 0;
    for (size_t i = 0; i < HIT; i++)
        hit[i] =
            source[from + i] / fabsf(source[loudest]) * (kind == 6 ? expf(-(float)i / 1500) : 1);
}

/* A note from the second `begin` on, every `period` seconds, 24 dB lower at first and then louder
 * by `rise` dB a second. */
static void make_notes(size_t kind, double period, double rise, double begin, size_t frames)
{
    static float hit[HIT + 1];
    static size_t recorded = NOTES;
    if (kind != recorded && kind > 3)
        record_hit(kind, hit);
    recorded = kind;
    for (size_t i = 0; i < frames; i++) {
        double t = (double)i / RATE, db = rise > 0 ? fmin(3, (t - begin) * rise - 24) : 0;
        size_t within = i % (size_t)lround(period * RATE);
        double sample =
            t < begin ? 0 : play_note(kind, (double)within / RATE, period, hit) * audio_from_db(db);
        source[i] = (float)fmax(-1, fmin(1, sample));
    }
}

/* After a mute at `muted` the next note that no loop of this period can give is heard at once, and
 * nothing more is muted. */
static void expect_undone(const struct outcome *outcome, double period, const char *name)
{
    double muted = (double)outcome->events[0].frame / RATE;
    double back = (double)outcome->events[1].frame / RATE;
    double next = ceil((muted + period) / period) * period;
    ck_assert_msg(outcome->event_count == 2 && outcome->events[1].what == LIVE_TRY &&
                      outcome->events[1].value == 1 && back < next + 0.3,
                  "%s: %zu events, muted at %.2f s, the second at %.2f s", name,
                  outcome->event_count, muted, back);
}

/* True: it was muted for a while. Else no sample differs. */
static bool try_notes(const struct loop *loop, double period, const char *name)
{
    static float with[SECONDS_MOST * RATE];
    struct outcome outcome = run(loop, true);
    ck_assert_msg(outcome.over != NEVER, "%s is not loud", name);
    if (outcome.event_count > 0) {
        expect_undone(&outcome, period, name);
        return true;
    }
    memcpy(with, played, loop->frames * sizeof *with);
    (void)run(loop, false);
    ck_assert_mem_eq(with, played, loop->frames * sizeof *with);
    return false;
}

/* From the fade-in on, or later: no sample differs. While they grow they may be muted, wrongly and
 * once. */
START_TEST(repeated_notes_stay_as_they_are)
{
    const double periods[] = {0.1, 0.12, 0.2, 0.25, 0.5, 1, 0.15, 0.333, 0.75};
    const struct {
        double rise, begin;
        bool fades_in;
    } ways[] = {{0, 0, true}, {8, 1.5, true}, {24, 0, true}, {0, 0, false}, {0, 1.5, true}};
    bool all = getenv("HALO_TEST_FULL") != NULL;
    size_t mutes = 0, runs = 0;
    for (size_t kind = 0; kind < NOTES; kind++)
        for (size_t p = all ? 0 : kind % 2; p < (all ? 9 : 6); p += all ? 1 : 3)
            for (size_t w = all ? 0 : (kind + p / 3) % 3; w < 5; w += all ? 1 : 5, runs++) {
                char name[96];
                struct loop loop = {
                    .frames = 8 * RATE, .gain_db = 4, .fades_in = ways[w].fades_in, .block = 128};
                make_notes(kind, periods[p], ways[w].rise, ways[w].begin, loop.frames);
                snprintf(name, sizeof name, "%s, %g s, from %g s, %g dB/s", notes[kind], periods[p],
                         ways[w].begin, ways[w].rise);
                bool muted = try_notes(&loop, periods[p], name);
                ck_assert_msg(!muted || ways[w].rise > 0, "%s", name);
                mutes += muted;
                if (muted && getenv("HALO_TEST_TABLE"))
                    printf("  %s\n", name);
            }
    if (getenv("HALO_TEST_TABLE"))
        printf("repeated notes: %zu of %zu muted for a while\n", mutes, runs);
}

/* Sounds beside loops that hold lose nothing: the input follows the output, but would not without
 * the source. */
START_TEST(loops_that_hold_are_left_alone)
{
    const char *const names[] = {"drums.wav", "voice.wav", "guitar.wav", "pink-noise.wav"};
    const double levels[] = {2, 8, 4, 8}, gains[] = {-10, -6, -3}, delays[] = {10, 35, 100};
    size_t delay_count = getenv("HALO_TEST_FULL") ? 3 : 1;
    for (size_t n = 0; n < 4; n++)
        for (size_t d = 0; d < delay_count; d++)
            for (size_t g = 0; g < 3; g++) {
                silence();
                add_recording(names[n], levels[n]);
                struct loop loop = wire(delays[d], gains[g], 6);
                if ((d + g) % 2)
                    make_room(&loop, 1, 1, 200);
                struct outcome outcome = run(&loop, true);
                ck_assert_msg(outcome.event_count == 0, "%s beside %g dB, %g ms: after %.2f s",
                              names[n], gains[g], delays[d],
                              (double)outcome.events[0].frame / RATE);
            }
}

/* ---- loops ---- */

struct tally {
    size_t loops, soon, late; /* that reach the ceiling; muted within 1.12 s, and later */
};

static void add_to(struct tally *tally, const char *name, const struct loop *loop)
{
    struct outcome outcome = run(loop, true);
    size_t muted = first_of(&outcome, LIVE_FEEDBACK);
    double after = muted == NEVER ? INFINITY : ((double)muted - (double)outcome.over) / RATE;
    bool is_loud = outcome.over != NEVER;
    ck_assert_float_le(outcome.peak, CEILING);
    ck_assert(is_loud || muted == NEVER);
    if (getenv("HALO_TEST_TABLE") && is_loud)
        printf("  %-32s %6.2f s\n", name, after);
    tally->loops += is_loud;
    tally->soon += is_loud && after <= 1.12;
    tally->late += is_loud && after > 1.12 && muted != NEVER;
}

static void show(const char *what, const struct tally *tally)
{
    if (getenv("HALO_TEST_TABLE"))
        printf("%s: %zu of %zu within 1.12 s, %zu later\n", what, tally->soon, tally->loops,
               tally->late);
}

/* Begun by noise of 50 ms. */
static struct tally try_wires(const double *delays, size_t count)
{
    const double gains[] = {1, 3, 6, 12};
    struct tally tally = {0};
    char name[64];
    for (size_t d = 0; d < count; d++)
        for (size_t g = 0; g < 4; g++) {
            silence();
            noise(1, 0.5, RATE / 20);
            struct loop loop = wire(delays[d], gains[g], 2);
            loop.first_mute = true;
            snprintf(name, sizeof name, "wire, %g ms, %+g dB", delays[d], gains[g]);
            add_to(&tally, name, &loop);
        }
    show("wires", &tally);
    return tally;
}

/* `beside`: a recording, 10 dB below full scale; "": a hiss. */
static struct tally try_rooms(uint64_t room, const char *beside, const double *gains,
                              size_t gain_count)
{
    const double rooms[][2] = {{1, 200}, {0.3, 600}, {0, 600}}, delays[] = {2, 10, 35, 100};
    struct tally tally = {0};
    char name[64];
    silence();
    if (*beside)
        add_recording(beside, 0.3);
    else
        noise(7, 1e-4, sizeof source / sizeof *source);
    for (size_t d = 0; d < 4; d++)
        for (size_t g = 0; g < gain_count; g++) {
            struct loop loop = wire(delays[d], gains[g], 8);
            loop.first_mute = true;
            make_room(&loop, room, rooms[room - 1][0], rooms[room - 1][1]);
            snprintf(name, sizeof name, "room %d, %g ms, %+g dB, %s", (int)room, delays[d],
                     gains[g], *beside ? beside : "a hiss");
            add_to(&tally, name, &loop);
        }
    snprintf(name, sizeof name, "room %d, %s", (int)room, *beside ? beside : "a hiss");
    show(name, &tally);
    return tally;
}

START_TEST(loops_are_muted_soon)
{
    const double delays[] = {10, 35, 100}, gains[] = {6};
    struct tally wires = try_wires(delays, 3), voice = try_rooms(1, "voice.wav", gains, 1),
                 hiss = try_rooms(2, "", gains, 1);
    silence();
    noise(1, 0.3, RATE); /* hides it for a second */
    struct loop server = wire(1024e3 / RATE, 1, 3);
    server.block = 1024;
    struct outcome hidden = run(&server, true);
    ck_assert_uint_lt(first_of(&hidden, LIVE_FEEDBACK), 2 * RATE);
    ck_assert_uint_eq(wires.soon, 12);
    ck_assert_uint_eq(voice.soon, 4);
    ck_assert_uint_eq(hiss.soon, 4);
}

/* With and without direct sound (room 3 has none), and something loud beside it. */
START_TEST(most_loops_are_muted)
{
    const char *const beside[] = {"voice.wav", "", "guitar.wav", "drums.wav"};
    const double delays[] = {2, 10, 35, 100}, gains[] = {1, 3, 6};
    if (!getenv("HALO_TEST_FULL"))
        return;
    struct tally all = try_wires(delays, 4);
    for (size_t b = 0; b < 4; b++)
        for (uint64_t room = 1; room <= 3; room++) {
            struct tally tally = try_rooms(room, beside[b], gains, 3);
            all.loops += tally.loops;
            all.soon += tally.soon;
            all.late += tally.late;
        }
    show("all", &all);
    ck_assert_uint_ge(10 * all.soon, 7 * all.loops);
}

/* ---- after a mute ---- */

static const struct live_event *event_of(const struct outcome *outcome, size_t index)
{
    ck_assert_msg(index < outcome->event_count, "there are %zu events", outcome->event_count);
    return &outcome->events[index];
}

static float peak_between(size_t from, size_t to)
{
    return audio_peak(played + from, to - from);
}

/* The guard tries twice, 20 dB lower, while the loop is there. Then the loop is gone. What is
 * recorded is what was played. */
START_TEST(a_loop_is_tried_again_quietly)
{
    enum { OPENED = 6 * RATE };
    silence();
    noise(1, 1e-3, 16 * RATE);
    struct loop loop = wire(35, 6, 16);
    loop.opened = OPENED;
    char path[512];
    snprintf(path, sizeof path, "%s/recorded.wav", command_folder());
    loop.record = path;
    struct outcome outcome = run(&loop, true);
    const enum live_control expected[] = {LIVE_FEEDBACK, LIVE_TRY, LIVE_FEEDBACK, LIVE_TRY,
                                          LIVE_TRY};
    size_t at[5];
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(event_of(&outcome, i)->what, expected[i]);
        at[i] = event_of(&outcome, i)->frame;
    }
    ck_assert_uint_eq(outcome.event_count, 5);
    ck_assert_double_eq_tol(event_of(&outcome, 1)->value, (double)FEEDBACK_QUIET, 1e-9);
    ck_assert_double_eq(event_of(&outcome, 4)->value, 1);
    ck_assert_uint_gt(at[3], OPENED);
    ck_assert_float_eq(peak_between(at[0] + RATE / 10, at[1]), 0);
    ck_assert_float_le(peak_between(at[1], at[2]), CEILING * FEEDBACK_QUIET);
    ck_assert_float_gt(peak_between(at[1], at[2]), 0.9f * CEILING * FEEDBACK_QUIET);
    ck_assert_float_eq(peak_between(at[2] + RATE / 10, at[3]), 0);
    ck_assert_uint_gt(at[3] - at[2], at[1] - at[0] + RATE);
    ck_assert_float_gt(peak_between(at[4], loop.frames), 1e-3f);
    struct sound recorded = sound_load("recorded.wav");
    ck_assert_uint_eq(recorded.block.frames, loop.frames);
    ck_assert_mem_eq(recorded.block.data[0], played, loop.frames * sizeof *played);
}

/* A loop that rings at the low ceiling is not called none, however it came there. */
START_TEST(a_loop_that_rings_quietly_is_muted_again)
{
    const double delays[] = {100, 35, 300}, gains[] = {3, 7.6, 12};
    size_t again = 0;
    for (size_t d = 0; d < (getenv("HALO_TEST_FULL") ? 3 : 1); d++)
        for (size_t g = 0; g < 3; g++)
            for (uint64_t room = 0; room < 3; room++) {
                silence();
                noise(3, 0.01, SECONDS_MOST * RATE);
                struct loop loop = wire(delays[d], gains[g], 11);
                if (room > 0)
                    make_room(&loop, room, room == 1, 400);
                struct outcome outcome = run(&loop, true);
                for (size_t e = 0; e < outcome.event_count; e++) {
                    const struct live_event *event = &outcome.events[e];
                    ck_assert_int_eq(event->what, e % 2 ? LIVE_TRY : LIVE_FEEDBACK);
                    ck_assert_double_lt(event->value, e % 2 ? 0.5 : RATE);
                    if (e % 2) /* 2 s, 4 s */
                        ck_assert_double_eq_tol(
                            (double)(event->frame - outcome.events[e - 1].frame) / RATE,
                            (double)(e + 1), 0.1);
                }
                again += outcome.event_count > 2;
            }
    ck_assert_uint_ge(again, 6);
}

/* The loop was opened, and what is heard now is above the low ceiling all the time. */
START_TEST(what_is_loud_without_the_loop_comes_back)
{
    enum { OPENED = RATE };
    const double levels[] = {0.06, 0.15, 0.4};
    for (size_t i = 0; i < 3; i++) {
        silence();
        for (size_t at = OPENED; at < 9 * RATE; at++)
            source[at] = (float)(levels[i] * sin(2 * M_PI * 300 * (double)at / RATE));
        noise(1, 1e-2, RATE / 2);
        struct loop loop = wire(35, 6, 9);
        loop.opened = OPENED;
        struct outcome outcome = run(&loop, true);
        const struct live_event *last = event_of(&outcome, outcome.event_count - 1);
        ck_assert_int_eq(event_of(&outcome, 0)->what, LIVE_FEEDBACK);
        ck_assert_int_eq(last->what, LIVE_TRY);
        ck_assert_double_eq(last->value, 1);
        ck_assert_uint_lt(last->frame, 6.5 * RATE);
    }
}

/* A generator's tone can grow as a loop's does, and stay. The input goes on during the mute. */
START_TEST(a_wrong_mute_is_undone)
{
    silence();
    struct loop loop = {.frames = 20 * RATE};
    for (size_t i = 0; i < loop.frames; i++) {
        double t = (double)i / RATE, level = fmin(0, 60 * fmod(t, 6) - 60);
        source[i] = (float)(1.3 * audio_from_db(level) * sin(2 * M_PI * 1000 * t));
    }
    struct outcome outcome = run(&loop, true);
    ck_assert_uint_eq(outcome.event_count, 2); /* and is trusted from then on */
    size_t muted = event_of(&outcome, 0)->frame, back = event_of(&outcome, 1)->frame;
    ck_assert_int_eq(event_of(&outcome, 0)->what, LIVE_FEEDBACK);
    ck_assert_double_eq_tol(event_of(&outcome, 0)->value, 1000, 5);
    ck_assert_int_eq(event_of(&outcome, 1)->what, LIVE_TRY);
    ck_assert_double_eq(event_of(&outcome, 1)->value, 1);
    ck_assert_uint_lt(back - muted, 0.3 * RATE);
}

/* NaN finds nothing and breaks nothing; 16 channels, of which one pair is a loop. */
START_TEST(one_channel_of_many)
{
    enum { CHANNELS = 16, LONG = 1024 };
    static float in[CHANNELS][LONG], out[CHANNELS][LONG];
    float *ins[CHANNELS], *outs[CHANNELS];
    struct feedback_guard *guard;
    enum feedback_act act = FEEDBACK_NOTHING;
    ck_assert_int_eq(feedback_guard_create(CHANNELS, CHANNELS, RATE, CEILING, &guard), STATUS_OK);
    for (size_t c = 0; c < CHANNELS; c++) {
        ins[c] = in[c];
        outs[c] = out[c];
    }
    truth_noise(5, out[7], LONG);
    for (size_t b = 0; b < 3 * RATE / LONG && act == FEEDBACK_NOTHING; b++) {
        float gain = b % 7 == 0 ? 0.5f : 1; /* the limiter's */
        memcpy(in[2], out[7], sizeof in[2]);
        in[3][5] = b == 20 ? NAN : 0;
        for (size_t i = 0; i < LONG; i++)
            out[7][i] = 1.1f / gain * in[2][i];
        feedback_guard_begin(guard, (const float *const *)ins, (const float *const *)outs, LONG);
        feedback_guard_observe(guard, (const float *const *)outs, LONG);
        for (size_t i = 0; i < LONG; i++)
            out[7][i] = fmaxf(-CEILING, fminf(CEILING, gain * out[7][i]));
        act = feedback_guard_play(guard, (const float *const *)outs, LONG);
    }
    ck_assert_int_eq(act, FEEDBACK_MUTE);
    feedback_guard_destroy(guard);
    feedback_guard_destroy(NULL);
}
