/* Tests in a browser: a test file's page is written, served, or both until the answers come. */
#include "base/atomic_folder.h"
#include "base/json_text.h"
#include "base/stop.h"
#include "listen/collect.h"
#include "listen/listen_options.h"
#include "listen/panel/export.h"
#include "listen/panel/serve.h"
#include "listen/trial.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h> /* environ */

static const char *argument_of(const struct listen_options *options)
{
    return options->arguments.count > 0 ? options->arguments.values[0] : "";
}

static bool is_test_file(const struct listen_options *options)
{
    const char *dot = strrchr(argument_of(options), '.');
    return dot && (strcasecmp(dot, ".yml") == 0 || strcasecmp(dot, ".yaml") == 0);
}

bool listen_panel_is_asked(const struct listen_options *options)
{
    return options->page_folder || options->serve || options->web || options->tls_certificate ||
           options->tls_key || options->web_insecure ||
           (is_test_file(options) && !options->verify && !options->collect);
}

/* Whether there are options that have no effect on a test in a browser. Options begin as a copy of
 * the defaults, so unchanged ones have the same bytes. */
static bool has_others(const struct listen_options *options)
{
    const struct listen_options *usual = command_listen.defaults;
    struct listen_options others;
    const void *bytes = &others, *usual_bytes = usual;
    memcpy(&others, options, sizeof others);
    others.arguments = usual->arguments;
    others.listener = others.log = others.page_folder = others.web = NULL;
    others.tls_certificate = others.tls_key = NULL;
    others.serve = others.web_insecure = false;
    others.play.force = usual->play.force;
    others.play.json = usual->play.json;
    others.play.verbosity = usual->play.verbosity;
    return memcmp(bytes, usual_bytes, sizeof others) != 0;
}

static enum status check(const struct listen_options *options)
{
    if (!options->serve &&
        (options->web || options->tls_certificate || options->tls_key || options->web_insecure))
        return fail(CAUSE_USAGE,
                    "--web, --tls-certificate, --tls-key and --web-insecure need --serve");
    if (options->verify || options->collect || (options->serve && options->page_folder))
        return fail(CAUSE_USAGE, "use one of --export, --serve, --verify and --collect");
    if (has_others(options))
        return fail(CAUSE_USAGE, "the sounds, the choices and the kind of a test in a browser "
                                 "stand in its test file; leave the options for them, for playing "
                                 "and for reports out");
    if (options->arguments.count != 1)
        return fail(CAUSE_USAGE, "use one test file, or with --serve one folder of --export");
    if (options->serve && is_test_file(options))
        return fail(CAUSE_USAGE,
                    "--serve needs the folder that --export wrote: halo listen %s --export FOLDER",
                    argument_of(options));
    if (!options->serve && !is_test_file(options))
        return fail(CAUSE_USAGE,
                    "--export needs a test file: halo listen test.yml --export FOLDER");
    if (options->log && (options->serve || options->page_folder))
        return fail(CAUSE_USAGE, "--log is for a test that runs now, without --export and --serve");
    return STATUS_OK;
}

static struct export_settings export_of(const struct listen_options *options, const char *folder)
{
    return (struct export_settings){
        .test = argument_of(options),
        .folder = folder,
        .listener = options->listener,
        .force = options->play.force,
        .quiet = options->play.verbosity == VERBOSITY_QUIET || options->play.json,
    };
}

static enum status export_test(const struct listen_options *options)
{
    const struct export_settings settings = export_of(options, options->page_folder);
    size_t trials = 0;
    TRY(export_page(&settings, &trials));
    if (options->play.json)
        return json_print(json_pack("{s:o, s:o, s:I}", "page", json_text(settings.folder), "key",
                                    json_sprintf("%s.key", settings.folder), "trials",
                                    (json_int_t)trials),
                          JSON_COMPACT, "the page");
    note("%s: a page of %zu trials; %s.key decodes its answers: keep it", settings.folder, trials,
         settings.folder);
    return STATUS_OK;
}

/* ---- serving ---- */

