/* A LADSPA plugin that tries what no plugin should be able to do. Each label is one attempt, made
 * when an instance is created; what came of it is printed: "LABEL: done" or "LABEL: ERROR".
 *
 * What an attempt is about comes from the environment: INTRUDER_HOME (a folder), INTRUDER_SECRET (a
 * file), INTRUDER_PORT (where somebody listens), INTRUDER_TARGET (a process). The sound passes
 * unchanged.
 */
#include "ladspa_fields.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { IN, OUT, PORTS };

struct intruder {
    float *ports[PORTS];
};

/* Attempts return 0 when they succeed, or -1 and errno. */

static const char *place(const char *variable, const char *name)
{
    static char path[4096];
    const char *folder = getenv(variable);
    snprintf(path, sizeof path, "%s%s", folder ? folder : "/nonexistent", name);
    return path;
}

static int write_at(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return file >= 0 && write(file, "x", 1) == 1 ? close(file) : -1;
}

static int write_home(void)
{
    return write_at(place("INTRUDER_HOME", "/written"));
}

static int write_outside(void)
{
    return write_at(place("INTRUDER_HOME", "/../outside"));
}

static int write_own(void)
{
    return write_at(place("TMPDIR", "/own"));
}

static int change_mode(void)
{
    return chmod(getenv("INTRUDER_SECRET"), 0666);
}

static int read_secret(void)
{
    char byte;
    int file = open(getenv("INTRUDER_SECRET"), O_RDONLY | O_CLOEXEC);
    return file >= 0 && read(file, &byte, 1) == 1 ? close(file) : -1;
}

static int watch_files(void)
{
    int watch = inotify_init1(IN_CLOEXEC);
    return watch >= 0 ? close(watch) : -1;
}

static int take_priority(void)
{
    return sched_setscheduler(0, SCHED_FIFO, &(const struct sched_param){.sched_priority = 1});
}

/* Whether a thread that is started now would have a real-time priority, and keep it awake for ever.
 */
static int be_urgent(void)
{
    errno = ENOENT;
    return sched_getscheduler(0) == SCHED_FIFO ? 0 : -1;
}

static int stay_awake(void)
{
    struct rlimit limit;
    errno = ENOENT;
    return getrlimit(RLIMIT_RTTIME, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY ? 0 : -1;
}

static struct sockaddr_in address_at(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int listen_tcp(void)
{
    const struct sockaddr_in address = address_at(0);
    int its = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (its < 0 || bind(its, (const struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    return listen(its, 1);
}

static int connect_tcp(void)
{
    const char *port = getenv("INTRUDER_PORT");
    const struct sockaddr_in address = address_at(port ? atoi(port) : 1);
    int its = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return its < 0 ? -1 : connect(its, (const struct sockaddr *)&address, sizeof address);
}

static int connect_unix(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/s", getenv("INTRUDER_HOME"));
    int its = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return its < 0 ? -1 : connect(its, (const struct sockaddr *)&address, sizeof address);
}

static int run_shell(void)
{
    int end = system("exit 0");
    if (end < 0 || WEXITSTATUS(end) == 127) {
        errno = EPERM;
        return -1;
    }
    return 0;
}

/* The process of halo: above all that are between. Its number comes from the test's environment
 * or, where it is not given, is that of the parent. */
static pid_t halo(void)
{
    const char *number = getenv("INTRUDER_TARGET");
    return number ? (pid_t)atoi(number) : getppid();
}

static int trace_halo(void)
{
    return (int)ptrace(PTRACE_SEIZE, halo(), NULL, NULL);
}

static int read_memory(void)
{
    char byte, path[64];
    const struct iovec here = {&byte, 1}, there = {(void *)0x400000, 1};
    if (process_vm_readv(halo(), &here, 1, &there, 1, 0) == 1)
        return 0;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)halo());
    int memory = open(path, O_RDONLY | O_CLOEXEC);
    return memory < 0 ? -1 : close(memory);
}

static int kill_halo(void)
{
    return kill(halo(), SIGTERM);
}

static int kill_all(void)
{
    return kill(-1, SIGCONT);
}

/* Counts what it gets of 10 GiB, in steps. */
static int fill_memory(void)
{
    enum { STEPS = 160 };
    const size_t step = (size_t)64 << 20;
    for (int i = 0; i < STEPS; i++) {
        char *memory = malloc(step);
        if (!memory)
            return -1;
        memset(memory, i + 1, step);
    }
    return 0;
}

/* The same by memory that is shared, and so is not counted as its own. */
static int fill_shared(void)
{
    enum { STEPS = 160 };
    const size_t step = (size_t)64 << 20;
    for (int i = 0; i < STEPS; i++) {
        char *memory = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return -1;
        memset(memory, i + 1, step);
    }
    return 0;
}

/* Not without bounds, since the test may run without a sandbox. */
static int fork_bomb(void)
{
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child < 0)
            return -1;
        if (child == 0) {
            pause();
            _exit(0);
        }
    }
    return 0;
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static int thread_bomb(void)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int i = 0; i < 5000; i++)
        if ((errno = pthread_create(&thread, &small, wait_for_ever, NULL)) != 0)
            return -1;
    return 0;
}

