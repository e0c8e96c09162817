/* A test file as a page: what each slot plays, that nothing else tells it, and refusals. */
#include "command.h"
#include "listen/panel/export.h"
#include "listen/panel/stimuli.h"
#include "listen/trial.h"
#include "sound.h"
#include "sound/sodium_library.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RATE = 48000, FRAMES = 24000 };

/* One exported page with its key. */
struct page {
    json_t *test, *key, *data;
};

/* The argument of the call that a script of the page makes, after `prefix`. */
static json_t *load_script(const char *path, const char *prefix)
{
    char *all = NULL;
    size_t size = 0;
    FILE *file = fopen(command_path(path), "re");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_gt(getdelim(&all, &size, '\0', file), 0);
    ck_assert_int_eq(strncmp(all, prefix, strlen(prefix)), 0);
    char *end = strrchr(all, ')');
    ck_assert_ptr_nonnull(end);
    ck_assert_str_eq(end, ");\n");
    *end = '\0';
    json_t *argument = command_json(all + strlen(prefix));
    fclose(file);
    free(all);
    return argument;
}

static struct page page_load(void)
{
    struct page page = {.test = load_script("page/test.js", "halo_test("),
                        .data = load_script("page/data/01.js", "halo_sound(0, ")};
    page.key = json_load_file(command_path("page.key"), 0, NULL);
    ck_assert_ptr_nonnull(page.key);
    return page;
}

static void page_free(struct page *page)
{
    json_decref(page->key);
}

static const json_t *trial_at(const struct page *page, size_t index)
{
    return json_array_get(json_object_get(page->test, "trials"), index);
}

/* The choice behind a slot, by the key. */
static size_t choice_of(const struct page *page, const json_t *trial, const json_t *slot)
{
    const json_t *known =
        json_object_get(json_object_get(page->key, "trials"), command_json_string(trial, "id"));
    return (size_t)command_json_number(json_object_get(known, "slots"), json_string_value(slot));
}

/* The samples that a slot plays, unmasked here as the page does it. */
static double *samples_of(const struct page *page, const char *slot, size_t *count)
{
    size_t index = (size_t)command_json_number(json_object_get(page->data, "slots"), slot), size;
    const json_t *pcm = json_array_get(json_object_get(page->data, "pcm"), index);
    const char *text = command_json_string(pcm, "data");
    uint32_t word = (uint32_t)command_json_number(pcm, "mask");
    unsigned char *bytes = malloc(strlen(text));
    ck_assert_int_eq(digest_start(), STATUS_OK);
    ck_assert_int_eq(sodium_base642bin(bytes, strlen(text), text, strlen(text), NULL, &size, NULL,
                                       sodium_base64_VARIANT_ORIGINAL),
                     0);
    *count = size / 3;
    double *samples = calloc(*count, sizeof *samples);
    for (size_t i = 0; i < size; i++) {
        if (i % 4 == 0) {
            word ^= word << 13;
            word ^= word >> 17;
            word ^= word << 5;
        }
        bytes[i] ^= (unsigned char)(word >> 8 * (i % 4));
    }
    for (size_t i = 0; i < *count; i++) {
        int32_t value = (int32_t)((uint32_t)bytes[3 * i] << 8 | (uint32_t)bytes[3 * i + 1] << 16 |
                                  (uint32_t)bytes[3 * i + 2] << 24);
        samples[i] = value / 2147483648.;
    }
    free(bytes);
    return samples;
}

static const int FLOAT = SF_FORMAT_WAV | SF_FORMAT_FLOAT;

static void write_noise(void)
{
    sound_noise_file("in.wav", 1, FLOAT, RATE, 1, FRAMES);
}

/* ---- tests ---- */

