/* halo plugins list and info, with test plugins that crash and hang (tests/plugins). */
#include "command.h"
#include "plugin/scan/plugin_catalog.h"
#include "plugin/scan/plugin_info_json.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char plugins[] = HALO_TEST_PLUGINS "/ladspa";

/* Searches a folder with these plugins only, with an empty cache. */
static void offer(const char *names)
{
    command_clean();
    char line[1024];
    snprintf(line, sizeof line,
             "mkdir '%s/ladspa' && for name in %s; do cp '%s'/$name.so '%s/ladspa'; done",
             command_folder(), names, plugins, command_folder());
    ck_assert_int_eq(system(line), 0);
    char path[128];
    snprintf(path, sizeof path, "%s/ladspa", command_folder());
    setenv("LADSPA_PATH", path, 1);
    setenv("LV2_PATH", "/nowhere", 1);
    setenv("XDG_CACHE_HOME", command_folder(), 1);
}

/* ---- list ---- */

START_TEST(a_list_is_complete_and_reports_skipped_plugins)
{
    offer("mean crash-loaded crash-asked");
    struct command_result result = command_done("$HALO plugins list --json");
    json_t *object = command_json(result.out);
    const json_t *list = json_object_get(object, "plugins");
    const json_t *skipped = json_object_get(object, "skipped");
    ck_assert_uint_gt(json_array_size(list), 10);
    const json_t *copy = json_array_get(list, 1); /* sorted by id */
    ck_assert_str_eq(command_json_string(copy, "kind"), "ladspa");
    ck_assert_str_eq(command_json_string(copy, "id"), "mean:copy");
    ck_assert_str_eq(command_json_string(copy, "maker"), "halo's tests");
    ck_assert_int_eq(json_integer_value(json_object_get(copy, "channels_in")), 1);
    ck_assert_int_eq(json_integer_value(json_object_get(copy, "channels_out")), 1);
    ck_assert_uint_eq(json_array_size(skipped), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *skip = json_array_get(skipped, i);
        ck_assert_str_eq(command_json_string(skip, "reason"), "crashed (segmentation fault)");
        ck_assert(json_is_false(json_object_get(skip, "remembered")));
    }
    ck_assert_ptr_nonnull(strstr(result.err, "crash-asked.so"));
    ck_assert_ptr_nonnull(strstr(result.err, "crash-loaded.so"));
    ck_assert_uint_eq(command_lines(result.err), 1);
    result = command_done("$HALO plugins list mean"); /* not what was looked for */
    ck_assert_str_eq(result.err, "");
}

/* By its id, which is all that is known; where nothing matches, any may be what was looked for. */
START_TEST(a_skipped_plugin_that_was_looked_for_is_named)
{
    offer("mean crash-loaded crash-asked");
    struct command_result result = command_done("$HALO plugins list Asked crash");
    command_expect(result.err, "skipped crash-asked.so: crashed (segmentation fault)");
    ck_assert_ptr_null(strstr(result.err, "crash-loaded"));
    result = command_done("$HALO plugins list vocoder");
    command_expect(result.err, "plugins matches");
    command_expect(result.err, "crash-asked.so");
    command_expect(result.err, "crash-loaded.so");
}

/* Only where nothing has the whole words. */
START_TEST(terms_are_found_without_their_endings)
{
    offer("mean");
    static const char *const words[] = {"late-latencers", "late-latencor", "Late Latencs"};
    for (size_t i = 0; i < 3; i++)
        command_expect(command_done("$HALO plugins list 'mean:' '%s'", words[i]).out,
                       "mean:late-latency");
    command_done("$HALO plugins list latency >one && $HALO plugins list latencys >two && "
                 "cmp one two && $HALO plugins list --json latencys | grep -q mean:late-latency");
    ck_assert_str_eq(command_done("$HALO plugins list latencyings").out, "");
    ck_assert_str_eq(command_done("$HALO plugins list xs").out, "");
}

