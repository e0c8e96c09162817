/* CamillaDSP configurations as masks, against its own filters and by hand. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

#define DEVICES                                                                                    \
    "devices:\n  samplerate: 48000\n  chunksize: 1024\n  capture:\n    type: Alsa\n"               \
    "    channels: 2\n    format: S32LE\n"
#define FILTERED(TYPE, PARAMETERS)                                                                 \
    DEVICES "filters:\n  f: {type: " TYPE ", parameters: {" PARAMETERS "}}\n"                      \
            "pipeline:\n  - {type: Filter, channels: [0], names: [f]}\n"

START_TEST(pipeline_by_hand)
{
    static const float raw[] = {9, 0.5f, 0.25f, 9};
    static const float wav[2][3] = {{0.1f, 0.2f, 0.3f}, {0, 0.5f, 0}};
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 3);
    memcpy(sound.block.data[0], wav[0], sizeof wav[0]);
    memcpy(sound.block.data[1], wav[1], sizeof wav[1]);
    sound_save(&sound, "a.wav");
    mask_save("r_48000.f32", raw, sizeof raw);
    mask_save_text("t.txt", "header\n1.0\n-0.5\n7\n");
    mask_save_text(
        "c.yml",
        DEVICES "filters:\n"
                "  wav:\n    type: Conv\n    parameters: {type: Wav, filename: a.wav, channel: 1}\n"
                "  raw:\n    type: Conv\n    parameters:\n      type: Raw\n"
                "      filename: r_$samplerate$.f32\n      format: FLOAT32LE\n"
                "      skip_bytes_lines: 4\n      read_bytes_lines: 8\n"
                "  text:\n    type: Conv\n    parameters:\n      type: Raw\n"
                "      filename: t.txt\n      skip_bytes_lines: 1\n      read_bytes_lines: 2\n"
                "  values:\n    type: Conv\n    parameters:\n      type: Values\n"
                "      values: [0.0, 2.0]\n"
                "  quieter:\n    type: Gain\n    parameters: {gain: -20.0, inverted: true}\n"
                "  later:\n    type: Delay\n    parameters: {delay: 0.0625, unit: ms}\n"
                "  eq:\n    type: Biquad\n    parameters: {type: Lowpass, freq: 100, q: 1}\n"
                "mixers:\n  three:\n    channels: {in: 2, out: 3}\n    mapping:\n"
                "      - dest: 0\n        sources:\n          - {channel: 0, gain: 0}\n"
                "      - dest: 2\n        sources:\n"
                "          - {channel: 0, gain: 0.5, scale: linear}\n"
                "          - {channel: 1, gain: null, inverted: true}\n"
                "      - dest: 1\n        mute: true\n        sources: [{channel: 1, gain: 0}]\n"
                "pipeline:\n"
                "  - {type: Filter, channel: 0, names: [wav, raw]}\n"
                "  - {type: Mixer, name: three}\n"
                "  - type: Filter\n    channels: [2]\n    names:\n      - values\n      - later\n"
                "  - {type: Filter, names: [quieter, text]}\n"
                "  - {type: Filter, names: [eq], bypassed: true}\n");
    struct mask *mask = mask_loaded("c.yml", NULL);
    ck_assert_uint_eq(mask->rate, 48000);
    ck_assert_uint_eq(mask->inputs, 2);
    ck_assert_uint_eq(mask->outputs, 3);
    ck_assert_uint_eq(mask->path_count, 3);
    /* 0 .5 0 by .5 .25 is 0 .25 .125 0; by 1 -.5 at -.1: 0 -.025 0 .00625 */
    mask_expect_path(mask, 0, 0, 4, (double[]){0, -0.025, 0, 0.00625});
    mask_expect_path(mask, 0, 2, 8, (double[]){0, 0, 0, 0, 0, -0.025, 0, 0.00625});
    mask_expect_path(mask, 1, 2, 6, (double[]){0, 0, 0, 0, 0.2, -0.1});
}

