#include "fault_rig.h"

#include "command.h"
#include "faults.h"
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MOST = 16, TEXT_MOST = 16384 };

/* ---- folders: what is in them ---- */

struct listing {
    char text[TEXT_MOST]; /* a line a file: path, size, checksum */
};

static struct listing *listed; /* nftw takes no context */
static size_t listed_from;

static uint64_t checksum(const char *path)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    FILE *file = fopen(path, "rb");
    for (int byte; file && (byte = fgetc(file)) != EOF;)
        sum = (sum ^ (uint64_t)byte) * UINT64_C(0x100000001b3);
    if (file)
        fclose(file);
    return sum;
}

static int list_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    size_t length = strlen(listed->text);
    if (where->level > 0 && length < TEXT_MOST)
        snprintf(listed->text + length, TEXT_MOST - length, "%s %ld %016llx\n", path + listed_from,
                 kind == FTW_F ? (long)about->st_size : 0L,
                 kind == FTW_F ? (unsigned long long)checksum(path) : 0ULL);
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_lines(char *text)
{
    char copy[TEXT_MOST], *lines[512], *rest = copy;
    size_t count = 0;
    strcpy(copy, text);
    for (char *line; count < 512 && (line = strsep(&rest, "\n")) && *line;)
        lines[count++] = line;
    qsort(lines, count, sizeof *lines, by_text);
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        text += sprintf(text, "%s\n", lines[i]);
}

static void list(const char *folder, struct listing *listing)
{
    listed = listing;
    listed_from = strlen(folder) + 1;
    listing->text[0] = '\0';
    nftw(folder, list_one, 8, FTW_PHYS);
    sort_lines(listing->text);
}

/* ---- one run ---- */

struct run {
    int code;                    /* or 128 + the signal; -1: it did not end */
    unsigned calls[FAULT_KINDS]; /* of "each" */
    bool left_processes;
    char err[4096];  /* standard error */
    char mark[4096]; /* which call failed; empty: none did */
    struct listing out, rest;
};

static void read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static void make_empty(const char *folder)
{
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    if (mkdir(folder, 0777) != 0)
        fprintf(stderr, "cannot make %s: %s\n", folder, strerror(errno));
}

/* Most runs leave out/ as it was: then it is there for the next one. */
static void prepare_out(const char *old)
{
    static const char *prepared;
    static struct listing before, now;
    char line[1024];
    list("out", &now);
    if (old && old == prepared && strcmp(now.text, before.text) == 0)
        return;
    make_empty("out");
    snprintf(line, sizeof line, "{ %s; } >stdout 2>&1", old ? old : ":");
    if (old && system(line) != 0)
        fprintf(stderr, "cannot prepare: %s\n", line);
    list("out", &before);
    prepared = old;
}

static void prepare(const struct fault_row *row)
{
    static const char *const files[] = {"count", "mark", "stdout", "stderr"};
    make_empty("tmp");
    prepare_out(row->old);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(files[i]);
}

static void set_path(const char *variable, const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    setenv(variable, path, 1);
}