START_TEST(every_search_term_must_occur)
{
    offer("mean");
    struct command_result result = command_done("$HALO plugins list LATENCY tests");
    ck_assert_uint_eq(command_lines(result.out), 1);
    ck_assert_ptr_nonnull(strstr(result.out, "mean:late-latency"));
    ck_assert_ptr_nonnull(strstr(result.out, "1 > 1"));
    result = command_done("$HALO plugins list latency reverb");
    ck_assert_str_eq(result.out, "");
    ck_assert_ptr_nonnull(strstr(result.err, "plugins matches"));
    result = command_done("$HALO plugins list --kind ladspa mean:copy");
    ck_assert_uint_eq(command_lines(result.out), 1);
    result = command_done("$HALO plugins list --kind lv2");
    ck_assert_str_eq(result.out, "");
    command_refused(2, "--kind is one of lv2, ladspa, clap, vst3, not 'vst'",
                    "$HALO plugins list --kind vst");
}

/* A file name that would set the terminal's title, and an LV2 plugin's name that would. */
START_TEST(names_are_made_visible)
{
    offer("mean");
    command_done("mv ladspa/mean.so \"ladspa/$(printf 'm\\033]0;owned\\007.so')\"; mkdir bad.lv2; "
                 "printf '%%s\\n' '<urn:bad> a <http://lv2plug.in/ns/lv2core#Plugin>; "
                 "<http://usefulinc.com/ns/doap#name> \"n\\u001B]0;owned\\u0007\\u000Ahalo: \"; "
                 "<http://www.w3.org/2000/01/rdf-schema#seeAlso> <manifest.ttl>; "
                 "<http://lv2plug.in/ns/lv2core#binary> <bad.so>.' >bad.lv2/manifest.ttl");
    setenv("LV2_PATH", command_folder(), 1);
    struct command_result result = command_done("$HALO plugins list");
    ck_assert_ptr_null(strchr(result.out, '\033'));
    ck_assert_ptr_nonnull(strstr(result.out, "m\\x1b]0;owned\\x07:copy"));
#ifdef HALO_WITH_LV2
    result = command_done("$HALO plugins info urn:bad");
    ck_assert_ptr_null(strchr(result.out, '\033'));
    ck_assert_ptr_nonnull(strstr(result.out, "n\\x1b]0;owned\\x07\\x0ahalo: \n"));
#endif
    result = command_done("$HALO plugins info \"$(printf 'm\\033]0;owned\\007:copy')\"");
    ck_assert_ptr_null(strchr(result.out, '\033'));
    ck_assert_ptr_nonnull(strstr(result.out, "--ladspa 'm\\x1b]0;owned\\x07:copy"));
}

/* As people write what they look for. */
START_TEST(names_are_found_without_their_hyphens)
{
    offer("mean");
    const char *all = command_done("$HALO plugins list 'late-latency'").out;
    ck_assert_ptr_nonnull(strstr(all, "mean:late-latency"));
    static const char *const words[] = {"latelatency", "'late latency'", "LATE_latency",
                                        "l-atelat-ency"};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        ck_assert_str_eq(command_done("$HALO plugins list %s", words[w]).out, all);
    command_expect(command_done("$HALO plugins list late-latencies").err, "matches");
}

START_TEST(a_crash_is_remembered_until_the_file_changes)
{
    offer("crash-asked");
    struct command_result result = command_done("$HALO plugins list");
    ck_assert_uint_eq(command_lines(result.err), 1);
    result = command_done("$HALO plugins list");
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert_ptr_nonnull(strstr(result.err, "in an earlier scan"));
    ck_assert_ptr_nonnull(strstr(result.err, "/halo/plugins.json"));
    command_done("touch -d '2001-01-01' ladspa/crash-asked.so");
    result = command_done("$HALO plugins list");
    ck_assert_ptr_null(strstr(result.err, "in an earlier scan"));
    command_done("cp %s/mean.so ladspa/crash-asked.so", plugins);
    result = command_done("$HALO plugins list");
    ck_assert_str_eq(result.err, "");
    ck_assert_ptr_nonnull(strstr(result.out, "crash-asked:copy"));
    command_done("! grep -q 'crashed (' halo/plugins.json");
}