/* What CamillaDSP's own filters (4.1.3) answer to an impulse. */
START_TEST(filters_as_its_own)
{
    enum { TAPS = 6 };
    static const struct {
        const char *type, *parameters;
        double taps[TAPS];
    } cases[] = {
        {"Biquad",
         "type: Lowpass, freq: 4000, q: 1",
         {0.0535898385, 0.181435935, 0.272840942, 0.269197938, 0.20930704, 0.128505579}},
        {"Biquad",
         "type: Highpass, freq: 4000, q: 0.5",
         {0.622008468, -0.525783423, -0.19245009, -0.0469610812, 0.00992404416, 0.0271129929}},
        {"Biquad",
         "type: Peaking, freq: 4000, gain: 6, q: 2",
         {1.08091366, 0.128752818, 0.0562053132, -0.0183819313, -0.0763164722, -0.10604453}},
        {"Biquad",
         "type: Peaking, freq: 4000, gain: -6, bandwidth: 1.5",
         {0.85652635, -0.177026479, -0.0140134216, 0.0578995235, 0.0773919922, 0.070898715}},
        {"Biquad",
         "type: Lowshelf, freq: 4000, gain: 6, q: 0.6",
         {1.14412032, 0.262701474, 0.208176934, 0.152706319, 0.104693552, 0.0670526038}},
        {"Biquad",
         "type: Lowshelf, freq: 4000, gain: 6, slope: 6",
         {1.15869196, 0.266777888, 0.181703822, 0.123759429, 0.0842931975, 0.05741254}},
        {"Biquad",
         "type: Highshelf, freq: 4000, gain: -12, q: 0.6",
         {0.329570691, 0.15162123, 0.135944228, 0.113127199, 0.0889379493, 0.0665931145}},
        {"Biquad",
         "type: Highshelf, freq: 4000, gain: -12, slope: 9",
         {0.329960624, 0.151831476, 0.135338297, 0.112241426, 0.0881050527, 0.0659823739}},
        {"Biquad",
         "type: LowpassFO, freq: 4000",
         {0.211324865, 0.333333333, 0.19245009, 0.111111111, 0.0641500299, 0.037037037}},
        {"Biquad",
         "type: HighpassFO, freq: 4000",
         {0.788675135, -0.333333333, -0.19245009, -0.111111111, -0.0641500299, -0.037037037}},
        {"Biquad",
         "type: LowshelfFO, freq: 4000, gain: -6",
         {0.86304215, -0.19870731, -0.0895901107, -0.040393018, -0.0182117858, -0.00821105126}},
        {"Biquad",
         "type: HighshelfFO, freq: 4000, gain: -6",
         {0.580721618, 0.133705672, 0.0910676359, 0.0620266456, 0.0422466745, 0.0287744321}},
        {"Biquad",
         "type: Notch, freq: 4000, q: 2",
         {0.888888889, -0.171066746, -0.0658436214, 0.0316790271, 0.0999847584, 0.129297363}},
        {"Biquad",
         "type: Notch, freq: 4000, bandwidth: 2",
         {0.716511444, -0.351819, -0.0303738316, 0.114650715, 0.155438026, 0.143257526}},
        {"Biquad",
         "type: GeneralNotch, freq_z: 6000, freq_p: 4000, q_p: 2",
         {0.971637666, 0.121830883, 0.403490396, 0.52645675, 0.496707327, 0.355264596}},
        {"Biquad",
         "type: GeneralNotch, freq_z: 6000, freq_p: 4000, q_p: 2, normalize_at_dc: true",
         {0.406593674, 0.0509816242, 0.168845495, 0.220302271, 0.207853261, 0.148664819}},
        {"Biquad",
         "type: Bandpass, freq: 4000, q: 0.5",
         {0.333333333, 0.384900179, 1.11022302e-16, -0.12830006, -0.148148148, -0.12830006}},
        {"Biquad",
         "type: Bandpass, freq: 4000, bandwidth: 1.2",
         {0.183478899, 0.25948614, 0.0673510531, -0.0690140442, -0.140239587, -0.15464588}},
        {"Biquad",
         "type: Allpass, freq: 4000, q: 0.5",
         {0.333333333, -0.769800359, -3.33066907e-16, 0.25660012, 0.296296296, 0.25660012}},
        {"Biquad",
         "type: Allpass, freq: 4000, bandwidth: 1.2",
         {0.633042201, -0.51897228, -0.134702106, 0.138028088, 0.280479174, 0.309291759}},
        {"Biquad",
         "type: AllpassFO, freq: 4000",
         {-0.577350269, 0.666666667, 0.384900179, 0.222222222, 0.12830006, 0.0740740741}},
        {"Biquad",
         "type: LinkwitzTransform, freq_act: 4000, q_act: 1.2, freq_target: 2500, q_target: 0.7",
         {1.02153156, 0.101184219, 0.188663727, 0.226848794, 0.230904677, 0.213284626}},
        {"Biquad",
         "type: Free, b0: 1, b1: -1.5, b2: 0.75, a1: -1.2, a2: 0.5",
         {1, -0.3, -0.11, 0.018, 0.0766, 0.08292}},
        {"BiquadCombo",
         "type: ButterworthLowpass, freq: 4000, order: 5",
         {0.000584808961, 0.00486023473, 0.0192582727, 0.0492415003, 0.0928774756, 0.13967847}},
        {"BiquadCombo",
         "type: ButterworthHighpass, freq: 4000, order: 4",
         {0.499814998, -0.680434271, -0.180665324, 0.07775737, 0.169148855, 0.159012248}},
        {"BiquadCombo",
         "type: LinkwitzRileyLowpass, freq: 4000, order: 4",
         {0.00244925577, 0.0160653173, 0.0494608891, 0.0977225839, 0.143390506, 0.170405343}},
        {"BiquadCombo",
         "type: LinkwitzRileyHighpass, freq: 4000, order: 6",
         {0.346538414, -0.718726967, 0.0707316151, 0.273646623, 0.202958063, 0.0569866678}},
        {"BiquadCombo",
         "type: Tilt, gain: -5",
         {0.802460209, 0.0763708461, 0.0378219117, 0.0242063114, 0.018503159, 0.0154577937}},
        {"BiquadCombo",
         "type: FivePointPeq, fls: 500, gls: 1, qls: 0.7, fp1: 1000, gp1: -5, qp1: 0.7, fp2: 4000, gp2: 1.5, qp2: 0.7, fp3: 8000, gp3: -2.5, qp3: 0.7, fhs: 9000, ghs: 3, qhs: 0.7",
         {1.10623691, -0.313932967, 0.0211066256, 0.022008608, -0.0311772404, -0.0454364426}},
        {"BiquadCombo",
         "type: GraphicEqualizer, freq_min: 100, freq_max: 12000, gains: [3, 0, -4, 5]",
         {1.15703327, 0.0837617326, -0.203447414, -0.214168835, -0.0999834064, 0.0125974124}},
        {"DiffEq",
         "a: [1, -1.2, 0.5, -0.01], b: [0.2, 0.4, 0.1, 0.05]",
         {0.2, 0.64, 0.768, 0.6536, 0.40672, 0.168944}},
        {"Delay",
         "delay: 0.7, unit: samples, subsample: true",
         {0.176470588, 0.968858131, -0.170974964, 0.0301720525, -0.00532447986, 0.000939614093}},
        {"Delay",
         "delay: 75, unit: us, subsample: true",
         {0, 0, -0.0256410256, 0.315581854, 0.902240429, -0.269520597}},
        {"Delay",
         "delay: 15, unit: mm, subsample: true",
         {0.00857633392, -0.0634212693, 0.995869394, 0.0642495841, -0.00443086922,
          -0.000834468133}},
        {"Delay", "delay: 2.5, unit: samples", {0, 0, 0, 1, 0, 0}},
        {"Delay", "delay: 0.05", {0, 0, 1, 0, 0, 0}},
        {"Gain", "gain: -3.3, inverted: true", {-0.683911647, -0, -0, -0, -0, -0}},
        {"Gain", "gain: 0.7, scale: linear", {0.7, 0, 0, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, FILTERED("%s", "%s"), cases[i].type, cases[i].parameters);
        mask_save_text("c.yml", text);
        struct mask *mask = mask_loaded("c.yml", NULL);
        const double *taps = mask_path_column(mask, (struct mask_path){0, 0, 0});
        for (size_t k = 0; k < TAPS; k++) {
            double tap = k < mask->taps ? taps[k] : 0;
            ck_assert_msg(fabs(tap - cases[i].taps[k]) < 1e-8, "%s, %s: tap %zu is %.9g, not %.9g",
                          cases[i].type, cases[i].parameters, k, tap, cases[i].taps[k]);
        }
    }
}

/* A narrow peak at 20 Hz rings long and quietly: its gain must stay. */
START_TEST(low_frequencies_are_not_cut)
{
    mask_save_text("c.yml", FILTERED("Biquad", "type: Peaking, freq: 20, q: 10, gain: 6"));
    struct mask *mask = mask_loaded("c.yml", NULL);
    ck_assert_uint_lt(mask->taps, 250000);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 20), 6, 1e-6);
}

