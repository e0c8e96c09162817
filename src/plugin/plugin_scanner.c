#include "plugin/plugin_scanner.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "plugin/plugin_child.h"
#include "plugin/plugin_supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 16, PRINTED_MOST = 1 << 20, ANSWER_MOST = 1 << 26, POLL_MS = 200 };

static const double PATIENCE = 10;       /* seconds: plugins may read much data from a slow disk */
static const double SUPERVISOR_TIME = 2; /* seconds for it to end */

/* Both descriptors are above those of the child. */
static int spawn(struct plugin_scanner *scanner, int its_socket, int its_output)
{
    char *const args[] = {"halo", "plugin-scanner", scanner->pass.word,
                          (char *)(scanner->id ? scanner->id : ""), NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its_socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, its_output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, its_output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    int error = posix_spawn(&scanner->process, own_program(), &actions, &attributes, args, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* The socket and the pipe: ends of halo first. Returns 0 or an errno. */
static int open_channels(int ends[2], int outputs[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno;
    if (pipe2(outputs, O_CLOEXEC) == 0 && fcntl(outputs[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    int error = errno;
    close(ends[0]);
    close(ends[1]);
    return error;
}

static enum status start(struct plugin_scanner *scanner)
{
    int ends[2], outputs[2];
    TRY(plugin_sandbox_admit(&scanner->pass));
    int error = open_channels(ends, outputs);
    if (error != 0) {
        plugin_sandbox_release(&scanner->pass);
        return fail_errno(error, "cannot scan plugins");
    }
    error = spawn(scanner, ends[1], outputs[1]);
    close(ends[1]);
    close(outputs[1]);
    scanner->socket = ends[0];
    scanner->output = outputs[0];
    if (error == 0)
        return STATUS_OK;
    scanner->process = 0;
    close(ends[0]);
    close(outputs[0]);
    plugin_sandbox_release(&scanner->pass);
    return fail_errno(error, "cannot start %s to scan plugins", own_program());
}

/* What plugins have printed by now; not without end, if they print all the time. */
static void read_output(struct plugin_scanner *scanner)
{
    char bytes[4096];
    ssize_t got = -1;
    for (size_t all = 0; all < PRINTED_MOST && scanner->output >= 0; all += (size_t)got) {
        got = read(scanner->output, bytes, sizeof bytes);
        if (got <= 0)
            break;
        plugin_output_take(&scanner->printed, bytes, (size_t)got);
    }
    if (got == 0) {
        close(scanner->output);
        scanner->output = -1;
    }
}

/* The status of waitpid, which is that of its own end where it `ends` now. */
static int stop(struct plugin_scanner *scanner, bool ends)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int end = 0;
    scanner->line.length = 0;
    close(scanner->socket);
    double due = monotonic_seconds() + (ends ? SUPERVISOR_TIME : 0);
    while (waitpid(scanner->process, &end, WNOHANG) == 0) {
        double late = monotonic_seconds() - due;
        if (late >= SUPERVISOR_TIME)
            kill(scanner->process, SIGKILL);
        else if (late >= 0)
            supervisor_end(scanner->process);
        nanosleep(&pause, NULL);
    }
    scanner->process = 0;
    read_output(scanner);
    plugin_output_end(&scanner->printed);
    if (scanner->output >= 0)
        close(scanner->output);
    plugin_sandbox_release(&scanner->pass);
    return end;
}

static void report_end(struct plugin_scanner *scanner, int end)
{
    const char *signal = WIFSIGNALED(end) ? strsignal(WTERMSIG(end)) : NULL;
    char line[OUTPUT_LAST + 16] = "";
    if (*scanner->printed.last)
        snprintf(line, sizeof line, "; last line: %s", scanner->printed.last);
    if (signal)
        snprintf(scanner->trouble, sizeof scanner->trouble, "crashed (%c%s%s)",
                 tolower((unsigned char)*signal), signal + 1, line);
    else
        snprintf(scanner->trouble, sizeof scanner->trouble,
                 "ended the process that scanned it (exit code %d%s)", WEXITSTATUS(end), line);
}

static bool send_all(int socket, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(socket, text, length, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0) {
            text += sent;
            length -= (size_t)sent;
        }
    }
    return true;
}

enum waited { THERE, LATE, STOPPED };

/* For an answer, taking what is printed meanwhile. Polls, since the signal may come before the wait
 * begins. */
static enum waited wait_for(struct plugin_scanner *scanner, double deadline)
{
    while (!stop_requested()) {
        double left = deadline - monotonic_seconds();
        if (left <= 0)
            return LATE;
        struct pollfd watched[] = {{.fd = scanner->socket, .events = POLLIN},
                                   {.fd = scanner->output, .events = POLLIN}};
        int wait = left * 1e3 < POLL_MS ? (int)(left * 1e3) + 1 : POLL_MS;
        if (poll(watched, 2, wait) <= 0)
            continue;
        if (watched[1].revents)
            read_output(scanner);
        if (watched[0].revents)
            return THERE;
    }
    return STOPPED;
}

/* Read what is there; false: the other side has closed, or sends too much. */
static bool read_piece(int socket, struct scanner_line *line)
{
    if (line->size - line->length < PIECE) {
        size_t size = 2 * line->size + PIECE;
        char *text = size <= ANSWER_MOST ? realloc(line->text, size) : NULL;
        if (!text)
            return false;
        line->text = text;
        line->size = size;
    }
    ssize_t got = recv(socket, line->text + line->length, line->size - line->length, 0);
    if (got > 0)
        line->length += (size_t)got;
    return got > 0 || (got < 0 && errno == EINTR);
}

static enum status report_silence(struct plugin_scanner *scanner, enum waited waited)
{
    int end = stop(scanner, waited == THERE);
    if (waited == STOPPED)
        return STATUS_INTERRUPTED;
    scanner->is_late = waited == LATE;
    if (scanner->is_late)
        snprintf(scanner->trouble, sizeof scanner->trouble, "did not answer within %g s",
                 scanner->patience);
    else
        report_end(scanner, end);
    return STATUS_OK;
}

/* Wait for a whole line; its length with its end. 0: the child is gone. */
static enum status receive(struct plugin_scanner *scanner, size_t *length)
{
    struct scanner_line *line = &scanner->line;
    double deadline = monotonic_seconds() + scanner->patience;
    size_t seen = 0;
    const char *end;
    *length = 0;
    while (!(end = line->length > seen ? memchr(line->text + seen, '\n', line->length - seen)
                                       : NULL)) {
        seen = line->length;
        enum waited waited = wait_for(scanner, deadline);
        if (waited != THERE || !read_piece(scanner->socket, line))
            return report_silence(scanner, waited);
    }
    *length = (size_t)(end - line->text) + 1;
    return STATUS_OK;
}

void plugin_scanner_drop(struct plugin_scanner *scanner, const char *trouble)
{
    if (scanner->process)
        stop(scanner, false);
    snprintf(scanner->trouble, sizeof scanner->trouble, "%s", trouble);
}

enum status plugin_scanner_next(struct plugin_scanner *scanner, json_t **answer)
{
    struct scanner_line *line = &scanner->line;
    size_t length;
    *answer = NULL;
    TRY(receive(scanner, &length));
    if (length > 0) {
        *answer = json_loadb(line->text, length, 0, NULL);
        line->length -= length;
        memmove(line->text, line->text + length, line->length);
    }
    if (length > 0 && !json_is_object(*answer)) {
        json_decref(*answer);
        *answer = NULL;
        plugin_scanner_drop(scanner, "disturbed the process that scans plugins");
    }
    if (!stop_requested())
        return STATUS_OK;
    json_decref(*answer);
    *answer = NULL;
    return STATUS_INTERRUPTED;
}

/* Releases the question. */
static enum status ask(struct plugin_scanner *scanner, json_t *question, json_t **answer)
{
    *answer = NULL;
    scanner->trouble[0] = '\0';
    scanner->is_late = false;
    scanner->line.length = 0;
    char *text = json_line(question, JSON_COMPACT), *line = NULL;
    if (!text || asprintf(&line, "%s\n", text) < 0)
        line = NULL;
    free(text);
    if (!line)
        return fail_memory("a question about a plugin");
    enum status status = STATUS_OK;
    if (scanner->process)
        read_output(scanner); /* that of earlier questions */
    else
        status = start(scanner);
    plugin_output_init(&scanner->printed, NULL);
    /* At once: the child begins with the last brace, and what it answered before it died counts. */
    bool is_sent = status == STATUS_OK && send_all(scanner->socket, line, strlen(line));
    free(line);
    if (is_sent)
        return plugin_scanner_next(scanner, answer);
    if (status == STATUS_OK)
        report_end(scanner, stop(scanner, true));
    return stop_requested() ? STATUS_INTERRUPTED : status;
}

void plugin_scanner_init(struct plugin_scanner *scanner)
{
    *scanner = (struct plugin_scanner){.patience = PATIENCE};
}

void plugin_scanner_free(struct plugin_scanner *scanner)
{
    if (scanner->process)
        stop(scanner, false);
    free(scanner->line.text);
}

enum status plugin_scanner_contents(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                                    const char *holder, bool computes, json_t **answer)
{
    scanner->id = NULL;
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:b}", "ask", "contents", "kind", kind->name, "holder",
                         json_text(holder), "computes", computes),
               answer);
}

enum status plugin_scanner_look(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                                const char *holder, const json_t *holders, const json_t *skipped,
                                json_t **answer)
{
    scanner->id = NULL;
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:O, s:O}", "ask", "look", "kind", kind->name, "holder",
                         json_text(holder), "holders", holders, "skipped", skipped),
               answer);
}

enum status plugin_scanner_describe(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                                    const char *id, const json_t *holders, bool measured,
                                    json_t **answer)
{
    if (scanner->process && strchr(id, '/')) /* it may read only the files that it knew of */
        stop(scanner, false);
    scanner->id = id;
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:O, s:b}", "ask", "describe", "kind", kind->name, "id",
                         json_text(id), "holders", holders, "measured", measured),
               answer);
}