static void become(const struct fault_row *row, const char *fault)
{
    int in = open("/dev/null", O_RDONLY), out = open("stdout", O_WRONLY | O_CREAT, 0600),
        err = open("stderr", O_WRONLY | O_CREAT, 0600);
    char here[256];
    setpgid(0, 0);
    if (!getcwd(here, sizeof here) || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    for (int fd = 3; fd < 64; fd++)
        close(fd);
    setenv("FAULT", fault, 1);
    set_path("FAULT_COUNT", here, "count");
    set_path("FAULT_MARK", here, "mark");
    setenv("LD_PRELOAD", FAULTS, 1);
    execl("/bin/sh", "sh", "-c", row->line, (char *)NULL);
    _exit(127);
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int wait_for(pid_t process)
{
    int status;
    struct pollfd end = {.fd = pidfd_open(process, 0), .events = POLLIN};
    bool ended = poll(&end, 1, 1000 * COMMAND_PATIENCE) == 1;
    close(end.fd);
    if (!ended)
        kill(-process, SIGKILL);
    waitpid(process, &status, 0);
    if (!ended)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Whether any of the group lives, some time later. */
static bool lives(pid_t group)
{
    for (int i = 0; i < 1000; i++) {
        if (kill(-group, 0) != 0)
            return false;
        pause_ms(2);
    }
    kill(-group, SIGKILL);
    return true;
}

static void run_row(const struct fault_row *row, const char *call, int number, int error,
                    struct run *run)
{
    char fault[64];
    prepare(row);
    snprintf(fault, sizeof fault, "%s * %d %d", call, number, error);
    pid_t process = fork();
    if (process == 0)
        become(row, fault);
    run->code = wait_for(process);
    run->left_processes = lives(process);
    int fd = open("count", O_RDONLY);
    if (fd < 0 || read(fd, run->calls, sizeof run->calls) != sizeof run->calls)
        memset(run->calls, 0, sizeof run->calls);
    close(fd);
    read_text("stderr", run->err, sizeof run->err);
    read_text("mark", run->mark, sizeof run->mark);
    list("out", &run->out);
    list("tmp", &run->rest);
    size_t length = strlen(run->out.text);
    snprintf(run->out.text + length, TEXT_MOST - length, "stdout %016llx\n",
             (unsigned long long)checksum("stdout"));
}

/* Names of the files that differ between two runs, each within line ends. */
static void find_varying(const char *a, const char *b, char varying[TEXT_MOST])
{
    size_t length = (size_t)sprintf(varying, "\n");
    while (*a && *b) {
        size_t name = strcspn(a, " "), line = strcspn(a, "\n");
        if (strcspn(b, "\n") != line || memcmp(a, b, line) != 0)
            length += (size_t)sprintf(varying + length, "%.*s\n", (int)name, a);
        a += line;
        a += *a == '\n';
        b += strcspn(b, "\n");
        b += *b == '\n';
    }
}

/* ---- what it left ---- */

/* What is expected of a row. */
struct expected {
    struct run before, whole, again; /* nothing failing */
    char varying[TEXT_MOST]; /* names of what differs from run to run, each within line ends */
    bool grows;              /* all of it */
};

static bool next_line(const char **text, char line[512])
{
    size_t length = strcspn(*text, "\n");
    snprintf(line, 512, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == '\n');
    return length > 0;
}

static bool has_line(const char *text, const char *line, size_t length)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        if (strncmp(text, line, length) == 0)
            return true;
    return false;
}

static bool varies(const struct expected *expected, const char *line)
{
    char name[512];
    if (expected->grows)
        return true;
    snprintf(name, sizeof name, "\n%.*s\n", (int)strcspn(line, " "), line);
    return strstr(expected->varying, name) != NULL;
}

/* Whether this file is as in `listing`; of what varies only the name. */
static bool is_in(const struct expected *expected, const char *listing, const char *line)
{
    size_t length = varies(expected, line) ? strcspn(line, " ") + 1 : strlen(line);
    return has_line(listing, line, length);
}

/* All there is after success. */
static bool is_whole(const struct expected *expected, const char *text, bool tells)
{
    char line[512];
    const char *whole = expected->whole.out.text;
    size_t lines = command_lines(text);
    if (lines != command_lines(whole))
        return false;
    while (next_line(&text, line))
        if (!is_in(expected, whole, line) && !(tells && strncmp(line, "stdout ", 7) == 0))
            return false;
    return true;
}

/* After a failure each file is the old one; the whole one only if the message says so. */
static bool is_kept(const struct expected *expected, const char *text, bool complete)
{
    char line[512];
    const char *before = expected->before.out.text, *whole = expected->whole.out.text, *at = text;
    while (next_line(&at, line))
        if (!has_line(before, line, strlen(line)) && strncmp(line, "stdout ", 7) != 0 &&
            !(complete && is_in(expected, whole, line)))
            return false;
    for (at = before; next_line(&at, line);)
        if (!has_line(text, line, strcspn(line, " ") + 1))
            return false;
    return true;
}

static bool are_messages(const struct fault_row *row, const char *text)
{
    size_t lines = command_lines(text), ours = 0;
    char line[512];
    while (next_line(&text, line))
        ours += strncmp(line, "halo: ", 6) == 0;
    return row->tells ? ours > 0 || row->grows
                      : ours == lines && lines > 0 && (lines == 1 || row->grows);
}

static const char *flaw_of(const struct fault_row *row, const struct run *run,
                           const struct expected *expected)
{
    bool removing = strncmp(run->mark, "unlink", 6) == 0;
    bool complete = strstr(run->err, "complete") || row->grows;
    if (strstr(run->err, "AddressSanitizer: CHECK failed")) /* its own memory, not ours */
        return NULL;
    if (run->code < 0 || run->code > 2)
        return run->code < 0 ? "hangs" : "crashes";
    if (run->left_processes)
        return "leaves processes";
    if (!removing && *run->rest.text)
        return "leaves temporary files";
    if (run->code == 0)
        return removing || is_whole(expected, run->out.text, row->tells)
                   ? NULL
                   : "succeeds with other output";
    if (!are_messages(row, run->err))
        return "fails without one line";
    return removing || is_kept(expected, run->out.text, complete) ? NULL : "fails and leaves files";
}

static void expect_row(const struct fault_row *row, struct expected *expected)
{
    const struct fault_row nothing = {.line = ":", .old = row->old};
    expected->grows = row->grows;
    run_row(&nothing, "none", -1, 0, &expected->before);
    run_row(row, "none", -1, 0, &expected->whole);
    run_row(row, "each", 0, 0, &expected->again);
    find_varying(expected->whole.out.text, expected->again.out.text, expected->varying);
}

/* ---- the workers ---- */

struct rig {
    const struct fault_row *rows;
    size_t row_count;
    const struct fault_kind *kinds;
    size_t kind_count;
    unsigned seed;
    int report;        /* flaws */
    atomic_uint *next; /* row that no worker has taken; shared */
};

static unsigned calls_of(const struct run *run, const char *kind)
{
    static const char *const kinds[FAULT_KINDS] = {"any", "wait", "short", "memory"};
    for (size_t i = 0; i < FAULT_KINDS; i++)
        if (strcmp(kinds[i], kind) == 0)
            return run->calls[i];
    return 0;
}

static unsigned try_kind(const struct rig *rig, const struct fault_row *row,
                         const struct fault_kind *kind, const struct expected *expected)
{
    static struct run run;
    unsigned cases = 0, calls = calls_of(&expected->again, kind->call), most = kind->most;
    unsigned step = most && calls > most ? (calls + most - 1) / most : 1;
    for (unsigned number = 1 + rig->seed % step; number <= calls; number += step, cases++) {
        run_row(row, kind->call, (int)number, kind->error, &run);
        const char *flaw = flaw_of(row, &run, expected);
        if (flaw)
            dprintf(rig->report, "%s\n%s %u of %u (error %d): %s, exit code %d\n%s%s%s\n%s\n",
                    row->line, kind->call, number, calls, kind->error, flaw, run.code, run.err,
                    run.mark, run.out.text, run.rest.text);
    }
    return cases;
}

static void try_row(const struct rig *rig, const struct fault_row *row)
{
    static struct expected expected;
    unsigned cases = 0;
    expect_row(row, &expected);
    if (expected.whole.code != 0)
        dprintf(rig->report, "%s\nfails without a fault: %s\n", row->line, expected.whole.err);
    for (size_t k = 0; k < rig->kind_count && expected.whole.code == 0; k++)
        cases += try_kind(rig, row, &rig->kinds[k], &expected);
    if (getenv("HALO_TEST_VERBOSE"))
        fprintf(stderr, "%u cases: %s\n", cases, row->line);
}

static void work(const struct rig *rig, size_t worker)
{
    char path[128];
    snprintf(path, sizeof path, "%s/worker%zu", command_folder(), worker);
    if (mkdir(path, 0700) != 0 || chdir(path) != 0)
        _exit(1);
    set_path("TMPDIR", path, "tmp");
    unsetenv("HOME"); /* without saved plans, the same command always gives the same bytes */
    unsetenv("XDG_CACHE_HOME");
    for (unsigned row; (row = atomic_fetch_add(rig->next, 1)) < rig->row_count;)
        try_row(rig, &rig->rows[row]);
    _exit(0);
}

void fault_rig_run(const struct fault_row *rows, size_t row_count, const struct fault_kind *kinds,
                   size_t kind_count)
{
    static char flaws[1 << 20];
    const char *given = getenv("HALO_TEST_FAULT_SEED");
    struct rig rig = {
        .rows = rows, .row_count = row_count, .kinds = kinds, .kind_count = kind_count};
    rig.seed = given ? (unsigned)strtoul(given, NULL, 10) : 1;
    rig.next =
        mmap(NULL, sizeof *rig.next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    rig.report = open(command_path("flaws"), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
    pid_t workers[WORKERS_MOST];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = processors < 1              ? 1
                   : processors > WORKERS_MOST ? WORKERS_MOST
                                               : (size_t)processors;
    for (size_t i = 0; i < count; i++)
        if ((workers[i] = fork()) == 0)
            work(&rig, i);
    int failed = 0, status;
    for (size_t i = 0; i < count; i++)
        if (waitpid(workers[i], &status, 0) != workers[i] || status != 0)
            failed++;
    close(rig.report);
    read_text(command_path("flaws"), flaws, sizeof flaws);
    fputs(flaws, stderr);
    ck_assert_msg(failed == 0 && !*flaws, "with HALO_TEST_FAULT_SEED=%u", rig.seed);
}
