#include "plugin/plugin_sandbox.h"

#include "base/hidden_name.h"
#include "base/realtime.h"
#include "plugin/plugin_supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define GIBIBYTE (UINT64_C(1) << 30)

static bool is_off;                         /* --no-sandbox */
static uint64_t memory_most = 4 * GIBIBYTE; /* --plugin-memory */

/* ---- in halo: options ---- */

enum status plugin_sandbox_parse_off(void *options, const struct option_row *row, const char *value)
{
    (void)options, (void)row, (void)value;
    is_off = true;
    return STATUS_OK;
}

enum status plugin_sandbox_parse_memory(void *options, const struct option_row *row,
                                        const char *value)
{
    static const char units[] = "kmgt";
    (void)options;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    const char *unit = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    const uint64_t least = GIBIBYTE / 16, most = 1024 * 1024 * GIBIBYTE;
    if (!isdigit((unsigned char)*value) || errno || (*end && (!unit || end[1])) ||
        number > most >> shift || number << shift < least)
        return fail(CAUSE_USAGE, "--%s is a size of at least 64M, such as 512M or 8G, not '%s'",
                    row->name, value);
    memory_most = number << shift;
    return STATUS_OK;
}

/* ---- in halo: what the kernel offers ---- */

static int leave(void *unused)
{
    (void)unused;
    _exit(STATUS_OK);
}

/* By trying it: kernels, containers and security modules refuse them in many ways. */
static bool offers_processes(void)
{
    static char stack[64 << 10] __attribute__((aligned(64)));
    pid_t process =
        clone(leave, stack + sizeof stack,
              CLONE_VM | CLONE_VFORK | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD, NULL);
    return process > 0 && waitpid(process, NULL, 0) == process;
}

static const struct sandbox_row {
    const char *name;
    enum plugin_sandbox_part part;
    bool (*offers)(void);
    const char *missing; /* what then is not contained */
} sandbox_rows[] = {
    {"files", SANDBOX_FILES, sandbox_offers_files,
     "Landlock, so they can read and write all files that you can"},
    {"calls", SANDBOX_CALLS, sandbox_offers_calls,
     "seccomp, so they can use the network and run programs"},
    {"processes", SANDBOX_PROCESSES, offers_processes,
     "user namespaces, so they see your other processes"},
};
enum { SANDBOX_ROWS = sizeof sandbox_rows / sizeof *sandbox_rows };

static unsigned offered;

static void find_offered(void)
{
    for (size_t i = 0; i < SANDBOX_ROWS; i++)
        if (sandbox_rows[i].offers())
            offered |= sandbox_rows[i].part;
        else
            note("plugins run without %s: not offered by this system", sandbox_rows[i].missing);
}

/* A sanitizer reserves terabytes, and traces the process that it is in. */
#ifdef HALO_SANITIZED
static const bool is_possible = false;
#else
static const bool is_possible = true;
#endif

bool plugin_sandbox_is_off(void)
{
    return is_off;
}

unsigned plugin_sandbox_parts(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (is_off || !is_possible)
        return 0;
    pthread_once(&once, find_offered);
    return offered;
}

const char *plugin_sandbox_part_name(size_t index, unsigned *part)
{
    if (index >= SANDBOX_ROWS)
        return NULL;
    *part = sandbox_rows[index].part;
    return sandbox_rows[index].name;
}

/* ---- in halo: the word ---- */

static enum status fail_folder(const char *folder)
{
    return fail_errno(errno, "cannot create the folder %s for a plugin", folder);
}

enum status plugin_sandbox_admit(struct plugin_sandbox_pass *pass)
{
    const char *temporary = getenv("TMPDIR");
    unsigned parts = plugin_sandbox_parts();
    *pass = (struct plugin_sandbox_pass){0};
    if (asprintf(&pass->word, "%ld,%u,%" PRIu64 ",%s/halo-plugin-XXXXXX", (long)getpid(), parts,
                 is_off || !is_possible ? 0 : memory_most,
                 temporary && *temporary == '/' ? temporary : "/tmp") < 0)
        return fail_memory("a plugin's process");
    pass->folder = strchr(pass->word, '/');
    if (mkdtemp(pass->folder))
        return STATUS_OK;
    enum status status = fail_folder(pass->folder);
    free(pass->word);
    *pass = (struct plugin_sandbox_pass){0};
    return status;
}