START_TEST(a_damaged_cache_is_ignored)
{
    static const char *const spoilt[] = {"",
                                         "nonsense",
                                         "[1, 2]",
                                         "{\"version\": 1}",
                                         "{\"version\": 1, \"troubles\": [7]}",
                                         "{\"version\": 7, \"troubles\": {\"ladspa x\": 1}}"};
    offer("mean crash-asked");
    command_done("mkdir -p halo");
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        command_done("printf '%%s' '%s' > halo/plugins.json", spoilt[i]);
        struct command_result result = command_done("$HALO plugins list --kind ladspa");
        ck_assert_uint_eq(command_lines(result.err), 1);
        result = command_done("$HALO plugins list --kind ladspa");
        command_expect(result.err, "in an earlier scan; to scan again, remove ");
    }
    /* An entry that is not an object, and a cache that cannot be written. */
    command_done("sed -i 's/\"crashed.*\"/7/' halo/plugins.json");
    command_done("$HALO plugins list --kind ladspa");
    struct command_result result =
        command_done("XDG_CACHE_HOME=/dev/null/x $HALO plugins list --kind ladspa");
    ck_assert_uint_eq(command_lines(result.err), 1);
}

START_TEST(bad_ladspa_libraries_are_skipped)
{
    offer("mean");
    command_done("echo nonsense > ladspa/text.so");
    command_done("mkdir ladspa/folder.so");
    struct command_result result = command_done("$HALO plugins list --kind ladspa copy");
    ck_assert_uint_eq(command_lines(result.out), 1);
    result = command_done("$HALO plugins list --kind ladspa");
    ck_assert_uint_eq(command_lines(result.err), 1);
    ck_assert_ptr_nonnull(strstr(result.err, "text.so"));
}

/* Not on a terminal: a line now and then, so that a script's reader knows what it waits for. */
START_TEST(a_long_scan_reports_progress)
{
    offer("hang-asked hang-loaded mean");
    struct command_result result =
        command_run("timeout 50 $HALO plugins list --kind ladspa --json");
    command_expect(result.err, "scanning plugins: ");
    ck_assert_uint_lt(command_lines(result.err), 20);
    offer("mean");
    ck_assert_str_eq(command_done("$HALO plugins list mean --kind ladspa").err, "");
}

/* In this process, with a short timeout. */
START_TEST(hanging_plugins_are_skipped)
{
    offer("hang-asked hang-loaded mean");
    struct plugin_scan scan;
    ck_assert_int_eq(plugin_scan_init(&scan, plugin_kind_named("ladspa"), 0.5), STATUS_OK);
    ck_assert_uint_eq(scan.skip_count, 2);
    ck_assert_str_eq(scan.skips[0].reason, "did not answer within 0.5 s");
    ck_assert_str_eq(scan.skips[1].reason, "did not answer within 0.5 s");
    ck_assert(!scan.skips[0].is_remembered);
    size_t count = scan.count;
    ck_assert_uint_gt(count, 10);
    plugin_scan_free(&scan);
    ck_assert_int_eq(plugin_scan_init(&scan, plugin_kind_named("ladspa"), 0.5), STATUS_OK);
    ck_assert_uint_eq(scan.skip_count, 2);
    ck_assert(scan.skips[0].is_remembered && scan.skips[1].is_remembered);
    ck_assert_uint_eq(scan.count, count);
    plugin_scan_free(&scan);
}

/* Of twelve plugins all but the first hang: three are waited for. */
START_TEST(three_plugins_that_hang_are_enough)
{
    offer("");
    setenv("CLAP_PATH", HALO_TEST_PLUGINS "/clap_hangs", 1);
    struct plugin_scan scan;
    size_t listed = 0, hung = 0, left = 0;
    ck_assert_int_eq(plugin_scan_init(&scan, plugin_kind_named("clap"), 2), STATUS_OK);
    for (size_t i = 0; i < scan.count; i++)
        listed += strstr(scan.rows[i].id, "org.halo.crowd.") != NULL;
    for (size_t i = 0; i < scan.skip_count; i++) {
        bool is_ours = strstr(scan.skips[i].holder, "crowd-hangs.clap") != NULL;
        hung += is_ours && strcmp(scan.skips[i].reason, "did not answer within 2 s") == 0;
        left += is_ours && strcmp(scan.skips[i].reason, "three of its plugins did not answer: the "
                                                        "others were not tried") == 0;
    }
    plugin_scan_free(&scan);
    ck_assert_uint_eq(listed, 1);
    ck_assert_uint_eq(hung, 3);
    ck_assert_uint_eq(left, 1);
}

