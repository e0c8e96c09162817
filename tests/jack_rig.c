#include "jack_rig.h"

#include "alsa_rig.h"
#include "command.h"
#include "server_rig.h"
#include "suite.h"

#include <jack/jack.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_SIZE = 32, PORTS_MOST = 16 };

static void silent(const char *message)
{
    (void)message;
}

/* ---- the server ---- */

/* The keeper is a shell whose standard input is a pipe from the test. When the pipe closes, for
 * whatever reason, it ends the server and then its own process group. A server that is killed
 * leaves its shared memory and one of the eight server slots of a user behind; another server of
 * the same name that ends normally clears both. One that a client joins at that moment may wait for
 * it forever: it is killed, and another one tried. A client that a busy machine makes late is not
 * put out. */
static const char keeper_script[] =
    "exec >/dev/null 2>&1\n"
    "name=$1\n"
    "run() { exec jackd -n \"$1\" -r -S -p 256 -t 60000 -d dummy -r \"$2\" -p \"$3\" -C 2 -P 2; }\n"
    "run \"$@\" </dev/null & server=$!\n"
    "echo $server >&4; exec 4>&-\n"
    "cat\n"
    "kill $server; kill -CONT $server\n"
    "{ sleep 2; kill -KILL $server; } &\n"
    "wait $server; code=$?\n"
    "if [ $code = 137 ]; then\n"
    "    for turn in 1 2 3 4 5; do\n"
    "        run \"$name\" 48000 1024 </dev/null & server=$!\n"
    "        sleep 0.3; kill $server; { sleep 2; kill -KILL $server; } &\n"
    "        wait $server; [ $? = 137 ] || break\n"
    "    done\n"
    "fi\n"
    "rm -rf /dev/shm/jack*_\"$name\"_*\n"
    "kill -KILL 0\n";

static struct server_rig rig;
static char server_name[NAME_SIZE];

bool jack_rig_is_there(void)
{
    if (system("command -v jackd >/dev/null") == 0)
        return true;
    puts("skipped: jackd is not installed (Debian's package jackd2)");
    return false;
}

static void start_server(uint32_t rate, size_t period)
{
    char rate_text[16], period_text[16];
    snprintf(rate_text, sizeof rate_text, "%u", rate);
    snprintf(period_text, sizeof period_text, "%zu", period);
    server_rig_start(&rig, (const char *const[]){"/bin/sh", "-c", keeper_script, "sh", server_name,
                                                 rate_text, period_text, NULL});
}

/* The server is ready when a client can be opened. */
static void wait_for_server(void)
{
    int64_t deadline = server_rig_deadline();
    jack_client_t *client;
    jack_set_error_function(silent);
    jack_set_info_function(silent);
    while (!(client = jack_client_open("ask", JackNoStartServer, NULL)))
        server_rig_wait(deadline, "an answer from jackd");
    jack_client_close(client);
}

static void end_at_exit(void)
{
    jack_rig_end(SIGTERM);
}

void jack_rig_start(uint32_t rate, size_t period)
{
    static bool watched;
    jack_rig_end(SIGTERM); /* that of a test that failed */
    command_folder();      /* is removed after the server has ended */
    if (!watched)
        atexit(end_at_exit);
    watched = true;
    alsa_rig_cards(NULL, 0);
    snprintf(server_name, sizeof server_name, "halo-test-%d", (int)getpid());
    setenv("JACK_DEFAULT_SERVER", server_name, 1);
    setenv("JACK_NO_START_SERVER", "1", 1);
    setenv("JACK_NO_AUDIO_RESERVATION", "1", 1);
    start_server(rate, period);
    wait_for_server();
}

void jack_rig_signal(int number)
{
    ck_assert_int_eq(kill(rig.server, number), 0);
}

void jack_rig_end(int number)
{
    server_rig_end(&rig, number);
}

void jack_rig_connect(const char *const (*wires)[2], size_t count)
{
    int64_t deadline = server_rig_deadline();
    jack_client_t *client = jack_client_open("connect", JackNoStartServer, NULL);
    ck_assert_ptr_nonnull(client);
    for (size_t i = 0; i < count; i++)
        while (jack_connect(client, wires[i][0], wires[i][1]) != 0)
            server_rig_wait(deadline, wires[i][0]);
    jack_client_close(client);
}

/* ---- the clients ---- */

/* Frame 0 is at the start of the cycle after the first one that sees the request, so that both
 * clients know it. */
enum { WAITING = 0, ASKED = 1, RUNNING = 2 };

struct end {
    jack_client_t *client;
    jack_port_t *ports[PORTS_MOST];
    size_t count;
    jack_nframes_t expected;
    bool seen;
};

struct jack_wire {
    const struct block *feed;
    struct block recorded;
    struct end out;
    struct end in;
    pthread_mutex_t lock; /* for the two counters below; cycles are short */
    int state;
    jack_nframes_t origin;
    atomic_size_t done; /* frames recorded */
    atomic_size_t gaps;
};