/* Sparse: a length of 8 GiB, and one byte at its end. */
static int huge_file(void)
{
    int file = open(place("TMPDIR", "/huge"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return file >= 0 && pwrite(file, "x", 1, (off_t)8 << 30) == 1 ? close(file) : -1;
}

/* Leaves a process that has nothing to do with its parent any more, once that has said its number.
 */
static int escape(void)
{
    int line[2];
    char none;
    if (pipe2(line, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        signal(SIGHUP, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
        int mark = open(place("INTRUDER_HOME", "/escaped"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (mark >= 0)
            dprintf(mark, "%d\n", (int)getpid());
        close(line[1]);
        for (;;)
            pause();
    }
    close(line[1]);
    waitpid(child, NULL, 0);
    ssize_t ended = read(line[0], &none, 1);
    close(line[0]);
    return (int)ended;
}

static int open_many(void)
{
    for (int i = 0; i < 5000; i++)
        if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
            return -1;
    return 0;
}

/* Anything but what it needs: 0, 1, 2, and nothing above but those of the sandbox. */
static int other_descriptors(void)
{
    char path[64], target[4096];
    for (int i = 0; i < 64; i++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length > 0 && memchr(target, '/', (size_t)length) == target &&
            strncmp(target, "/dev/", 5) != 0 && strncmp(target, "/memfd", 6) != 0 &&
            strncmp(target, "/proc", 5) != 0 && !strstr(path, "ladspa"))
            return 0;
    }
    errno = ENOENT;
    return -1;
}

static int lie(void)
{
    puts("halo: all is well");
    fputs("halo: \033[2Jreally\n", stderr);
    for (int i = 3; i < 16; i++) /* and in halo's own channel, wherever that is */
        if (fcntl(i, F_GETFL) == O_WRONLY)
            dprintf(i, "halo has won\n");
    return 0;
}

static int chatter(void)
{
    for (int i = 1; i <= 1000; i++)
        printf("line %d\n", i);
    return 0;
}

static int last_line(void)
{
    fputs("the table has no legs\n", stderr);
    abort();
}

/* Whether signals are as in a program that has just been started. */
static int signals_blocked(void)
{
    sigset_t mask;
    struct sigaction action;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int i = 1; i < 32; i++) {
        sigaction(i, NULL, &action);
        if (sigismember(&mask, i) == 1 || (action.sa_handler != SIG_DFL && i != SIGXFSZ))
            return 0;
    }
    errno = ENOENT;
    return -1;
}

static const struct attempt {
    const char *label;
    int (*make)(void);
} attempts[] = {
    {"write-home", write_home},
    {"write-outside", write_outside},
    {"write-own", write_own},
    {"change-mode", change_mode},
    {"read-secret", read_secret},
    {"watch", watch_files},
    {"urgent", be_urgent},
    {"awake", stay_awake},
    {"priority", take_priority},
    {"listen", listen_tcp},
    {"connect", connect_tcp},
    {"connect-unix", connect_unix},
    {"shell", run_shell},
    {"trace", trace_halo},
    {"read-memory", read_memory},
    {"kill-halo", kill_halo},
    {"kill-all", kill_all},
    {"fill-memory", fill_memory},
    {"fill-shared", fill_shared},
    {"fork-bomb", fork_bomb},
    {"thread-bomb", thread_bomb},
    {"huge-file", huge_file},
    {"open-many", open_many},
    {"descriptors", other_descriptors},
    {"signals", signals_blocked},
    {"escape", escape},
    {"lie", lie},
    {"chatter", chatter},
    {"last-line", last_line},
};
enum { ATTEMPTS = sizeof attempts / sizeof *attempts };

static LADSPA_Descriptor descriptors[ATTEMPTS];

/* Halo makes instances to measure their latency, and one for the sound: once is enough. */
static LADSPA_Handle instantiate(const LADSPA_Descriptor *descriptor, unsigned long rate)
{
    const struct attempt *attempt = &attempts[descriptor - descriptors];
    (void)rate;
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *outcome = attempt->make() == 0 ? "done" : strerrorname_np(errno);
    printf("%s: %s\n", attempt->label, outcome ? outcome : "error");
    return calloc(1, sizeof(struct intruder));
}

static void connect_port(LADSPA_Handle instance, unsigned long port, LADSPA_Data *data)
{
    ((struct intruder *)instance)->ports[port] = data;
}

static void run(LADSPA_Handle instance, unsigned long frames)
{
    const struct intruder *intruder = instance;
    memcpy(intruder->ports[OUT], intruder->ports[IN], frames * sizeof(float));
}

static const LADSPA_PortDescriptor kinds[PORTS] = {
    [IN] = LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO,
    [OUT] = LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO,
};
static const char *const names[PORTS] = {[IN] = "In", [OUT] = "Out"};
static const LADSPA_PortRangeHint ranges[PORTS];

__attribute__((visibility("default"))) const LADSPA_Descriptor *
ladspa_descriptor(unsigned long index)
{
    if (index >= ATTEMPTS)
        return NULL;
    descriptors[index] = (LADSPA_Descriptor){LADSPA_FIELDS(2000 + index, attempts[index].label)};
    return &descriptors[index];
}
