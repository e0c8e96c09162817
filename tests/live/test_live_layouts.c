/* Channel layouts of live streams: masks by channel, recordings, replays, and what --layout
 * refuses. */
#include "live_rig.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, FADE_IN = RATE / 2, FRAMES = 3 * RATE / 2 };

static const char unknown[] = "unknown";

/* As its file says; valid until the next call. */
static const char *layout_of(const char *name)
{
    static char text[64];
    struct command_result result =
        command_done("\"$HALO\" render %s layout.wav -f --json --format float", name);
    json_t *report = command_json(result.out);
    const char *layout = json_string_value(json_object_get(report, "layout_in"));
    snprintf(text, sizeof text, "%s", layout ? layout : unknown);
    return text;
}

/* in.wav of so many channels, of that layout (NULL: it says none), silent while the output fades
 * in; and two masks. */
static void save_input(size_t channels, const char *layout)
{
    command_clean();
    struct block signal = live_rig_noise(channels, FADE_IN + RATE / 8, FRAMES, 0.05f);
    live_rig_save(&signal, "plain.wav");
    command_done("\"$HALO\" render plain.wav in.wav -q --format float --layout '%s'",
                 layout ? layout : "none");
    sound_noise_file("hall.wav", 5, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, 300);
    command_done("\"$HALO\" render hall.wav half.wav -q --gain -12");
}

static void expect_render(size_t channels, const char *arguments)
{
    command_done("\"$HALO\" render in.wav truth.wav -q -f --format float --tail none %s",
                 arguments);
    struct sound truth = sound_load("truth.wav"), out = sound_load("out.wav");
    ck_assert_uint_ge(out.block.channels, channels); /* one channel plays on two */
    struct block output = {
        .channels = channels, .frames = truth.block.frames, .data = out.block.data};
    live_rig_expect(&output, &truth.block, 0, output.frames);
}

/* ---- masks and files ---- */

static const struct layout_case {
    size_t channels;
    const char *in;     /* the device's; NULL: it says nothing */
    const char *stated; /* by --layout, or NULL */
    const char *layout;
    const char *map;
} layout_cases[] = {
    {6, NULL, "5.1", "5.1", "map=FL:FL,FR:FR,C:L+R"},
    {6, "5.1(side)", NULL, "5.1(side)", "map=SL:FL,SR:FR,LFE:L"},
    {6, "5.1", "5.1(side)", "5.1(side)", "map=SL:2"},
    {2, NULL, "FL+LFE", "FL+LFE", "map=LFE:L+R"},
    {2, NULL, NULL, "stereo", "map=R:L"},
    {1, NULL, NULL, "mono", "map=C:L+R"},
    {12, "7.1.4", NULL, "7.1.4", "map=TFL:L,TBR:R"},
    {8, NULL, "7.1", "7.1", "map=BL:L,8:2"},
};
enum { LAYOUT_CASES = sizeof layout_cases / sizeof *layout_cases };

/* The container of `ending` holds the layout; else it is none. */
static void expect_files(const struct layout_case *at, const char *ending, bool holds)
{
    char name[32];
    bool is_usual = at->channels <= 2 && strchr(at->layout, '+') == NULL;
    for (int dry = 0; dry < 2; dry++) {
        snprintf(name, sizeof name, "%s.%s", dry ? "dry" : "rec", ending);
        ck_assert_msg(strcmp(layout_of(name), holds || is_usual ? at->layout : unknown) == 0,
                      "%s of %s: %s", name, at->layout, layout_of(name));
    }
}

START_TEST(masks_find_channels_and_files_keep_them)
{
    static const char *const endings[] = {"wav", "caf", "w64"};
    for (size_t i = 0; i < LAYOUT_CASES; i++) {
        const struct layout_case *at = &layout_cases[i];
        const char *ending = endings[i % 3];
        char stated[64] = "", stages[160];
        save_input(at->channels, at->in);
        if (at->stated)
            snprintf(stated, sizeof stated, "--layout '%s'", at->stated);
        snprintf(stages, sizeof stages, "%s --gain -3 --mask hall.wav,%s", stated, at->map);
        struct command_result result =
            command_done("\"$HALO\" live --json --no-feedback-guard " LIVE_RIG_FAST
                         "--channels %zu --seconds 1.6 "
                         "--record rec.%s --record-dry dry.%s %s | tail -n 1",
                         at->channels, ending, ending, stages);
        json_t *report = command_json(result.out);
        ck_assert_str_eq(command_json_string(report, "layout_in"), at->layout);
        ck_assert_str_eq(command_json_string(report, "layout"), at->layout);
        expect_render(at->channels, stages);
        expect_files(at, ending, strcmp(ending, "w64") != 0);
    }
}

