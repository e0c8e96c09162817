#include "plugin/plugin_child.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/thread.h"
#include "plugin/plugin_isolated.h"
#include "plugin/plugin_output.h"
#include "plugin/plugin_supervisor.h"

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

enum { POLL_MS = 20, MESSAGE_MOST = 2048, MESSAGES_MOST = 200, END_MOST = 400 };

static const double SUPERVISOR_TIME = 2; /* seconds for it to end */

enum { PRINTED, MESSAGES, CHANNELS };

struct plugin_child {
    struct plugin_child_settings settings;
    pthread_t thread;
    pid_t process;
    int channels[CHANNELS]; /* what it prints, and the messages of halo in it; -1: closed */
    struct plugin_output printed;
    size_t length, messages;
    char message[MESSAGE_MOST];

    double quiet; /* seconds without progress; bounded per poll, since halo may be suspended */
    uint32_t done;
    unsigned long long frames;
    bool hung;
    atomic_uint posted; /* orders, */
    atomic_ullong posted_frames;

    char end[END_MOST]; /* written before `ended` is */
    atomic_bool ended;
    _Atomic(const char *) doing;
    _Atomic double patience;
    _Atomic double stop; /* when to kill it, by the monotonic clock */
};

/* A plugin could write there, too: so they are limited, and bear its name. */
static void report_message(struct plugin_child *child)
{
    const char *name = child->settings.name;
    child->message[child->length] = '\0';
    child->length = 0;
    if (child->messages++ < MESSAGES_MOST)
        plugin_output_warn(name, child->message);
}

static void report_messages(struct plugin_child *child, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || child->length == MESSAGE_MOST - 1)
            report_message(child);
        if (bytes[i] != '\n')
            child->message[child->length++] = bytes[i];
    }
}

static bool read_channel(struct plugin_child *child, int channel)
{
    char bytes[4096];
    ssize_t got = read(child->channels[channel], bytes, sizeof bytes);
    if (got <= 0) { /* it is ending, or has closed its output */
        close(child->channels[channel]);
        child->channels[channel] = -1;
        return false;
    }
    if (channel == MESSAGES)
        report_messages(child, bytes, (size_t)got);
    else
        plugin_output_take(&child->printed, bytes, (size_t)got);
    return true;
}

/* Wait `milliseconds` for output; true: there was some. */
static bool listen_to(struct plugin_child *child, int milliseconds)
{
    struct pollfd outputs[CHANNELS];
    bool any = false;
    for (int i = 0; i < CHANNELS; i++)
        outputs[i] = (struct pollfd){.fd = child->channels[i], .events = POLLIN};
    if (poll(outputs, CHANNELS, milliseconds) <= 0)
        return false;
    for (int i = 0; i < CHANNELS; i++)
        if (outputs[i].revents)
            any |= read_channel(child, i);
    return any;
}

static const char *signal_text(int number, char text[64])
{
    const char *name = sigdescr_np(number);
    snprintf(text, 64, "%c%s", name ? tolower((unsigned char)*name) : 's',
             name ? name + 1 : "ignal");
    return text;
}

static void describe_end(struct plugin_child *child, int status)
{
    char at[64], reason[64] = "", line[OUTPUT_LAST + 16] = "";
    const char *doing = atomic_load(&child->doing), *what = "ended its process";
    unsigned long long frames = atomic_load(&child->settings.head->frames);
    if (frames <= atomic_load(&child->posted_frames))
        snprintf(at, sizeof at, "at %.3f s, in block %llu", (double)frames / child->settings.rate,
                 frames / child->settings.block + 1);
    else
        snprintf(at, sizeof at, "at an unknown time");
    if (child->hung) {
        what = "hung";
        snprintf(reason, sizeof reason, "no answer for %g s", atomic_load(&child->patience));
    } else if (WIFSIGNALED(status)) {
        what = WTERMSIG(status) == SIGKILL ? "was killed" : "crashed";
        if (WTERMSIG(status) != SIGKILL)
            signal_text(WTERMSIG(status), reason);
    } else if (supervisor_excess(WEXITSTATUS(status))) {
        what = "was ended";
        snprintf(reason, sizeof reason, "%s", supervisor_excess(WEXITSTATUS(status)));
    }
    if (*child->printed.last)
        snprintf(line, sizeof line, "%slast line: %s", *reason ? "; " : "", child->printed.last);
    bool any = *reason || *line;
    snprintf(child->end, END_MOST, "%s %s%s%s%s%s", what, doing ? doing : at, any ? " (" : "",
             reason, line, any ? ")" : "");
}

