#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/stop.h"
#include "base/thread.h"
#include "plugin/isolation/plugin_isolated.h"
#include "plugin/isolation/plugin_reads.h"
#include "plugin/isolation/plugin_supervisor.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the child process, and the thread that watches it ---- */

/* The thread starts the process, reads its output, and detects its end. A process that answers no
 * order and does no block for `patience` seconds hangs, and the thread kills it. Messages of halo's
 * code in the child have a channel of their own and become notes in halo. If halo ends, the process
 * and its children end, too (plugin_supervisor.h). Terminal signals do not reach the process. */

enum { POLL_MS = 20, MESSAGE_MOST = 2048, MESSAGES_MOST = 200, END_MOST = 400 };

static const double SUPERVISOR_TIME = 2; /* seconds to wait for its end */

enum { PRINTED, MESSAGES, CHANNELS };

struct plugin_child {
    struct plugin_child_settings {
        const char *name; /* name of the plugin */
        char **arguments; /* from isolated_args_make; the child owns them */
        int memory;       /* descriptor of the shared memory; the child owns it */
        struct isolated_head *head;
        uint32_t rate;
        size_t block; /* frames */
    } settings;
    pthread_t thread;
    pid_t process;
    int channels[CHANNELS]; /* pipes: output of the plugin, messages of halo's code; -1: closed */
    struct plugin_output printed;
    size_t length, messages;
    char message[MESSAGE_MOST];

    /* seconds without progress; each poll adds a limited time, since halo may be suspended */
    double quiet;
    uint32_t done;
    unsigned long long frames;
    bool hung;
    atomic_uint posted; /* number of orders posted */
    atomic_ullong posted_frames;

    char end[END_MOST]; /* how the process ended; written before `ended` is set */
    atomic_bool ended;
    _Atomic(const char *) doing;
    _Atomic double patience;
    _Atomic double stop; /* time to kill the process, by the monotonic clock */
};

/* Print messages of halo's code in the child. The plugin could write there, too, so they are
 * limited and have its name before them. */
static void report_message(struct plugin_child *child)
{
    const char *name = child->settings.name;
    child->message[child->length] = '\0';
    child->length = 0;
    if (child->messages++ < MESSAGES_MOST)
        plugin_output_warn(name, child->message);
}

static void report_messages(struct plugin_child *child, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || child->length == MESSAGE_MOST - 1)
            report_message(child);
        if (bytes[i] != '\n')
            child->message[child->length++] = bytes[i];
    }
}

static bool read_channel(struct plugin_child *child, int channel)
{
    char bytes[4096];
    ssize_t got = read(child->channels[channel], bytes, sizeof bytes);
    if (got <= 0) { /* the process is ending, or has closed its output */
        close(child->channels[channel]);
        child->channels[channel] = -1;
        return false;
    }
    if (channel == MESSAGES)
        report_messages(child, bytes, (size_t)got);
    else
        plugin_output_take(&child->printed, bytes, (size_t)got);
    return true;
}

/* Wait `milliseconds` for output. True: there was some. */
static bool listen_to(struct plugin_child *child, int milliseconds)
{
    struct pollfd outputs[CHANNELS];
    bool any = false;
    for (int i = 0; i < CHANNELS; i++)
        outputs[i] = (struct pollfd){.fd = child->channels[i], .events = POLLIN};
    if (poll(outputs, CHANNELS, milliseconds) <= 0)
        return false;
    for (int i = 0; i < CHANNELS; i++)
        if (outputs[i].revents)
            any |= read_channel(child, i);
    return any;
}

static const char *signal_text(int number, char text[64])
{
    const char *name = sigdescr_np(number);
    snprintf(text, 64, "%c%s", name ? tolower((unsigned char)*name) : 's',
             name ? name + 1 : "ignal");
    return text;
}

