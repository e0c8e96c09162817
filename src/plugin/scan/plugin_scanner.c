#include "plugin/scan/plugin_scanner.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/stop.h"
#include "plugin/isolation/plugin_isolated.h"
#include "plugin/isolation/plugin_supervisor.h"
#include "plugin/scan/plugin_info_json.h"
#include "signal/audio.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 16, PRINTED_MOST = 1 << 20, ANSWER_MOST = 1 << 26, POLL_MS = 200 };

static const double PATIENCE = 10;       /* seconds: plugins may read much data from a slow disk */
static const double SUPERVISOR_TIME = 2; /* seconds to wait for the supervisor's end */

/* Open the socket and the pipe. The first end of each is halo's. Returns 0 or an errno. */
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
    int ends[2], outputs[2]; /* the child's ends have numbers above its own three descriptors */
    TRY(plugin_sandbox_admit(&scanner->pass));
    int error = open_channels(ends, outputs);
    if (error != 0) {
        plugin_sandbox_release(&scanner->pass);
        return fail_errno(error, "cannot scan plugins");
    }
    char *const arguments[] = {"halo", "plugin-scanner", scanner->pass.word,
                               (char *)(scanner->id ? scanner->id : ""), NULL};
    error = supervisor_spawn(arguments, (const int[]){ends[1], outputs[1], outputs[1]}, 3,
                             &scanner->process);
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

/* Read the output of plugins so far, but stop after some, as they may print all the time. */
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

/* Stop the child, or wait for its end if it `ends` by itself. Returns the status of waitpid. */
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

/* Wait for an answer and read output. Polls, since a signal may come before the wait begins. */
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

/* Read available bytes of a line. False: the other side has closed, or sends too much. */
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

/* Wait for a whole line. *length includes its end; 0: the child has ended. */
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

/* Ask a question and wait for the answer. Releases the question. */
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
        read_output(scanner); /* output of earlier questions */
    else
        status = start(scanner);
    plugin_output_init(&scanner->printed, NULL);
    /* Send the whole line at once: the child begins at its end. Answers before its death count. */
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
    *scanner = (struct plugin_scanner){.patience = plugin_sandbox_patience(PATIENCE)};
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
    /* the child may read only files that were known when it started */
    if (scanner->process && strchr(id, '/'))
        stop(scanner, false);
    scanner->id = id;
    return ask(scanner,
               json_pack("{s:s, s:s, s:o, s:O, s:b}", "ask", "describe", "kind", kind->name, "id",
                         json_text(id), "holders", holders, "measured", measured),
               answer);
}

/* ---- the child process ---- */

enum { RATE = 48000, BLOCK = 1024, BLOCKS = 16 };

/* State of the child process. */
struct scanner_child {
    FILE *answers;
    struct failure failure; /* why the last call failed */
    bool is_cut;            /* an answer could not be sent */
};

static void answer(struct scanner_child *child, json_t *object)
{
    child->is_cut |= json_write(object, JSON_COMPACT | PLUGIN_INFO_DIGITS, child->answers) != 0;
}

static json_t *contents(const struct plugin_kind *kind, const char *holder, bool computes)
{
    struct plugin_contents found = {0};
    json_t *object = NULL;
    if (kind->contents && kind->contents(holder, computes, &found) == STATUS_OK)
        object = plugin_contents_object(&found);
    plugin_contents_free(&found);
    return object;
}

struct look {
    struct scanner_child *child;
    const struct plugin_kind *kind;
    const json_t *skipped;
};

static bool is_skipped(const struct look *look, const char *id)
{
    json_t *text = json_text(id);
    bool is = false;
    for (size_t i = 0; i < json_array_size(look->skipped); i++)
        is = is || json_equal(text, json_array_get(look->skipped, i));
    json_decref(text);
    return is;
}

/* Look at one plugin: describe it first, since the description names its library. */
static void look_at(void *context, const char *id)
{
    const struct look *look = context;
    struct plugin_info *info = NULL;
    if (is_skipped(look, id))
        return;
    look->child->failure.message[0] = '\0';
    answer(look->child, json_pack("{s:o}", "at", json_text(id)));
    enum status status = look->kind->describe(id, &info);
    if (status == STATUS_OK) {
        answer(look->child,
               json_pack("{s:o, s:o}", "at", json_text(id), "file", json_text(info->file)));
        status = look->kind->probe && !info->refusal ? look->kind->probe(id) : STATUS_OK;
    }
    if (status == STATUS_OK) {
        const struct plugin_row row = plugin_row_of_info(info);
        answer(look->child, json_pack("{s:o}", "plugin", plugin_row_object(&row)));
    } else
        answer(look->child, json_pack("{s:{s:o, s:o}}", "refused", "id", json_text(id), "reason",
                                      json_text(look->child->failure.message)));
    plugin_info_destroy(info);
}

static json_t *look(struct scanner_child *child, const struct plugin_kind *kind, const char *holder,
                    const json_t *skipped)
{
    struct look look = {child, kind, skipped};
    return kind->open(holder, &(struct plugin_found){look_at, &look}) == STATUS_OK
               ? json_pack("{s:b}", "end", 1)
               : NULL;
}

