/* Filter chains of PipeWire as masks, against paths computed by hand and sections computed by SciPy
 * from their analogue prototypes; and written ones, read again. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

#define CHAIN(graph, rest)                                                                           \
    "context.modules = [ { name = libpipewire-module-filter-chain args = { filter.graph = {\n" graph \
    "\n} " rest "} } ]\n"
#define NODE(fields) CHAIN("nodes = [ { type = builtin name = x " fields " } ]", "")
#define STEREO "audio.channels = 2"

/* a.wav: 0.1 0.2 0.3 | 0 0.5 0 */
static void make_file(const char *name, uint32_t rate)
{
    static const float taps[2][3] = {{0.1f, 0.2f, 0.3f}, {0, 0.5f, 0}};
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate, 2, 3);
    memcpy(sound.block.data[0], taps[0], sizeof taps[0]);
    memcpy(sound.block.data[1], taps[1], sizeof taps[1]);
    sound_save(&sound, name);
}

static struct mask *chain_loaded(const char *text)
{
    mask_save_text("a.conf", text);
    return mask_loaded("a.conf", NULL);
}

START_TEST(links_and_gains)
{
    make_file("a.wav", 48000);
    struct mask *mask = chain_loaded(CHAIN(
        "nodes = [ # a comment\n"
        " { type = builtin name = l label = copy }, { type: builtin, name: r, label: copy }\n"
        " { type = builtin name = c label = convolver\n"
        "   config = { filename = a.wav channel = 1 gain = 2 delay = 3 length = 2 offset = 1 } }\n"
        " { \"type\": \"builtin\" \"name\": \"d\" \"label\": \"delay\" config = { max-delay = 1 }\n"
        "   control = { \"Delay (s)\" = 0.0001 } }\n"
        " { type = builtin name = i label = invert }\n"
        " { type = builtin name = n label = linear control = { Mult = 0.5 } }\n"
        " { type = builtin name = m label = mixer control = { \"Gain 2\" = -3 2 = 0.25 } } ]\n"
        "links = [ { output = \"l:Out\" input = \"c:In\" } { output = \"l:Out\" input = \"d:In\" }\n"
        " { output = \"r:0\" input = \"i:0\" } { output = \"i:Out\" input = \"n:In\" }\n"
        " { output = \"c:Out\" input = \"m:In 1\" } { output = \"d:Out\" input = \"m:In 2\" }\n"
        " { output = \"n:Out\" input = \"m:In 3\" } ]\n"
        "inputs = [ \"l:In\" \"r:In\" null ] outputs = [ null \"m:Out\" ]",
        "capture.props = { audio.position = [ FL FR FC ] } playback.props = { audio.channels = \"2\" "
        "}"));
    ck_assert_str_eq(mask->kind, "PipeWire filter chain");
    ck_assert_uint_eq(mask->inputs, 3);
    ck_assert_uint_eq(mask->outputs, 2);
    ck_assert_uint_eq(mask->path_count, 2);
    mask_expect_path(mask, 0, 1, 5, (double[]){0, 0, 0, 1, -3}); /* 0.0001 s: 4.8 frames */
    mask_expect_path(mask, 1, 1, 1, (double[]){-0.125});
}

/* The same in strict JSON. */
START_TEST(json_is_read_as_well)
{
    make_file("a.wav", 48000);
    struct mask *mask = chain_loaded(
        "{ \"context.modules\": [ { \"name\": \"libpipewire-module-rt\" },\n"
        "  { \"name\": \"libpipewire-module-filter-chain\", \"args\": { \"filter.graph\": {\n"
        "  \"nodes\": [ { \"type\": \"builtin\", \"label\": \"convolver\",\n"
        "    \"config\": { \"filename\": \"\\u0061.wav\" } } ] } } } ] }\n");
    ck_assert(!mask->has_own_paths); /* as many instances as the file has channels */
    ck_assert_uint_eq(mask->columns, 2);
    mask_expect_taps(mask, 0, 3, (double[]){0.1f, 0.2f, 0.3f});
    mask_expect_taps(mask, 1, 2, (double[]){0, 0.5});
}