static void describe_end(struct plugin_child *child, int status)
{
    char at[64], reason[64] = "", line[OUTPUT_LAST + 16] = "";
    const char *doing = atomic_load(&child->doing), *what = "ended its process";
    unsigned long long frames = atomic_load(&child->settings.head->frames);
    if (frames <= atomic_load(&child->posted_frames))
        snprintf(at, sizeof at, "at %.3f s, in block %llu", (double)frames / child->settings.rate,
                 frames / child->settings.block + 1);
    else
        snprintf(at, sizeof at, "at an unknown time");
    if (child->hung) {
        what = "hung";
        snprintf(reason, sizeof reason, "no answer for %g s", atomic_load(&child->patience));
    } else if (WIFSIGNALED(status)) {
        what = WTERMSIG(status) == SIGKILL ? "was killed" : "crashed";
        if (WTERMSIG(status) != SIGKILL)
            signal_text(WTERMSIG(status), reason);
    } else if (supervisor_excess(WEXITSTATUS(status))) {
        what = "was ended";
        snprintf(reason, sizeof reason, "%s", supervisor_excess(WEXITSTATUS(status)));
    }
    if (*child->printed.last)
        snprintf(line, sizeof line, "%slast line: %s", *reason ? "; " : "", child->printed.last);
    bool any = *reason || *line;
    snprintf(child->end, END_MOST, "%s %s%s%s%s%s", what, doing ? doing : at, any ? " (" : "",
             reason, line, any ? ")" : "");
}

static void watch_for_hanging(struct plugin_child *child, double passed)
{
    struct isolated_head *head = child->settings.head;
    uint32_t done = atomic_load(&head->done.value);
    unsigned long long frames = atomic_load(&head->frames);
    unsigned long long most = atomic_load(&child->posted_frames);
    bool waiting = done != atomic_load(&child->posted);
    frames = frames < most ? frames : most;
    bool same = done == child->done && frames == child->frames;
    child->quiet = waiting && same ? child->quiet + fmin(passed, 2e-3 * POLL_MS) : 0;
    child->done = done;
    child->frames = frames;
    if (child->quiet < atomic_load(&child->patience))
        return;
    child->hung = true;
    atomic_store(&child->stop, monotonic_seconds());
}

/* When it is time, tell the supervisor to end the plugin's processes. If it does not, kill it. */
static void stop_when_due(struct plugin_child *child, double now)
{
    double late = now - atomic_load(&child->stop);
    if (late >= SUPERVISOR_TIME)
        kill(child->process, SIGKILL);
    else if (late >= 0)
        supervisor_end(child->process);
}

static void watch(struct plugin_child *child)
{
    int status = 0;
    for (double before = monotonic_seconds(); waitpid(child->process, &status, WNOHANG) == 0;) {
        listen_to(child, POLL_MS);
        double now = monotonic_seconds();
        if (!child->hung)
            watch_for_hanging(child, now - before);
        stop_when_due(child, now);
        before = now;
    }
    while (listen_to(child, 0))
        continue;
    plugin_output_end(&child->printed);
    describe_end(child, status);
}

/* Open a pipe with descriptors above those that the child gets. Returns 0 or an errno. */
static int open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        int low = ends[i];
        ends[i] = fcntl(low, F_DUPFD_CLOEXEC, ISOLATED_MESSAGES + 1);
        close(low);
    }
    return ends[0] >= 0 && ends[1] >= 0 ? 0 : EMFILE;
}