/* The log has the layout: the recording names it, but a device's guess is in no file. */
START_TEST(takes_replay_with_switches)
{
    static const char *const stated[] = {"--layout 5.1", "--channels 6"};
    for (int i = 0; i < 2; i++) {
        save_input(6, NULL);
        pid_t process = live_rig_start(LIVE_RIG_DEVICE
                                       "%s --record rec.wav --record-dry dry.wav --gain -3 "
                                       "--mask hall.wav,map=C:L+R --or --mask half.wav,map=BL:R",
                                       stated[i]);
        live_rig_play(300);
        live_rig_keys("2");
        live_rig_play(300);
        live_rig_keys("r1"); /* from its file again */
        live_rig_play(300);
        live_rig_end_well(process);
        live_rig_expect_replay();
        ck_assert_str_eq(layout_of("rec.wav"), i == 0 ? "5.1" : unknown);
    }
}

/* A crash leaves what was there, with its layout. */
START_TEST(a_recording_tells_it_from_the_start)
{
    save_input(6, NULL);
    pid_t process =
        live_rig_start(LIVE_RIG_DEVICE "--layout '5.1(side)' --record rec.wav --gain -3");
    live_rig_play(1500);
    command_done("kill -KILL %d", (int)process);
    (void)live_rig_end(process);
    ck_assert_str_eq(layout_of("rec.wav"), "5.1(side)");
}

START_TEST(a_guess_is_said)
{
    save_input(6, NULL);
    struct command_result result = command_done(
        "\"$HALO\" live " LIVE_RIG_FAST "--channels 6 --seconds 0.1 --mask hall.wav,map=LFE:L");
    command_expect(result.err, "null: null does not tell its channel layout: its 6 channels are "
                               "taken for 5.1; see --layout");
    result =
        command_done("\"$HALO\" live " LIVE_RIG_FAST "--channels 6 --seconds 0.1 --layout none");
    ck_assert_ptr_null(strstr(result.err, "taken for"));
    save_input(6, "hexagonal");
    result = command_done("\"$HALO\" live " LIVE_RIG_FAST "--layout 5.1 --seconds 0.1");
    command_expect(result.err, "says that its channels are hexagonal; --layout takes them for 5.1");
}

/* ---- listening ---- */

START_TEST(listening_knows_them)
{
    save_input(6, NULL);
    command_done("\"$HALO\" listen in.wav --layout 5.1 --to-file out.wav --mask "
                 "hall.wav,map=C:L+R --match none");
    ck_assert_str_eq(layout_of("out.wav"), "5.1");
    command_done("\"$HALO\" listen in.wav --to-file numbers.wav --mask hall.wav,map=3:1+2 --match "
                 "none");
    struct sound by_name = sound_load("out.wav"), by_number = sound_load("numbers.wav");
    sound_expect_same(&by_name, &by_number);
    command_refused(2, "which of the 6 channels",
                    "\"$HALO\" listen in.wav --to-file out.wav --mask hall.wav,map=C:L+R");
    command_refused(2, "--layout quad is for 4 channels, but in.wav has 6",
                    "\"$HALO\" listen in.wav --layout quad --to-file out.wav --mask hall.wav");
    save_input(6, "5.1"); /* short, and resampled */
    command_done("\"$HALO\" listen in.wav --device null:rate=44100,channels=6,pace=0 --json "
                 "--seconds 0.5 --mask hall.wav,map=LFE:L --or --mask half.wav,map=C:R");
    command_done("\"$HALO\" listen --live-input " LIVE_RIG_FAST "--layout '5.1(side)' --seconds "
                 "0.5 --match none --mask hall.wav,map=SL:L --or --mask half.wav,map=SR:R");
}

/* ---- what is refused ---- */

START_TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *options, *expected;
    } cases[] = {
        {"--layout 7.1", "6 input channels, no channel 7"},
        {"--layout 5.1 --channels 4", "--layout 5.1 is for 6 channels, but null: null has 4"},
        {"--layout 5.1 --input-map 1,2", "--layout 5.1 is for 6 channels, but null: null has 2"},
        {"--layout 'ambisonic 7'", "layout"},
        {"--layout stereo --mask hall.wav,map=LFE:L", "no channel LFE: its layout is stereo"},
        {"--channels 6 --layout none --mask hall.wav,map=LFE:L", "which of the 6 channels"},
        {"--layout ''", "--layout"},
        {"--layout nan", "unknown channel layout 'nan'"},
        {"--layout .", "unknown channel layout '.'"},
        {"--layout 99999999999999999999.1", "unknown channel layout"},
        {"--layout FL+FL", "channel layout 'FL+FL': FL has to stand further left"},
        {"--layout \"$(printf '%%065536d' 7)\"", "unknown channel layout"},
        {"--layout", "--layout needs a value"},
    };
    save_input(6, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(0, cases[i].expected,
                        "\"$HALO\" live -q --device null:in=in.wav,pace=0 --seconds 0.1 --record "
                        "out.wav %s",
                        cases[i].options);
}
