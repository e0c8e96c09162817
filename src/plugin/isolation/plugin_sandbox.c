#include "plugin/isolation/plugin_sandbox.h"

#include "base/hidden_name.h"
#include "base/realtime.h"
#include "plugin/isolation/plugin_supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HALO_WITH_SECCOMP
#include "plugin/isolation/seccomp_library.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#endif

/* ---- files, by Landlock ---- */

/* halo declares the interface of Landlock, since headers may be older than the kernel:
 * https://docs.kernel.org/userspace-api/landlock.html */

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 }; /* on all architectures */
enum { ASK_VERSION = 1, PATH_BENEATH = 1 };

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    MAKE_CHARACTER_DEVICE = 1 << 6,
    MAKE_BLOCK_DEVICE = 1 << 11,
    RIGHTS_OF_1 = (1 << 13) - 1,
    REFER = 1 << 13,    /* from version 2 of Landlock */
    TRUNCATE = 1 << 14, /* truncation of files; Landlock 3 and later */
    IOCTL = 1 << 15,    /* ioctl on devices; Landlock 5 and later */

    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL,
    READ = READ_FILE | READ_FOLDER,
    OWN = (RIGHTS_OF_1 | REFER | TRUNCATE) & ~(EXECUTE | MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE),

    TCP = 3,   /* bind, connect: from version 4 */
    SCOPE = 3, /* abstract UNIX sockets, signals: from version 6 */
};

struct landlock_ruleset {
    uint64_t files, net, scope;
};

struct landlock_path {
    uint64_t rights;
    int32_t below;
} __attribute__((packed));

static int landlock_version(void)
{
    return (int)syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
}

static bool sandbox_offers_files(void)
{
    return landlock_version() >= 1;
}

static struct landlock_ruleset ruleset_of(int version)
{
    struct landlock_ruleset set = {.files = RIGHTS_OF_1};
    set.files |= version >= 2 ? REFER : 0;
    set.files |= version >= 3 ? TRUNCATE : 0;
    set.files |= version >= 5 ? IOCTL : 0;
    set.net = version >= 4 ? TCP : 0;
    set.scope = version >= 6 ? SCOPE : 0;
    return set;
}