static void close_open(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

static bool start(struct plugin_child *child)
{
    int outputs[2] = {-1, -1}, messages[2] = {-1, -1};
    int error = open_pipe(outputs);
    if (error == 0)
        error = open_pipe(messages);
    if (error == 0)
        error = supervisor_spawn(
            child->settings.arguments,
            (const int[]){-1, outputs[1], outputs[1], child->settings.memory, messages[1]},
            ISOLATED_MESSAGES + 1, &child->process);
    close(child->settings.memory);
    child->channels[PRINTED] = outputs[0];
    child->channels[MESSAGES] = messages[0];
    close_open(outputs[1]);
    close_open(messages[1]);
    if (error)
        snprintf(child->end, END_MOST, "could not be started: %s", strerror(error));
    return error == 0;
}

/* One thread starts and watches the process, which dies with the thread that started it. */
static void *child_main(void *argument)
{
    struct plugin_child *child = argument;
    if (start(child))
        watch(child);
    for (int i = 0; i < CHANNELS; i++)
        close_open(child->channels[i]);
    atomic_store(&child->ended, true);
    futex_wake(&child->settings.head->done);
    return NULL;
}

/* Set what the child does, for messages about its end: "while it was loaded"; NULL: processing. */
static void plugin_child_doing(struct plugin_child *child, const char *doing, double patience)
{
    atomic_store(&child->patience, patience);
    atomic_store(&child->doing, doing);
}

/* Start the process, after order 0 was posted. A process that cannot be started counts as ended. */
static enum status plugin_child_start(const struct plugin_child_settings *settings, double patience,
                                      struct plugin_child **result)
{
    struct plugin_child *child = calloc(1, sizeof *child);
    int error = child ? 0 : ENOMEM;
    if (child) {
        child->settings = *settings;
        atomic_init(&child->posted, 1);
        child->channels[PRINTED] = child->channels[MESSAGES] = -1;
        plugin_output_init(&child->printed, settings->name);
        plugin_child_doing(child, "while it was loaded", patience);
        atomic_init(&child->stop, INFINITY);
        error = thread_start(&child->thread, "halo plugins", THREAD_AS_CALLER, child_main, child);
    }
    if (error) {
        close(settings->memory);
        isolated_args_free(settings->arguments);
        free(child);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread: %s", thread_error(error));
    }
    *result = child;
    return STATUS_OK;
}

/* Wait `seconds` for the end of the process, then kill it. */
static void plugin_child_stop(struct plugin_child *child, double seconds)
{
    if (!child)
        return;
    atomic_store(&child->stop, monotonic_seconds() + seconds);
    pthread_join(child->thread, NULL);
    isolated_args_free(child->settings.arguments);
    free(child);
}

struct isolated_instances {
    struct plugin_instances instances;
    struct isolated_memory memory;
    struct plugin_child *child;
    struct plugin_sandbox_pass pass;
    struct plugin_reads reads; /* paths that the child may read */
    unsigned saves;
    double patience;       /* seconds that a block may take */
    double order_patience; /* seconds that other orders may take */
    uint32_t posted;       /* number of orders posted */
    uint64_t frames;       /* frames of pieces since the last reset */
    bool overwritten;      /* the plugin has overwritten the number of orders done */
    bool given_up;         /* a signal came while an order was pending */
    bool takes_turns;      /* step and child run by turns on one CPU */
    int64_t spin;          /* ns to spin before the thread sleeps */
    unsigned rest;         /* number of pieces not to wait for after the next late piece */
    unsigned resting;      /* number of next pieces not to wait for */
    size_t kept_count;
    struct plugin_change *kept; /* changes of pieces not posted; room for one for each port */
    float *values;
    struct plugin_run *runs;
};

/* ---- the step: real-time, except when waiting without a deadline ---- */

enum { POLL_NS = 50000000, REST_MOST = 63 };

/* Add a change to a piece. It replaces an earlier change of the same port at the same frame. */
HALO_REALTIME static void add_change(const struct isolated_instances *isolated,
                                     struct isolated_piece *piece,
                                     const struct plugin_change *change)
{
    size_t count = piece->change_count;
    for (size_t i = count; i-- > 0 && piece->changes[i].frame == change->frame;)
        if (piece->changes[i].port == change->port) {
            piece->changes[i].value = change->value;
            return;
        }
    if (count == isolated->memory.change_room)
        return; /* happens only if changes are not sorted */
    piece->changes[count] = *change;
    piece->order->change_count = piece->change_count = count + 1;
}

/* Add changes to a piece. Only the last change of each port at each frame stays. */
HALO_REALTIME static void isolated_add_changes(const struct isolated_instances *isolated,
                                               struct isolated_piece *piece,
                                               const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_change(isolated, piece, &changes[i]);
}

/* Begin the next order; the caller fills it in. */
HALO_REALTIME static struct isolated_piece isolated_begin(const struct isolated_instances *isolated,
                                                          enum isolated_what what)
{
    struct isolated_piece piece = isolated_memory_piece(&isolated->memory, isolated->posted);
    *piece.order = (struct isolated_order){.what = what, .processor = -1};
    return piece;
}

HALO_REALTIME static void isolated_post(struct isolated_instances *isolated)
{
    isolated->posted++;
    /* numbers outside of the shared memory, which the plugin may overwrite */
    if (isolated->child) {
        atomic_store(&isolated->child->posted_frames, isolated->frames);
        atomic_store(&isolated->child->posted, isolated->posted);
    }
    futex_raise(&isolated->memory.head->posted);
}

/* Why no more answers come: the process ended, or the plugin has overwritten the number of orders
 * done. NULL: answers still come. */
HALO_REALTIME static const char *isolated_end(const struct isolated_instances *isolated)
{
    return isolated->overwritten                  ? "wrote over the memory that it shares with halo"
           : atomic_load(&isolated->child->ended) ? isolated->child->end
                                                  : NULL;
}

/* Whether at most `behind` orders are not done. Sets `overwritten` if more are done than posted. */
HALO_REALTIME static bool is_near(struct isolated_instances *isolated, size_t behind)
{
    uint32_t missing = isolated->posted - atomic_load(&isolated->memory.head->done.value);
    isolated->overwritten |= missing > isolated->memory.slots;
    return missing <= behind;
}

/* Wait until all orders are done, or until `deadline` if it is not 0. False: they are not done; the
 * child has ended, the deadline has passed, or a signal came. */
HALO_REALTIME static bool wait_until(struct isolated_instances *isolated, int64_t deadline)
{
    struct futex *done = &isolated->memory.head->done;
    for (;;) {
        int64_t until = deadline ? deadline : monotonic_ns() + POLL_NS;
        (void)futex_wait(done, isolated->posted, isolated->spin, until);
        if (is_near(isolated, 0))
            return true;
        if (isolated_end(isolated)) /* the child may have answered before it ended */
            return is_near(isolated, 0);
        if (deadline ? monotonic_ns() >= deadline : stop_requested()) {
            isolated->given_up = !deadline;
            return false;
        }
    }
}

bool isolated_wait(struct isolated_instances *isolated)
{
    return wait_until(isolated, 0);
}

/* ---- pieces ---- */

HALO_REALTIME static void output_silence(struct isolated_instances *isolated, float *const *out,
                                         size_t frames)
{
    isolated->instances.run_count = 1;
    isolated->runs[0] =
        (struct plugin_run){.frames = frames, .latency = isolated->instances.latency};
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memset(out[c], 0, frames * sizeof(float));
}

/* A copy of a run that the child reports, with a valid latency. */
HALO_REALTIME static struct plugin_run isolated_run(const struct isolated_piece *piece,
                                                    size_t index)
{
    const volatile struct plugin_run *reported = &piece->runs[index];
    const uint64_t latency = reported->latency;
    return (struct plugin_run){.frames = reported->frames,
                               .latency = latency < PLUGIN_LATENCY_MOST ? latency : 0};
}

/* Take the runs that the child reports, corrected so that their frames add up to the piece. */
HALO_REALTIME static void take_runs(struct isolated_instances *isolated,
                                    const struct isolated_piece *piece, size_t frames)
{
    struct plugin_instances *instances = &isolated->instances;
    size_t count = *(const volatile size_t *)&piece->order->run_count;
    size_t room = isolated->memory.run_room;
    instances->run_count = 0;
    for (size_t i = 0; i < count && i < room && frames > 0; i++) {
        struct plugin_run run = isolated_run(piece, i);
        run.frames = run.frames < frames ? run.frames : frames;
        frames -= run.frames;
        instances->latency = run.latency;
        isolated->runs[instances->run_count++] = run;
    }
    if (frames > 0 && instances->run_count == 0)
        isolated->runs[instances->run_count++] = (struct plugin_run){.latency = instances->latency};
    if (frames > 0)
        isolated->runs[instances->run_count - 1].frames += frames;
}

HALO_REALTIME static void output(struct isolated_instances *isolated, uint32_t number,
                                 float *const *out, size_t frames)
{
    const struct isolated_piece piece = isolated_memory_piece(&isolated->memory, number);
    for (size_t c = 0; c < isolated->memory.outputs; c++)
        memcpy(out[c], piece.out + c * piece.stride, frames * sizeof(float));
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    take_runs(isolated, &piece, frames);
}

/* Keep the changes of a piece that is not posted, for the first frame of the next posted piece. */
HALO_REALTIME static void keep_changes(struct isolated_instances *isolated,
                                       const struct plugin_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < isolated->kept_count && isolated->kept[at].port != changes[i].port)
            at++;
        isolated->kept[at] =
            (struct plugin_change){.port = changes[i].port, .value = changes[i].value};
        isolated->kept_count += at == isolated->kept_count;
    }
}

