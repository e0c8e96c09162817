#include "pipewire_rig.h"

#include "alsa_rig.h"
#include "command.h"
#include "server_rig.h"
#include "suite.h"

#include <pipewire/filter.h>
#include <pipewire/pipewire.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHANNELS = 2 };

/* ---- the server ---- */

static const char configuration[] = "context.properties = {\n"
                                    "  default.clock.allowed-rates = [ 44100 48000 ]\n"
                                    "  default.clock.min-quantum = 32\n"
                                    "  default.clock.max-quantum = 8192\n"
                                    "  vm.overrides = { default.clock.min-quantum = 32 }\n"
                                    "}\n"
                                    "context.objects = [\n"
#define DEVICE(NAME, DESCRIPTION, CLASS, PRIORITY, DRIVES)                                         \
    "  { factory = adapter args = { factory.name = support.null-audio-sink node.name = " NAME      \
    " node.description = \"" DESCRIPTION "\" media.class = " CLASS                                 \
    " audio.position = [ FL FR ] priority.session = " PRIORITY " priority.driver = " DRIVES        \
    " } }\n"
    DEVICE("speakers", "Loud Speakers", "Audio/Sink", "2000", "2000")
        DEVICE("phones", "Headphones", "Audio/Sink", "1000", "1000")
            DEVICE("mic", "Microphone", "Audio/Source/Virtual", "4000", "0")
                DEVICE("line", "Line In", "Audio/Source/Virtual", "3000", "0") "]\n";

/* The keeper is a shell whose standard input is a pipe from the test. When the pipe closes, for
 * whatever reason, it ends the server and then its own process group. */
static const char keeper_script[] =
    "exec >\"$XDG_RUNTIME_DIR/log\" 2>&1\n"
    "pipewire </dev/null & server=$!\n"
    "echo $server >&4; exec 4>&-\n"
    "until [ -S \"$XDG_RUNTIME_DIR/pipewire-0\" ]; do sleep 0.05; done\n"
    "while :; do\n"
    "  wireplumber </dev/null & manager=$!\n"
    "  echo $manager >\"$XDG_RUNTIME_DIR/manager\"; wait $manager\n"
    "done & managers=$!\n"
    "cat\n"
    "kill $managers $(cat \"$XDG_RUNTIME_DIR/manager\") $server; sleep 0.2\n"
    "rm -f \"$XDG_RUNTIME_DIR\"/pipewire-0*\n"
    "kill -KILL 0\n";

static struct server_rig rig;

static void end_at_exit(void)
{
    pipewire_rig_end(SIGTERM);
}

/* Folders of the server's own, so that it neither meets another one nor reads a user's settings. */
static void make_folders(void)
{
    char path[512];
    setenv("XDG_RUNTIME_DIR", command_path("run"), 1);
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    setenv("XDG_STATE_HOME", command_path("state"), 1);
    setenv("JACK_NO_START_SERVER", "1", 1);
    alsa_rig_cards(NULL, 0);
    ck_assert_int_eq(pipewire_rig_run("mkdir -p \"$XDG_CONFIG_HOME/pipewire/pipewire.conf.d\" && "
                                      "mkdir -p -m 700 \"$XDG_RUNTIME_DIR\""),
                     0);
    snprintf(path, sizeof path, "%s/config/pipewire/pipewire.conf.d/devices.conf",
             command_folder());
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(configuration, file), 0);
    fclose(file);
}

/* PipeWire's tools have a time limit: they may wait for ever if the session manager leaves as they
 * connect. */
int pipewire_rig_run(const char *format, ...)
{
    char command[512], line[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "{ %s; } >/dev/null 2>&1", command);
    return system(line);
}

void pipewire_rig_wait(const char *command)
{
    int64_t deadline = server_rig_deadline();
    while (pipewire_rig_run("%s", command) != 0)
        server_rig_wait(deadline, command);
}

void pipewire_rig_force(const char *what, unsigned value)
{
    ck_assert_int_eq(
        pipewire_rig_run("timeout 20 pw-metadata -n settings 0 clock.force-%s %u", what, value), 0);
}

static bool has_default(const char *what, const char *node)
{
    return pipewire_rig_run("timeout 20 pw-metadata | grep -qF \"key:'default.audio.%s' "
                            "value:'{\\\"name\\\":\\\"%s\\\"}\"",
                            what, node) == 0;
}

/* A session manager on a busy machine may miss it, and is asked again. A source may be another's
 * monitor, which it takes or not. */