/* The structure's size for a version. Old kernels refuse newer fields, even if they are zero. */
static size_t size_for(int version)
{
    return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

/* Permit rights on a path; a missing or unreadable one needs none. Returns 0, or -1 and errno. */
static int permit(int ruleset, const char *path, uint64_t rights)
{
    struct stat about;
    int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return 0;
    struct landlock_path rule = {.rights = rights, .below = place};
    int failed = fstat(place, &about);
    if (!failed && !S_ISDIR(about.st_mode))
        rule.rights &= OF_FILES;
    if (!failed && S_ISCHR(about.st_mode)) /* device files such as /dev/null */
        rule.rights |= WRITE_FILE;
    if (!failed)
        failed = (int)syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
    int error = errno;
    close(place);
    errno = error;
    return failed;
}

/* Add the rules of a process and enter them. Returns 0, or -1 and errno. */
static int restrict_files(int ruleset, uint64_t known, const char *folder,
                          const struct plugin_reads *reads)
{
    for (size_t i = 0; i < reads->count; i++)
        if (permit(ruleset, reads->paths[i], READ & known) != 0)
            return -1;
    if (permit(ruleset, folder, OWN & known) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(RESTRICT_SELF, ruleset, 0);
}

/* Enter SANDBOX_FILES. */
static enum status sandbox_enter_files(const char *folder, const struct plugin_reads *reads)
{
    int version = landlock_version();
    struct landlock_ruleset set = ruleset_of(version);
    int ruleset = (int)syscall(CREATE_RULESET, &set, size_for(version), 0);
    int failed = ruleset < 0 ? -1 : restrict_files(ruleset, set.files, folder, reads);
    int error = errno;
    if (ruleset >= 0)
        close(ruleset);
    /* The kernel drops the rule of a folder in /proc unless a process has the folder open. */
    int kept = failed ? -1 : open("/proc/self", O_PATH | O_CLOEXEC);
    (void)kept;
    return failed ? fail_errno(error, "cannot keep a plugin from files (Landlock)") : STATUS_OK;
}

/* ---- seccomp: which system calls fail with EPERM ---- */

#ifdef HALO_WITH_SECCOMP

/* A call by name. `number`: for old libseccomps that lack the name; alike on all architectures. */
struct forbidden_call {
    const char *name;
    int number;
};

static const struct forbidden_call forbidden[] = {
    /* other programs and processes */
    {"execve", 0},
    {"execveat", 0},
    {"fork", 0},
    {"vfork", 0},
    {"ptrace", 0},
    {"process_vm_readv", 0},
    {"process_vm_writev", 0},
    {"process_madvise", 440},
    {"process_mrelease", 448},
    {"kcmp", 0},
    {"pidfd_open", 434},
    {"pidfd_getfd", 438},
    {"pidfd_send_signal", 424},
    {"tkill", 0},
    {"unshare", 0},
    {"setns", 0},
    /* the network: what socketpair() makes has no names */
    {"socket", 0},
    {"connect", 0},
    {"bind", 0},
    {"listen", 0},
    {"accept", 0},
    {"accept4", 0},
    /* memory that is shared or does not count for the process's limit */
    {"memfd_create", 0},
    {"memfd_secret", 447},
    {"shmget", 0},
    {"shmat", 0},
    {"shmctl", 0},
    {"msgget", 0},
    {"msgsnd", 0},
    {"msgrcv", 0},
    {"msgctl", 0},
    {"semget", 0},
    {"semop", 0},
    {"semtimedop", 0},
    {"semctl", 0},
    {"mq_open", 0},
    {"mq_unlink", 0},
    /* calls that Landlock does not restrict: owner, permissions and times of files */
    {"chmod", 0},
    {"fchmod", 0},
    {"fchmodat", 0},
    {"fchmodat2", 452},
    {"chown", 0},
    {"fchown", 0},
    {"lchown", 0},
    {"fchownat", 0},
    {"setxattr", 0},
    {"lsetxattr", 0},
    {"fsetxattr", 0},
    {"setxattrat", 463},
    {"removexattr", 0},
    {"lremovexattr", 0},
    {"fremovexattr", 0},
    {"removexattrat", 466},
    {"file_setattr", 469},
    {"utime", 0},
    {"utimes", 0},
    {"futimesat", 0},
    {"utimensat", 0},
    {"name_to_handle_at", 0},
    {"open_by_handle_at", 0},
    /* watching the file accesses of other processes */
    {"inotify_init", 0},
    {"inotify_init1", 0},
    {"fanotify_init", 0},
    /* the system */
    {"mount", 0},
    {"umount2", 0},
    {"pivot_root", 0},
    {"chroot", 0},
    {"open_tree", 428},
    {"open_tree_attr", 467},
    {"move_mount", 429},
    {"fsopen", 430},
    {"fsconfig", 431},
    {"fsmount", 432},
    {"fspick", 433},
    {"mount_setattr", 442},
    {"quotactl", 0},
    {"quotactl_fd", 443},
    {"swapon", 0},
    {"swapoff", 0},
    {"bpf", 0},
    {"perf_event_open", 0},
    {"userfaultfd", 0},
    {"io_uring_setup", 425},
    {"io_uring_enter", 426},
    {"io_uring_register", 427},
    {"add_key", 0},
    {"request_key", 0},
    {"keyctl", 0},
    {"init_module", 0},
    {"finit_module", 0},
    {"delete_module", 0},
    {"kexec_load", 0},
    {"kexec_file_load", 0},
    {"reboot", 0},
    {"syslog", 0},
    {"acct", 0},
    {"settimeofday", 0},
    {"clock_settime", 0},
    {"clock_adjtime", 0},
    {"adjtimex", 0},
    {"sethostname", 0},
    {"setdomainname", 0},
    {"vhangup", 0},
    {"iopl", 0},
    {"ioperm", 0},
    {"modify_ldt", 0},
    {"migrate_pages", 0},
    {"move_pages", 0},
};

static int number_of_call(const struct forbidden_call *call)
{
    int number = seccomp_syscall_resolve_name(call->name);
    return number == __NR_SCMP_ERROR && call->number ? call->number : number;
}

/* Forbid all calls of the list. A negative number is a call that this architecture lacks. */
static int forbid(scmp_filter_ctx filter)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof forbidden / sizeof *forbidden; i++) {
        int number = number_of_call(&forbidden[i]);
        if (number >= 0)
            error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    return error;
}

/* The kernel uses the low 32 bits of most arguments, so these rules ignore the high bits. */
#define UNLESS(CALL, ARGUMENT, VALUE) {SCMP_SYS(CALL), {ARGUMENT, SCMP_CMP_NE, VALUE, 0}}
#define IF_BITS(CALL, ARGUMENT, MASK, VALUE)                                                       \
    {                                                                                              \
        SCMP_SYS(CALL),                                                                            \
        {                                                                                          \
            ARGUMENT, SCMP_CMP_MASKED_EQ, MASK, VALUE                                              \
        }                                                                                          \
    }

/* Calls that depend on an argument; each row is a case that fails. */
static int forbid_cases(scmp_filter_ctx filter)
{
    const uint64_t self = (uint64_t)getpid();
    const struct {
        int call;
        struct scmp_arg_cmp when;
    } cases[] = {
        IF_BITS(clone, 0, CLONE_THREAD, 0),
        UNLESS(kill, 0, self),
        UNLESS(tgkill, 0, self),
        UNLESS(rt_sigqueueinfo, 0, self),
        UNLESS(rt_tgsigqueueinfo, 0, self),
        UNLESS(prlimit64, 0, 0), /* allowed for the process itself */
        UNLESS(setpriority, 0, PRIO_PROCESS),
        UNLESS(personality, 0, UINT32_MAX), /* allowed to ask for the personality */
        /* Forbidden: a pair of datagram sockets (SOCK_RAW, too) could send to named sockets. */
        UNLESS(socketpair, 0, AF_UNIX),
        IF_BITS(socketpair, 1, 0xf, SOCK_DGRAM),
        IF_BITS(socketpair, 1, 0xf, SOCK_RAW),
        /* Forbidden: signals sent by the kernel, and typing into a terminal. */
        IF_BITS(fcntl, 1, UINT32_MAX, F_SETOWN),
        IF_BITS(fcntl, 1, UINT32_MAX, F_SETOWN_EX),
        IF_BITS(ioctl, 1, UINT32_MAX, TIOCSTI),
    };
    int error = 0;
    for (size_t i = 0; error == 0 && i < sizeof cases / sizeof *cases; i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), cases[i].call, 1, cases[i].when);
    return error;
}