static void print_link(void *context, const char *link)
{
    const struct listen_options *options = context;
    json_t *json = options->play.json ? json_pack("{s:s}", "link", link) : NULL;
    if (json && json_write(json, JSON_COMPACT, stdout) == 0)
        return;
    puts(link);
    fflush(stdout);
}

static struct serve_settings serving(const struct listen_options *options, const char *folder)
{
    return (struct serve_settings){
        .folder = folder,
        .address = options->web ? options->web : SERVE_ADDRESS,
        .names = &options->listener,
        .name_count = options->listener != NULL,
        .tls_certificate = options->tls_certificate,
        .tls_key = options->tls_key,
        .insecure = options->web_insecure,
        .json = options->play.json,
        .ready = print_link,
        .context = (void *)options,
    };
}

/* ---- a test in a browser of this machine ---- */

/* Prints the link, and shows it in the browser of a desktop. */
static void show_link(void *context, const char *link)
{
    const struct listen_options *options = context;
    char *words[] = {"xdg-open", (char *)link, NULL};
    pid_t process;
    if (!options->play.json)
        puts("open this link in a browser of this machine:");
    print_link(context, link);
    if (!options->play.json && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
        (void)posix_spawnp(&process, *words, NULL, NULL, words, environ);
}

static enum status take_test(const struct listen_options *options, const char *page,
                             const char *path)
{
    const struct export_settings export = export_of(options, page);
    struct serve_settings serve = serving(options, page);
    serve.output = path;
    serve.force = options->play.force;
    serve.ready = show_link;
    TRY(export_page(&export, NULL));
    TRY(serve_run(&serve));
    note("%s: the answers, with their key; halo listen --collect reads them", path);
    return STATUS_OK;
}

/* The file of the answers: TEST-LISTENER.json in the working folder, if --log names no other. */
static char *name_answers(const struct listen_options *options)
{
    const char *test = argument_of(options), *slash = strrchr(test, '/');
    const char *base = slash ? slash + 1 : test, *who = options->listener;
    char *path;
    if (options->log)
        return strdup(options->log);
    return asprintf(&path, "%.*s%s%s.json", (int)(strrchr(base, '.') - base), base, who ? "-" : "",
                    who ? who : "") < 0
               ? NULL
               : path;
}

static enum status run_in(const struct listen_options *options, struct atomic_folder *folder,
                          const char *path)
{
    char *page, *outer;
    const char *temporary = getenv("TMPDIR");
    TRY(trial_log_try(path, options->play.force));
    if (asprintf(&outer, "%s/halo-listen", temporary ? temporary : "/tmp") < 0)
        return fail_memory("a test");
    enum status status = atomic_folder_open(folder, outer);
    free(outer);
    if (status == STATUS_OK)
        status = atomic_folder_make(folder);
    if (status == STATUS_OK && chmod(folder->hidden, S_IRWXU) != 0)
        status = fail_errno(errno, "cannot write %s", folder->hidden);
    if (status != STATUS_OK)
        return status;
    if (asprintf(&page, "%s/page", folder->hidden) < 0)
        return fail_memory("a test");
    status = take_test(options, page, path);
    free(page);
    return status;
}

static enum status run_test(const struct listen_options *options)
{
    struct atomic_folder folder = {.held = -1};
    char *path = name_answers(options);
    enum status status = path ? run_in(options, &folder, path) : fail_memory("a test");
    atomic_folder_close(&folder);
    const struct collect_settings report = {
        .paths = (const char *const *)&path, .count = 1, .json = options->play.json};
    if (status == STATUS_OK)
        status = collect_report(&report);
    free(path);
    return status;
}

enum status listen_panel_run(const struct listen_options *options)
{
    TRY(check(options));
    note_verbosity(options->play.verbosity);
    stop_watch();
    if (options->page_folder)
        return export_test(options);
    if (!options->serve)
        return run_test(options);
    const struct serve_settings settings = serving(options, argument_of(options));
    stop_is_the_end();
    return serve_run(&settings);
}