/* The children that probe plugins now, recognised by this test's folder. */
static int count_scanners(void)
{
    FILE *stream = popen("for process in /proc/[0-9]*; do"
                         " tr '\\0' ' ' <$process/cmdline | grep -q '^halo plugin-scanner' &&"
                         " grep -qz \"^LADSPA_PATH=$LADSPA_PATH\" $process/environ && echo;"
                         " done 2>/dev/null | wc -l",
                         "r");
    int count = -1;
    ck_assert(stream && fscanf(stream, "%d", &count) == 1);
    pclose(stream);
    return count;
}

START_TEST(ctrl_c_ends_a_scan_and_its_child)
{
    offer("hang-asked");
    pid_t process = command_start("exec $HALO plugins list --kind ladspa");
    for (int i = 0; count_scanners() == 0 && i < 1000; i++)
        usleep(10000);
    ck_assert_int_ge(count_scanners(), 1);
    kill(process, SIGINT);
    struct command_result result = command_wait(process);
    ck_assert_int_eq(result.code, 128 + SIGINT);
    ck_assert_str_eq(result.err, "halo: stopped\n");
    ck_assert_int_eq(count_scanners(), 0);
}

/* Of twelve plugins the first six end their process, each after words of its own. */
START_TEST(one_plugin_that_crashes_hides_no_other_of_its_library)
{
    offer("mean");
    setenv("CLAP_PATH", HALO_TEST_PLUGINS "/clap_crowd", 1);
    for (int scan = 0; scan < 2; scan++) {
        struct command_result result = command_done("$HALO plugins list --kind clap");
        command_done("[ $($HALO plugins list --kind clap crowd | wc -l) = 6 ]");
        for (int i = 0; i < 12; i++) {
            char expected[200];
            snprintf(expected, sizeof expected, "crowd.clap:org.halo.crowd.%d", i);
            command_expect(i < 6 ? result.err : result.out, expected);
        }
        const char *json = command_done("$HALO plugins list --kind clap crowd --json").out;
        for (int i = 0; i < 6; i++) {
            char reason[200];
            if (i % 2)
                snprintf(reason, sizeof reason,
                         "ended the process that scanned it (exit code 3; last line: number %d)",
                         i);
            else /* its escape became a blank */
                snprintf(reason, sizeof reason, "crashed (aborted; last line: no table  [31m%d)",
                         i);
            command_expect(json, reason);
        }
    }
    command_refused(1, "it crashed (aborted; last line: no table  [31m4)",
                    "$HALO plugins info %s/clap_crowd/crowd.clap:org.halo.crowd.4",
                    HALO_TEST_PLUGINS);
    command_done("$HALO plugins info %s/clap_crowd/crowd.clap:org.halo.crowd.7", HALO_TEST_PLUGINS);
}

#ifdef HALO_WITH_LV2
START_TEST(libraries_that_crash_hide_no_other_of_their_bundle)
{
    offer("mean crash-loaded");
    command_done("mkdir -p lv2/all.lv2 && cd lv2/all.lv2 && cp ../../ladspa/*.so . && "
                 "for i in 1 2 3 4 5; do printf '%%s\n' \"<urn:test:$i> a "
                 "<http://lv2plug.in/ns/lv2core#Plugin>; <http://lv2plug.in/ns/lv2core#binary> "
                 "<crash-loaded.so>; <http://usefulinc.com/ns/doap#name> 'Plugin $i'.\"; "
                 "done >manifest.ttl && printf '%%s\n' \"<urn:halo:test:copy> a "
                 "<http://lv2plug.in/ns/lv2core#Plugin>; <http://lv2plug.in/ns/lv2core#binary> "
                 "<mean.so>; <http://usefulinc.com/ns/doap#name> 'Good'.\" "
                 ">>manifest.ttl");
    struct command_result result =
        command_done("LV2_PATH=$PWD/lv2 $HALO plugins list --kind lv2 --json");
    json_t *object = command_json(result.out);
    ck_assert_uint_eq(json_array_size(json_object_get(object, "plugins")), 1);
    ck_assert_uint_eq(json_array_size(json_object_get(object, "skipped")), 5);
}

