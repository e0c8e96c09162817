#include "command.h"

#include "suite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MOST = 8192, NAMES_MOST = 4096 };

static char folder[64];

static void remove_folder(void)
{
    char line[128];
    snprintf(line, sizeof line, "rm -rf '%s'", folder);
    if (chdir("/") != 0 || system(line) != 0)
        fprintf(stderr, "cannot remove %s\n", folder);
}

const char *command_folder(void)
{
    if (folder[0])
        return folder;
    snprintf(folder, sizeof folder, "/tmp/halo-test-XXXXXX");
    if (!mkdtemp(folder)) {
        perror("mkdtemp");
        abort();
    }
    atexit(remove_folder);
    return folder;
}

/* What was printed: a result is passed on by value, and has many users. */
struct printed {
    struct printed *before;
    char text[];
};
static struct printed *latest;

static char *slurp(const char *name)
{
    static char text[1 << 19];
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    struct printed *printed = calloc(1, sizeof *printed + length + 1);
    if (!printed)
        abort();
    memcpy(printed->text, text, length);
    printed->before = latest;
    latest = printed;
    return printed->text;
}

static void redirect_streams(struct command_result *result)
{
    result->out = slurp(".out");
    result->err = slurp(".err");
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_line(char *line, const char *format, va_list arguments)
{
    if (vsnprintf(line, LINE_MOST, format, arguments) >= LINE_MOST)
        ck_abort_msg("a command of more than %d bytes", LINE_MOST);
}

static struct command_result run_line(const char *line)
{
    struct command_result result;
    char wrapped[LINE_MOST + 128];
    /* Appended: a process in the background that writes there too goes on at the new end. */
    snprintf(wrapped, sizeof wrapped,
             "cd '%s' && : >.out && : >.err && { %s\n} >>.out 2>>.err </dev/null", command_folder(),
             line);
    result.code = code_of(system(wrapped));
    redirect_streams(&result);
    return result;
}

struct command_result command_run(const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_line(line, format, arguments);
    va_end(arguments);
    return run_line(line);
}

struct command_result command_done(const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_line(line, format, arguments);
    va_end(arguments);
    struct command_result result = run_line(line);
    ck_assert_msg(result.code == 0, "%s\nexit code %d\n%s", line, result.code, result.err);
    return result;
}

void command_refused(int code, const char *expected, const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_line(line, format, arguments);
    va_end(arguments);
    char before[NAMES_MOST];
    snprintf(before, sizeof before, "%s", command_files());
    struct command_result result = run_line(line);
    bool as_asked = code ? result.code == code : result.code == 1 || result.code == 2;
    bool one_line = command_lines(result.err) == 1 && strncmp(result.err, "halo: ", 6) == 0;
    ck_assert_msg(as_asked, "%s\nexit code %d, not %d\n%s", line, result.code, code, result.err);
    ck_assert_msg(one_line, "%s\nnot one line \"halo: ...\":\n%s", line, result.err);
    ck_assert_msg(strstr(result.err, expected) != NULL, "%s\nno \"%s\" in: %s", line, expected,
                  result.err);
    ck_assert_msg(strcmp(before, command_files()) == 0, "%s\nleft files: %s\nthere were: %s", line,
                  command_files(), before);
}

/* ---- background processes ---- */

static void become(const char *line)
{
    int in = open("/dev/null", O_RDONLY);
    if (chdir(folder) != 0 || in < 0 || dup2(in, STDIN_FILENO) < 0)
        _exit(126);
    int out = open(".out", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    int err = open(".err", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
    if (out < 0 || err < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(126);
    close(in);
    close(out);
    close(err);
    /* A background job of a shell would ignore SIGINT. */
    signal(SIGINT, SIG_DFL);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static pid_t start_line(const char *line)
{
    command_folder();
    pid_t process = fork();
    ck_assert_int_ge(process, 0);
    if (process == 0)
        become(line);
    return process;
}

pid_t command_start(const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_line(line, format, arguments);
    va_end(arguments);
    return start_line(line);
}

struct command_result command_wait(pid_t process)
{
    struct command_result result;
    int status = 0;
    const struct timespec pause = {.tv_nsec = 5000000};
    for (int i = 0; waitpid(process, &status, WNOHANG) == 0; i++) {
        if (i > COMMAND_PATIENCE * 200) {
            kill(process, SIGKILL);
            waitpid(process, &status, 0);
            ck_abort_msg("the program hangs");
        }
        nanosleep(&pause, NULL);
    }
    result.code = code_of(status);
    redirect_streams(&result);
    return result;
}

/* Of a file in the folder: as the system names one without a name, or a hidden one of halo's. */
static bool is_unfinished(const char *name)
{
    size_t start = strlen(command_folder());
    const char *end = strrchr(name, ' ');
    if (strncmp(name, folder, start) != 0 || name[start] != '/')
        return false;
    return (end && strcmp(end, " (deleted)") == 0) ||
           (name[start + 1] == '.' && strstr(name + start + 2, ".halo-"));
}

bool command_has_written(pid_t process, long bytes)
{
    char path[64], name[PATH_MAX];
    bool has_written = false;
    struct stat about;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)process);
    DIR *files = opendir(path);
    for (struct dirent *entry; files && !has_written && (entry = readdir(files));) {
        ssize_t length = readlinkat(dirfd(files), entry->d_name, name, sizeof name - 1);
        name[length > 0 ? length : 0] = '\0';
        has_written = is_unfinished(name) && fstatat(dirfd(files), entry->d_name, &about, 0) == 0 &&
                      about.st_size > bytes;
    }
    if (files)
        closedir(files);
    return has_written;
}

long command_memory(const char *format, ...)
{
    char line[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    print_line(line, format, arguments);
    va_end(arguments);
    int status;
    struct rusage usage;
    ck_assert_int_gt(wait4(start_line(line), &status, 0, &usage), 0);
    ck_assert_msg(code_of(status) == 0, "%s: exit code %d", line, code_of(status));
    return usage.ru_maxrss;
}

/* ---- the folder ---- */

static int remove_inside(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    return at->level == 0 || remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

void command_clean(void)
{
    if (folder[0])
        ck_assert_int_eq(nftw(folder, remove_inside, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int command_enter(void)
{
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(before, 0);
    ck_assert_int_eq(chdir(command_folder()), 0);
    return before;
}

void command_leave(int before)
{
    ck_assert_int_eq(fchdir(before), 0);
    close(before);
}

static int is_listed(const struct dirent *entry)
{
    static const char *const own[] = {".", "..", ".out", ".err"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(entry->d_name, own[i]) == 0)
            return 0;
    return 1;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

const char *command_files(void)
{
    static char names[NAMES_MOST];
    struct dirent **entries;
    int count = scandir(command_folder(), &entries, is_listed, by_bytes);
    ck_assert_int_ge(count, 0);
    size_t length = 0;
    names[0] = '\0';
    for (int i = 0; i < count; i++) {
        if (length < sizeof names)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? " " : "",
                                       entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return names;
}

const char *command_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    return path;
}

/* ---- output ---- */

size_t command_lines(const char *text)
{
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

void command_expect(const char *text, const char *expected)
{
    ck_assert_msg(strstr(text, expected) != NULL, "no \"%s\" in\n%s", expected, text);
}

static void release_json(void *root)
{
    json_decref(root);
}

json_t *command_json(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "not one JSON value: %s\n%s", error.text, text);
    suite_release(release_json, root);
    return root;
}

double command_json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    ck_assert_msg(json_is_number(value), "no number \"%s\"", key);
    return json_number_value(value);
}

const char *command_json_string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    ck_assert_msg(value != NULL, "no string \"%s\"", key);
    return value;
}

double command_number(const char *text, const char *key)
{
    return command_json_number(command_json(text), key);
}

json_t *command_cells(const struct command_result *result)
{
    json_t *cells = json_object_get(command_json(result->out), "cells");
    ck_assert(json_is_array(cells));
    return cells;
}