START_TEST(difference_equations)
{
    double halves[24];
    for (size_t k = 0; k < 24; k++)
        halves[k] = ldexp(1, -(int)k);
    mask_save_text("c.yml", FILTERED("DiffEq", "a: [1, -0.5]"));
    struct mask *mask = mask_loaded("c.yml", NULL);
    ck_assert_uint_ge(mask->taps, 24);
    for (size_t k = 0; k < 24; k++)
        ck_assert_double_eq_tol(mask_column(mask, 0)[k], halves[k], 1e-12);
    mask_refused("c.yml", FILTERED("DiffEq", "a: [1, -1]"), "the filter is not stable, or rings");
    mask_refused("c.yml", FILTERED("DiffEq", "a: [1, -3]"), "the filter is not stable, or rings");
}

/* Each channel minus a tenth of the other one, two frames later, of what came out. */
START_TEST(race_by_hand)
{
    mask_save_text("c.yml", DEVICES "processors:\n  r:\n    type: RACE\n    parameters:\n"
                                    "      channels: 2\n      channel_a: 1\n      channel_b: 0\n"
                                    "      delay: 2\n      delay_unit: samples\n"
                                    "      attenuation: 20\n"
                                    "pipeline:\n  - {type: Processor, name: r}\n");
    struct mask *mask = mask_loaded("c.yml", NULL);
    for (size_t path = 0; path < 4; path++) {
        bool is_crossed = path == 1 || path == 2;
        const double *taps = mask_path_column(mask, (struct mask_path){path % 2, path / 2, 0});
        for (size_t k = 0; k < 12; k++) {
            double wanted = k % 4 == (is_crossed ? 2 : 0) ? pow(-0.1, (double)k / 2) : 0;
            ck_assert_double_eq_tol(taps[k], wanted, 1e-9);
        }
    }
}

