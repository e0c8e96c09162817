/* Bundles of LV2 that hurt who reads them (tests/plugins, "broken"), beside a good one; and what is
 * remembered of bundles. */
#include "command.h"
#include "plugin/scan/plugin_catalog.h"
#include "suite.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COPY "urn:halo:test:copy"

/* A folder "lv2" with copies of these broken bundles and of the good one, and an empty cache.
 * Children are counted, see children(). */
static void offer(const char *broken)
{
    command_done("mkdir lv2 ladspa && cp %s/ladspa/mean.so ladspa && "
                 "cp -r %s/lv2/mean.lv2 lv2 && for name in %s; do"
                 " cp -r %s/broken/$name.lv2 lv2; done",
                 HALO_TEST_PLUGINS, HALO_TEST_PLUGINS, broken, HALO_TEST_PLUGINS);
    setenv("LV2_PATH", command_path("lv2"), 1);
    setenv("LADSPA_PATH", "/nowhere", 1);
    setenv("LD_LIBRARY_PATH", command_path("ladspa"), 1); /* the bundles link to libraries there */
    setenv("XDG_CACHE_HOME", command_folder(), 1);
    command_done(
        "printf '#!/bin/sh\\necho \"$1\" >>%s/started\\nexec \"%s\" \"$@\"\\n' >counting && "
        "chmod +x counting && : >started",
        command_folder(), getenv("HALO"));
    setenv("HALO_PROGRAM", command_path("counting"), 1);
}

/* How many processes that read plugins were started since the last call. */
static int scanners(void)
{
    int count = atoi(command_run("grep -c plugin-scanner started").out);
    command_done(": >started");
    return count;
}

static void check_copy_works(void)
{
    command_done("$HALO render $WAV/voice.wav out.wav -f --lv2 " COPY " 2>/dev/null");
    command_done("$HALO plugins info " COPY);
}

START_TEST(impossible_ports_are_refused_by_name)
{
    static const char *const ports[][2] = {
        {"huge-index", "a port has the index '4000000000'"},
        {"negative-index", "a port has the index '-1'"},
        {"text-index", "a port has the index 'zero'"},
        {"one-index-twice", "have the index 0"},
        {"missing-index", "it has 2 ports, and one with the index 2"},
        {"comma-symbol", "port 0 has the invalid symbol 'a,b=1'"},
        {"escaped-symbol", "port 0 has the invalid symbol 'a\\x0a'"},
        {"empty-symbol", "port 0 has the invalid symbol ''"},
        {"many-ports", "it has 10001 ports; 10000 are possible"},
    };
    offer("huge-index negative-index text-index one-index-twice missing-index comma-symbol "
          "escaped-symbol empty-symbol many-ports");
    struct command_result list = command_done("$HALO plugins list --kind lv2");
    ck_assert_str_eq(list.err, "");
    ck_assert_ptr_nonnull(strstr(list.out, COPY));
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "Broken: %s, cannot run: ", ports[i][0]);
        ck_assert_msg(strstr(list.out, expected) != NULL, "without %s: %s", expected, list.out);
        ck_assert_msg(strstr(list.out, ports[i][1]) != NULL, "without %s", ports[i][1]);
        command_refused(1, ports[i][1],
                        "$HALO render $WAV/voice.wav out.wav --lv2 urn:halo:broken:%s",
                        ports[i][0]);
        command_done("$HALO plugins info urn:halo:broken:%s", ports[i][0]);
    }
    check_copy_works();
}

START_TEST(a_manifest_that_aborts_is_left_out)
{
    offer("manifest-abort");
    struct command_result list = command_done("$HALO plugins list --kind lv2");
    ck_assert_ptr_nonnull(strstr(list.out, COPY));
    ck_assert_ptr_nonnull(strstr(list.err, "manifest-abort.lv2: crashed (aborted)\n"));
    ck_assert_uint_eq(command_lines(list.err), 1);
    check_copy_works();
    command_done("$HALO render $WAV/voice.wav out.wav -f --no-isolate --lv2 " COPY);
    command_refused(1, "but those of", "$HALO plugins info urn:halo:broken:abort");
    /* It may depend on anything, so it is asked again. */
    ck_assert_ptr_null(strstr(command_done("$HALO plugins list --kind lv2").err, "earlier"));
}

