/* Which call fails; see faults.h. */
#include "faults.h"

#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    bool armed;
    char call[16], name[128];
    int number, error;
    pid_t process;
    atomic_uint *seen; /* shared with children: of "each" as many as kinds, otherwise one */
} fault;

static atomic_uint seen_alone[FAULT_KINDS];
static _Thread_local bool within; /* a call of ours */

static bool is_the_program(void)
{
    char path[PATH_MAX], wanted[PATH_MAX];
    const char *program = getenv("HALO");
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    return program && realpath(program, wanted) && strcmp(path, wanted) == 0;
}

static atomic_uint *map_count(const char *path)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;
    if (fd >= 0 && syscall(SYS_ftruncate, fd, sizeof seen_alone) == 0)
        map = (void *)syscall(SYS_mmap, NULL, sizeof seen_alone, PROT_READ | PROT_WRITE, MAP_SHARED,
                              fd, 0);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return map == MAP_FAILED ? seen_alone : map;
}

static void arm(void)
{
    void *frames[1];
    const char *text = getenv("FAULT"), *count = getenv("FAULT_COUNT");
    if (text && is_the_program() &&
        sscanf(text, "%15s %127s %d %d", fault.call, fault.name, &fault.number, &fault.error) ==
            4) {
        backtrace(frames, 1); /* which allocates at its first call */
        fault.seen = count ? map_count(count) : seen_alone;
        fault.process = getpid();
        fault.armed = true;
    }
}

/* From main on: what runs before it, such as CUDA's registration of kernels, cannot fail. */
static int (*program)(int, char **, char **);

static int run_armed(int argc, char **argv, char **environment)
{
    arm();
    return program(argc, argv, environment);
}

int __libc_start_main(int (*begin)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                      void *stack_end);
int __libc_start_main(int (*begin)(int, char **, char **), int argc, char **argv,
                      void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                      void *stack_end)
{
    NEXT(int, "__libc_start_main", int (*)(int, char **, char **), int, char **, void (*)(void),
         void (*)(void), void (*)(void), void *);
    program = begin;
    return next(run_armed, argc, argv, init, fini, loader_fini, stack_end);
}

static void mark(const char *call)
{
    void *frames[64];
    const char *path = getenv("FAULT_MARK");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600) : -1;
    if (fd < 0)
        return;
    syscall(SYS_write, fd, call, strlen(call));
    syscall(SYS_write, fd, "\n", 1);
    backtrace_symbols_fd(frames, backtrace(frames, 64), fd);
    syscall(SYS_close, fd);
}

static bool is_of_kind(const char *kind, const char *call)
{
    static const char *const waiting[] = {"read", "write", "open", "fsync", "poll", "wait"};
    if (strcmp(kind, call) == 0)
        return true;
    if (strcmp(kind, "any") == 0)
        return strcmp(call, "memory") != 0 && strcmp(call, "short") != 0 &&
               strcmp(call, "wait") != 0 && strcmp(call, "shrink") != 0;
    for (size_t i = 0; strcmp(kind, "wait") == 0 && i < sizeof waiting / sizeof *waiting; i++)
        if (strcmp(waiting[i], call) == 0)
            return true;
    return false;
}

static bool counts_each(void)
{
    return strcmp(fault.call, "each") == 0;
}

static bool is_wanted(const char *call)
{
    return counts_each() || is_of_kind(fault.call, call);
}

static void count_kinds_of(const char *call)
{
    static const char *const kinds[FAULT_KINDS] = {"any", "wait", "short", "memory"};
    for (size_t i = 0; i < FAULT_KINDS; i++)
        if (is_of_kind(kinds[i], call))
            atomic_fetch_add(&fault.seen[i], 1);
}

static bool is_now(const char *call)
{
    if (counts_each()) {
        count_kinds_of(call);
        return false;
    }
    unsigned now = atomic_fetch_add(fault.seen, 1) + 1;
    if (fault.number != 0 && (fault.number < 0 || now != (unsigned)fault.number))
        return false;
    within = true;
    mark(call);
    within = false;
    return true;
}

bool fault_at_path(const char *call, int error, const char *path)
{
    bool is_of_child = fault.error < 0 && getpid() != fault.process; /* signals are for one */
    if (!fault.armed || within || is_of_child || !is_wanted(call) ||
        (strcmp(fault.name, "*") != 0 && !(path && strstr(path, fault.name))) || !is_now(call))
        return false;
    if (fault.error < 0) {
        kill(getpid(), -fault.error); /* whichever thread takes it, as from outside */
        return false;
    }
    errno = fault.error ? fault.error : error;
    return true;
}

static void find_path(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
}

bool fault_at(const char *call, int error, int fd)
{
    char path[PATH_MAX] = "";
    if (!fault.armed || within || fd == STDERR_FILENO)
        return false;
    int before = errno;
    if (strcmp(fault.name, "*") != 0)
        find_path(fd, path);
    errno = before;
    return fault_at_path(call, error, path);
}

bool fault_short(int fd, size_t count)
{
    return count > 1 && fault_at("short", 0, fd);
}

/* ---- allocations ---- */

/* Whose allocations never fail: those of libraries that end the program or crash then (libjack
 * by an exception as it is loaded; the others do not check; halo.lv2 registers CUDA
 * kernels when it is loaded). halo makes sure of the memory before it calls them. */
static bool is_exempt_object(const char *name)
{
    static const char *const names[] = {
        "/libsndfile", "/libFLAC",   "/libvorbis", "/libogg",    "/libopus", "/libmp3lame",
        "/libmpg123",  "/libsoxr",   "/liblilv",   "/libserd",   "/libsord", "/libsratom",
        "/ld-linux",   "/halo.lv2/", "/libjack",   "/libtag.so",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(name, names[i]))
            return true;
    return false;
}

static const char *object_of(const void *code)
{
    struct dl_find_object found;
    return _dl_find_object((void *)code, &found) == 0 ? found.dlfo_link_map->l_name : "";
}

static bool is_language(const char *name)
{
    return strstr(name, "/libc.so") || strstr(name, "/libstdc++");
}

/* What the libraries of C and C++ allocate, in strdup or for new, is their caller's. */
static const char *object_behind_language(void)
{
    void *frames[24];
    within = true;
    int count = backtrace(frames, 24);
    within = false;
    for (int i = 0; i < count; i++) {
        const char *name = object_of(frames[i]);
        if (!is_language(name) && !strstr(name, "/libfaults"))
            return name;
    }
    return "";
}

static bool is_exempt(const void *caller)
{
    const char *name = object_of(caller);
    return is_exempt_object(is_language(name) ? object_behind_language() : name);
}

bool fault_of_memory(const void *caller)
{
    if (!fault.armed || within || !is_wanted("memory") || is_exempt(caller) || !is_now("memory"))
        return false;
    errno = ENOMEM;
    return true;
}