/* A filter's name is not a command of Equalizer APO; names of steps have tokens. */
/* Its limiters and compressors are left out, the rest is applied. */
START_TEST(nonlinear_stages_are_skipped)
{
    mask_save_text("c.yml",
                   DEVICES "filters:\n"
                           "  g: {type: Gain, parameters: {gain: -20}}\n"
                           "  l: {type: Limiter, parameters: {clip_limit: -3}}\n"
                           "  d: {type: Dither, parameters: {type: Flat, bits: 16}}\n"
                           "processors:\n  c: {type: Compressor, parameters: {channels: 2}}\n"
                           "pipeline:\n"
                           "  - {type: Filter, names: [d, g, l]}\n"
                           "  - {type: Processor, name: c}\n");
    struct mask *mask = mask_loaded("c.yml", &(struct mask_load_options){.skips_nonlinear = true});
    mask_expect_path(mask, 1, 1, 1, (double[]){0.1});
    const char *said = mask_said("c.yml,skip=nonlinear", NULL);
    command_expect(said, "filter l, a Limiter, is no filter and is left out");
    command_expect(said, "filter d, a Dither, is");
    command_expect(said, "processor c, a Compressor, is");
    mask_refused("c.yml", FILTERED("Volume", "fader: Aux1"), "follows the volume control");
}

/* Coefficients of another machine, in the folders where CamillaDSP keeps them. */
START_TEST(files_in_folders_beside)
{
    static const char *const places[] = {"a/coeffs", "a/irs", "coeffs", "a/camilladsp/coeffs"};
    static const char *const names[] = {"/home/pi/camilladsp/coeffs/x.txt", "C:\\\\dsp\\\\x.txt",
                                        "x.txt"};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            if (p == 3 && n > 0)
                continue;
            char text[600], file[64];
            snprintf(text, sizeof text,
                     FILTERED("Conv", "type: Raw, format: TEXT, filename: \"%s\""), names[n]);
            command_clean();
            command_done("mkdir -p a '%s'", places[p]);
            snprintf(file, sizeof file, "%s/x.txt", places[p]);
            mask_save_text(file, "0.5\n0.25\n");
            mask_save_text("a/c.yml", text);
            struct mask *mask = mask_loaded("a/c.yml", NULL);
            mask_expect_path(mask, 0, 0, 2, (double[]){0.5, 0.25});
            command_expect(mask_said("a/c.yml", NULL), "x.txt beside it for ");
            if (p == 2)
                mask_spec_refused(1, "cannot open", "a/c.yml,trust-config=no", NULL);
        }
}

