#include "plugin/plugin_child.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/thread.h"
#include "plugin/plugin_isolated.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 20, LINE_MOST = 1024, END_MOST = 160 };

struct plugin_child {
    struct plugin_child_settings settings;
    pthread_t thread;
    pid_t process;
    int output; /* what it prints */
    char line[LINE_MOST];
    size_t length;

    double quiet; /* seconds without progress; bounded per poll, since halo may be suspended */
    uint32_t done;
    unsigned long long frames;
    bool hung;

    char end[END_MOST]; /* written before `ended` is */
    atomic_bool ended;
    _Atomic(const char *) doing;
    _Atomic double patience;
    _Atomic double stop; /* when to kill it, by the monotonic clock */
};

static void report_line(struct plugin_child *child)
{
    static const char own[] = "halo: ";
    child->line[child->length] = '\0';
    child->length = 0;
    if (strncmp(child->line, own, strlen(own)) == 0)
        warning("%s", child->line + strlen(own));
    else if (child->line[0])
        note_detail("%s says: %s", child->settings.name, child->line);
}

static void read_lines(struct plugin_child *child, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || child->length == LINE_MOST - 1)
            report_line(child);
        if (bytes[i] != '\n')
            child->line[child->length++] = iscntrl((unsigned char)bytes[i]) ? ' ' : bytes[i];
    }
}

/* Wait `milliseconds` for output; true: there was some. */
static bool listen_to(struct plugin_child *child, int milliseconds)
{
    char bytes[4096];
    struct pollfd output = {.fd = child->output, .events = POLLIN};
    if (poll(&output, 1, milliseconds) <= 0)
        return false;
    ssize_t got = read(child->output, bytes, sizeof bytes);
    if (got > 0) {
        read_lines(child, bytes, (size_t)got);
        return true;
    }
    close(child->output); /* it is ending, or has closed its output */
    child->output = -1;
    return false;
}

static void describe_end(struct plugin_child *child, int status)
{
    char at[64], why[64] = "";
    const char *doing = atomic_load(&child->doing), *what = "ended its process";
    unsigned long long frames = atomic_load(&child->settings.head->frames);
    snprintf(at, sizeof at, "at %.3f s, in block %llu", (double)frames / child->settings.rate,
             frames / child->settings.block + 1);
    if (child->hung) {
        what = "hung";
        snprintf(why, sizeof why, " (no answer for %g s)", atomic_load(&child->patience));
    } else if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));
        what = WTERMSIG(status) == SIGKILL ? "was killed" : "crashed";
        if (WTERMSIG(status) != SIGKILL && name)
            snprintf(why, sizeof why, " (%c%s)", tolower((unsigned char)*name), name + 1);
    }
    snprintf(child->end, END_MOST, "%s %s%s", what, doing ? doing : at, why);
}

static void watch_for_hanging(struct plugin_child *child, double passed)
{
    struct isolated_head *head = child->settings.head;
    uint32_t done = atomic_load(&head->done.value);
    unsigned long long frames = atomic_load(&head->frames);
    bool waiting = done != atomic_load(&head->posted.value);
    bool same = done == child->done && frames == child->frames;
    child->quiet = waiting && same ? child->quiet + fmin(passed, 2e-3 * POLL_MS) : 0;
    child->done = done;
    child->frames = frames;
    if (child->quiet < atomic_load(&child->patience))
        return;
    child->hung = true;
    kill(child->process, SIGKILL);
}

static void watch(struct plugin_child *child)
{
    int status = 0;
    for (double before = monotonic_seconds(); waitpid(child->process, &status, WNOHANG) == 0;) {
        listen_to(child, POLL_MS);
        double now = monotonic_seconds();
        watch_for_hanging(child, now - before);
        if (now >= atomic_load(&child->stop))
            kill(child->process, SIGKILL);
        before = now;
    }
    describe_end(child, status);
    while (listen_to(child, 0))
        continue;
}

static int spawn(struct plugin_child *child, int output)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t terminal;
    sigemptyset(&terminal);
    sigaddset(&terminal, SIGINT);
    sigaddset(&terminal, SIGTERM);
    sigaddset(&terminal, SIGHUP);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, child->settings.memory, ISOLATED_DESCRIPTOR);
    posix_spawn_file_actions_addclosefrom_np(&files, ISOLATED_DESCRIPTOR + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &terminal);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int error = posix_spawn(&child->process, own_program(), &files, &attributes,
                            child->settings.arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static bool start(struct plugin_child *child)
{
    int ends[2] = {-1, -1};
    int error = pipe2(ends, O_CLOEXEC) == 0 ? spawn(child, ends[1]) : errno;
    close(child->settings.memory);
    child->output = ends[0];
    if (ends[1] >= 0)
        close(ends[1]);
    if (error)
        snprintf(child->end, END_MOST, "could not be started: %s", strerror(error));
    return error == 0;
}

/* The process dies with the thread that started it, hence starting and watching in one thread. */
static void *child_main(void *argument)
{
    struct plugin_child *child = argument;
    if (start(child))
        watch(child);
    if (child->output >= 0)
        close(child->output);
    atomic_store(&child->ended, true);
    futex_wake(&child->settings.head->done);
    return NULL;
}

void plugin_child_doing(struct plugin_child *child, const char *doing, double patience)
{
    atomic_store(&child->patience, patience);
    atomic_store(&child->doing, doing);
}

enum status plugin_child_start(const struct plugin_child_settings *settings, double patience,
                               struct plugin_child **result)
{
    struct plugin_child *child = calloc(1, sizeof *child);
    int error = child ? 0 : ENOMEM;
    if (child) {
        child->settings = *settings;
        child->output = -1;
        plugin_child_doing(child, "while it was loaded", patience);
        atomic_init(&child->stop, INFINITY);
        error = thread_start(&child->thread, "halo plugins", THREAD_AS_CALLER, child_main, child);
    }
    if (error) {
        close(settings->memory);
        isolated_args_free(settings->arguments);
        free(child);
        return fail(STATUS_FAILED, "cannot start a thread: %s", strerror(error));
    }
    *result = child;
    return STATUS_OK;
}

HALO_REALTIME const char *plugin_child_end(const struct plugin_child *child)
{
    return atomic_load(&child->ended) ? child->end : NULL;
}

void plugin_child_stop(struct plugin_child *child, double seconds)
{
    if (!child)
        return;
    atomic_store(&child->stop, monotonic_seconds() + seconds);
    pthread_join(child->thread, NULL);
    isolated_args_free(child->settings.arguments);
    free(child);
}

const char *own_program(void)
{
    const char *other = getenv("HALO_PROGRAM");
    return other && *other ? other : "/proc/self/exe";
}
