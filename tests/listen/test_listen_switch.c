/* The switch of a blind test, through the live step: whatever it leads to, the output is the old
 * sound with one gain and then the new one with another, at the same frames. */
#include "command.h"
#include "listen/listen_session.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RATE = 8000,
    BLOCK = 32,
    CHOICES = 8,
    TAPS = 128,
    FADE = RATE / 100, /* out, and in */
    AFTER = RATE / 25, /* frames to look at after a switch */
    LATER = 40,        /* the delay of a second mask */
};

struct rig {
    struct listen_options options;
    struct listen_session session;
    double taps[CHOICES][TAPS];
    const size_t *longer; /* lengths of the masks in place of TAPS, or NULL */
    bool one_tap;         /* of these the odd ones have a single tap that is not 0 */
    uint32_t rate;        /* 0: RATE */
    double fade;          /* seconds; 0: those of FADE, out and in */
    uint64_t seed;
    size_t frames, capacity; /* of sound so far */
    float *in, *out;
};

struct made_switch {
    size_t at; /* the key */
    size_t from, to;
    size_t end;
};

static double random_number(uint64_t *seed)
{
    float number;
    truth_noise((*seed)++, &number, 1);
    return (double)number;
}

static size_t random_below(uint64_t *seed, size_t count)
{
    return (size_t)(0.5 * (random_number(seed) + 1) * (double)count) % count;
}

/* ---- masks of equal spectra and random phases ---- */

static void make_taps(struct rig *rig)
{
    double size[TAPS / 2], phase[TAPS / 2], energy = 0;
    for (size_t f = 1; f < TAPS / 2; f++)
        size[f] = 1 + 0.9 * random_number(&rig->seed);
    for (size_t i = 0; i < CHOICES; i++) {
        for (size_t f = 1; f < TAPS / 2; f++)
            phase[f] = M_PI * random_number(&rig->seed);
        for (size_t k = 0; k < TAPS; k++) {
            rig->taps[i][k] = 0;
            for (size_t f = 1; f < TAPS / 2; f++)
                rig->taps[i][k] += size[f] * cos(2 * M_PI * (double)(f * k) / TAPS + phase[f]);
        }
    }
    for (size_t k = 0; k < TAPS; k++)
        energy += rig->taps[0][k] * rig->taps[0][k];
    for (size_t i = 0; i < CHOICES; i++)
        for (size_t k = 0; k < TAPS; k++)
            rig->taps[i][k] *= 0.2 / sqrt(energy);
}

static enum status put_taps(void *context, struct mask **masks, size_t count)
{
    struct rig *rig = context;
    for (size_t i = 0; i < count; i++) {
        size_t taps = rig->longer ? rig->longer[i] : TAPS;
        struct mask *mask;
        TRY(mask_create("made", 1, taps, &mask));
        if (rig->longer)
            truth_noise_taps(i, mask_column(mask, 0), taps);
        else
            memcpy(mask_column(mask, 0), rig->taps[i], sizeof rig->taps[i]);
        for (size_t k = 0; rig->one_tap && i % 2 && k < taps; k++)
            mask_column(mask, 0)[k] = k == taps / 2;
        mask_scale(mask, rig->longer ? 0.1 / sqrt((double)taps) : 1, NULL);
        TRY(mask_route(mask, 1, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO));
        mask->rate = rig->rate;
        mask_destroy(masks[i]);
        masks[i] = mask;
    }
    return STATUS_OK;
}

/* ---- the stream ---- */