START_TEST(names)
{
    mask_save_text("c.yml", DEVICES "filters:\n"
                                    "  filter1:\n    type: Gain\n    parameters: {gain: -20}\n"
                                    "  filter48000:\n    type: Delay\n"
                                    "    parameters: {delay: 1, unit: samples}\n"
                                    "mixers:\n  only2:\n    channels: {in: 2, out: 1}\n"
                                    "    mapping:\n      - {dest: 0, sources: [{channel: 1}]}\n"
                                    "pipeline:\n"
                                    "  - {type: Filter, names: [filter1, filter$samplerate$]}\n"
                                    "  - {type: Mixer, name: only$channels$}\n");
    struct mask *mask = mask_loaded("c.yml", NULL);
    ck_assert_str_eq(mask->kind, "CamillaDSP configuration");
    ck_assert_uint_eq(mask->path_count, 1);
    mask_expect_path(mask, 1, 0, 2, (double[]){0, 0.1});
}

/* What a mapping says itself counts, then the first of what it merges. */
START_TEST(merge_keys)
{
    mask_save_text("c.yml", DEVICES
                   "filters:\n"
                   "  base: &base {type: Gain, parameters: &half {gain: 0.5, scale: linear}}\n"
                   "  later: &later\n    <<: *base\n    parameters:\n"
                   "      <<: [{inverted: true}, *half, {inverted: false, gain: 9}]\n"
                   "      gain: 0.25\n"
                   "  last:\n    <<: *later\n"
                   "pipeline:\n  - &step {type: Filter, channels: [0], names: [base, last]}\n"
                   "  - {<<: *step, channels: [1], names: [base]}\n");
    struct mask *mask = mask_loaded("c.yml", NULL);
    mask_expect_path(mask, 0, 0, 1, (double[]){-0.125});
    mask_expect_path(mask, 1, 1, 1, (double[]){0.5});
    mask_refused("c.yml", "devices: &d\n  <<: *d\n", "<<: merges a mapping into itself");
    mask_refused("c.yml", "devices:\n  <<: [3]\n", "line 2: <<: must be a mapping");
    mask_refused("c.yml", FILTERED("Gain", "gain: 1, <<: {q: 3}"), "'q' is no setting");
    mask_refused("c.yml", FILTERED("Gain", "gain: 1, '<<': {scale: dB}"), "'<<' is no setting");
}

/* Beside the configuration, then in the working folder. */
START_TEST(files_in_the_working_folder)
{
    command_done("mkdir -p conf");
    mask_save_text("conf/c.yml", FILTERED("Conv", "type: Raw, filename: t.txt"));
    mask_save_text("t.txt", "0.5\n");
    struct command_result result = command_done("\"$HALO\" mask convert conf/c.yml a.mask");
    command_expect(result.err, "using ./t.txt");
    mask_save_text("conf/t.txt", "0.25\n");
    result = command_done("\"$HALO\" mask convert conf/c.yml b.mask");
    ck_assert_str_eq(result.err, "");
    command_done("grep -q '^0.5 ' a.mask && grep -q '^0.25 ' b.mask");
}