/* Frame of the signal at which this cycle begins, once the signal has started. */
static bool cycle_begins(struct jack_wire *wire, struct end *end, jack_nframes_t frames,
                         size_t *frame)
{
    jack_nframes_t now = jack_last_frame_time(end->client);
    if (end->seen && now != end->expected)
        wire->gaps++;
    end->seen = true;
    end->expected = now + frames;
    pthread_mutex_lock(&wire->lock);
    if (wire->state == ASKED) {
        wire->state = RUNNING;
        wire->origin = now + frames;
    }
    bool runs = wire->state == RUNNING;
    *frame = (jack_nframes_t)(now - wire->origin);
    pthread_mutex_unlock(&wire->lock);
    return runs && *frame <= INT32_MAX; /* not before the cycle that started it */
}

static int feed_cycle(jack_nframes_t frames, void *context)
{
    struct jack_wire *wire = context;
    size_t at, end = wire->feed->frames;
    bool runs = cycle_begins(wire, &wire->out, frames, &at);
    for (size_t c = 0; c < wire->out.count; c++) {
        float *samples = jack_port_get_buffer(wire->out.ports[c], frames);
        for (size_t i = 0; i < frames; i++)
            samples[i] = runs && at + i < end ? wire->feed->data[c][at + i] : 0;
    }
    return 0;
}

static int record_cycle(jack_nframes_t frames, void *context)
{
    struct jack_wire *wire = context;
    size_t at, capacity = wire->recorded.frames;
    if (!cycle_begins(wire, &wire->in, frames, &at) || at >= capacity)
        return 0;
    size_t count = capacity - at < frames ? capacity - at : frames;
    for (size_t c = 0; c < wire->in.count; c++)
        memcpy(wire->recorded.data[c] + at, jack_port_get_buffer(wire->in.ports[c], frames),
               count * sizeof(float));
    atomic_store(&wire->done, at + count);
    return 0;
}

static void open_end(struct end *end, const char *name, size_t channels, unsigned long flags,
                     JackProcessCallback cycle, struct jack_wire *wire)
{
    ck_assert_uint_le(channels, PORTS_MOST);
    end->count = channels;
    end->client = jack_client_open(name, JackNoStartServer | JackUseExactName, NULL);
    ck_assert_msg(end->client != NULL, "cannot open the JACK client %s", name);
    for (size_t c = 0; c < channels; c++) {
        char port[8];
        snprintf(port, sizeof port, "%zu", c + 1);
        end->ports[c] = jack_port_register(end->client, port, JACK_DEFAULT_AUDIO_TYPE, flags, 0);
        ck_assert_ptr_nonnull(end->ports[c]);
    }
    jack_set_process_callback(end->client, cycle, wire);
    ck_assert_int_eq(jack_activate(end->client), 0);
}

struct jack_wire *jack_wire_open(const struct block *feed, size_t record_channels,
                                 size_t record_frames)
{
    struct jack_wire *wire = calloc(1, sizeof *wire);
    ck_assert_ptr_nonnull(wire);
    wire->feed = feed;
    pthread_mutex_init(&wire->lock, NULL);
    ck_assert_int_eq(block_init(&wire->recorded, record_channels, record_frames, "a recording"),
                     STATUS_OK);
    open_end(&wire->out, "feed", feed->channels, JackPortIsOutput | JackPortIsTerminal, feed_cycle,
             wire);
    open_end(&wire->in, "rec", record_channels, JackPortIsInput | JackPortIsTerminal, record_cycle,
             wire);
    return wire;
}

void jack_wire_close(struct jack_wire *wire)
{
    jack_client_close(wire->out.client);
    jack_client_close(wire->in.client);
    pthread_mutex_destroy(&wire->lock);
    block_free(&wire->recorded);
    free(wire);
}

static bool is_connected(const struct end *end)
{
    for (size_t c = 0; c < end->count; c++)
        if (jack_port_connected(end->ports[c]) == 0)
            return false;
    return true;
}

void jack_wire_run(struct jack_wire *wire)
{
    int64_t deadline = server_rig_deadline();
    while (!is_connected(&wire->out) || !is_connected(&wire->in))
        server_rig_wait(deadline, "connections of feed and rec");
    pthread_mutex_lock(&wire->lock);
    wire->state = ASKED;
    wire->gaps = 0;
    pthread_mutex_unlock(&wire->lock);
    deadline = server_rig_deadline();
    while (wire->done < wire->recorded.frames)
        server_rig_wait(deadline, "a whole recording from JACK");
}

size_t jack_wire_gaps(const struct jack_wire *wire)
{
    return wire->gaps;
}

const struct block *jack_wire_recorded(const struct jack_wire *wire)
{
    return &wire->recorded;
}