/* If both have a real-time priority, the step and the child run by turns on the step's CPU. This
 * CPU is awake, has the sound in its caches, and has nothing more urgent to do. Both are bound to
 * it, since the kernel would otherwise move one to another CPU. */

HALO_REALTIME static int stay_here(const struct isolated_instances *isolated, cpu_set_t *allowed)
{
    cpu_set_t here;
    int processor = sched_getcpu();
    if (!isolated->takes_turns || !isolated->instances.deadline || processor < 0 ||
        processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof *allowed, allowed) != 0)
        return -1;
    CPU_ZERO(&here);
    CPU_SET((size_t)processor, &here);
    return sched_setaffinity(0, sizeof here, &here) == 0 ? processor : -1;
}

/* Post a piece that the child runs on the CPU `processor`. */
HALO_REALTIME static void post_piece(struct isolated_instances *isolated, const float *const *in,
                                     size_t frames, const struct plugin_change *changes,
                                     size_t count, int processor)
{
    struct isolated_piece piece = isolated_begin(isolated, ISOLATED_PIECE);
    piece.order->frames = frames;
    piece.order->position = isolated->instances.position;
    piece.order->processor = processor;
    for (size_t c = 0; c < isolated->memory.inputs; c++)
        memcpy(piece.in + c * piece.stride, in[c], frames * sizeof(float));
    isolated->frames += frames;
    isolated_add_changes(isolated, &piece, isolated->kept, isolated->kept_count);
    isolated_add_changes(isolated, &piece, changes, count);
    isolated->kept_count = 0;
    isolated_post(isolated);
}