void pipewire_rig_default(const char *what, const char *node)
{
    bool is_sink = strcmp(what, "sink") == 0;
    int tries = 0;
    do {
        ck_assert_msg(tries++ < 10, "%s does not become the default %s", node, what);
        ck_assert_int_eq(pipewire_rig_run("timeout 20 pw-metadata 0 default.configured.audio.%s "
                                          "'{\"name\":\"%s\"}' Spa:String:JSON",
                                          what, node),
                         0);
        for (int i = 0; is_sink && i < 40 && !has_default(what, node); i++)
            server_rig_pause();
    } while (is_sink && !has_default(what, node));
}

static void signal_manager(const char *name)
{
    ck_assert_int_eq(pipewire_rig_run("kill -%s $(cat \"$XDG_RUNTIME_DIR/manager\")", name), 0);
}

void pipewire_rig_pause_manager(bool pauses)
{
    signal_manager(pauses ? "STOP" : "CONT");
}

/* Its metadata go with it. */
void pipewire_rig_restart_manager(void)
{
    signal_manager("TERM");
    pipewire_rig_wait("! timeout 20 pw-metadata | grep -q default.audio");
    pipewire_rig_wait("timeout 20 pw-metadata | grep -q default.audio.source");
}

void pipewire_rig_plug(const char *name, int priority)
{
    ck_assert_int_eq(pipewire_rig_run("timeout 20 pw-cli create-node adapter '{ factory.name = "
                                      "support.null-audio-sink node.name = %s media.class = "
                                      "Audio/Sink object.linger = true audio.position = [ FL FR ] "
                                      "priority.session = %d priority.driver = 500 }'",
                                      name, priority),
                     0);
}

void pipewire_rig_wait_link(const char *from, const char *to)
{
    char command[256];
    snprintf(command, sizeof command, "timeout 20 pw-link -l %s | grep -q -- '-> %s$'", from, to);
    pipewire_rig_wait(command);
}

bool pipewire_rig_is_linked(const char *from, const char *to)
{
    return pipewire_rig_run("timeout 20 pw-link -l %s | grep -q -- '-> %s$'", from, to) == 0;
}

void pipewire_rig_start(void)
{
    static bool watched;
    pipewire_rig_end(SIGKILL); /* that of a test that failed */
    command_folder();          /* is removed after the server has ended */
    if (!watched)
        atexit(end_at_exit);
    watched = true;
    make_folders();
    server_rig_start(&rig, (const char *const[]){"dbus-run-session", "--", "/bin/sh", "-c",
                                                 keeper_script, NULL});
    pipewire_rig_wait("timeout 20 pw-metadata | grep -q 'default.audio.source.*mic' && "
                      "timeout 20 pw-link -o | grep -q line:capture_FR");
}

void pipewire_rig_end(int number)
{
    server_rig_end(&rig, number);
}

/* ---- the clients ---- */

struct end {
    struct pipewire_wire *wire;
    struct pw_filter *filter;
    struct spa_hook hook;
    void *ports[CHANNELS];
    uint64_t expected;
    bool seen;
};

/* Both are called by one thread, "feed" and "rec" in any order; frame 0 is at the start of the
 * cycle after the one that sees the request. */
struct pipewire_wire {
    struct pw_thread_loop *loop;
    struct pw_context *context;
    struct pw_core *core;
    const struct block *feed;
    struct block recorded;
    struct end out, in;
    atomic_bool asked;
    _Atomic uint64_t origin; /* 0: none yet */
    atomic_size_t done;
    atomic_size_t gaps;
};

static bool cycle_begins(struct end *end, const struct spa_io_clock *clock, size_t *at)
{
    struct pipewire_wire *wire = end->wire;
    if (end->seen && wire->origin && clock->position != end->expected)
        wire->gaps++;
    end->seen = true;
    end->expected = clock->position + clock->duration;
    if (wire->asked && !wire->origin)
        wire->origin = end->expected;
    *at = (size_t)(clock->position - wire->origin);
    return wire->origin && clock->position >= wire->origin;
}

static void feed_cycle(void *context, struct spa_io_position *position)
{
    struct end *end = context;
    const struct block *feed = end->wire->feed;
    uint32_t frames = (uint32_t)position->clock.duration;
    size_t at;
    bool runs = cycle_begins(end, &position->clock, &at);
    for (size_t c = 0; c < CHANNELS; c++) {
        float *samples = pw_filter_get_dsp_buffer(end->ports[c], frames);
        for (size_t i = 0; samples && i < frames; i++)
            samples[i] = runs && at + i < feed->frames ? feed->data[c][at + i] : 0;
    }
}