static void rig_open(struct rig *rig, uint64_t seed, bool blind, const char *second)
{
    static const char *const others[CHOICES - 1] = {"lowpass:1000", "lowpass:1000", "lowpass:1000",
                                                    "lowpass:1000", "lowpass:1000", "lowpass:1000",
                                                    "lowpass:1000"};
    struct stream_session *stream = &rig->session.stream;
    rig->seed = seed << 32;
    rig->rate = rig->rate ? rig->rate : RATE;
    rig->fade = rig->fade > 0 ? rig->fade : 2.0 * FADE / RATE;
    rig->options = (struct listen_options){.play = PLAY_OPTIONS_DEFAULTS, .by = LEVEL_MATCH_NONE};
    rig->options.play.fade = rig->fade;
    rig->session = (struct listen_session){.options = &rig->options};
    struct chain_options *chain = &rig->options.play.chain;
    chain->threads = 1; /* no worker, since it would not have the time of real blocks */
    ck_assert_int_eq(stage_list_add(&chain->stages, stage_ops_named("mask"), others[0], NULL), 0);
    if (second)
        ck_assert_int_eq(stage_list_add(&chain->stages, stage_ops_named("mask"), second, NULL), 0);
    make_taps(rig);
    const struct live_chain_request request = {.options = chain,
                                               .others = others,
                                               .other_count = CHOICES - 1,
                                               .format = {.rate = rig->rate, .channels = 1},
                                               .block = BLOCK,
                                               .live = true,
                                               .adapt = put_taps,
                                               .adapt_context = rig,
                                               .twice = blind};
    note_verbosity(VERBOSITY_QUIET);
    stream->blind = blind;
    stream->info.rate = rig->rate;
    stream->way = (struct choices_way){.frames = 2 * FADE, .shape = SWITCH_FADE};
    ck_assert_int_eq(live_chain_init(&stream->chain, &request), STATUS_OK);
    struct live_settings settings = {.rate = rig->rate, .ceiling = 1, .gain = 1, .at_once = true};
    settings.gap = blind ? &rig->session.gap : NULL;
    ck_assert_int_eq(live_create(&settings, stream->chain.filter, NULL, NULL, &stream->live), 0);
    if (blind)
        ck_assert_int_eq(listen_switch_settle(&rig->session, 0), STATUS_OK);
}

static void rig_close(struct rig *rig)
{
    live_destroy(rig->session.stream.live);
    live_chain_free(&rig->session.stream.chain);
    chain_options_free(&rig->options.play.chain);
    free(rig->in);
    free(rig->out);
    *rig = (struct rig){.longer = NULL};
}

static void run_block(struct rig *rig)
{
    if (rig->frames + BLOCK > rig->capacity) {
        rig->capacity = 2 * rig->capacity + (1 << 16);
        rig->in = realloc(rig->in, rig->capacity * sizeof(float));
        rig->out = realloc(rig->out, rig->capacity * sizeof(float));
        ck_assert(rig->in && rig->out);
    }
    float *in = rig->in + rig->frames, *out = rig->out + rig->frames;
    truth_noise(rig->seed++, in, BLOCK);
    live_process(rig->session.stream.live, (const float *const[]){in}, (float *const[]){out});
    rig->frames += BLOCK;
    listen_switch_update(&rig->session);
}

static bool is_switching(const struct rig *rig)
{
    return choices_are_switching(rig->session.stream.chain.choices) ||
           switch_gap_is_under_way(&rig->session.gap);
}

/* As by a key; half of all switches lead to the same choice. */
static struct made_switch make_switch(struct rig *rig)
{
    struct choices *choices = rig->session.stream.chain.choices;
    struct made_switch made = {.from = choices_sounding(choices) % CHOICES};
    made.to = made.from;
    if (random_number(&rig->seed) > 0)
        made.to = (made.from + 1 + random_below(&rig->seed, CHOICES - 1)) % CHOICES;
    for (size_t i = 3 + random_below(&rig->seed, 8); i-- > 0;)
        run_block(rig);
    made.at = rig->frames;
    listen_switch_to(&rig->session, made.to);
    listen_switch_update(&rig->session);
    while (is_switching(rig))
        run_block(rig);
    made.end = rig->frames;
    while (rig->frames < made.end + AFTER || rig->frames < made.at + 2 * AFTER)
        run_block(rig);
    return made;
}

/* ---- the parts of a switch ---- */

struct parts {
    size_t delay;  /* from the key to the silence, without the fade out */
    size_t silent; /* frames that are 0 */
};