/* Its taps are used one by one at `samplerate:`. */
START_TEST(a_wav_of_another_rate)
{
    sound_noise_file("ir.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 1, 50);
    mask_save_text("c.yml", FILTERED("Conv", "type: Wav, filename: ir.wav"));
    struct command_result result = command_done("\"$HALO\" mask convert c.yml c.wav");
    command_expect(result.err, "the taps of ir.wav, of 44100 Hz, are taken as of 48000 Hz");
    struct sound read = sound_load("c.wav"), own = sound_load("ir.wav");
    ck_assert_uint_eq(read.rate, 48000);
    ck_assert_uint_eq(read.block.frames, 50);
    for (size_t i = 0; i < 50; i++)
        ck_assert_float_eq(read.block.data[0][i], own.block.data[0][i]);
}

START_TEST(refused)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {FILTERED("Gain", "gain: -3,5"),
         "line 9: '5' is no setting that CamillaDSP has here; decim"},
        {"devices: {capture: {channels: 1}}\nfilters:\n  f: {type: Gain, parameters: {gain: 1}}\n"
         "  f: {type: Gain, parameters: {gain: 2}}\npipeline: [{type: Filter, names: [f]}]\n",
         "there is more than one filter f"},
        {FILTERED("Gain", "gain: -3, inverse: true"), "'inverse' is no setting"},
        {FILTERED("Gain", "gain: -3, gain: -9"), "'gain' is no setting"},
        {"filters:\n  f: {type: Gain, parameters: {gain: 1}}\n",
         "c.yml: it has no devices:, which says how many channels"},
        {"devices: {capture: {channels: 2}}\npipline: []\n", "'pipline' is no setting"},
        {"devices: {capture: {channels: 2}, sample_rate: 48000}\npipeline: []\n",
         "'sample_rate' is no setting"},
        {"devices: {capture: {channels: 2}, playback: {channels: 4}}\npipeline: []\n",
         "playback: has 4 channels, but the pipeline ends with 2"},
        {DEVICES "mixers:\n  m: {channels: {in: 2, out: 1}, maping: [], mapping: []}\n"
                 "pipeline: [{type: Mixer, name: m}]\n",
         "'maping' is no setting"},
        {FILTERED("Dither", "type: None, bits: 8"), "line 11: filter f: a Dither rounds"},
        {FILTERED("Volume", "fader: Aux1"), "filter f: a Volume follows the volume control"},
        {FILTERED("Loudness", "reference_level: -20"), "a Loudness follows"},
        {FILTERED("Limiter", "clip_limit: -10"), "a Limiter is not linear and cannot be a mask; "
                                                 "skip=nonlinear leaves it out"},
        {FILTERED("Reverb", "size: 1"), "filter f: CamillaDSP has no type Reverb"},
        {FILTERED("Biquad", "type: Comb"), "line 9: there is no Biquad of the type Comb"},
        {FILTERED("Biquad", "type: Lowpass, freq: 100"), "line 9: q: is missing"},
        {FILTERED("Biquad", "type: Lowpass, freq: 24000, q: 1"), "freq: must be between 0 and"},
        {FILTERED("Biquad", "type: Highshelf, freq: 100, gain: 3, slope: 13"), "slope: must be"},
        {FILTERED("Biquad", "type: Free, b0: 1, b1: 0, b2: 0, a1: 0, a2: 1"),
         "is not stable: its response does not decay"},
        {FILTERED("BiquadCombo", "type: LinkwitzRileyLowpass, freq: 100, order: 3"),
         "order: must be even"},
        {FILTERED("BiquadCombo", "type: GraphicEqualizer, gains: [50]"), "gains: must be"},
        {FILTERED("Gain", "inverted: true"), "gain: is missing"},
        {FILTERED("Delay", "delay: -1, unit: ms"), "a delay of"},
        {FILTERED("Delay", "delay: 1, unit: feet"), "feet is not a unit"},
        {FILTERED("Conv", "type: Raw, filename: t, format: S24_LE"),
         "line 9: there is no format 'S24_LE'"},
        {FILTERED("Conv", "type: Raw, filename: two.txt"), "two.txt: line 1: '0.5 1'"},
        {DEVICES "pipeline:\n  - {type: Processor, name: comp}\n",
         "line 9: there is no processor comp"},
        {DEVICES "processors:\n  c: {type: Compressor}\npipeline:\n"
                 "  - {type: Processor, name: c}\n",
         "line 9: processor c: a Compressor is not linear"},
        {DEVICES "processors:\n  g: {type: NoiseGate}\npipeline:\n"
                 "  - {type: Processor, name: g}\n",
         "processor g: a NoiseGate is not linear"},
        {DEVICES "processors:\n  r: {type: RACE, parameters: {channels: 2, channel_a: 0, "
                 "channel_b: 0, delay: 1, attenuation: 2}}\npipeline:\n"
                 "  - {type: Processor, name: r}\n",
         "two different"},
        {DEVICES "pipeline:\n  - {type: Filter, channel: 0, names: [no]}\n",
         "line 9: there is no filter no"},
        {DEVICES "pipeline:\n  - {type: Filter, channel: 5, names: []}\n", "line 9: channel 5"},
        {DEVICES "pipeline:\n  - {type: Mixer, name: no}\n", "line 9: there is no mixer no"},
        {"pipeline:\n  - {type: Filter\n  x", "line 4: not YAML"},
        {"pipeline:\n  - {type: Filter, names: [a]}\n# \x01\n", "line 3: not YAML: control"},
        {"pipeline: []\n", "it has no devices:"},
        {"devices: {capture: {channels: 1000000}}\npipeline: []\n", "channels: of capture"},
        {"devices: {capture: {channels: 1}}\n"
         "filters: {f: {type: Biquad, parameters: {type: LowpassFO, freq: 100}}}\n"
         "pipeline: [{type: Filter, names: [f]}]\n",
         "freq: needs samplerate:"},
    };
    mask_save_text("two.txt", "0.5 1\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_refused("c.yml", cases[i].text, cases[i].expected);
}