START_TEST(instances_follow_the_stream)
{
    static const char graph[] = CHAIN("nodes = [ { type = builtin label = invert } ]", "");
    struct mask_load_options options = {.sound = {.rate = 48000, .channels = 3}};
    struct mask *mask = chain_loaded(graph);
    ck_assert(!mask->has_own_paths);
    mask = chain_loaded(CHAIN("nodes = [ { type = builtin label = invert } ]", STEREO));
    ck_assert(mask->has_own_paths);
    ck_assert_uint_eq(mask->inputs, 2);
    mask_expect_path(mask, 1, 1, 1, (double[]){-1});
    mask = chain_loaded(CHAIN("nodes = [ { type = builtin label = mixer } ]\n"
                              "inputs = [ \"In 1\" null null null null null ]",
                              "capture.props = { audio.position = \"RL,RR,FL,FR,FC,LFE\" }"));
    ck_assert_uint_eq(mask->inputs, 6);
    mask_expect_path(mask, 4, 0, 1, (double[]){1}); /* as sounds have it: FL FR FC LFE RL RR */
    mask = chain_loaded(CHAIN("nodes = [ { type = builtin label = copy } ]",
                              "audio.position = [ FL FR ]\n"
                              "playback.props = { audio.position = [ FR FL ] }"));
    mask_expect_path(mask, 0, 1, 1, (double[]){1});
    mask_save_text("a.conf", CHAIN("nodes = [ { type = builtin label = dcblock } ]", ""));
    mask = mask_loaded("a.conf", &options); /* three of its eight */
    ck_assert_uint_eq(mask->inputs, 3);
    ck_assert_uint_eq(mask->outputs, 3);
    double sum = 0; /* no constant passes */
    for (size_t k = 0; k < mask->taps; k++)
        sum += mask_column(mask, 0)[k];
    ck_assert_double_eq_tol(sum, 0, 1e-5);
}

START_TEST(made_impulses)
{
    struct mask *mask =
        chain_loaded(CHAIN("nodes = [ { type = builtin label = convolver2 config = { impulses = [\n"
                           " { filename = /dirac gain = 0.5 delay = 0.001 }\n"
                           " { filename = \"/ir:48000,1,-2,0.5\" }\n"
                           " { filename = /hilbert length = 8 } ] } } ]\n"
                           "outputs = [ \"Out 1\" \"Out 2\" \"Out 3\" ]",
                           "capture.props = { audio.channels = 1 }"));
    double h1 = 2 / M_PI * (0.43 + 0.57 * cos(M_PI / 4));
    double h3 = 2 / (3 * M_PI) * (0.43 + 0.57 * cos(3 * M_PI / 4)), dirac[49] = {0};
    dirac[48] = 0.5;
    ck_assert_uint_eq(mask->outputs, 3);
    mask_expect_path(mask, 0, 0, 49, dirac);
    mask_expect_path(mask, 0, 1, 3, (double[]){1, -2, 0.5});
    mask_expect_path(mask, 0, 2, 8, (double[]){0, h3, 0, h1, 0, -h1, 0, -h3});
}