/* Forbid clone3, whose arguments a filter cannot check. The C library then uses clone. */
static int forbid_clone3(scmp_filter_ctx filter)
{
    enum { CLONE3 = 435 };
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), CLONE3, 0);
}

static bool sandbox_offers_calls(void)
{
    const uint32_t action = SECCOMP_RET_ERRNO;
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

/* Call while files can still be opened. */
static enum status sandbox_prepare_calls(void)
{
    return library_open(&seccomp_library);
}

static enum status sandbox_enter_calls(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int error = filter ? 0 : -ENOMEM;
    if (error == 0) /* refuse calls of other architectures, such as 32-bit calls */
        error = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
    if (error == 0) /* check calls by a tree, not by a list */
        error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (error == 0)
        error = forbid(filter);
    if (error == 0)
        error = forbid_cases(filter);
    if (error == 0)
        error = forbid_clone3(filter);
    if (error == 0)
        error = seccomp_load(filter); /* sets no_new_privs */
    if (filter)
        seccomp_release(filter);
    return error ? fail_errno(-error, "cannot keep a plugin from system calls (seccomp)")
                 : STATUS_OK;
}

#else

static bool sandbox_offers_calls(void)
{
    return false;
}

static enum status sandbox_prepare_calls(void)
{
    return STATUS_OK;
}

static enum status sandbox_enter_calls(void)
{
    return fail(CAUSE_UNSUPPORTED, "halo was built without libseccomp");
}

#endif

/* ---- in halo: options ---- */

#define GIBIBYTE (UINT64_C(1) << 30)

static bool is_off;                         /* --no-sandbox */
static uint64_t memory_most = 4 * GIBIBYTE; /* --plugin-memory */
static double patience;                     /* seconds: --plugin-patience; 0: not given */

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

enum status plugin_sandbox_parse_patience(void *options, const struct option_row *row,
                                          const char *value)
{
    const double least = 0.1, most = 3600;
    (void)options;
    return options_parse_seconds(row->name, value, least, most, &patience);
}

double plugin_sandbox_patience(double usual)
{
    return patience > 0 ? patience : usual;
}

/* ---- in halo: parts that the kernel offers ---- */

static int leave(void *unused)
{
    (void)unused;
    _exit(STATUS_OK);
}

/* Whether namespaces can be entered. Found by trying, since kernels, containers and security
 * modules refuse them in many ways. */
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
    const char *missing; /* name of the part in the kernel, and what plugins can do without it */
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

/* No sandbox with a sanitizer, which reserves terabytes and traces its process. */
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

/* The supervisor has removed the folder, unless it was killed. */
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

/* Allow a process without capabilities what root could do: a real-time priority below the one that
 * it was started with, and locked memory. If a thread with such a priority does not sleep for long,
 * the process is ended, before the rest of the machine has to wait. */
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

/* Limit the memory that only the process can write to; mere reservations do not count. The
 * supervisor watches the rest. */
static void set_limits(const struct plugin_sandbox *sandbox)
{
    enum { FILES_MOST = 1024, PROCESSES_MOST = SUPERVISOR_THREADS };
    limit(RLIMIT_DATA, sandbox->memory);
    limit(RLIMIT_NOFILE, FILES_MOST);
    limit(RLIMIT_FSIZE, GIBIBYTE);
    if (sandbox->parts & SANDBOX_PROCESSES) /* otherwise all threads of the user would count */
        limit(RLIMIT_NPROC, PROCESSES_MOST);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit then fails */
}

/* A GUI library that finds no display would end the process. */
void plugin_sandbox_hide_display(void)
{
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        setenv("QT_QPA_PLATFORM", "offscreen", 0);
}

/* Set TMPDIR to the process's own folder; remove variables of displays and sockets. */
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
