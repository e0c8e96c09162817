#include "plugin/plugin_scanner.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "plugin/plugin_child.h"

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
#include <unistd.h>

enum { PIECE = 1 << 16, ANSWER_MOST = 1 << 26, POLL_MS = 200 };

static const double PATIENCE = 10; /* seconds: plugins may read much data from a slow disk */

static int spawn(struct plugin_scanner *scanner, int its_socket)
{
    char *const args[] = {"halo", "plugin-scanner", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its_socket, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int error = posix_spawn(&scanner->process, own_program(), &actions, NULL, args, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

static enum status start(struct plugin_scanner *scanner)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return fail(STATUS_FAILED, "cannot scan plugins: %s", strerror(errno));
    int error = spawn(scanner, ends[1]);
    close(ends[1]);
    if (error != 0) {
        scanner->process = 0;
        close(ends[0]);
        return fail(STATUS_FAILED, "cannot start %s to scan plugins: %s", own_program(),
                    strerror(error));
    }
    scanner->socket = ends[0];
    return STATUS_OK;
}

/* The status of waitpid: that of an earlier end where it had ended already. */
static int stop(struct plugin_scanner *scanner)
{
    int end = 0;
    scanner->line.length = 0;
    close(scanner->socket);
    kill(scanner->process, SIGKILL);
    while (waitpid(scanner->process, &end, 0) < 0 && errno == EINTR)
        continue;
    scanner->process = 0;
    return end;
}

static void report_end(struct plugin_scanner *scanner, int end)
{
    const char *signal = WIFSIGNALED(end) ? strsignal(WTERMSIG(end)) : NULL;
    if (signal)
        snprintf(scanner->trouble, sizeof scanner->trouble, "crashed (%c%s)",
                 tolower((unsigned char)*signal), signal + 1);
    else
        snprintf(scanner->trouble, sizeof scanner->trouble,
                 "ended the process that scanned it (exit code %d)", WEXITSTATUS(end));
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

/* Polls, since the signal may come before the wait begins. */
static enum waited wait_for(int socket, double deadline)
{
    while (!stop_requested()) {
        double left = deadline - monotonic_seconds();
        if (left <= 0)
            return LATE;
        struct pollfd watched = {.fd = socket, .events = POLLIN};
        if (poll(&watched, 1, left * 1e3 < POLL_MS ? (int)(left * 1e3) + 1 : POLL_MS) > 0)
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
    int end = stop(scanner);
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
        enum waited waited = wait_for(scanner->socket, deadline);
        if (waited != THERE || !read_piece(scanner->socket, line))
            return report_silence(scanner, waited);
    }
    *length = (size_t)(end - line->text) + 1;
    return STATUS_OK;
}

void plugin_scanner_drop(struct plugin_scanner *scanner, const char *trouble)
{
    if (scanner->process)
        stop(scanner);
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
    char *text = json_line(question, JSON_COMPACT);
    if (!text)
        return fail_memory("a question about a plugin");
    enum status status = scanner->process ? STATUS_OK : start(scanner);
    bool is_sent = status == STATUS_OK && send_all(scanner->socket, text, strlen(text)) &&
                   send_all(scanner->socket, "\n", 1);
    free(text);
    if (is_sent)
        return plugin_scanner_next(scanner, answer);
    if (status == STATUS_OK)
        report_end(scanner, stop(scanner));
    return stop_requested() ? STATUS_INTERRUPTED : status;
}

void plugin_scanner_init(struct plugin_scanner *scanner)
{
    *scanner = (struct plugin_scanner){.patience = PATIENCE};
}

void plugin_scanner_free(struct plugin_scanner *scanner)
{
    if (scanner->process)
        stop(scanner);
    free(scanner->line.text);
}

enum status plugin_scanner_contents(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                                    const char *holder, bool computes, json_t **answer)
{
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:b}", "ask", "contents", "kind", kind->name, "holder",
                         json_text(holder), "computes", computes),
               answer);
}

enum status plugin_scanner_look(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                                const char *holder, const json_t *holders, const json_t *skipped,
                                json_t **answer)
{
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:O, s:O}", "ask", "look", "kind", kind->name, "holder",
                         json_text(holder), "holders", holders, "skipped", skipped),
               answer);
}

enum status plugin_scanner_describe(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                                    const char *id, const json_t *holders, bool measured,
                                    json_t **answer)
{
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:O, s:b}", "ask", "describe", "kind", kind->name, "id",
                         json_text(id), "holders", holders, "measured", measured),
               answer);
}