/* From the prototypes in s, by scipy.signal.bilinear: 2000 Hz, Q 1.5, -4 dB. */
START_TEST(sections)
{
    static const struct {
        const char *label;
        double decibels[3]; /* at 500, 1800 and 9000 Hz */
    } cases[] = {
        {"bq_lowpass", {0.420859, 4.023167, -27.954980}},
        {"bq_highpass", {-23.754956, 2.173879, 0.263559}},
        {"bq_bandpass", {-15.188874, -0.423302, -17.367536}},
        {"bq_lowshelf", {-4.196866, -3.608253, 0.123035}},
        {"bq_highshelf", {0.196866, -0.391747, -4.123035}},
        {"bq_peaking", {-0.125034, -3.618825, -0.075806}},
        {"bq_notch", {-0.133523, -10.321269, -0.080360}},
        {"bq_allpass", {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const double frequencies[] = {500, 1800, 9000};
        char text[512];
        snprintf(text, sizeof text,
                 CHAIN("nodes = [ { type = builtin label = %s control = { Freq = 2000 Q = 1.5 "
                       "Gain = -4 } } ]",
                       ""),
                 cases[i].label);
        struct mask *mask = chain_loaded(text);
        for (size_t f = 0; f < 3; f++)
            ck_assert_double_eq_tol(mask_magnitude(mask, 0, frequencies[f]), cases[i].decibels[f],
                                    2e-6);
    }
}

/* 0.25 + 0.5 z^-1 over 1 - 0.5 z^-1; a gain; and a comb of 2 frames. */
START_TEST(raw_sections_and_combs)
{
    struct mask *mask = chain_loaded(
        CHAIN("nodes = [ { type = builtin label = bq_raw config = { coefficients = [\n"
              " { rate = 44100 b0 = 9 } { rate = 48000 b0 = 0.5 b1 = 1 a0 = 2 a1 = -1 } ] } } ]",
              ""));
    ck_assert_double_eq_tol(mask_column(mask, 0)[0], 0.25, 1e-15);
    ck_assert_double_eq_tol(mask_column(mask, 0)[1], 0.625, 1e-15);
    ck_assert_double_eq_tol(mask_column(mask, 0)[2], 0.3125, 1e-15);
    mask = chain_loaded(CHAIN("nodes = [ { type = builtin label = delay config = {}\n"
                              " control = { \"Delay (s)\" = 0.0000417 Feedback = 0.5 "
                              "Feedforward = -0.5 } } ]",
                              ""));
    double comb[] = {-0.5, 0, 1, 0, 0.5, 0, 0.25};
    for (size_t k = 0; k < 7; k++)
        ck_assert_double_eq(mask_column(mask, 0)[k], comb[k]);
}

START_TEST(parametric_equaliser)
{
    mask_save_text("left.txt", "Preamp: -6.0 dB\nFilter 1: ON PK Fc 2000 Hz Gain -4.0 dB Q 1.500\n"
                               "Filter 2: OFF PK Fc 90 Hz Gain 9 dB Q 1\n");
    struct mask *mask =
        chain_loaded(CHAIN("nodes = [ { type = builtin label = param_eq config = {\n"
                           " filename1 = left.txt filters2 = [\n"
                           "  { type = bq_highshelf freq = 0 gain = -20 },\n"
                           "  { type = bq_lowpass freq = 2000 q = 1.5 }, ] } } ]",
                           STEREO));
    ck_assert_uint_eq(mask->inputs, 2);
    ck_assert_uint_eq(mask->outputs, 2);
    ck_assert_double_eq_tol(mask_magnitude(mask, 0, 1800), -6 - 3.618825, 2e-6);
    ck_assert_double_eq_tol(mask_magnitude(mask, 1, 1800), -20 + 4.023167, 2e-6);
}

/* The module of a parametric equaliser is a filter chain of one param_eq. */
START_TEST(equaliser_module)
{
#define EQUALISER(args)                                                                            \
    "# eq\ncontext.modules = [\n{ name = libpipewire-module-parametric-equalizer\n"                \
    " args = { equalizer.description = \"EQ\"\n  " args " } } ]\n"
    command_clean();
    mask_save_text("EQ.txt", "Preamp: -6.0 dB\nFilter 1: ON PK Fc 2000 Hz Gain -4.0 dB Q 1.500\n");
    mask_save_text("a.conf", EQUALISER("equalizer.filepath = \"EQ.txt\""));
    for (size_t channels = 0; channels <= 6; channels += 2) {
        struct mask *mask = mask_loaded(
            "a.conf", &(struct mask_load_options){.sound = {.rate = 48000, .channels = channels}});
        ck_assert_uint_eq(mask->inputs, channels ? channels : 2);
        ck_assert_uint_eq(mask->outputs, mask->inputs);
        ck_assert_double_eq_tol(mask_magnitude(mask, 0, 1800), -6 - 3.618825, 2e-6);
    }
    mask_save_text("a.conf",
                   EQUALISER("equalizer.filepath = \"/home/x/eq/EQ.txt\" audio.position = "
                             "[ FL FR FC ] playback.props = { audio.channels = 3 }"));
    struct mask *mask = mask_loaded("a.conf", NULL);
    ck_assert_uint_eq(mask->inputs, 3);
    command_expect(mask_said("a.conf", NULL),
                   "a.conf: using EQ.txt beside it for /home/x/eq/EQ.txt");
    mask_refused("a.conf", EQUALISER(""), "without equalizer.filepath");
    mask_refused("a.conf", EQUALISER("equalizer.filepath = \"no.txt\""), "cannot open no.txt");
}

/* PipeWire reads so many characters of a number, and takes what is left as the next words. */
START_TEST(long_numbers_of_a_listing)
{
    mask_save_text("eq.txt", "Preamp: -6.123456 dB\n"
                             "Filter 1: ON PK Fc 2000.000000 Hz Gain -4.0 dB Q 1.5\n"
                             "Filter 2: ON PK Fc 500 Hz Gain -10.1234 dB Q 1.5\n"
                             "Filter 3: ON PK Fc 2000.000 Hz Gain -4.000 dB Q 1.500000001\n");
    mask_save_text("cut.txt", "Preamp: -6.123 dB\nFilter 3: ON PK Fc 2000 Hz Gain -4 dB Q 1.5\n");
    mask_save_text("a.conf", NODE("label = param_eq config = { filename = eq.txt }"));
    const char *said = mask_said("a.conf", NULL);
    command_expect(said, "eq.txt: line 2 is not a PK");
    command_expect(said, "eq.txt: line 3 is not a PK");
    ck_assert(!strstr(said, "line 4"));
    struct mask *mask = mask_loaded("a.conf", NULL);
    struct mask *wanted = chain_loaded(NODE("label = param_eq config = { filename = cut.txt }"));
    ck_assert_uint_eq(mask->taps, wanted->taps);
    for (size_t k = 0; k < mask->taps; k++)
        ck_assert_double_eq(mask_column(mask, 0)[k], mask_column(wanted, 0)[k]);
}

/* What has no link is named: as an error where nothing is left, else as a note. */
START_TEST(what_is_not_linked)
{
    static const char graph[] =
        "filter.graph = { nodes = [ { type = builtin name = a label = copy }\n"
        " { type = builtin name = b label = %s } { type = builtin name = c label = copy } ]\n"
        " links = [ { output = \"b:%s\" input = \"c:In\" } ] outputs = [ \"%s:Out\" \"c:Out\" ] }\n";
    char text[1024];
    snprintf(text, sizeof text, graph, "invert", "Out", "c");
    mask_refused("a.conf", text,
                 "node 'b': nothing is linked to its input 'In', so that all is silent");
    snprintf(text, sizeof text, graph, "param_eq", "Out 3", "c");
    mask_refused("a.conf", text, "node 'b': nothing is linked to its input 'In 3'");
    snprintf(text, sizeof text, graph, "mixer", "Out", "a");
    mask_save_text("a.conf", text);
    command_expect(mask_said("a.conf", NULL),
                   "node 'b': nothing is linked to its input 'In 1', which is silent");
    snprintf(text, sizeof text, graph, "invert", "Out", "a");
    sprintf(strstr(text, " links"), " outputs = [ \"a:Out\" ] }\n");
    mask_save_text("a.conf", text);
    command_expect(mask_said("a.conf", NULL), "node 'b' is linked to no output and left out");
}

/* Impulses that nothing needs are not made: these would take half a minute. */
START_TEST(long_impulses)
{
    char text[1 << 16] = "filter.graph = { nodes = [ { type = builtin name = a label = copy }\n";
    for (size_t i = 0; i < 255; i++)
        strcat(text, " { type = builtin label = convolver2 config = { impulses = [\n"
                     "  { filename = /hilbert length = 16000000 } ] } }\n");
    strcat(text, "] inputs = [ \"a:In\" ] outputs = [ \"a:Out\"");
    strcat(text, "] }\n");
    mask_save_text("a.conf", text);
    (void)mask_loaded("a.conf", NULL);
}

/* The rate of filters where no file has one, from any of the three places. */
START_TEST(rates_of_streams)
{
    static const char *const rests[] = {
        "audio.rate = 96000", "capture.props = { audio.rate = 96000 }",
        "audio.rate = 44100 playback.props = { audio.rate = 96000 }"};
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        char text[512];
        snprintf(text, sizeof text, CHAIN("nodes = [ { type = builtin label = copy } ]", "%s"),
                 rests[i]);
        struct mask *mask = chain_loaded(text);
        ck_assert_uint_eq(mask->rate, 96000);
    }
    make_file("a.wav", 44100); /* a delay in seconds before the file that sets the rate */
    struct mask *mask = chain_loaded(
        CHAIN("nodes = [ { type = builtin name = d label = convolver config = {\n"
              " filename = /dirac delay = 0.1 } }\n"
              " { type = builtin name = f label = convolver config = { filename = a.wav } } ]\n"
              "links = [ { output = \"d:Out\" input = \"f:In\" } ]",
              "audio.rate = 48000"));
    ck_assert_uint_eq(mask->rate, 44100);
    ck_assert_double_eq_tol(mask_column(mask, 0)[4410], 0.1f, 1e-12);
}

/* Of several files the one whose rate is the sound's. */
START_TEST(the_nearest_rate)
{
    struct mask_load_options options = {.sound = {.rate = 44100, .channels = 2}};
    make_file("a.wav", 48000);
    make_file("b.wav", 44100);
    mask_save_text("a.conf", CHAIN("nodes = [ { type = builtin label = convolver config = { "
                                   "filename = [ a.wav, b.wav ] } } ]",
                                   ""));
    struct mask *mask = mask_loaded("a.conf", &options);
    ck_assert_uint_eq(mask->rate, 44100);
}

START_TEST(refused)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {NODE("label = clamp"), "node 'x': 'clamp' is not linear"},
        {CHAIN("nodes = [ { type = ladspa name = x plugin = p label = copy } ]", ""),
         "node 'x': a node of the type 'ladspa'"},
        {NODE("label = bq_peaking control = { Frequency = 5 }"), "has no control 'Frequency'"},
        {NODE("label = bq_peaking control = { Freq = \"5\" }"), "'Freq' must be a number"},
        {NODE("label = linear control = { Add = 1 }"), "a mask cannot add a constant"},
        {NODE("label = convolver config = { filename = no.wav }"), "cannot open no.wav"},
        {NODE("label = convolver config = { filename = /etc/passwd }"), "/etc/passwd"},
        {NODE("label = convolver config = { filename = /dirac offset = 1 }"), "nothing is left"},
        {NODE("label = convolver config = { file = a }"), "has no setting 'file'"},
        {NODE("label = convolver"), "'filename' is missing"},
        {NODE("label = convolver2 config = { gain = 2 }"), "convolver2 has no setting 'gain'"},
        {NODE("label = copy controls = { a = 1 }"), "a node has no setting 'controls'"},
        {NODE("label = bq_peaking config = { Freq = 9 }"), "bq_peaking has no setting 'Freq'"},
        {NODE("label = delay config = { max_delay = 9 }"), "delay has no setting 'max_delay'"},
        {NODE("label = param_eq config = { filter = [ ] }"), "param_eq has no setting 'filter'"},
        {NODE("label = param_eq config = { filters = [ { type = bq_peaking frequency = 9 } ] }"),
         "node 'x': a filter has no setting 'frequency'"},
        {CHAIN("nodes = [ { type = builtin label = copy } ] capture.volumes = [ ]", ""),
         "filter.graph has no setting 'capture.volumes'"},
        {NODE("label = bq_raw"), "no coefficients with a rate"},
        {NODE("label = bq_raw config = { coefficients = [ { rate = 48000 a1 = -2 } ] }"),
         "does not decay"},
        {NODE("label = delay control = { \"Delay (s)\" = 1 Feedback = 1 }"), "does not decay"},
        {CHAIN(
             "nodes = [ { type = builtin name = a label = copy } ] links = [ { output = \"a:Out\" "
             "input = \"a:Nix\" } ]",
             ""),
         "there is no input 'a:Nix'"},
        {CHAIN("nodes = [ { type = builtin name = a label = mixer } ] links = [ { output = "
               "\"a:Out\" input = \"a:In 2\" } ] inputs = [ \"a:In 1\" ]",
               ""),
         "node 'a': the links make a loop"},
        {CHAIN(
             "nodes = [ { type = builtin name = a label = copy } { type = builtin name = b label = "
             "copy } ] links = [ { output = \"a:Out\" input = \"b:In\" } { output = \"a:Out\" "
             "input = \"b:In\" } ]",
             ""),
         "it needs a mixer"},
        {CHAIN(
             "nodes = [ { type = builtin label = copy } ] inputs = [ \"In\" ] outputs = [ \"Out\" ]",
             "capture.props = { audio.channels = 2 } playback.props = { audio.channels = 3 }"),
         "the playback stream has 3 channels, the graph 2"},
        {CHAIN("nodes = [ ]", ""), "must have 1 to"},
        {"filter.graph = 3", "must be in braces"},
        {"context.modules = [ { name = x } ] # filter.graph", "it has no filter chain"},
        {"filter.graph = { a = 1\n a = 2 }", "line 2: 'a' is given twice"},
        {"filter.graph = { a = [ 1 \n } ]", "line 2: "},
        {"filter.graph = { a = \"x\n\" }", "line 1: a string has no end"},
        {"filter.graph = {\n\n", "line 3: there is no '}' at the end"},
    };
    make_file("a.wav", 48000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_refused("a.conf", cases[i].text, cases[i].expected);
}