static void watch_for_hanging(struct plugin_child *child, double passed)
{
    struct isolated_head *head = child->settings.head;
    uint32_t done = atomic_load(&head->done.value);
    unsigned long long frames = atomic_load(&head->frames);
    unsigned long long most = atomic_load(&child->posted_frames);
    bool waiting = done != atomic_load(&child->posted);
    frames = frames < most ? frames : most;
    bool same = done == child->done && frames == child->frames;
    child->quiet = waiting && same ? child->quiet + fmin(passed, 2e-3 * POLL_MS) : 0;
    child->done = done;
    child->frames = frames;
    if (child->quiet < atomic_load(&child->patience))
        return;
    child->hung = true;
    atomic_store(&child->stop, monotonic_seconds());
}

/* The supervisor ends all that the plugin has started, unless it cannot any more. */
static void stop_when_due(struct plugin_child *child, double now)
{
    double late = now - atomic_load(&child->stop);
    if (late >= SUPERVISOR_TIME)
        kill(child->process, SIGKILL);
    else if (late >= 0)
        supervisor_end(child->process);
}

static void watch(struct plugin_child *child)
{
    int status = 0;
    for (double before = monotonic_seconds(); waitpid(child->process, &status, WNOHANG) == 0;) {
        listen_to(child, POLL_MS);
        double now = monotonic_seconds();
        if (!child->hung)
            watch_for_hanging(child, now - before);
        stop_when_due(child, now);
        before = now;
    }
    while (listen_to(child, 0))
        continue;
    plugin_output_end(&child->printed);
    describe_end(child, status);
}

/* With no descriptors but its own, in a session of its own, signals as in a program just started.
 */
static int spawn(struct plugin_child *child, int output, int messages)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files, child->settings.memory, ISOLATED_DESCRIPTOR);
    posix_spawn_file_actions_adddup2(&files, messages, ISOLATED_MESSAGES);
    posix_spawn_file_actions_addclosefrom_np(&files, ISOLATED_MESSAGES + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int error = posix_spawn(&child->process, own_program(), &files, &attributes,
                            child->settings.arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* A pipe above the numbers that the child's descriptors get. Returns 0 or an errno. */
static int open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        int low = ends[i];
        ends[i] = fcntl(low, F_DUPFD_CLOEXEC, ISOLATED_MESSAGES + 1);
        close(low);
    }
    return ends[0] >= 0 && ends[1] >= 0 ? 0 : EMFILE;
}

static void close_open(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

static bool start(struct plugin_child *child)
{
    int outputs[2] = {-1, -1}, messages[2] = {-1, -1};
    int error = open_pipe(outputs);
    if (error == 0)
        error = open_pipe(messages);
    if (error == 0)
        error = spawn(child, outputs[1], messages[1]);
    close(child->settings.memory);
    child->channels[PRINTED] = outputs[0];
    child->channels[MESSAGES] = messages[0];
    close_open(outputs[1]);
    close_open(messages[1]);
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
    for (int i = 0; i < CHANNELS; i++)
        close_open(child->channels[i]);
    atomic_store(&child->ended, true);
    futex_wake(&child->settings.head->done);
    return NULL;
}

void plugin_child_doing(struct plugin_child *child, const char *doing, double patience)
{
    atomic_store(&child->patience, patience);
    atomic_store(&child->doing, doing);
}

HALO_REALTIME void plugin_child_posted(struct plugin_child *child, uint32_t orders, uint64_t frames)
{
    atomic_store(&child->posted_frames, frames);
    atomic_store(&child->posted, orders);
}

enum status plugin_child_start(const struct plugin_child_settings *settings, double patience,
                               struct plugin_child **result)
{
    struct plugin_child *child = calloc(1, sizeof *child);
    int error = child ? 0 : ENOMEM;
    if (child) {
        child->settings = *settings;
        atomic_init(&child->posted, 1);
        child->channels[PRINTED] = child->channels[MESSAGES] = -1;
        plugin_output_init(&child->printed, settings->name);
        plugin_child_doing(child, "while it was loaded", patience);
        atomic_init(&child->stop, INFINITY);
        error = thread_start(&child->thread, "halo plugins", THREAD_AS_CALLER, child_main, child);
    }
    if (error) {
        close(settings->memory);
        isolated_args_free(settings->arguments);
        free(child);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread: %s", thread_error(error));
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