static struct parts parts_of(const struct rig *rig, const struct made_switch *made)
{
    size_t from = made->at, to;
    while (from < rig->frames && (rig->out[from] != 0 || rig->out[from + 1] != 0))
        from++;
    for (to = from; to < rig->frames && rig->out[to] == 0;)
        to++;
    return (struct parts){from - rig->session.gap.fade - made->at, to - from};
}

static double filtered(const struct rig *rig, size_t choice, size_t frame)
{
    double sum = 0;
    for (size_t k = 0; k < TAPS && k <= frame; k++)
        sum += rig->taps[choice][k] * (double)rig->in[frame - k];
    return sum;
}

/* The largest difference of the output from g1 old + g2 new, where g1 g2 = 0. */
static double error_of(const struct rig *rig, const struct made_switch *made,
                       const struct parts *parts, size_t latency)
{
    double most = 0;
    size_t silent = made->at + parts->delay + FADE, rises = silent + parts->silent - 1;
    for (size_t n = made->at; n < made->end; n++) {
        double gain = fmax(0, fmin(1, ((double)silent - (double)n) / FADE));
        if (n >= rises)
            gain = fmin(1, (double)(n - rises) / FADE);
        size_t choice = n < rises ? made->from : made->to;
        double expected = gain > 0 ? gain * filtered(rig, choice, n - latency) : 0;
        most = fmax(most, fabs(expected - (double)rig->out[n]));
    }
    return most;
}

/* ---- what the level tells ---- */

enum { WINDOWS_MOST = 96, FEATURES_MOST = 3 * WINDOWS_MOST };

/* Levels of windows from the key on, in dB; their squares, and those of their steps. */
static size_t features_of(const struct rig *rig, const struct made_switch *made, size_t window,
                          size_t span, double *features)
{
    size_t count = span / window;
    double before = 0;
    ck_assert_uint_le(count, WINDOWS_MOST);
    for (size_t w = 0; w < count; w++) {
        double power = 1e-10;
        for (size_t i = 0; i < window; i++)
            power += pow((double)rig->out[made->at + w * window + i], 2) / (double)window;
        double level = log(power);
        features[w] = level;
        features[count + w] = pow(level + 4, 2);
        features[2 * count + w] = pow(level - before, 2);
        before = level;
    }
    return 3 * count;
}

/* x with matrix x = right, the matrix positive definite; both are overwritten. */
static void solve(double (*matrix)[FEATURES_MOST], double *right, size_t size)
{
    for (size_t p = 0; p < size; p++)
        for (size_t r = p + 1; r < size; r++) {
            double factor = matrix[r][p] / matrix[p][p];
            for (size_t c = p; c < size; c++)
                matrix[r][c] -= factor * matrix[p][c];
            right[r] -= factor * right[p];
        }
    for (size_t p = size; p-- > 0;) {
        for (size_t c = p + 1; c < size; c++)
            right[p] -= matrix[p][c] * right[c];
        right[p] /= matrix[p][p];
    }
}

struct classifier {
    double means[2][FEATURES_MOST], weights[FEATURES_MOST];
    double matrix[FEATURES_MOST][FEATURES_MOST];
    size_t counts[2];
};

/* Fisher's linear discriminant, of the features of `count` switches and whether they led elsewhere.
 */
static void learn(struct classifier *known, const double *features, const bool *others,
                  size_t count, size_t size)
{
    *known = (struct classifier){.counts = {0}};
    for (size_t i = 0; i < count; i++) {
        known->counts[others[i]]++;
        for (size_t f = 0; f < size; f++)
            known->means[others[i]][f] += features[i * FEATURES_MOST + f];
    }
    for (size_t c = 0; c < 2; c++)
        for (size_t f = 0; f < size; f++)
            known->means[c][f] /= (double)known->counts[c];
    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; f < size; f++) {
            double off = features[i * FEATURES_MOST + f] - known->means[others[i]][f];
            for (size_t g = 0; g < size; g++)
                known->matrix[f][g] +=
                    off * (features[i * FEATURES_MOST + g] - known->means[others[i]][g]) /
                    (double)count;
        }
    for (size_t f = 0; f < size; f++) {
        known->matrix[f][f] += 1e-6;
        known->weights[f] = known->means[1][f] - known->means[0][f];
    }
    solve(known->matrix, known->weights, size);
}

