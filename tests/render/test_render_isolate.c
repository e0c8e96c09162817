/* Plugins that end their process in the middle of a file: one line, and nothing is left behind. */
#include "command.h"
#include "plugin_rig.h"
#include "sound.h"
#include "suite.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void make_input(void)
{
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_24, PLUGIN_RIG_RATE, 2, 100000);
}

START_TEST(failures_give_one_line_and_no_file)
{
    static const char *const ends[][2] = {
        {"--lv2 urn:halo:test:crash,at=24000",
         "urn:halo:test:crash crashed at 0.496 s, in block 94 (segmentation fault)"},
        {"--lv2 urn:halo:test:exit,at=24000",
         "urn:halo:test:exit ended its process at 0.496 s, in block 94"},
        {"--ladspa mean:crash,at=24000",
         "mean:crash crashed at 0.496 s, in block 94 (segmentation fault)"},
        {"--ladspa mean:abort,at=24000", "mean:abort crashed at 0.496 s, in block 94 (aborted)"},
        {"--gain -3 --ladspa mean:copy --ladspa mean:crash,at=24000 --gain 3",
         "mean:crash crashed at 0.496 s, in block 94 (segmentation fault)"},
        {"--lv2 urn:halo:test:crash-made", "crashed while it was loaded (segmentation fault)"},
        {"--lv2 urn:halo:test:crash-loaded", "crashed while it was loaded (segmentation fault)"},
        {"--lv2 urn:halo:test:null", "cannot run urn:halo:test:null"},
        {"--lv2 urn:halo:test:unknown-feature", "requires the feature urn:halo:test:feature"},
    };
    make_input();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        command_refused(1, ends[i][1], "$HALO render in.wav out.wav %s", ends[i][0]);
}

START_TEST(loading_takes_as_long_as_allowed)
{
    make_input();
    command_refused(1, "hung while it was loaded (no answer for 0.3 s",
                    "$HALO render in.wav out.wav --plugin-patience 300ms --ladspa mean:hang-made");
    command_refused(2, "--plugin-patience takes seconds from 0.1 to 3600",
                    "$HALO render in.wav out.wav --plugin-patience 0 --ladspa mean:copy");
}

START_TEST(an_existing_file_is_kept)
{
    make_input();
    command_done("echo mine >out.wav");
    command_refused(1, "crashed", "$HALO render in.wav out.wav --force --ladspa mean:crash,at=5e4");
    command_done("test \"$(cat out.wav)\" = mine");
}

START_TEST(a_crash_has_no_report)
{
    make_input();
    struct command_result result =
        command_run("$HALO render in.wav out.wav --json --ladspa mean:crash,at=50000");
    ck_assert_int_eq(result.code, 1);
    json_t *failure = command_json(result.out); /* alone */
    ck_assert_ptr_nonnull(json_object_get(failure, "error"));
}

/* Its output does not get into the sound or the report. */
START_TEST(plugin_output_is_kept_from_the_sound)
{
    make_input();
    command_done("$HALO render in.wav - --ladspa mean:copy >copy.wav");
    command_done("$HALO render in.wav - --ladspa mean:prints >prints.wav");
    command_done("cmp copy.wav prints.wav");
    struct command_result result =
        command_done("$HALO render in.wav out.wav --json --ladspa mean:prints");
    ck_assert_double_eq(command_number(result.out, "frames_out"), 100000);
    ck_assert_uint_eq(command_lines(result.err), 1);
}

START_TEST(isolated_and_in_process_files_are_equal)
{
    static const char *const stages[] = {
        "--lv2 http://lv2plug.in/plugins/eg-amp,gain=-6",
        "--lv2 http://gareus.org/oss/lv2/dpl#stereo,at=0.5s:gain=6",
        "--lv2 urn:halo:test:many-ports,c500=0.25 --gain -1",
        "--ladspa fast_lookahead_limiter_1913:fastLookaheadLimiter,at=0.2s-1s:0=20",
        "--ladspa mean:late-latency,at=5000,amount=77",
    };
    make_input();
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        command_done("$HALO render in.wav isolated.wav --force %s", stages[i]);
        command_done("$HALO render in.wav here.wav --force --no-isolate %s", stages[i]);
        command_done("cmp isolated.wav here.wav");
    }
}

/* Ctrl-C does not wait for the timeout of a hanging plugin. */
START_TEST(a_signal_ends_a_plugin_that_hangs)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    make_input();
    pid_t halo = command_start("exec $HALO render in.wav out.wav --ladspa mean:hang,at=50000");
    pid_t child = 0;
    for (int i = 0; i < 500 && plugin_rig_children(halo, &child) == 0; i++)
        nanosleep(&pause, NULL);
    for (int i = 0; i < 15; i++)
        nanosleep(&pause, NULL); /* it hangs by now, or is about to be opened: either is fine */
    kill(halo, SIGINT);
    struct command_result result = command_wait(halo);
    ck_assert_int_eq(result.code, 128 + SIGINT);
    ck_assert_str_eq(result.err, "halo: stopped\n");
    ck_assert_str_eq(command_files(), "in.wav");
    ck_assert(!plugin_rig_runs(child));
}

int main(void)
{
    plugin_rig_prepare();
    static const char *const needed[][2] = {
        {"lv2", "http://lv2plug.in/plugins/eg-amp"},
        {"lv2", "http://gareus.org/oss/lv2/dpl#stereo"},
        {"ladspa", "fast_lookahead_limiter_1913:fastLookaheadLimiter"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        plugin_info_destroy(plugin_rig_describe(needed[i][0], needed[i][1]));
    if (plugin_rig_code(EXIT_SUCCESS) != EXIT_SUCCESS)
        return plugin_rig_code(EXIT_SUCCESS);
    return suite_run();
}
