/* Rooms for speech: level=, --noise and what is drawn. Powers and ratios are measured in what was
 * written; draws are made again by the rule of the documentation. */
#include "base/noise.h"
#include "chain/mask_cache.h"
#include "chain/stages.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOAT = SF_FORMAT_WAV | SF_FORMAT_FLOAT, FRAMES = 21001, NOISE = 5003, PEAK = 41 };

static double power_of(const struct block *block)
{
    double sum = 0;
    for (size_t c = 0; c < block->channels; c++)
        for (size_t i = 0; i < block->frames; i++)
            sum += (double)block->data[c][i] * (double)block->data[c][i];
    return sum / (double)(block->channels * block->frames);
}

static double power_in(const char *name)
{
    struct sound sound = sound_load(name);
    double power = power_of(&sound.block);
    return power;
}

/* Noise that decays, with its direct sound at PEAK. */
static void make_room(const char *name, uint64_t seed, uint32_t rate, size_t taps)
{
    struct sound room = sound_create(FLOAT, rate, 1, taps);
    for (size_t i = 0; i < taps; i++)
        room.block.data[0][i] =
            0.2F * noise_next(&seed) * (float)exp(-5 * (double)i / (double)taps);
    room.block.data[0][PEAK] = 1.25F;
    sound_save(&room, name);
}

static void begin(void)
{
    command_clean();
    sound_noise_file("mono.wav", 1, FLOAT, 16000, 1, FRAMES);
    sound_noise_file("two.wav", 2, FLOAT, 16000, 2, FRAMES);
    sound_noise_file("noise.wav", 3, FLOAT, 16000, 1, NOISE);
    sound_noise_file("noise2.wav", 4, FLOAT, 16000, 2, 60013);
    sound_noise_file("noise44.wav", 5, FLOAT, 44100, 1, 9001);
    make_room("room.wav", 6, 16000, 3000);
    make_room("room48.wav", 7, 48000, 6001);
}

START_TEST(the_output_has_the_power_of_the_input)
{
    static const char *const options[] = {
        "--mask room.wav,level=input",
        "--mask room.wav,level=input --tail none",
        "--mask room.wav,align=peak,level=input --tail none",
        "--mask room48.wav,level=input,align=peak,early=20ms --tail none",
        "--mask room.wav,invert,level=input --precision double",
        "--mask lowpass:2000 --mask room.wav,level=input --mask low.txt,level=input --tail none",
    };
    static const char *const sounds[] = {"mono.wav", "two.wav"};
    begin();
    sound_text("low.txt", "0.5\n0.25\n");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (size_t s = 0; s < 2; s++) {
            const char *before = strstr(options[i], "lowpass") ? "before.wav" : sounds[s];
            command_done(
                "$HALO render -q -f %s out.wav %s; $HALO render -q -f %s before.wav --mask "
                "lowpass:2000 --tail none",
                sounds[s], options[i], sounds[s]);
            ck_assert_double_eq_tol(power_in("out.wav") / power_in(before), 1, 1e-7);
        }
    /* Through pipes, of unknown length, as 16 bits, and with a gain before and one of its own. */
    command_done("cat two.wav | $HALO render -q - - --mask room.wav,level=input --tail none "
                 "--container wav | $HALO render -q - piped.wav --gain 0");
    ck_assert_double_eq_tol(power_in("piped.wav") / power_in("two.wav"), 1, 1e-7);
    command_done("$HALO render -q mono.wav low.wav --gain -7 --mask room.wav,level=input,gain=-3 "
                 "--format pcm16");
    ck_assert_double_eq_tol(10 * log10(power_in("low.wav") / power_in("mono.wav")), -10, 1e-3);
    struct command_result result =
        command_done("$HALO render -q mono.wav report.wav --mask room.wav,level=input --json");
    ck_assert_double_eq(command_number(result.out, "frames_in"), FRAMES);
    ck_assert_double_eq(command_number(result.out, "frames_out"), FRAMES + 2999);
}