/* Ten inputs to one output, which takes two mixers, and one that nothing reaches. */
START_TEST(written_and_read_again)
{
    char text[1024] = "rate: 48000\ninputs: 10\noutputs: 3\npath: 1 2 1\n";
    for (size_t i = 1; i <= 10; i++)
        sprintf(text + strlen(text), "path: %zu 1 %zu\n", i, i % 2 + 1);
    strcat(text, "0.5 0.25\n-0.125 1\n");
    mask_save_text("a.mask", text);
    command_done("mkdir sub && $HALO mask convert a.mask sub/b.conf --to pipewire");
    ck_assert_str_eq(command_files(), "a.mask sub");
    command_refused(1, "sub/b.conf exists", "$HALO mask convert a.mask sub/b.conf --to pipewire");
    struct mask *a = mask_loaded("a.mask", NULL), *b = mask_loaded("sub/b.conf", NULL);
    ck_assert_uint_eq(b->inputs, 10);
    ck_assert_uint_eq(b->outputs, 3);
    ck_assert_uint_eq(b->path_count, a->path_count);
    for (size_t p = 0; p < a->path_count; p++)
        ck_assert_mem_eq(mask_path_column(b, a->paths[p]), mask_path_column(a, a->paths[p]),
                         2 * sizeof(double));
}
