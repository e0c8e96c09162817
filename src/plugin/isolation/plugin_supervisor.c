#include "plugin/isolation/plugin_supervisor.h"

#include "base/hidden_name.h"
#include "base/monotonic.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SUPERVISOR_END = SIGUSR1, /* ends the supervisor; it blocks other signals, which are for halo */
    /* Exit codes for an exceeded limit. A plugin's own exit code is changed if it equals one. */
    SUPERVISOR_MEMORY_USED = 120,
    SUPERVISOR_THREADS_USED = 121,
};

enum { LOOK_MS = 100, ORPHANS_TIME = 5 /* seconds */ };

struct supervisor {
    const struct plugin_sandbox *sandbox;
    sigset_t signals;
    int lifeline[2]; /* pipe whose write end the supervisor has: it lives while the pipe is open */
    pid_t first;     /* first process of the namespace; 0: no namespace */
    pid_t child;     /* the plugin's process */
};

/* ---- namespaces ---- */

static bool write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return written;
}

/* Enter new namespaces. The user keeps name and files in them. */
static bool enter_namespaces(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC) == 0 &&
           write_text("/proc/self/uid_map", users) && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/gid_map", groups);
}

/* ---- the processes below ---- */

/* Let this process end when the supervisor ends, or now if it has ended. */
static void tie_to_supervisor(const struct supervisor *supervisor)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(supervisor->lifeline[1]);
    struct pollfd line = {.fd = supervisor->lifeline[0], .events = POLLIN};
    if (poll(&line, 1, 0) != 0)
        _exit(STATUS_FAILED);
    close(supervisor->lifeline[0]);
}

void supervisor_drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[2] = {{0}};
    syscall(SYS_capset, &header, none);
}

/* Start the namespace's first process. It adopts orphans; the namespace's signals do not end it. */
static pid_t start_first(const struct supervisor *supervisor)
{
    pid_t process = fork();
    if (process != 0)
        return process;
    tie_to_supervisor(supervisor);
    supervisor_drop_capabilities();
    signal(SIGCHLD, SIG_IGN); /* no zombies */
    close_range(0, UINT_MAX, 0);
    for (;;)
        pause();
}

/* ---- watching ---- */

struct consumption {
    unsigned long long memory; /* bytes that the process has written to, except mapped files */
    unsigned long long threads;
};

static struct consumption consumption_of(pid_t process)
{
    static const char *const counted[] = {"RssAnon:", "RssShmem:", "VmSwap:"};
    struct consumption used = {0};
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/status", (long)process);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = line + strcspn(line, ":") + 1;
        for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
            if (strncmp(line, counted[i], strlen(counted[i])) == 0)
                used.memory += strtoull(value, NULL, 10) * 1024;
        if (strncmp(line, "Threads:", strlen("Threads:")) == 0)
            used.threads = strtoull(value, NULL, 10);
    }
    if (file)
        fclose(file);
    return used;
}

/* The exit code for an exceeded limit, or 0. */
static int excess_of(const struct supervisor *supervisor)
{
    if (supervisor->sandbox->memory == 0)
        return 0;
    struct consumption used = consumption_of(supervisor->child);
    if (used.memory > supervisor->sandbox->memory)
        return SUPERVISOR_MEMORY_USED;
    return used.threads > SUPERVISOR_THREADS ? SUPERVISOR_THREADS_USED : 0;
}

/* Whether the plugin's process has ended; if so, sets *status. */
static bool reap(const struct supervisor *supervisor, int *status)
{
    int one;
    bool ended = false;
    for (pid_t process; (process = waitpid(-1, &one, WNOHANG)) > 0;)
        if (process == supervisor->child) {
            *status = one;
            ended = true;
        }
    return ended;
}

/* Watch until there is a reason to end. Returns the status to end with. */
static int watch_over(const struct supervisor *supervisor)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    int status = SIGKILL, excess = 0;
    while (!reap(supervisor, &status)) {
        if (sigtimedwait(&supervisor->signals, NULL, &pause) == SUPERVISOR_END)
            break;
        if ((excess = excess_of(supervisor)) != 0)
            return W_EXITCODE(excess, 0);
    }
    if (WIFEXITED(status) && supervisor_excess(WEXITSTATUS(status)))
        status = W_EXITCODE(STATUS_FAILED, 0);
    return status;
}

/* ---- the end ---- */