/* The gain is of what the room makes. */
START_TEST(rooms_that_differ_in_their_gain_are_one_mask)
{
    static const char *const gains[] = {"", ",gain=-3.25", ",gain=-0.125", ",gain=2"};
    struct mask_cache *cache;
    size_t made, found;
    char *room;
    begin();
    ck_assert_int_eq(mask_cache_create(1 << 24, &cache), STATUS_OK);
    for (size_t i = 0; i < sizeof gains / sizeof *gains; i++) {
        struct stream_format format = {.rate = 16000, .channels = 1};
        struct stage_settings settings = {
            .convolver = {.backend = "cpu"}, .in_passes = true, .masks = cache};
        struct stage_list list = {0};
        ck_assert_int_gt(asprintf(&room, "%s,level=input%s", command_path("room.wav"), gains[i]),
                         0);
        ck_assert_int_eq(stage_list_add(&list, stage_ops_named("mask"), room, NULL), STATUS_OK);
        ck_assert_int_eq(stage_list_load(&list, &settings, &format), STATUS_OK);
        stage_list_free(&list);
        free(room);
    }
    mask_cache_counts(cache, &made, &found);
    ck_assert_uint_eq(made, 1);
    ck_assert_uint_eq(found, sizeof gains / sizeof *gains - 1);
    mask_cache_destroy(cache);
    command_done("for i in 1 2; do $HALO batch --glob two.wav -O D$i --gain 0 --mask "
                 "room.wav,level=input,gain=-$i --name '{stem}.wav' -q --tail none; done");
    ck_assert_double_eq_tol(10 * log10(power_in("D1/two.wav") / power_in("D2/two.wav")), 1, 1e-3);
    command_refused(2, "gain", "$HALO render two.wav no.wav --mask room.wav,level=input,gain=x");
    command_refused(2, "gain",
                    "$HALO render two.wav no.wav --mask room.wav,gain=1,level=input,gain=2");
}