/* Whether to wait for the next piece. Not while the child is behind, and not if other stages took
 * all the time. After a late piece, halo does not wait for some pieces, more each time, so that a
 * child that is always too slow costs the step little time. */
HALO_REALTIME static bool is_worth_waiting(struct isolated_instances *isolated, bool was_behind)
{
    if (!isolated->instances.deadline)
        return true;
    if (isolated->resting > 0) {
        isolated->resting--;
        return false;
    }
    return !was_behind && monotonic_ns() < isolated->instances.deadline;
}

HALO_REALTIME static void note_wait(struct isolated_instances *isolated, bool in_time)
{
    isolated->resting = in_time ? 0 : isolated->rest;
    if (in_time)
        isolated->rest -= isolated->rest > 0;
    else if (isolated->rest < REST_MOST)
        isolated->rest = 2 * isolated->rest + 1;
}

/* Post a piece and wait for its answer. False: it did not come in time, or never will. */
HALO_REALTIME static bool exchange_piece(struct isolated_instances *isolated,
                                         const float *const *in, float *const *out, size_t frames,
                                         const struct plugin_change *changes, size_t count)
{
    cpu_set_t allowed;
    int processor = stay_here(isolated, &allowed);
    post_piece(isolated, in, frames, changes, count, processor);
    bool in_time = wait_until(isolated, isolated->instances.deadline);
    if (processor >= 0)
        sched_setaffinity(0, sizeof allowed, &allowed);
    note_wait(isolated, in_time);
    if (in_time)
        output(isolated, isolated->posted - 1, out, frames);
    return in_time;
}

HALO_REALTIME static void isolated_process(struct plugin_instances *instances,
                                           const float *const *in, float *const *out, size_t frames,
                                           const struct plugin_change *changes, size_t count)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (instances->failure || isolated->given_up) {
        output_silence(isolated, out, frames);
        return;
    }
    if (!is_near(isolated, isolated->memory.slots - 1))
        keep_changes(isolated, changes, count);
    else if (!is_worth_waiting(isolated, !is_near(isolated, 0)))
        post_piece(isolated, in, frames, changes, count, -1);
    else if (exchange_piece(isolated, in, out, frames, changes, count))
        return;
    instances->failure = isolated_end(isolated);
    instances->late += !instances->failure;
    output_silence(isolated, out, frames);
}

enum { SPIN_NS = 50000 };

static const double ORDER_TIME = 3;    /* factor for the patience with orders that may read files */
static const double LIVE_PATIENCE = 1; /* most seconds for a block, live */
static const double LEAVE_TIME = 1;    /* seconds to wait for the end of the child */