static pid_t parent_of(const char *process)
{
    char path[300], line[512] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", process);
    FILE *file = fopen(path, "re");
    const char *end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    if (file)
        fclose(file);
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static void kill_children(void)
{
    DIR *listing = opendir("/proc");
    for (struct dirent *entry; listing && (entry = readdir(listing));)
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == getpid())
            kill((pid_t)atoi(entry->d_name), SIGKILL);
    if (listing)
        closedir(listing);
}

/* End all processes below. Repeats, since a dead child's children become the supervisor's. */
static void end_all(const struct supervisor *supervisor)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    double deadline = monotonic_seconds() + ORPHANS_TIME;
    kill(supervisor->child, SIGKILL);
    if (supervisor->first)
        kill(supervisor->first, SIGKILL);
    while (monotonic_seconds() < deadline) {
        pid_t ended = waitpid(-1, NULL, supervisor->first ? 0 : WNOHANG);
        if (ended < 0 && errno == ECHILD)
            return;
        if (ended == 0) {
            kill_children();
            nanosleep(&pause, NULL);
        }
    }
}

static _Noreturn void end_as(int status)
{
    sigset_t all;
    if (WIFEXITED(status))
        _exit(WEXITSTATUS(status));
    sigfillset(&all);
    signal(WTERMSIG(status), SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    kill(getpid(), WTERMSIG(status));
    _exit(STATUS_FAILED);
}

static _Noreturn void supervise(struct supervisor *supervisor)
{
    unsigned line = (unsigned)supervisor->lifeline[1];
    /* ordinary priority: only sound is urgent */
    sched_setscheduler(0, SCHED_OTHER, &(const struct sched_param){0});
    if (line > 0)
        close_range(0, line - 1, 0);
    close_range(line + 1, UINT_MAX, 0);
    int status = watch_over(supervisor);
    end_all(supervisor);
    int failed = hidden_remove_folder(supervisor->sandbox->folder);
    (void)failed; /* if this fails, halo tries again */
    end_as(status);
}

/* ---- the beginning ---- */

/* Set up signals and descriptors. Signals that end halo must not reach processes of plugins. */
static void settle_supervisor(struct supervisor *supervisor)
{
    const struct rlimit no_core = {0};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    sigemptyset(&supervisor->signals);
    sigaddset(&supervisor->signals, SUPERVISOR_END);
    sigaddset(&supervisor->signals, SIGCHLD);
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SUPERVISOR_END);
    if (getppid() != supervisor->sandbox->parent)
        _exit(STATUS_FAILED);
}

static void settle_child(const struct supervisor *supervisor)
{
    sigset_t none;
    tie_to_supervisor(supervisor);
    setsid();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static enum status fail_start(const char *what)
{
    return fail_errno(errno, "cannot %s for a plugin", what);
}

enum status supervisor_start(const struct plugin_sandbox *sandbox)
{
    struct supervisor supervisor = {.sandbox = sandbox};
    bool has_namespaces = (sandbox->parts & SANDBOX_PROCESSES) != 0;
    settle_supervisor(&supervisor);
    if (has_namespaces && !enter_namespaces())
        return fail_start("make namespaces");
    if (pipe2(supervisor.lifeline, O_CLOEXEC) != 0)
        return fail_start("make a pipe");
    if (has_namespaces && (supervisor.first = start_first(&supervisor)) < 0)
        return fail_start("start a process");
    supervisor.child = fork();
    if (supervisor.child < 0)
        return fail_start("start a process");
    if (supervisor.child > 0)
        supervise(&supervisor);
    settle_child(&supervisor);
    return STATUS_OK;
}

const char *supervisor_excess(int exit_code)
{
    if (exit_code == SUPERVISOR_MEMORY_USED)
        return "it used more memory than --plugin-memory allows";
    return exit_code == SUPERVISOR_THREADS_USED ? "it started too many threads" : NULL;
}

void supervisor_end(pid_t supervisor)
{
    kill(supervisor, SUPERVISOR_END);
}

const char *own_program(void)
{
    const char *other = getenv("HALO_PROGRAM");
    return other && *other ? other : "/proc/self/exe";
}

int supervisor_spawn(char *const *arguments, const int *descriptors, int count, pid_t *process)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    for (int i = 0; i < count; i++)
        if (descriptors[i] < 0)
            posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_RDONLY, 0);
        else
            posix_spawn_file_actions_adddup2(&files, descriptors[i], i);
    posix_spawn_file_actions_addclosefrom_np(&files, count);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    int error = posix_spawn(process, own_program(), &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}