/* The share of right answers to switches that it has not seen, of which half led elsewhere. */
static double score(const struct classifier *known, const double *features, const bool *others,
                    size_t count, size_t size)
{
    size_t right[2] = {0}, all[2] = {0};
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t f = 0; f < size; f++)
            sum += known->weights[f] * (features[i * FEATURES_MOST + f] -
                                        (known->means[0][f] + known->means[1][f]) / 2);
        all[others[i]]++;
        right[others[i]] += (sum > 0) == others[i];
    }
    return ((double)right[0] / (double)all[0] + (double)right[1] / (double)all[1]) / 2;
}

static const size_t windows[] = {RATE / 500, RATE / 200, RATE / 100, RATE / 50};
enum { WINDOWS = sizeof windows / sizeof *windows };

struct levels {
    size_t count, capacity, size[WINDOWS];
    bool *others;
    double *features[WINDOWS];
};

static void levels_init(struct levels *levels, size_t capacity)
{
    *levels = (struct levels){.capacity = capacity, .others = calloc(capacity, sizeof(bool))};
    ck_assert_ptr_nonnull(levels->others);
    for (size_t w = 0; w < WINDOWS; w++) {
        levels->features[w] = calloc(capacity * FEATURES_MOST, sizeof(double));
        ck_assert_ptr_nonnull(levels->features[w]);
    }
}

static void levels_free(struct levels *levels)
{
    free(levels->others);
    for (size_t w = 0; w < WINDOWS; w++)
        free(levels->features[w]);
}

static void levels_add(struct levels *levels, const struct rig *rig, const struct made_switch *made,
                       size_t span)
{
    size_t at = levels->count++;
    levels->others[at] = made->from != made->to;
    for (size_t w = 0; w < WINDOWS; w++)
        levels->size[w] =
            features_of(rig, made, windows[w], span, levels->features[w] + at * FEATURES_MOST);
}

/* Learns from the first half. */
static double levels_score(const struct levels *levels, size_t w)
{
    struct classifier *known = malloc(sizeof *known);
    size_t half = levels->count / 2, size = levels->size[w];
    ck_assert_ptr_nonnull(known);
    learn(known, levels->features[w], levels->others, half, size);
    double result = score(known, levels->features[w] + half * FEATURES_MOST, levels->others + half,
                          levels->count - half, size);
    free(known);
    return result;
}

/* ---- tests ---- */

START_TEST(switches_of_a_test_are_all_the_same)
{
    enum { RIGS = 25, SWITCHES = 400 };
    struct rig rig = {.longer = NULL};
    struct levels levels;
    struct parts first = {0};
    levels_init(&levels, RIGS * SWITCHES);
    for (uint64_t r = 0; r < RIGS; r++) {
        rig_open(&rig, r + 1, true, NULL);
        for (size_t i = 0; i < SWITCHES; i++) {
            const struct made_switch made = make_switch(&rig);
            const struct parts parts = parts_of(&rig, &made);
            if (levels.count == 0)
                first = parts;
            ck_assert_uint_eq(parts.delay, first.delay);
            ck_assert_uint_eq(parts.silent, first.silent);
            ck_assert_double_lt(error_of(&rig, &made, &parts, 0), 1e-6);
            levels_add(&levels, &rig, &made, first.delay + first.silent + 2 * FADE + AFTER);
        }
        ck_assert_uint_eq(atomic_load(&rig.session.gap.late), 0);
        rig_close(&rig);
    }
    for (size_t w = 0; w < WINDOWS; w++) {
        double right = levels_score(&levels, w);
        printf("%zu ms: %.2f %% right\n", 1000 * windows[w] / RATE, 100 * right);
        ck_assert_double_lt(right, 0.52);
    }
    levels_free(&levels);
}