/* ---- orders ---- */

/* Report the end of the process, unless a signal came. */
static enum status report_end(struct isolated_instances *isolated, const char *verb)
{
    const char *end = isolated_end(isolated);
    isolated->instances.failure = end;
    return end ? fail(CAUSE_OTHER, "cannot %s %s: it %s", verb, isolated->instances.info->id, end)
               : STATUS_INTERRUPTED;
}

/* Report the error in the child's answer after the plugin's name: a plugin may forge errors. */
static enum status report_answer(const struct isolated_instances *isolated)
{
    const struct isolated_head *head = isolated->memory.head;
    const char *id = isolated->instances.info->id;
    char text[FAILURE_BYTES];
    if (head->status == STATUS_OK)
        return STATUS_OK;
    memcpy(text, head->failure.message, sizeof text);
    text[sizeof text - 1] = '\0';
    bool is_named = strstr(text, id) != NULL;
    return fail(plugin_cause(head->failure.cause), "%s%s%s", is_named ? "" : id,
                is_named ? "" : ": ", text);
}

static enum status do_order(struct isolated_instances *isolated, enum isolated_what what,
                            const char *verb, const char *doing)
{
    if (isolated->instances.failure || isolated->given_up || !isolated_wait(isolated))
        return report_end(isolated, verb);
    plugin_child_doing(isolated->child, doing, isolated->order_patience);
    isolated_begin(isolated, what);
    isolated_post(isolated);
    if (!isolated_wait(isolated))
        return report_end(isolated, verb);
    plugin_child_doing(isolated->child, NULL, isolated->patience);
    return report_answer(isolated);
}

static void reset(struct plugin_instances *instances)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    char none[1];
    const struct log_keeper before =
        log_keep_in(none, sizeof none); /* the caller reads the reason from instances->failure */
    isolated->frames = 0;
    enum status status = do_order(isolated, ISOLATED_RESET, "reset", "while it was reset");
    (void)status;
    log_keep_again(&before);
    isolated->resting = isolated->rest = 0;
    instances->late = 0;
}

/* Check that the child still answers, by an order that does nothing. */
static enum status confirm(struct plugin_instances *instances)
{
    return do_order((struct isolated_instances *)instances, ISOLATED_PIECE, "finish",
                    "at the end of the sound");
}

/* Save the state. The child writes into its own folder, and halo copies it from there. */
static enum status save(struct plugin_instances *instances, const char *folder)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    char *its = isolated->memory.head->folder, ours[sizeof isolated->memory.head->folder];
    if ((size_t)snprintf(ours, sizeof ours, "%s/saved-%u", isolated->pass.folder,
                         ++isolated->saves) >= sizeof ours)
        return fail(CAUSE_UNSUPPORTED, "cannot save into %.64s...: the path is too long", ours);
    memcpy(its, ours, sizeof ours);
    TRY(do_order(isolated, ISOLATED_SAVE, "save the state of", "while its state was saved"));
    if (access(ours, F_OK) != 0) /* the plugin has nothing to save */
        return STATUS_OK;
    return plugin_state_copy(ours, folder, &isolated->reads, instances->info->id);
}

static void close_instances(struct plugin_instances *instances)
{
    struct isolated_instances *isolated = (struct isolated_instances *)instances;
    if (instances->late)
        note_detail("%s was late %llu times in %lu blocks", instances->info->id,
                    (unsigned long long)instances->late, (unsigned long)isolated->posted - 1);
    bool idle = isolated->child && !instances->failure && !isolated->given_up &&
                futex_reached(&isolated->memory.head->done, isolated->posted);
    if (idle) {
        plugin_child_doing(isolated->child, "while it was closed", isolated->patience);
        isolated_begin(isolated, ISOLATED_LEAVE);
        isolated_post(isolated);
    }
    plugin_child_stop(isolated->child, idle && !stop_requested() ? LEAVE_TIME : 0);
    plugin_sandbox_release(&isolated->pass);
    plugin_reads_free(&isolated->reads);
    isolated_memory_free(&isolated->memory);
    free(isolated->kept);
    free(isolated->values);
    free(isolated->runs);
    free(isolated);
}