/* Add the latency to the answer, after some blocks: many plugins report it only then. */
static void run(struct plugin *plugin, json_t *answer)
{
    struct block in, out = {0};
    if (block_init(&in, plugin->inputs, BLOCK, "a plugin") == STATUS_OK &&
        block_init(&out, plugin->outputs, BLOCK, "a plugin") == STATUS_OK) {
        plugin->kind->reset(plugin);
        for (size_t i = 0; i < BLOCKS; i++)
            plugin->kind->process(plugin, (const float *const *)in.data, out.data, BLOCK);
        json_object_set_new(answer, "latency", json_integer((json_int_t)plugin_latency(plugin)));
    }
    block_free(&in);
    block_free(&out);
}

static void measure(const struct plugin_info *info, const char *reason, json_t *answer)
{
    struct plugin *plugin;
    const struct plugin_settings settings = {.rate = RATE, .block = BLOCK};
    if (plugin_create(info, &settings, &plugin) == STATUS_OK) {
        run(plugin, answer);
        plugin_destroy(plugin);
    } else {
        json_object_set_new(answer, "failure", json_text(reason));
    }
}

static json_t *describe(struct scanner_child *child, const struct plugin_kind *kind, const char *id,
                        bool measured)
{
    struct plugin_info *info;
    if (kind->describe(id, &info) != STATUS_OK)
        return NULL;
    json_t *object = json_pack("{s:o}", "plugin", plugin_info_object(info));
    if (measured)
        measure(info, child->failure.message, object);
    plugin_info_destroy(info);
    return object;
}

/* ---- questions ---- */

/* Prepare a question: forget the holders of earlier questions, so that they cannot affect it. */
static enum status use(const struct plugin_kind *kind, const json_t *holders)
{
    size_t count = json_array_size(holders);
    if (kind->forget)
        kind->forget();
    if (!kind->use)
        return STATUS_OK;
    char **paths = calloc(count + 1, sizeof *paths);
    if (!paths)
        return fail_memory("a list of plugins");
    for (size_t i = 0; i < count; i++)
        paths[i] = (char *)json_string_value(json_array_get(holders, i));
    enum status status = kind->use(paths, count);
    free(paths);
    return status;
}

static json_t *answer_to(struct scanner_child *child, const json_t *question)
{
    const char *what = json_string_value(json_object_get(question, "ask"));
    const char *name = json_string_value(json_object_get(question, "kind"));
    const char *holder = json_string_value(json_object_get(question, "holder"));
    const char *id = json_string_value(json_object_get(question, "id"));
    const struct plugin_kind *kind = name ? plugin_kind_named(name) : NULL;
    if (!what || !kind)
        return NULL;
    if (strcmp(what, "contents") == 0 && holder)
        return contents(kind, holder, json_is_true(json_object_get(question, "computes")));
    if (use(kind, json_object_get(question, "holders")) != STATUS_OK)
        return NULL;
    if (strcmp(what, "look") == 0 && holder)
        return look(child, kind, holder, json_object_get(question, "skipped"));
    bool measured = json_is_true(json_object_get(question, "measured"));
    return id ? describe(child, kind, id, measured) : NULL;
}

/* Called before anything of a plugin is read. */
static bool enter_sandbox(int argc, char **argv)
{
    enum { SANDBOX = 1, ID, COUNT };
    struct plugin_sandbox sandbox;
    char **named;
    if (argc < COUNT || !plugin_sandbox_read(argv[SANDBOX], &sandbox) ||
        isolated_named_make(argv[ID], &(struct plugin_settings){0}, &named) != STATUS_OK)
        return false;
    bool entered = plugin_sandbox_enter(&sandbox, named) == STATUS_OK;
    isolated_named_free(named);
    return entered;
}

/* Move the socket away from standard input, which plugins could read. */
static int settle(void)
{
    int socket = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 ? socket : -1;
}

enum status cmd_plugin_scanner(int argc, char **argv)
{
    int socket = enter_sandbox(argc, argv) ? settle() : -1;
    FILE *questions = socket >= 0 ? fdopen(socket, "r") : NULL;
    struct scanner_child child = {.answers = socket >= 0 ? fdopen(dup(socket), "w") : NULL};
    if (!questions || !child.answers)
        return fail(CAUSE_OTHER, "this command is internal: halo runs it to scan plugins");
    const struct log_keeper before = log_keep_failure(&child.failure);
    (void)before; /* stays set until the process ends */
    json_t *question;
    while (!child.is_cut &&
           (question = json_loadf(questions, JSON_DISABLE_EOF_CHECK, NULL)) != NULL) {
        child.failure = (struct failure){0};
        json_t *object = answer_to(&child, question);
        answer(&child, object ? object
                              : json_pack("{s:o, s:i}", "error", json_text(child.failure.message),
                                          "cause", child.failure.cause));
        json_decref(question);
    }
    fclose(questions);
    fclose(child.answers);
    return STATUS_OK;
}