/* The same classifier hears the crossfade of the free comparison. */
START_TEST(a_crossfade_gives_it_away)
{
    struct rig rig = {.longer = NULL};
    struct levels levels;
    levels_init(&levels, 1000);
    rig_open(&rig, 1, false, NULL);
    while (levels.count < levels.capacity) {
        const struct made_switch made = make_switch(&rig);
        levels_add(&levels, &rig, &made, 2 * AFTER);
    }
    for (size_t w = 0; w < WINDOWS; w++)
        ck_assert_double_gt(levels_score(&levels, w), 0.65);
    levels_free(&levels);
    rig_close(&rig);
}

/* As long as one of 64 taps takes one of 150,000, which is armed in many blocks. */
START_TEST(long_masks_take_no_longer)
{
    static const size_t lengths[CHOICES] = {64, 150000, 64, 900, 100000, 3000, 64, 12000};
    struct rig rig = {.longer = lengths, .rate = 24 * RATE, .fade = 1e-3}; /* little time */
    rig_open(&rig, 1, true, NULL);
    struct parts first = {0};
    for (size_t i = 0; i < 300; i++) {
        const struct made_switch made = make_switch(&rig);
        const struct parts parts = parts_of(&rig, &made);
        if (i == 0)
            first = parts;
        ck_assert_uint_eq(parts.delay, first.delay);
        ck_assert_uint_eq(parts.silent, first.silent);
    }
    ck_assert_uint_eq(atomic_load(&rig.session.gap.late), 0);
    /* Without that time the pause lasts until the mask is there, and that is counted. */
    ck_assert_uint_gt(rig.session.gap.delay, 0);
    rig.session.gap.delay = 0;
    rig.session.gap.fade = 1;
    rig.session.gap.pause = BLOCK - 1;
    size_t longer = 0;
    for (size_t i = 0; i < 20; i++) {
        const struct made_switch made = make_switch(&rig);
        const struct parts parts = parts_of(&rig, &made);
        longer += parts.silent > BLOCK;
    }
    ck_assert_uint_gt(longer, 0);
    ck_assert_uint_eq(atomic_load(&rig.session.gap.late), longer);
    rig_close(&rig);
}

/* Seconds of a processor for a second of sound, and a switch to the choice before it. */
static double cost_of(struct rig *rig, size_t choice)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    listen_switch_to(&rig->session, choice);
    for (size_t until = rig->frames + RATE; rig->frames < until;)
        run_block(rig);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    ck_assert(!is_switching(rig));
    return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

/* Blocks that are late depend on what plays, if one mask takes the step longer. A single tap comes
 * near the bound of each sound, and would be computed in double precision. */
START_TEST(no_mask_takes_the_step_longer)
{
    static const size_t lengths[CHOICES] = {100000, 100000, 64, 64, 64, 64, 64, 64};
    struct rig rig = {.longer = lengths, .one_tap = true};
    double least[2] = {INFINITY, INFINITY};
    rig_open(&rig, 1, true, NULL);
    for (size_t i = 0; i < 12; i++)
        least[i % 2] = fmin(least[i % 2], cost_of(&rig, i % 2));
    printf("%.4f s of noise, %.4f s of a tap\n", least[0], least[1]);
    ck_assert_double_lt(least[1], 1.6 * least[0]);
    rig_close(&rig);
}

START_TEST(stages_after_the_masks_are_waited_for)
{
    char taps[2 * LATER + 4] = "", second[4096];
    struct rig rig = {.longer = NULL};
    for (size_t i = 0; i < LATER; i++)
        strcat(taps, "0\n");
    sound_text("later.txt", strcat(taps, "1\n"));
    snprintf(second, sizeof second, "%s,align=peak", command_path("later.txt"));
    rig_open(&rig, 3, true, second);
    struct parts first = {0};
    for (size_t i = 0; i < 40; i++) {
        const struct made_switch made = make_switch(&rig);
        const struct parts parts = parts_of(&rig, &made);
        if (i == 0)
            first = parts;
        ck_assert_uint_eq(parts.delay, first.delay);
        ck_assert_uint_eq(parts.silent, first.silent);
        ck_assert_double_lt(error_of(&rig, &made, &parts, LATER), 1e-6);
    }
    rig_close(&rig);
}
