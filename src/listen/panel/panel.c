#include "listen/panel/panel.h"

#include "base/atomic_file.h"
#include "base/atomic_folder.h"
#include "base/json_text.h"
#include "listen/collect.h"
#include "listen/panel/serve.h"
#include "listen/trial.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Prints the link, and shows it in the browser of a desktop. */
static void show(void *context, const char *link)
{
    const struct panel_settings *settings = context;
    char *words[] = {"xdg-open", (char *)link, NULL};
    pid_t process;
    if (settings->json)
        (void)!json_write(json_pack("{s:s}", "link", link), JSON_COMPACT, stdout);
    else
        printf("open this link in a browser of this machine:\n%s\n", link);
    fflush(stdout);
    if (!settings->json && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
        (void)posix_spawnp(&process, *words, NULL, NULL, words, environ);
}

/* Copies the saved answers to the file that stays. */
static enum status keep(const char *saved, const char *path, bool force)
{
    json_t *answers = json_load_file(saved, 0, NULL);
    char *text = answers ? json_dumps(answers, JSON_INDENT(1)) : NULL;
    struct atomic_file file;
    json_decref(answers);
    if (!text)
        return fail_memory("answers");
    enum status status = atomic_file_open(&file, path, force);
    if (status == STATUS_OK) {
        size_t size = strlen(text);
        status = write(file.fd, text, size) == (ssize_t)size
                     ? atomic_file_keep(&file, path)
                     : fail_errno(errno, "cannot write %s", path);
        close(file.fd);
    }
    atomic_file_discard(&file);
    free(text);
    return status;
}

static enum status take_test(const struct panel_settings *settings, const char *page,
                             const char *path)
{
    char *saved = NULL;
    const struct export_settings export = {.test = settings->test,
                                           .folder = page,
                                           .listener = settings->listener,
                                           .quiet = settings->quiet || settings->json};
    const struct serve_settings serve = {.folder = page,
                                         .address = SERVE_ADDRESS,
                                         .names = &settings->listener,
                                         .name_count = settings->listener != NULL,
                                         .once = true,
                                         .saved = &saved,
                                         .ready = show,
                                         .context = (void *)settings};
    TRY(export_page(&export, NULL));
    TRY(serve_run(&serve));
    if (!saved)
        return STATUS_INTERRUPTED;
    enum status status = keep(saved, path, settings->force);
    free(saved);
    if (status == STATUS_OK)
        note("%s: the answers, with their key; halo listen --collect reads them", path);
    return status;
}

static char *name_log(const struct panel_settings *settings)
{
    const char *slash = strrchr(settings->test, '/'), *base = slash ? slash + 1 : settings->test;
    const char *dot = strrchr(base, '.'), *who = settings->listener;
    char *path;
    int length = (int)(dot ? dot - base : (ptrdiff_t)strlen(base));
    if (settings->log)
        return strdup(settings->log);
    return asprintf(&path, "%.*s%s%s.json", length, base, who ? "-" : "", who ? who : "") < 0
               ? NULL
               : path;
}

static enum status run_in(const struct panel_settings *settings, struct atomic_folder *folder,
                          const char *path)
{
    char *page, *outer;
    const char *temporary = getenv("TMPDIR");
    TRY(trial_log_try(path, settings->force));
    if (asprintf(&outer, "%s/halo-listen", temporary ? temporary : "/tmp") < 0)
        return fail_memory("a test");
    enum status status = atomic_folder_open(folder, outer);
    free(outer);
    if (status == STATUS_OK)
        status = atomic_folder_make(folder);
    if (status == STATUS_OK && chmod(folder->hidden, 0700) != 0)
        status = fail_errno(errno, "cannot write %s", folder->hidden);
    if (status != STATUS_OK)
        return status;
    if (asprintf(&page, "%s/page", folder->hidden) < 0)
        return fail_memory("a test");
    status = take_test(settings, page, path);
    free(page);
    return status;
}

enum status panel_run(const struct panel_settings *settings)
{
    struct atomic_folder folder = {.held = -1};
    char *path = name_log(settings);
    enum status status = path ? run_in(settings, &folder, path) : fail_memory("a test");
    atomic_folder_close(&folder);
    const struct collect_settings report = {
        .paths = (const char *const *)&path, .count = 1, .json = settings->json};
    if (status == STATUS_OK)
        status = collect_report(&report);
    free(path);
    return status;
}