/* Each slot plays its choice: the sound, a gain, two taps, and the low-passes. */
START_TEST(slots_play_their_choices)
{
    struct sound in = sound_noise("in.wav", 1, FLOAT, RATE, 1, FRAMES);
    const float *noise = in.block.data[0];
    sound_text("taps.txt", "0.5\n0\n-0.25\n");
    sound_text("test.yml", "test: mushra\nsounds: [in.wav]\nmatch: none\nalign: false\n"
                           "choices:\n- {name: plain}\n- {name: soft, gain: -6.0206}\n"
                           "- {name: taps, mask: taps.txt}\n- {name: both, stages: [{gain: -20}, "
                           "{mask: taps.txt}]}\n");
    command_done("mkdir other && cd other && \"$HALO\" listen ../test.yml --export ../page");
    struct page page = page_load();
    const json_t *trial = trial_at(&page, 0), *hidden = json_object_get(trial, "hidden"), *slot;
    size_t index, seen = 0, count;
    json_array_foreach((json_t *)hidden, index, slot)
    {
        size_t choice = choice_of(&page, trial, slot);
        double *samples = samples_of(&page, json_string_value(slot), &count);
        ck_assert_uint_eq(count, FRAMES);
        for (size_t i = RATE / 100; choice < 4 && i < FRAMES - RATE / 100; i++) {
            double taps = 0.5 * noise[i] - 0.25 * noise[i - 2];
            double right = choice == 0   ? noise[i]
                           : choice == 1 ? noise[i] * pow(10, -6.0206 / 20)
                           : choice == 2 ? taps
                                         : taps / 10;
            ck_assert_double_eq_tol(samples[i], right, 3e-7);
        }
        ck_assert_double_eq_tol(samples[0], 0, 1e-6); /* the fade */
        seen |= (size_t)1 << choice;
        free(samples);
    }
    ck_assert_uint_eq(seen, 0x3f);
    slot = json_array_get(json_object_get(trial, "open"), 0);
    ck_assert_uint_eq(choice_of(&page, trial, slot), 0);
    const json_t *files = json_object_get(page.key, "files_sha256");
    ck_assert_ptr_nonnull(
        strstr(command_done("sha256sum in.wav").out, command_json_string(files, "in.wav")));
    ck_assert_ptr_nonnull(json_object_get(files, "taps.txt"));
    ck_assert_uint_eq(json_object_size(files), 2);
    page_free(&page);
}

static double power_at(const double *samples, size_t count, double frequency)
{
    double re = 0, im = 0;
    for (size_t i = 0; i < count; i++) {
        double window = sin(M_PI * (double)i / (double)count);
        re += samples[i] * window * window * cos(2 * M_PI * frequency * (double)i / RATE);
        im += samples[i] * window * window * sin(2 * M_PI * frequency * (double)i / RATE);
    }
    return re * re + im * im;
}