START_TEST(few_of_many_that_were_skipped_are_named)
{
    offer("mean");
    command_done(
        "mkdir -p lv2/lost.lv2 && cd lv2/lost.lv2 && for i in $(seq 23); do printf '%%s\n' "
        "\"<urn:test:$i> a <http://lv2plug.in/ns/lv2core#Plugin>; "
        "<http://lv2plug.in/ns/lv2core#binary> <lost.so>; "
        "<http://usefulinc.com/ns/doap#name> 'Plugin $i'.\"; done >manifest.ttl");
    struct command_result result = command_done("LV2_PATH=$PWD/lv2 $HALO plugins list --kind lv2");
    command_expect(result.err, " and 3 more: they cannot be used; --json says why\n");
    ck_assert_uint_le(command_lines(result.err), 2);
    result = command_done("LV2_PATH=$PWD/lv2 $HALO plugins list --kind lv2 --json 2>/dev/null");
    json_t *object = command_json(result.out);
    ck_assert_uint_eq(json_array_size(json_object_get(object, "skipped")), 23);
}

START_TEST(lv2_libraries_are_probed)
{
    offer("crash-loaded crash-asked mean many-ports");
    command_done("mkdir lv2 && cd lv2 && for name in crash-loaded crash-asked mean many-ports; do"
                 " cp -r %s/../lv2/$name.lv2 .; done",
                 plugins);
    struct command_result result =
        command_done("LV2_PATH=$PWD/lv2 $HALO plugins list --kind lv2 --json");
    json_t *object = command_json(result.out);
    const json_t *skipped = json_object_get(object, "skipped");
    ck_assert_uint_gt(json_array_size(json_object_get(object, "plugins")), 10);
    ck_assert_uint_eq(json_array_size(skipped), 2);
    ck_assert_str_eq(command_json_string(json_array_get(skipped, 0), "holder"),
                     "urn:halo:test:crash-asked");
    ck_assert_str_eq(command_json_string(json_array_get(skipped, 1), "holder"),
                     "urn:halo:test:crash-loaded");
    command_done("LV2_PATH=$PWD/lv2 $HALO plugins info urn:halo:test:many-ports --json");
    result = command_done("LV2_PATH=$PWD/lv2 $HALO plugins list --kind lv2 many");
    ck_assert_ptr_nonnull(strstr(result.out, "urn:halo:test:many-ports"));
    result = command_done("LV2_PATH=$PWD/lv2 $HALO plugins list --kind lv2");
    ck_assert_ptr_nonnull(strstr(result.err, "in an earlier scan"));
}
#endif

/* ---- info ---- */

static void check_number(const json_t *object, const char *key, double expected)
{
    ck_assert_double_eq(command_json_number(object, key), expected);
}

START_TEST(info_reports_ports_latency_and_a_command)
{
    offer("mean");
    struct command_result result = command_done("$HALO plugins info mean:late-latency --json");
    json_t *object = command_json(result.out);
    ck_assert_str_eq(command_json_string(object, "id"), "mean:late-latency");
    ck_assert_str_eq(command_json_string(object, "command"),
                     "halo render in.wav out.wav --ladspa mean:late-latency,at=0");
    check_number(object, "latency", 100); /* its `amount` */
    const json_t *amount = json_array_get(json_object_get(object, "ports"), 3);
    ck_assert_str_eq(command_json_string(amount, "symbol"), "amount");
    ck_assert_str_eq(command_json_string(amount, "direction"), "in");
    check_number(amount, "minimum", 0);
    check_number(amount, "maximum", 8191);
    check_number(amount, "initial", 100);
    result = command_done("$HALO plugins info mean:late-latency");
    ck_assert_ptr_nonnull(strstr(result.out, "100 frames at 48000 Hz"));
    ck_assert_ptr_nonnull(strstr(result.out, "--ladspa mean:late-latency,at=0\n"));
    ck_assert_str_eq(result.err, "");
}

START_TEST(info_of_a_plugin_that_crashes_when_run)
{
    offer("mean");
    struct command_result result = command_done("$HALO plugins info mean:crash --json");
    json_t *object = command_json(result.out);
    ck_assert(json_is_null(json_object_get(object, "latency")));
    ck_assert_str_eq(command_json_string(object, "failure"), "crashed (segmentation fault)");
    result = command_done("$HALO plugins info mean:exit");
    ck_assert_ptr_nonnull(strstr(result.out, "not known: ended the process"));
    result = command_done("$HALO plugins info mean:null");
    ck_assert_ptr_nonnull(strstr(result.out, "instantiation failed"));
    result = command_done("$HALO plugins info mean:prints --json");
    (void)command_json(result.out);
}