/* By definition, in double precision: the whole convolution has the power of the input. */
START_TEST(the_level_of_kaldi_is_that_of_the_whole_convolution)
{
    begin();
    command_done("$HALO render -q mono.wav out.wav --mask room.wav,align=peak,level=kaldi --tail "
                 "none; $HALO render -q mono.wav full.wav --mask room.wav,level=kaldi");
    ck_assert_double_eq_tol(power_in("full.wav") / power_in("mono.wav"), 1, 1e-7);
    struct sound out = sound_load("out.wav"), full = sound_load("full.wav");
    ck_assert_uint_eq(out.block.frames, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_float_eq_tol(out.block.data[0][i], full.block.data[0][i + PEAK], 1e-6F);
}

/* Direct convolution in double precision. For free(). */
static double *convolve(const struct block *sound, const struct block *room)
{
    double *out = calloc(sound->frames + room->frames - 1, sizeof *out);
    ck_assert_ptr_nonnull(out);
    for (size_t i = 0; i < sound->frames; i++)
        for (size_t k = 0; k < room->frames; k++)
            out[i + k] += (double)sound->data[0][i] * (double)room->data[0][k];
    return out;
}

static double mean_square(const double *samples, size_t frames)
{
    double sum = 0;
    for (size_t i = 0; i < frames; i++)
        sum += samples[i] * samples[i];
    return sum / (double)frames;
}

/* By their published definitions; bench/speech_peers has more of them. */
START_TEST(rooms_are_those_of_lhotse_and_kaldi)
{
    begin();
    command_done(
        "$HALO render -q mono.wav lhotse.wav --mask room.wav,align=peak,level=input --tail "
        "none; $HALO render -q mono.wav kaldi.wav --mask room.wav,align=peak,level=kaldi "
        "--tail none");
    struct sound sound = sound_load("mono.wav"), room = sound_load("room.wav");
    struct sound outs[] = {sound_load("lhotse.wav"), sound_load("kaldi.wav")};
    double *all = convolve(&sound.block, &room.block);
    size_t length = FRAMES + room.block.frames - 1;
    double power = power_of(&sound.block);
    const double factors[] = {sqrt(power / mean_square(all + PEAK, FRAMES)),
                              sqrt(power / mean_square(all, length))};
    for (size_t p = 0; p < 2; p++) {
        double error = 0;
        for (size_t i = 0; i < FRAMES; i++)
            error += pow((double)outs[p].block.data[0][i] - factors[p] * all[PEAK + i], 2);
        ck_assert_double_lt(10 * log10(error / FRAMES / power), -120);
    }
    free(all);
}

/* Stages after a scaled one look ahead into a tail that is not written. */
START_TEST(passes_give_the_sound_of_one)
{
    begin();
    sound_text("one.txt", "0.5\n0.1\n");
    command_done("$HALO render -q mono.wav one.wav --mask room.wav,align=peak --mask lowpass:3000 "
                 "--tail none; $HALO render -q mono.wav two-passes.wav --mask "
                 "room.wav,align=peak,level=input --mask lowpass:3000 --tail none");
    struct sound one = sound_load("one.wav"), two = sound_load("two-passes.wav");
    double factor = sqrt(power_of(&two.block) / power_of(&one.block));
    ck_assert_uint_eq(two.block.frames, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        ck_assert_double_eq_tol((double)two.block.data[0][i], (double)one.block.data[0][i] * factor,
                                2e-6);
    /* Times count from the sound's first frame, also behind latency. */
    command_done(
        "$HALO render -q mono.wav plain.wav --mask lowpass:3000 --tail none; for s in 'gain "
        "0,at=0.5s:gain=-40' 'mask one.txt,@mix=1,at=0.5s:@bypass=on'; do $HALO render -q -f "
        "plain.wav at.wav --tail none --mask one.txt --$s; $HALO render -q -f mono.wav later.wav --mask "
        "lowpass:3000,level=input --mask one.txt,level=input --$s --tail none && cp later.wav "
        "later-${s%%%% *}.wav && cp at.wav at-${s%%%% *}.wav || exit 1; done");
    static const char *const names[] = {"gain", "mask"};
    for (size_t n = 0; n < 2; n++) {
        char later[32], at[32];
        snprintf(later, sizeof later, "later-%s.wav", names[n]);
        snprintf(at, sizeof at, "at-%s.wav", names[n]);
        one = sound_load(at);
        two = sound_load(later);
        factor = fabs((double)two.block.data[0][4000] / (double)one.block.data[0][4000]);
        for (size_t i = 2; i < FRAMES; i++) /* before it the other has silence */
            ck_assert_double_eq_tol((double)two.block.data[0][i],
                                    (double)one.block.data[0][i] * factor, 5e-6);
    }
}

/* What --noise added: the difference to the same render without it. */
static struct sound added_by(const char *sound, const char *stages, const char *noise)
{
    command_done("$HALO render -q -f %s with.wav %s --noise %s; $HALO render -q -f %s without.wav "
                 "%s --gain 0",
                 sound, stages, noise, sound, stages);
    struct sound with = sound_load("with.wav"), without = sound_load("without.wav");
    ck_assert_uint_eq(with.block.frames, without.block.frames);
    for (size_t c = 0; c < with.block.channels; c++)
        for (size_t i = 0; i < with.block.frames; i++)
            with.block.data[c][i] -= without.block.data[c][i];
    return with;
}

START_TEST(noise_has_its_ratio_to_what_it_is_added_to)
{
    static const struct {
        const char *sound, *stages, *noise;
        double snr;
    } rows[] = {
        {"mono.wav", "", "noise.wav,snr=10", 10},
        {"two.wav", "", "noise.wav,snr=-5", -5},
        {"two.wav", "--mask room.wav,level=input", "noise2.wav,snr=20", 20},
        {"mono.wav", "--mask room.wav --tail none", "noise2.wav,channel=2,snr=0", 0},
        {"mono.wav", "--gain -20 --tail full", "noise44.wav,snr=12.5", 12.5},
        {"two.wav", "--precision double", "noise44.wav,snr=3,start=0.1s", 3},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sound noise = added_by(rows[i].sound, rows[i].stages, rows[i].noise);
        ck_assert_double_eq_tol(10 * log10(power_in("without.wav") / power_of(&noise.block)),
                                rows[i].snr, 1e-4);
    }
}

/* What is added to nearly nothing is the noise itself, scaled, with all bits of a double, and also
 * where single precision would have none of it. */
START_TEST(noise_keeps_double_precision)
{
    command_done("python3 - <<'END'\n"
                 "import random, struct\n"
                 "random.seed(1)\n"
                 "def save(name, rate, values):\n"
                 "    data = struct.pack('<%%dd' %% len(values), *values)\n"
                 "    open(name, 'wb').write(struct.pack('<4sI4s4sIHHIIHH4sI', b'RIFF', 36 + "
                 "len(data), b'WAVE', b'fmt ', 16, 3, 1, rate, 8 * rate, 8, 64, b'data', "
                 "len(data)) + data)\n"
                 "noise = [random.uniform(-1, 1) for _ in range(4000)]\n"
                 "save('noise.wav', 16000, noise)\n"
                 "save('faint.wav', 16000, [1e-60 * x for x in noise])\n"
                 "save('in.wav', 16000, [1e-12 * random.uniform(-1, 1) for _ in range(4000)])\n"
                 "END");
    command_done(
        "$HALO render in.wav out.wav --precision double --noise noise.wav,snr=-200,start=0 && "
        "$HALO render in.wav faint-out.wav --precision double --noise "
        "faint.wav,snr=-200,start=0");
    command_done(
        "python3 - <<'END'\n"
        "import struct\n"
        "def load(name):\n"
        "    return struct.unpack('<4000d', open(name, 'rb').read()[-32000:])\n"
        "of, to = load('noise.wav'), load('out.wav')\n"
        "before = load('in.wav')\n"
        "factor = sum((t - b) * n for t, b, n in zip(to, before, of)) / sum(n * n for n in of)\n"
        "worst = max(abs(t - b - factor * n) for t, b, n in zip(to, before, of))\n"
        "assert worst < 1e-14 * factor, (worst, factor)\n"
        "worst = max(abs(a - b) for a, b in zip(to, load('faint-out.wav')))\n"
        "assert worst < 1e-14 * factor, (worst, factor)\n"
        "END");
}

START_TEST(noise_begins_where_it_is_told_to_and_is_repeated)
{
    static const struct {
        const char *start;
        size_t frame;
    } rows[] = {{"0", 0}, {"5002", NOISE - 1}, {"50%", NOISE / 2}, {"10ms", 160}, {"100%", 0}};
    begin();
    struct sound file = sound_load("noise.wav");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char spec[64];
        snprintf(spec, sizeof spec, "noise.wav,snr=0,start=%s", rows[r].start);
        struct sound noise = added_by("mono.wav", "", spec);
        double factor = sqrt(power_in("without.wav")), own = 0;
        for (size_t i = 0; i < FRAMES; i++)
            own += pow((double)file.block.data[0][(rows[r].frame + i) % NOISE], 2);
        factor /= sqrt(own / FRAMES);
        for (size_t i = 0; i < FRAMES; i++)
            ck_assert_double_eq_tol(
                (double)noise.block.data[0][i],
                factor * (double)file.block.data[0][(rows[r].frame + i) % NOISE], 1e-6);
    }
}

/* As stage_draw.h and docs/batch.md say it, without what they use. */
static double draw(const char *text)
{
    uint64_t sum = UINT64_C(14695981039346656037);
    for (; *text; text++)
        sum = (sum ^ (unsigned char)*text) * UINT64_C(1099511628211);
    sum += UINT64_C(0x9E3779B97F4A7C15);
    sum = (sum ^ sum >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    sum = (sum ^ sum >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((sum ^ sum >> 31) >> 11) / 9007199254740992.0;
}

START_TEST(what_is_drawn_can_be_drawn_again)
{
    char expected[256];
    begin();
    command_done(
        "echo '{\"id\": \"u 1\", \"in\": \"mono.wav\", \"out\": \"a.wav\", \"stages\": [{\"mask\": "
        "\"room.wav,level=input,gain=-6..0\"}, {\"noise\": \"noise44.wav,snr=5..20\"}, {\"gain\": "
        "\"-3..-1\"}]}' > list; $HALO batch list -O D -q --seed 7 --report rep");
    snprintf(expected, sizeof expected,
             "[{\"mask\":\"room.wav,level=input,gain=%.3f\"},{\"noise\":\"noise44.wav,snr=%.3f,"
             "start=%.9f%%\"},{\"gain\":\"%.3f\"}]",
             -6 + 6 * draw("7\nu 1\n1\ngain"), 5 + 15 * draw("7\nu 1\n2\nsnr"),
             100 * draw("7\nu 1\n2\nstart"), -3 + 2 * draw("7\nu 1\n3\ngain"));
    command_expect(command_done("head -n 1 rep").out, expected);
    /* The report is a job that draws nothing, and the bytes are those of a render. */
    command_done("echo '{\"id\": \"other\", \"in\": \"mono.wav\", \"out\": \"a.wav\", \"stages\": '"
                 "\"$(head -n 1 rep | sed 's/.*\"stages\"://; s/}]*}*$//; s/$/}]/')\"'}' > again; "
                 "$HALO batch again -O E -q --seed 99 --threads 1; cmp D/a.wav E/a.wav");
    command_done(
        "$HALO render -q --seed 3 --threads 1 mono.wav 1.wav --noise "
        "noise.wav,snr=5..20 && $HALO render -q --seed 3 --threads 3 mono.wav "
        "3.wav --noise noise.wav,snr=5..20,start=random && cmp 1.wav 3.wav && $HALO render -q "
        "--seed 4 mono.wav 4.wav --noise noise.wav,snr=5..20 && ! cmp -s 1.wav "
        "4.wav");
    /* Many files of one command draw each its own. */
    command_done(
        "cp mono.wav same.wav; $HALO render -q -O M mono.wav same.wav --gain=-9..9 && ! cmp "
        "-s M/mono.wav M/same.wav");
}

/* What is drawn lies in its range, and everywhere in it. */
START_TEST(draws_fill_their_range)
{
    begin();
    command_done(
        "sed 1q mono.wav > /dev/null; for i in $(seq 64); do echo '{\"id\": \"'$i'\", "
        "\"in\": \"noise.wav\", \"out\": \"'$i'.wav\", \"gain\": \"-6..2\"}'; done > list; "
        "$HALO batch list -O D -q --report rep");
    double least = 9, most = -9, sum = 0;
    for (int i = 1; i <= 64; i++) {
        double db =
            strtod(command_done("grep '\"id\":\"%d\"' rep | sed 's/.*\"gain\":\"//'", i).out, NULL);
        least = fmin(least, db);
        most = fmax(most, db);
        sum += db;
    }
    ck_assert(least >= -6 && least < -5 && most <= 2 && most > 1);
    ck_assert_double_eq_tol(sum / 64, -2, 1);
}

START_TEST(changed_draws_and_noise_make_the_output_again)
{
    static const struct {
        const char *change;
        int made;
    } rows[] = {
        {"$HALO batch list -O D -q --json", 0},
        {"$HALO batch list -O D -q --json --seed 1", 1},
        {"$HALO batch list -O D -q --json --seed 1", 0},
        {"sed -i s/snr=5..20/snr=5..21/ list; $HALO batch list -O D -q --json --seed 1", 1},
        {"touch -d 2001-01-01 noise.wav; $HALO batch list -O D -q --json --seed 1", 1},
        {"sed -i s/level=input/level=kaldi/ list; $HALO batch list -O D -q --json --seed 1", 1},
        {"sed -i 's/\"id\"/\"seed\": 1, \"id\"/' list; $HALO batch list -O D -q --json", 0},
    };
    begin();
    command_done("echo '{\"id\": \"a\", \"in\": \"mono.wav\", \"mask\": \"room.wav,level=input\", "
                 "\"noise\": \"noise.wav,snr=5..20\"}' > list; $HALO batch list -O D -q");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_double_eq(command_number(command_done("%s", rows[i].change).out, "made"),
                            rows[i].made);
}

START_TEST(chains_keep_them)
{
    begin();
    command_done("$HALO render -q --seed 5 mono.wav a.wav --mask room.wav,level=input,gain=-6..0 "
                 "--noise noise.wav,snr=5..20 --save-chain c.yml && $HALO render -q mono.wav b.wav "
                 "--chain c.yml && cmp a.wav b.wav && $HALO chain check c.yml");
    command_done(
        "sed -i 's/gain=[-0-9.]*/gain=-6..0/; s/snr=[0-9.]*/snr=5..20/; s/,start=[0-9.]*%%//' "
        "c.yml && grep -q 5..20 c.yml && $HALO render -q --seed 5 mono.wav c.wav --chain c.yml "
        "&& cmp a.wav c.wav && $HALO chain collect c.yml moved.yml && grep -q 'snr=5..20' "
        "moved.yml && grep -q 'gain=-6..0' moved.yml");
}

/* Another file gets its name while the sound is measured: once OUT has its header. */
START_TEST(a_noise_that_is_replaced_is_noticed)
{
    static const char *const others[][2] = {{"noise2.wav", "and has 2 at 16000 Hz"},
                                            {"noise44.wav", "and has 1 at 44100 Hz"}};
    for (size_t i = 0; i < 2; i++) {
        begin();
        command_done("mkfifo in out");
        pid_t process = command_start(
            "{ head -c 1000 mono.wav; while [ ! -e swapped ]; do sleep 0.01; done; tail -c +1001 "
            "mono.wav; } >in & { head -c 12 >/dev/null; mv %s noise.wav; : >swapped; cat "
            ">/dev/null; } <out & exec $HALO render - - --noise noise.wav,snr=5 <in >out",
            others[i][0]);
        struct command_result result = command_wait(process);
        ck_assert_int_eq(result.code, 1);
        command_expect(result.err, "noise noise.wav has changed since the render began: it had 1 "
                                   "channel at 16000 Hz, ");
        command_expect(result.err, others[i][1]);
    }
}

START_TEST(what_cannot_work_is_refused)
{
    static const struct {
        const char *expected, *arguments;
    } rows[] = {
        {"silent.wav is silent", "mono.wav out.wav --noise silent.wav,snr=3"},
        {"the sound is silent", "silent.wav out.wav --noise noise.wav,snr=3"},
        {"empty.wav", "mono.wav out.wav --noise empty.wav,snr=3"},
        {"no frames", "mono.wav out.wav --noise zero.wav,snr=3"},
        {"not a number", "mono.wav out.wav --noise nan.wav,snr=3"},
        {"is a directory", "mono.wav out.wav --noise .,snr=3"},
        {"No such file", "mono.wav out.wav --noise none.wav,snr=3"},
        {"not standard input", "mono.wav out.wav --noise -,snr=3"},
        {"needs snr=", "mono.wav out.wav --noise noise.wav"},
        {"needs a value", "mono.wav out.wav --noise noise.wav,snr="},
        {"snr= must be", "mono.wav out.wav --noise noise.wav,snr=nan"},
        {"snr= must be", "mono.wav out.wav --noise noise.wav,snr=1e9"},
        {"from the lower to the higher", "mono.wav out.wav --noise noise.wav,snr=20..5"},
        {"needs a value", "mono.wav out.wav --noise noise.wav,snr=5.."},
        {"must be a number", "mono.wav out.wav --gain=-6..x"},
        {"start= is where", "mono.wav out.wav --noise noise.wav,snr=5,start=101%"},
        {"start= is where", "mono.wav out.wav --noise noise.wav,snr=5,start=-1"},
        {"from frame 5003 on", "mono.wav out.wav --noise noise.wav,snr=5,start=5003"},
        {"2 channels", "mono.wav out.wav --noise noise2.wav,snr=5"},
        {"no channel 3", "mono.wav out.wav --noise noise2.wav,snr=5,channel=3"},
        {"not 'loud'", "mono.wav out.wav --noise noise.wav,snr=5,loud"},
        {"--edge", "mono.wav out.wav --noise noise.wav,snr=5 --edge wrap"},
        {"--edge", "mono.wav out.wav --mask room.wav,level=input --edge wrap"},
        {"full or none", "mono.wav out.wav --mask room.wav,level=input --tail until:-60dB"},
        {"full or none", "mono.wav out.wav --noise noise.wav,snr=5 --tail 2s"},
        {"choose one", "mono.wav out.wav --mask room.wav,level=input --normalize -1"},
        {"normalize= has no effect", "mono.wav out.wav --mask room.wav,level=input,normalize=peak"},
        {"level=", "mono.wav out.wav --mask room.wav,level=loud"},
        {"is silent", "mono.wav out.wav --mask mute.txt,level=input"},
        {"beyond 1e-145 or 1e145", "loud.wav out.wav --mask room.wav,level=input"},
        {"beyond 1e-145 or 1e145", "loud.wav out.wav --noise noise.wav,snr=3"},
        {"beyond 1e-145 or 1e145", "quiet.wav out.wav --mask room.wav,level=input"},
        {"beyond 1e-145 or 1e145", "quiet.wav out.wav --noise noise.wav,snr=3"},
        {"noise loud.wav", "mono.wav out.wav --precision double --noise loud.wav,snr=3"},
        {"noise quiet.wav", "mono.wav out.wav --precision double --noise quiet.wav,snr=3"},
        {"beyond single precision", "mono.wav out.wav --noise loud.wav,snr=3"},
    };
    begin();
    struct sound silent = sound_create(FLOAT, 16000, 1, 9000);
    sound_save(&silent, "silent.wav");
    silent.block.data[0][4000] = NAN;
    sound_save(&silent, "nan.wav");
    struct sound zero = sound_create(FLOAT, 16000, 1, 0);
    sound_save(&zero, "zero.wav");
    sound_text("mute.txt", "0\n0\n");
    command_done("python3 - <<'END'\n"
                 "import struct\n"
                 "for name, value in ('loud', 1e200), ('quiet', 1e-200):\n"
                 "    data = struct.pack('<3000d', *[value] * 3000)\n"
                 "    open(name + '.wav', 'wb').write(struct.pack('<4sI4s4sIHHIIHH4sI', b'RIFF', "
                 "36 + len(data), b'WAVE', b'fmt ', 16, 3, 1, 16000, 128000, 8, 64, b'data', "
                 "len(data)) + data)\n"
                 "END");
    command_done("touch empty.wav");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_refused(0, rows[i].expected, "$HALO render %s", rows[i].arguments);
        command_done("test ! -e out.wav");
    }
    command_refused(2, "--noise is for halo render and halo batch",
                    "$HALO live --plain --device null --seconds 0.1 --noise noise.wav,snr=5");
    command_refused(2, "level= is for halo render and halo batch",
                    "$HALO live --plain --device null --seconds 0.1 --mask room.wav,level=input");
    command_refused(2, "level= is for", "$HALO mask show room.wav,level=input");
    /* Silence has no level: it stays silence. */
    command_done(
        "$HALO render -q silent.wav out.wav --mask room.wav,level=input && $HALO render -q "
        "zero.wav none.wav --mask room.wav,level=input --tail none");
    ck_assert_double_eq(power_in("out.wav"), 0);
}