/* BS.1534-3: within 0.1 dB up to 3.5 kHz, 25 dB below at 4 kHz, 50 dB at 4.5 kHz. */
START_TEST(anchors_are_those_of_the_standard)
{
    static const double at[] = {100, 1000, 3500, 4000, 4500, 7000, 8000, 9000};
    struct sound tones = sound_create(FLOAT, RATE, 1, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        for (size_t t = 0; t < sizeof at / sizeof *at; t++)
            tones.block.data[0][i] +=
                (float)(0.1 * sin(2 * M_PI * at[t] * (double)i / RATE + (double)(t * t)));
    sound_save(&tones, "in.wav");
    sound_text("test.yml", "test: mushra\nsounds: [in.wav]\nmatch: none\nalign: false\n"
                           "choices:\n- {name: soft, gain: -6}\n");
    command_done("\"$HALO\" listen test.yml --export page");
    struct page page = page_load();
    const json_t *trial = trial_at(&page, 0), *slot;
    double powers[4][8];
    size_t index, count;
    json_array_foreach(json_object_get(trial, "hidden"), index, slot)
    {
        double *samples = samples_of(&page, json_string_value(slot), &count);
        for (size_t t = 0; t < 8; t++)
            powers[choice_of(&page, trial, slot)][t] = 10 * log10(power_at(samples, count, at[t]));
        free(samples);
    }
    for (size_t t = 0; t < 8; t++) { /* choices: reference, soft, the anchors */
        double low = powers[2][t] - powers[0][t], mid = powers[3][t] - powers[0][t];
        ck_assert(at[t] > 3500 || fabs(low) < 0.1);
        ck_assert(at[t] > 7000 || fabs(mid) < 0.1);
        ck_assert(at[t] < 4000 || low < -25);
        ck_assert(at[t] < 4500 || low < -50);
        ck_assert(at[t] < 8000 || mid < -25);
    }
    page_free(&page);
}

/* Gains and delays are taken out; mono and stereo, other rates and lengths go together. */
START_TEST(choices_are_matched)
{
    write_noise();
    command_done("\"$HALO\" render in.wav late.wav --mask 'delay:0.01,gain=-9' --format float && "
                 "\"$HALO\" render in.wav wide.flac --rate 96000 --mask "
                 "'delay:0,gain=3' --duration 0.4");
    sound_text("test.yml",
               "test: preference\nsounds: [in.wav]\nmatch: rms\nchoices:\n- {name: plain}\n"
               "- {name: late, file: late.wav}\n- {name: wide, file: 'wide.flac'}\n");
    command_done("\"$HALO\" listen test.yml --export page");
    struct page page = page_load();
    double *versions[3] = {NULL}, worst = 0, peak = 0;
    size_t index, count[3], first[8][2] = {{0}};
    for (size_t t = 0; t < json_array_size(json_object_get(page.test, "trials")); t++) {
        const json_t *trial = trial_at(&page, t), *slot;
        size_t sum = 0;
        json_array_foreach(json_object_get(trial, "hidden"), index, slot)
        {
            size_t choice = choice_of(&page, trial, slot);
            sum += choice; /* tells the pair */
            if (index == 0)
                first[0][0] = choice;
            else
                first[sum][command_json_number(trial, "round") > 0] = first[0][0] + 1;
            free(versions[choice]);
            versions[choice] = samples_of(&page, json_string_value(slot), &count[choice]);
        }
    }
    for (size_t sum = 1; sum <= 3; sum++) /* the page turns every second round */
        ck_assert(first[sum][0] > 0 && first[sum][0] == first[sum][1]);
    ck_assert(count[0] == count[1] && count[0] == count[2] && count[0] < FRAMES * 9 / 10);
    for (size_t i = RATE / 10; i < count[0] - RATE / 10; i++) {
        worst = fmax(worst, fabs(versions[0][i] - versions[1][i]));
        peak = fmax(peak, fabs(versions[2][i]));
    }
    ck_assert_double_lt(worst, 2e-4); /* equal but for a gain of less than 0.002 dB */
    ck_assert(peak > 0.2 && peak <= 1);
    for (size_t i = 0; i < 3; i++)
        free(versions[i]);
    page_free(&page);
}

/* A version that would clip turns all down, also without matching; nothing is cut off. */
START_TEST(loud_versions_do_not_clip)
{
    write_noise();
    sound_text("test.yml", "test: abx\nsounds: [in.wav]\nmatch: none\nchoices:\n"
                           "- {name: plain}\n- {name: loud, gain: 20}\n");
    command_done("\"$HALO\" listen test.yml --export page");
    struct page page = page_load();
    const json_t *open = json_object_get(trial_at(&page, 0), "open");
    size_t count;
    double *plain = samples_of(&page, json_string_value(json_array_get(open, 0)), &count);
    double *loud = samples_of(&page, json_string_value(json_array_get(open, 1)), &count), peak = 0;
    for (size_t i = 0; i < count; i++) {
        ck_assert_double_eq_tol(loud[i], 10 * plain[i], 2e-6);
        peak = fmax(peak, fabs(loud[i]));
    }
    ck_assert(peak > 0.99 && peak <= 1);
    free(plain);
    free(loud);
    page_free(&page);
}

/* Silence, an offset, a low tone and a single frame make pages, too. */
START_TEST(odd_sounds_make_pages)
{
    for (int kind = 0; kind < 4; kind++) {
        struct sound in = sound_create(FLOAT, RATE, 2, kind == 3 ? 1 : FRAMES);
        for (size_t i = 0; i < in.block.frames; i++)
            in.block.data[0][i] = kind == 0   ? 0
                                  : kind == 1 ? 0.5F
                                              : (float)sin(2 * M_PI * 20 * (double)i / RATE);
        sound_save(&in, "in.wav");
        sound_text("test.yml", "test: abx\nsounds: [in.wav]\nchoices:\n- {name: plain}\n"
                               "- {name: soft, gain: -20}\n");
        command_done("\"$HALO\" listen test.yml --export page -f");
        struct page page = page_load();
        const json_t *open = json_object_get(trial_at(&page, 0), "open");
        size_t count;
        double *plain = samples_of(&page, json_string_value(json_array_get(open, 0)), &count);
        double *soft = samples_of(&page, json_string_value(json_array_get(open, 1)), &count);
        ck_assert_uint_eq(count, 2 * (kind == 3 ? 1 : FRAMES));
        for (size_t i = 0; i < count && kind > 0; i++) /* matched: one as loud as the other */
            ck_assert_double_eq_tol(plain[i], soft[i], 1e-4);
        free(plain);
        free(soft);
        page_free(&page);
    }
}

/* The report finds the 7 kHz anchor in the key that --export wrote. */
START_TEST(a_deaf_listener_is_flagged)
{
    write_noise();
    sound_text("test.yml", "test: mushra\nsounds: [in.wav]\nchoices: [{name: a, gain: -1}]\n");
    command_done("\"$HALO\" listen test.yml --export page");
    struct page page = page_load();
    const json_t *trial = trial_at(&page, 0), *hidden = json_object_get(trial, "hidden"), *slot;
    json_t *ratings = json_array();
    size_t index;
    json_array_foreach((json_t *)hidden, index, slot)
    {
        static const int by_choice[] = {100, 60, 20, 95}; /* reference, a, the anchors */
        json_array_append_new(ratings, json_integer(by_choice[choice_of(&page, trial, slot)]));
    }
    json_t *answers =
        json_pack("{s:s, s:s, s:O, s:s, s:b, s:[{s:O, s:i, s:O, s:o}]}", "halo", "answers", "kind",
                  "mushra", "commitment", json_object_get(page.test, "commitment"), "id",
                  "00000000000000000000000000000001", "complete", 1, "trials", "trial",
                  json_object_get(trial, "id"), "seconds", 9, "shown", hidden, "ratings", ratings);
    ck_assert_int_eq(json_dump_file(answers, command_path("a.json"), 0), 0);
    struct command_result report = command_done("\"$HALO\" listen --collect a.json page.key");
    command_expect(report.out, "hidden reference below 90 in 0, 7 kHz anchor above 90 in 1");
    json_decref(answers);
    page_free(&page);
}

static void add_text(json_t *seen, const char *text)
{
    ck_assert_ptr_null(json_object_get(seen, text));
    json_object_set_new(seen, text, json_true());
}

/* Slots, positions, texts and names do not tell what plays; the key does, and is committed to. */
START_TEST(the_page_tells_nothing)
{
    write_noise();
    sound_text("test.yml", "test: abx\nsounds: [{file: in.wav, name: secretsound}]\ntrials: 100\n"
                           "choices:\n- {name: secretplain}\n- {name: secretsoft, gain: -1}\n");
    command_done("\"$HALO\" listen test.yml --export page");
    struct page page = page_load();
    json_t *seen = json_object();
    const json_t *pcm, *slot;
    size_t index, first_is_a = 0;
    json_array_foreach(json_object_get(page.data, "pcm"), index, pcm)
    {
        add_text(seen, command_json_string(pcm, "data"));
        ck_assert_uint_eq(strlen(command_json_string(pcm, "data")), FRAMES * 3 * 4 / 3);
    }
    ck_assert_uint_eq(index, 4);
    for (size_t t = 0; t < 100; t++) {
        const json_t *trial = trial_at(&page, t), *open = json_object_get(trial, "open"),
                     *hidden = json_object_get(trial, "hidden");
        json_array_foreach((json_t *)hidden, index, slot) add_text(seen, json_string_value(slot));
        ck_assert_uint_eq(choice_of(&page, trial, json_array_get(open, 0)), 0);
        ck_assert_uint_eq(choice_of(&page, trial, json_array_get(open, 1)), 1);
        first_is_a += choice_of(&page, trial, json_array_get(hidden, 0)) == 0;
    }
    ck_assert(first_is_a > 20 && first_is_a < 80); /* Chance alone fails once in 1e9. */
    ck_assert_int_ne(command_run("grep -rl 'secret\\|test.yml' page").code, 0);
    ck_assert_str_eq(command_done("stat -c %%a page.key").out, "600\n");
    ck_assert_str_eq(command_files(), "in.wav page page.key test.yml");
    json_t *bare = json_copy(page.key);
    char *text, digest[DIGEST_TEXT], *whole;
    json_object_del(bare, "salt");
    json_object_del(bare, "commitment");
    text = trial_log_text(bare);
    ck_assert_int_gt(asprintf(&whole, "%s %s", command_json_string(page.key, "salt"), text), 0);
    digest_of_text(whole, digest);
    ck_assert_str_eq(digest, command_json_string(page.test, "commitment"));
    ck_assert_str_eq(digest, command_json_string(page.key, "commitment"));
    free(text);
    free(whole);
    json_decref(bare);
    json_decref(seen);
    page_free(&page);
}

/* In each trial of bs1116 one of the two is the reference, and is a copy of its own. */
START_TEST(a_hidden_reference_is_not_known_by_its_copies)
{
    write_noise();
    sound_text("test.yml", "test: bs1116\nsounds: [in.wav]\nchoices:\n- {name: a, gain: -1}\n"
                           "- {name: b, mask: 'lowpass:9000'}\n- {name: c, mask: 'highpass:90'}\n");
    command_done("\"$HALO\" listen test.yml --export page");
    struct page page = page_load();
    json_t *seen = json_object();
    const json_t *slot;
    size_t index;
    for (size_t t = 0; t < 3; t++) {
        const json_t *trial = trial_at(&page, t);
        size_t references = 0;
        ck_assert_uint_eq(json_array_size(json_object_get(trial, "hidden")), 2);
        json_array_foreach(json_object_get(trial, "hidden"), index, slot)
        {
            char copy[32];
            snprintf(
                copy, sizeof copy, "%g",
                command_json_number(json_object_get(page.data, "slots"), json_string_value(slot)));
            add_text(seen, copy);
            references += choice_of(&page, trial, slot) == 0;
        }
        ck_assert_uint_eq(references, 1);
    }
    json_decref(seen);
    page_free(&page);
}

static void refused(const char *expected, const char *text)
{
    sound_text("bad.yml", text);
    command_refused(0, expected, "\"$HALO\" listen bad.yml --export page");
}

START_TEST(wrong_tests_are_refused)
{
    write_noise();
#define HEAD "test: abx\nsounds: [in.wav]\nchoices: [{name: a}, "
    refused("no valid YAML", "test: [abx\n");
    refused("'test' is none of", "sounds: [in.wav]\n");
    refused("'remarks' of a test must be a true or false", HEAD "{name: b}]\nremarks: yes\n");
    refused("'training' of a sound must be",
            "test: abx\nsounds: [in.wav, {file: in.wav, name: x, training: yes}]\n");
    refused("'anchors' of a test must be a list", "test: mushra\nanchors: 3500\n");
    refused("'reference' of a test must be a text", "test: mushra\nreference: 5\n");
    refused("'match' of a test must be a text", HEAD "{name: b}]\nmatch: 3\n");
    refused("'languages' is a list such as", HEAD "{name: b}]\nlanguages: [en_US]\n");
    refused("two questions have the name",
            HEAD "{name: b}]\nbefore: [{ask: a, name: x}, {ask: b, name: x}]\n");
    refused("'soundz' is no member", "test: abx\nsoundz: [in.wav]\n");
    refused("no 'sounds' that count", "test: abx\nsounds: [{file: in.wav, training: true}]\n");
    refused("two sounds have the name", "test: abx\nsounds: [in.wav, in.wav]\n");
    refused("compares two choices, not 1", "test: abx\nsounds: [in.wav]\nchoices: [{name: a}]\n");
    refused("two choices have the name", HEAD "{name: a, gain: 1}]\n");
    refused("'rate', which the test sets", HEAD "{name: b, rate: 8000}]\n");
    refused("in as 'b': \"maks\" is not an option", HEAD "{name: b, maks: x.wav}]\n");
    refused("nothere.wav", HEAD "{name: b, mask: nothere.wav}]\n");
    refused("gone-in.wav", HEAD "{name: b, file: 'gone-{sound}.wav'}]\n");
    refused("only mushra has anchors", HEAD "{name: b, gain: 1}]\nanchors: [3500]\n");
    refused("none of the choices",
            "test: mushra\nsounds: [in.wav]\nchoices: [{name: a}]\nreference: b\n");
    refused("no text in the language 'de'", HEAD "{name: b, gain: 1}]\nlanguages: [en, de]\n"
                                                 "title: {en: A test}\n");
    refused("nested too deeply", "test: abx\nsounds: &x [*x]\n");
    command_done("head -c 500000 /dev/zero | tr '\\0' '[' >deep.yml && mkdir folder.yml && "
                 "(echo 'halo-chain: 1'; echo 'stages:'; cat deep.yml) >chain.yml");
    command_refused(0, "nested too deeply", "\"$HALO\" listen deep.yml --export page");
    command_refused(0, "nested too deeply", "\"$HALO\" render in.wav out.wav --chain chain.yml");
    command_refused(0, "cannot read", "\"$HALO\" listen folder.yml --export page");
    command_done("rm -r *.yml");
    refused("the name is there twice", "test: abx\ntest: abx\n");
    refused("ends before it begins", "test: abx\nsounds: [{file: in.wav, from: 2, to: 1}]\n");
    command_refused(2, "needs a test file", "\"$HALO\" listen in.wav --export page");
    command_refused(1, "nothere.yml", "\"$HALO\" listen nothere.yml --export page");
    sound_text("test.yml", HEAD "{name: b, gain: -1}]\n");
    static const char *const others[] = {
        "--match rms",   "--from 1",    "--mask x.wav", "--no-align",   "--feedback",  "--fade 0.1",
        "--device null", "--csv t.csv", "--abx 3",      "--live-input", "--ceiling -3"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        command_refused(2, "stand in its test file", "\"$HALO\" listen test.yml --export page %s",
                        others[i]);
    command_done("mkdir page && echo precious >page/letter");
    command_refused(1, "exists", "\"$HALO\" listen test.yml --export page");
    command_refused(1, "is no page", "\"$HALO\" listen test.yml --export page --force");
    command_done("echo 'describe(1)' >page/test.js"); /* Other projects have such a file. */
    command_refused(1, "is no page", "\"$HALO\" listen test.yml --export page --force");
    ck_assert_str_eq(command_done("cat page/letter").out, "precious\n");
    json_t *line =
        command_json(command_done("rm -r page && \"$HALO\" listen test.yml --export page && "
                                  "\"$HALO\" listen test.yml --export page --force --json")
                         .out);
    ck_assert_double_eq(command_json_number(line, "trials"), 16);
    command_done("mkdir page.answers");
    command_refused(1, "has answers to this page", "\"$HALO\" listen test.yml --export page -f");
    command_done("rmdir page.answers");
    /* a full disk leaves the page and the key that were there */
    command_done("cp page.key before && cp -r page copy");
    ck_assert_int_ne(command_run("ulimit -f 60; \"$HALO\" listen test.yml --export page -f").code,
                     0);
    command_done("cmp page.key before && diff -r page copy");
    ck_assert_str_eq(command_files(), "bad.yml before copy in.wav page page.key test.yml");
}