/* The library that reads it takes a temporary file for what the bundle computes. */
START_TEST(a_manifest_is_computed)
{
    offer("manifest-none");
    command_done("rm -r lv2/mean.lv2");
    struct command_result list = command_done("$HALO plugins list --kind lv2");
    ck_assert_msg(strstr(list.out, COPY) && strstr(list.out, "Computed"), "%s%s", list.out,
                  list.err);
    check_copy_works();
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void check_stops(int signal, const char *command)
{
    command_done(": >started");
    pid_t process = command_start("exec $HALO %s", command);
    for (int i = 0; access(command_path("started"), F_OK) == 0 && i < 1000; i++) {
        if (atoi(command_run("wc -c <started").out) > 0)
            break;
        usleep(10000);
    }
    usleep(300000);
    double start = seconds();
    kill(process, signal);
    struct command_result result = command_wait(process);
    ck_assert_int_eq(result.code, 128 + signal);
    ck_assert_double_lt(seconds() - start, 3);
    ck_assert_ptr_null(strstr(command_files(), "out.wav"));
}

START_TEST(a_manifest_that_pauses_is_interrupted_or_left_out)
{
    offer("manifest-pause");
    check_stops(SIGTERM, "plugins list --kind lv2");
    check_stops(SIGTERM, "plugins info " COPY);
    check_stops(SIGINT, "render $WAV/voice.wav out.wav --lv2 " COPY);
    struct plugin_scan scan;
    ck_assert_int_eq(plugin_scan_init(&scan, plugin_kind_named("lv2"), 0.7), STATUS_OK);
    ck_assert_uint_eq(scan.skip_count, 1);
    ck_assert_str_eq(scan.skips[0].reason, "did not answer within 0.7 s");
    ck_assert_uint_gt(scan.count, 10);
    plugin_scan_free(&scan);
    double start = seconds();
    check_copy_works();
    ck_assert_double_lt(seconds() - start, 5);
    struct command_result list = command_done("$HALO plugins list --kind lv2 --json");
    ck_assert_ptr_nonnull(strstr(list.out, "did not answer within 0.7 s"));
    ck_assert_ptr_nonnull(strstr(list.out, "\"remembered\": true"));
}

/* Text that ends the parser's process: in a plugin, and in a bundle that claims to specify terms,
 * which would be read along with every other. */
START_TEST(text_that_kills_the_parser_is_left_out)
{
    offer("");
    command_done("mkdir lv2/deep.lv2 lv2/terms.lv2 && "
                 "echo '<urn:halo:broken:deep> a <http://lv2plug.in/ns/lv2core#Plugin> ; "
                 "<http://lv2plug.in/ns/lv2core#binary> <../../ladspa/mean.so> ; "
                 "<http://www.w3.org/2000/01/rdf-schema#seeAlso> <deep.ttl> .' "
                 ">lv2/deep.lv2/manifest.ttl && "
                 "echo '<urn:halo:broken:terms> a <http://lv2plug.in/ns/lv2core#Specification> ; "
                 "<http://www.w3.org/2000/01/rdf-schema#seeAlso> <deep.ttl> .' "
                 ">lv2/terms.lv2/manifest.ttl && "
                 "{ printf '<urn:halo:broken:deep> '; yes '<urn:x> [' | head -n 2000000; }"
                 " >lv2/deep.lv2/deep.ttl && cp lv2/deep.lv2/deep.ttl lv2/terms.lv2");
    struct command_result list = command_done("$HALO plugins list --kind lv2 --json");
    ck_assert_ptr_nonnull(strstr(list.out, COPY));
    ck_assert_ptr_nonnull(strstr(list.err, "terms.lv2"));
    ck_assert_ptr_nonnull(strstr(list.err, "urn:halo:broken:deep"));
    ck_assert_ptr_nonnull(strstr(list.out, "crashed (segmentation fault)"));
    check_copy_works();
    command_refused(1, "it crashed",
                    "$HALO render $WAV/voice.wav out.wav --lv2 urn:halo:broken:deep");
}

START_TEST(a_million_ports_hurt_nobody)
{
    offer("");
    command_done("mkdir lv2/million.lv2 && cd lv2/million.lv2 && "
                 "echo '<urn:halo:broken:million> a <http://lv2plug.in/ns/lv2core#Plugin> ; "
                 "<http://lv2plug.in/ns/lv2core#binary> <../../ladspa/mean.so> ; "
                 "<http://www.w3.org/2000/01/rdf-schema#seeAlso> <p.ttl> .' >manifest.ttl && "
                 "{ echo '@prefix : <http://lv2plug.in/ns/lv2core#> . <urn:halo:broken:million> "
                 ":port [] '; seq 1000000 | sed 's/.*/,[:index &;:symbol \"s&\"]/'; echo .; }"
                 " >p.ttl");
    struct plugin_scan scan;
    ck_assert_int_eq(plugin_scan_init(&scan, plugin_kind_named("lv2"), 1), STATUS_OK);
    ck_assert_uint_gt(scan.count, 10);
    /* As fast machines are, or slow ones. */
    bool is_late = scan.skip_count == 1;
    for (size_t i = 0; i < scan.count; i++)
        if (strcmp(scan.rows[i].id, "urn:halo:broken:million") == 0)
            ck_assert_ptr_nonnull(scan.rows[i].refusal);
    if (is_late)
        ck_assert_str_eq(scan.skips[0].holder, "urn:halo:broken:million");
    plugin_scan_free(&scan);
    check_copy_works();
}

/* ---- what a plugin needs ---- */

START_TEST(bundles_that_are_not_needed_are_not_loaded)
{
    offer("huge-index manifest-abort");
    struct plugin_info *info;
    ck_assert_int_eq(plugin_describe_isolated(plugin_kind_named("lv2"), COPY, &info), STATUS_OK);
    ck_assert_uint_eq(info->holder_count, 1);
    ck_assert_ptr_nonnull(strstr(info->holders[0], "/lv2/mean.lv2"));
    plugin_info_destroy(info);
}

START_TEST(presets_in_other_bundles_are_found)
{
    offer("huge-index");
    command_done("mkdir lv2/mine.lv2 && cat >lv2/mine.lv2/manifest.ttl <<'END'\n"
                 "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n"
                 "@prefix pset: <http://lv2plug.in/ns/ext/presets#> .\n"
                 "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
                 "<urn:halo:test:mine> a pset:Preset ; lv2:appliesTo <urn:halo:test:late-latency> ;"
                 " rdfs:label \"Mine\" ; rdfs:seeAlso <mine.ttl> .\nEND\n"
                 "cat >lv2/mine.lv2/mine.ttl <<'END'\n"
                 "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n"
                 "@prefix pset: <http://lv2plug.in/ns/ext/presets#> .\n"
                 "<urn:halo:test:mine> a pset:Preset ; lv2:appliesTo <urn:halo:test:late-latency> ;"
                 " lv2:port [ lv2:symbol \"amount\" ; pset:value 77.0 ] .\nEND\n");
    command_expect(command_done("$HALO plugins info urn:halo:test:late-latency").out, "Mine");
    struct command_result result = command_done("$HALO render $WAV/voice.wav out.wav -f --verbose "
                                                "--lv2 urn:halo:test:late-latency,preset=Mine");
    command_expect(result.err, "latency 77 frames");
    result = command_done("$HALO render $WAV/voice.wav out.wav -f --verbose --no-isolate "
                          "--lv2 urn:halo:test:late-latency,preset=Mine");
    command_expect(result.err, "latency 77 frames");
}

START_TEST(of_two_bundles_with_one_plugin_the_first_counts)
{
    offer("");
    command_done("mkdir first && cp -r lv2/mean.lv2 first && "
                 "sed -i 's/Mean: copy/Own copy/' first/mean.lv2/plugins.ttl");
    setenv("LV2_PATH", "", 1);
    struct command_result list =
        command_done("LV2_PATH=$PWD/first:$PWD/lv2 $HALO plugins list --kind lv2 " COPY);
    ck_assert_uint_eq(command_lines(list.out), 1);
    command_expect(list.out, "Own copy");
    list = command_done("LV2_PATH=$PWD/lv2:$PWD/first $HALO plugins list --kind lv2 " COPY);
    command_expect(list.out, "Mean: copy");
}

/* ---- what is remembered ---- */

static struct command_result list_copy(void)
{
    return command_done("$HALO plugins list --kind lv2 " COPY);
}

START_TEST(a_second_scan_asks_nobody)
{
    offer("huge-index");
    struct command_result first = command_done("$HALO plugins list");
    ck_assert_int_eq(scanners(), 1);
    struct command_result second = command_done("$HALO plugins list");
    ck_assert_int_eq(scanners(), 0);
    ck_assert_str_eq(first.out, second.out);
    /* A render asks about its own plugin alone. */
    command_done("$HALO render $WAV/voice.wav out.wav -f --lv2 " COPY);
    ck_assert_int_eq(scanners(), 1);
}

START_TEST(each_change_of_a_bundle_is_noticed)
{
    offer("");
    command_expect(list_copy().out, "Mean: copy");
    command_done("cp -r lv2/mean.lv2 later.lv2 && rm -r lv2/mean.lv2");
    ck_assert_str_eq(list_copy().out, ""); /* removed */
    command_refused(1, "cannot find", "$HALO plugins info " COPY);
    command_done("mv later.lv2 lv2/mean.lv2");
    command_expect(list_copy().out, "Mean: copy"); /* installed */
    command_done("$HALO plugins info " COPY);
    /* Upgraded, with the old size and time. */
    command_done("cd lv2/mean.lv2 && cp -p plugins.ttl old && sed 's/Mean: copy/Gone: cop/' old "
                 ">plugins.ttl && touch -r old plugins.ttl && rm old");
    command_expect(list_copy().out, "Gone: cop");
    /* Its library, which lies elsewhere. */
    ck_assert_int_gt(scanners(), 0);
    command_done("cp ladspa/mean.so other && mv other ladspa/mean.so");
    list_copy();
    ck_assert_int_eq(scanners(), 1);
    list_copy();
    ck_assert_int_eq(scanners(), 0);
}

START_TEST(a_damaged_memory_is_ignored_and_written_again)
{
    static const char *const spoilt[] = {
        "s/\"channels_in\": [0-9]*/\"channels_in\": -5/",
        "s/\"channels_in\": [0-9]*/\"channels_in\": 4000000000/",
        "s/\"name\": \".*\"/\"name\": 7/",
        "s/\"kind\": \"lv2\"/\"kind\": \"vst\"/",
        "s/\"plugins\": \\[/\"plugins\": [7,/",
        "s/\"serves\": \\[/\"serves\": [7,/",
        "s/\"stamp\": \".*\"/\"stamp\": []/",
        "s/\"files\": {/\"files\": {\"\\/etc\": 7,/",
        "s/\"files\": {/\"files\": 7, \"x\": {/",
        "s/\"holders\": {/\"holders\": 7, \"x\": {/",
        "30q",
    };
    offer("");
    struct command_result first = command_done("$HALO plugins list --kind lv2");
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        command_done("cp halo/plugins.json whole && sed -i '%s' halo/plugins.json", spoilt[i]);
        command_done("! cmp -s whole halo/plugins.json");
        struct command_result again = command_done("$HALO plugins list --kind lv2");
        ck_assert_str_eq(again.out, first.out);
        ck_assert_str_eq(again.err, "");
        scanners();
        command_done("$HALO plugins list --kind lv2");
        ck_assert_msg(scanners() == 0, "not written again after %s", spoilt[i]);
    }
}

START_TEST(scans_at_the_same_time_agree)
{
    offer("huge-index manifest-abort");
    command_done(
        "for i in 1 2 3 4; do $HALO plugins list --kind lv2 >list$i 2>/dev/null & done; wait;"
        " for i in 2 3 4; do cmp list1 list$i || exit 1; done; test -s list1");
    json_t *memory = json_load_file(command_path("halo/plugins.json"), 0, NULL);
    ck_assert_ptr_nonnull(memory);
    json_decref(memory);
    ck_assert_ptr_null(strstr(command_run("ls halo").out, "plugins.json."));
}

int main(void)
{
    setenv("ASAN_OPTIONS", "handle_segv=0", 1); /* a crash must end the process */
    return suite_run();
}