/* The supervisor removes it, unless it was killed itself. */
void plugin_sandbox_release(struct plugin_sandbox_pass *pass)
{
    if (pass->folder && access(pass->folder, F_OK) == 0 && hidden_remove_folder(pass->folder) != 0)
        note_detail("cannot remove %s: %s", pass->folder, strerror(errno));
    free(pass->word);
    *pass = (struct plugin_sandbox_pass){0};
}

/* ---- in the process ---- */

bool plugin_sandbox_read(const char *word, struct plugin_sandbox *sandbox)
{
    long parent;
    int length = 0;
    *sandbox = (struct plugin_sandbox){0};
    if (sscanf(word, "%ld,%u,%" SCNu64 ",%n", &parent, &sandbox->parts, &sandbox->memory,
               &length) != 3 ||
        word[length] != '/')
        return false;
    sandbox->parent = (pid_t)parent;
    sandbox->folder = word + length;
    return true;
}

static void limit(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(what, &now) == 0 && now.rlim_max < most)
        most = now.rlim_max;
    setrlimit(what, &(const struct rlimit){most, most});
}

/* What root may do without limits stays allowed without capabilities: a priority below that which
 * the process was started with, and to lock its memory. A thread that does not sleep for long with
 * such a priority ends the process, before the rest of the machine waits for it. */
static void limit_priority(const struct plugin_sandbox *sandbox)
{
    enum { AWAKE_US = 1000000 };
    int priority = realtime_priority(pthread_self());
    rlim_t most = priority > 0 ? (rlim_t)priority - 1 : 0;
    setrlimit(RLIMIT_RTPRIO, &(const struct rlimit){most, most});
    setrlimit(RLIMIT_RTTIME, &(const struct rlimit){AWAKE_US, AWAKE_US});
    if (priority > 0)
        setrlimit(RLIMIT_MEMLOCK, &(const struct rlimit){sandbox->memory, sandbox->memory});
}

/* Memory: all that it alone can write to, so that mere reservations do not count. The supervisor
 * watches the rest. */
static void set_limits(const struct plugin_sandbox *sandbox)
{
    enum { FILES_MOST = 1024, PROCESSES_MOST = SUPERVISOR_THREADS };
    limit(RLIMIT_DATA, sandbox->memory);
    limit(RLIMIT_NOFILE, FILES_MOST);
    limit(RLIMIT_FSIZE, GIBIBYTE);
    if (sandbox->parts & SANDBOX_PROCESSES) /* else those of the user count */
        limit(RLIMIT_NPROC, PROCESSES_MOST);
    signal(SIGXFSZ, SIG_IGN); /* such a write fails */
}

/* A library of windows that finds no display would end the process. */
void plugin_sandbox_hide_display(void)
{
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        setenv("QT_QPA_PLATFORM", "offscreen", 0);
}

/* There is no display in the sandbox, and nobody to talk to. */
static void set_environment(const struct plugin_sandbox *sandbox)
{
    static const char *const useless[] = {"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
                                          "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK"};
    setenv("TMPDIR", sandbox->folder, 1);
    for (size_t i = 0; sandbox->parts && i < sizeof useless / sizeof *useless; i++)
        unsetenv(useless[i]);
    if (sandbox->parts)
        setenv("XDG_RUNTIME_DIR", sandbox->folder, 1);
    plugin_sandbox_hide_display();
}

enum status plugin_sandbox_enter(const struct plugin_sandbox *sandbox, char *const *named)
{
    struct plugin_reads reads = {0};
    if (sandbox->memory)
        limit_priority(sandbox);
    TRY(supervisor_start(sandbox));
    set_environment(sandbox);
    if (sandbox->memory == 0)
        return STATUS_OK;
    set_limits(sandbox);
    supervisor_drop_capabilities();
    enum status status = STATUS_OK;
    if (sandbox->parts & SANDBOX_CALLS)
        TRY(sandbox_prepare_calls());
    if (sandbox->parts & SANDBOX_FILES) {
        TRY(plugin_reads_init(&reads, named));
        status = sandbox_enter_files(sandbox->folder, &reads);
        plugin_reads_free(&reads);
    }
    if (status == STATUS_OK && sandbox->parts & SANDBOX_CALLS)
        status = sandbox_enter_calls();
    return status;
}