static const struct plugin_instances_kind isolated_kind = {
    .process = isolated_process,
    .reset = reset,
    .confirm = confirm,
    .save = save,
    .close = close_instances,
};

/* ---- opening ---- */

/* Whether there are several CPUs. On one, the child only runs while halo sleeps. */
static bool has_processors(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 1;
}

static enum status start_child(struct isolated_instances *isolated, int memory,
                               const struct plugin_instances_settings *settings)
{
    struct plugin_child_settings child = {.name = isolated->instances.info->id,
                                          .memory = memory,
                                          .head = isolated->memory.head,
                                          .rate = settings->plugin.rate,
                                          .block = isolated->instances.block};
    enum status status = isolated_args_make(isolated->instances.info, settings, isolated->pass.word,
                                            &child.arguments);
    if (status == STATUS_OK)
        return plugin_child_start(&child, isolated->order_patience, &isolated->child);
    close(memory);
    return status;
}

static enum status make_pass(struct isolated_instances *isolated,
                             const struct plugin_settings *settings)
{
    char **named;
    TRY(isolated_named_make(isolated->instances.info->id, settings, &named));
    enum status status = plugin_reads_init(&isolated->reads, named);
    isolated_named_free(named);
    return status == STATUS_OK ? plugin_sandbox_admit(&isolated->pass) : status;
}

static enum status open_child(struct isolated_instances *isolated,
                              const struct plugin_change *changes, size_t count,
                              const struct plugin_instances_settings *settings)
{
    int memory;
    TRY(make_pass(isolated, &settings->plugin));
    TRY(isolated_memory_create(&isolated->memory, &memory));
    struct isolated_piece piece = isolated_begin(isolated, ISOLATED_OPEN);
    isolated_add_changes(isolated, &piece, changes, count);
    isolated_post(isolated);
    isolated->given_up = true; /* cleared if the opening succeeds */
    TRY(start_child(isolated, memory, settings));
    TRY(isolated_wait(isolated) ? report_answer(isolated) : report_end(isolated, "run"));
    isolated->given_up = false;
    isolated->takes_turns =
        settings->plugin.live && atomic_load(&isolated->memory.head->has_priority);
    isolated->spin = !isolated->takes_turns && has_processors() ? SPIN_NS : 0;
    plugin_child_doing(isolated->child, NULL, isolated->patience);
    memcpy(isolated->values, piece.values, isolated->memory.ports * sizeof(float));
    isolated->instances.latency = isolated_run(&piece, 0).latency;
    isolated->instances.tail = atomic_load(&isolated->memory.head->tail);
    return STATUS_OK;
}

enum status plugin_instances_open_isolated(const struct plugin_info *info,
                                           const struct plugin_change *changes, size_t count,
                                           const struct plugin_instances_settings *settings,
                                           struct plugin_instances **instances)
{
    struct isolated_instances *isolated = calloc(1, sizeof *isolated);
    if (!isolated)
        return fail_memory("a plugin");
    bool live = settings->plugin.live;
    isolated->instances = (struct plugin_instances){.kind = &isolated_kind,
                                                    .info = info,
                                                    .instances = settings->instances,
                                                    .inputs = plugin_instances_inputs(info) +
                                                              plugin_instances_side_chains(info),
                                                    .outputs = plugin_instances_outputs(info),
                                                    .block = settings->plugin.block};
    isolated->patience = live ? fmin(settings->patience, LIVE_PATIENCE) : settings->patience;
    isolated->order_patience = plugin_sandbox_patience(ORDER_TIME * settings->patience);
    isolated_memory_plan(&isolated->memory, info, settings);
    isolated->kept = calloc(info->port_count + 1, sizeof *isolated->kept);
    isolated->values = calloc(info->port_count + 1, sizeof *isolated->values);
    isolated->runs = calloc(isolated->memory.run_room, sizeof *isolated->runs);
    isolated->instances.values = isolated->values;
    isolated->instances.runs = isolated->runs;
    enum status status = isolated->kept && isolated->values && isolated->runs
                             ? open_child(isolated, changes, count, settings)
                             : fail_memory("a plugin");
    if (status == STATUS_OK)
        *instances = &isolated->instances;
    else
        close_instances(&isolated->instances);
    return status;
}