START_TEST(unknown_names_are_refused)
{
    offer("mean crash-asked");
    command_refused(1, "did you mean copy?", "$HALO plugins info mean:copi");
    command_refused(1, "did you mean mean?", "$HALO plugins info meam:copy");
    command_refused(1, "as LIBRARY:LABEL; it has copy", "$HALO plugins info mean");
    command_refused(1, "it crashed (segmentation fault)", "$HALO plugins info crash-asked:x");
    command_refused(1, "", "$HALO plugins info urn:halo:none");
    command_refused(2, "needs URI|LIBRARY:LABEL", "$HALO plugins info");
    command_refused(2, "not also 'mean:nan'", "$HALO plugins info mean:copy mean:nan");
    command_refused(2, "has no command 'lst'", "$HALO plugins lst");
}

START_TEST(names_are_suggested_too)
{
    offer("mean many-ports");
    setenv("CLAP_PATH", HALO_TEST_PLUGINS "/clap", 1);
    command_done("$HALO plugins list"); /* which remembers them */
    struct command_result result = command_run("$HALO plugins info late-latency");
    command_expect(result.err, "did you mean mean:late-latency");
    command_refused(1, "did you mean mean:late-latency",
                    "$HALO render $WAV/voice.wav out.wav --ladspa 'Late latency'");
    command_refused(1, "did you mean org.halo.test.far-default?",
                    "$HALO render $WAV/voice.wav out.wav --clap far-defalt");
    command_refused(1, "did you mean org.halo.test.side-chain,",
                    "$HALO plugins info org.halo.test.sidechain");
#ifdef HALO_WITH_LV2
    command_done("mkdir lv2 && cp -r %s/../lv2/many-ports.lv2 lv2", plugins);
    setenv("LV2_PATH", command_path("lv2"), 1);
    command_done("$HALO plugins list");
    command_refused(1, "did you mean urn:halo:test:many-ports?",
                    "$HALO render $WAV/voice.wav out.wav --lv2 'Mean: many-ports'");
#endif
}

START_TEST(help_works)
{
    struct command_result result = command_done("$HALO plugins --help");
    ck_assert_ptr_nonnull(strstr(result.out, "list"));
    ck_assert_ptr_nonnull(strstr(command_done("$HALO plugins list --help").out, "--kind KIND"));
    ck_assert_ptr_nonnull(strstr(command_done("$HALO plugins info -h").out, "LIBRARY:LABEL"));
    result = command_done("$HALO --help");
    ck_assert_ptr_nonnull(strstr(result.out, "  plugins "));
    ck_assert_ptr_null(strstr(result.out, "plugin-scanner"));
}

/* ---- descriptions from a child ---- */

START_TEST(info_passes_through_a_child_unchanged)
{
    offer("mean");
    const struct plugin_kind *kind = plugin_kind_named("ladspa");
    struct plugin_info *here = NULL, *isolated = NULL;
    ck_assert_int_eq(kind->describe("mean:copy", &here), STATUS_OK);
    here->ports[2].minimum = -INFINITY;
    ck_assert_int_eq(plugin_describe_isolated(kind, "mean:copy", &isolated), STATUS_OK);
    isolated->ports[2].minimum = -INFINITY;
    json_t *one = plugin_info_object(here), *other = plugin_info_object(isolated);
    ck_assert(json_equal(one, other));
    ck_assert_ptr_eq(here->kind, isolated->kind);
    plugin_info_destroy(isolated);
    ck_assert_int_eq(plugin_info_of_object(other, &isolated), STATUS_OK);
    ck_assert(isolated->ports[2].minimum == -INFINITY && isolated->ports[2].maximum == 1e9F);
    plugin_info_destroy(here);
    plugin_info_destroy(isolated);
    json_decref(one);
    json_decref(other);
}

int main(void)
{
    setenv("HALO_PROGRAM", getenv("HALO"), 1);
    setenv("ASAN_OPTIONS", "handle_segv=0", 1); /* a crash must end the process */
    return suite_run();
}