static void record_cycle(void *context, struct spa_io_position *position)
{
    struct end *end = context;
    struct block *recorded = &end->wire->recorded;
    uint32_t frames = (uint32_t)position->clock.duration;
    size_t at;
    bool runs = cycle_begins(end, &position->clock, &at);
    for (size_t c = 0; c < CHANNELS; c++) {
        const float *samples = pw_filter_get_dsp_buffer(end->ports[c], frames);
        for (size_t i = 0; samples && runs && i < frames && at + i < recorded->frames; i++)
            recorded->data[c][at + i] = samples[i];
    }
    if (runs)
        atomic_store(&end->wire->done, at + frames);
}

static const struct pw_filter_events feed_events = {PW_VERSION_FILTER_EVENTS,
                                                    .process = feed_cycle};
static const struct pw_filter_events record_events = {PW_VERSION_FILTER_EVENTS,
                                                      .process = record_cycle};

static void open_end(struct pipewire_wire *wire, struct end *end, const char *name,
                     enum pw_direction direction, const struct pw_filter_events *events)
{
    static const char *const channels[CHANNELS] = {"FL", "FR"};
    end->wire = wire;
    end->filter = pw_filter_new(
        wire->core, name,
        pw_properties_new(PW_KEY_NODE_NAME, name, PW_KEY_NODE_ALWAYS_PROCESS, "true", NULL));
    ck_assert_ptr_nonnull(end->filter);
    pw_filter_add_listener(end->filter, &end->hook, events, end);
    for (size_t c = 0; c < CHANNELS; c++) {
        end->ports[c] = pw_filter_add_port(
            end->filter, direction, PW_FILTER_PORT_FLAG_MAP_BUFFERS, 8,
            pw_properties_new(PW_KEY_FORMAT_DSP, "32 bit float mono audio", PW_KEY_PORT_NAME,
                              channels[c], PW_KEY_AUDIO_CHANNEL, channels[c], NULL),
            NULL, 0);
        ck_assert_ptr_nonnull(end->ports[c]);
    }
    ck_assert_int_ge(pw_filter_connect(end->filter, PW_FILTER_FLAG_RT_PROCESS, NULL, 0), 0);
}

struct pipewire_wire *pipewire_wire_open(const struct block *feed, size_t record_frames)
{
    struct pipewire_wire *wire = calloc(1, sizeof *wire);
    ck_assert_ptr_nonnull(wire);
    wire->feed = feed;
    ck_assert_int_eq(block_init(&wire->recorded, CHANNELS, record_frames, "a recording"),
                     STATUS_OK);
    pw_init(NULL, NULL);
    wire->loop = pw_thread_loop_new("wire", NULL);
    ck_assert_int_eq(pw_thread_loop_start(wire->loop), 0);
    pw_thread_loop_lock(wire->loop);
    wire->context =
        pw_context_new(pw_thread_loop_get_loop(wire->loop),
                       pw_properties_new(PW_KEY_CONFIG_NAME, "client-rt.conf", NULL), 0);
    ck_assert_ptr_nonnull(wire->context);
    wire->core = pw_context_connect(wire->context, NULL, 0);
    ck_assert_ptr_nonnull(wire->core);
    open_end(wire, &wire->out, "feed", PW_DIRECTION_OUTPUT, &feed_events);
    open_end(wire, &wire->in, "rec", PW_DIRECTION_INPUT, &record_events);
    pw_thread_loop_unlock(wire->loop);
    pipewire_rig_wait(
        "timeout 20 pw-link -o | grep -q feed:FR && timeout 20 pw-link -i | grep -q rec:FR");
    return wire;
}

void pipewire_wire_close(struct pipewire_wire *wire)
{
    pw_thread_loop_stop(wire->loop);
    pw_filter_destroy(wire->out.filter);
    pw_filter_destroy(wire->in.filter);
    pw_core_disconnect(wire->core);
    pw_context_destroy(wire->context);
    pw_thread_loop_destroy(wire->loop);
    block_free(&wire->recorded);
    free(wire);
}

void pipewire_wire_run(struct pipewire_wire *wire)
{
    int64_t deadline = server_rig_deadline();
    wire->asked = false;
    wire->origin = 0;
    wire->gaps = wire->done = 0;
    wire->asked = true;
    while (wire->done < wire->recorded.frames)
        server_rig_wait(deadline, "a whole recording from PipeWire");
}

size_t pipewire_wire_gaps(const struct pipewire_wire *wire)
{
    return wire->gaps;
}

const struct block *pipewire_wire_recorded(const struct pipewire_wire *wire)
{
    return &wire->recorded;
}
