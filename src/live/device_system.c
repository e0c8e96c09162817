#include "live/device_system.h"

#include "base/monotonic.h"
#include "base/thread.h"
#include "live/device_jack.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef HALO_PORTAUDIO_JACK
#include <pa_jack.h>
#endif

enum { LOOK_NS = 2000000 };
static const int64_t STOP_NS = INT64_C(2000000000);
static const int64_t AGAIN_NS = INT64_C(50000000);

static int standard_error = -1; /* where it led, while it leads nowhere */

void device_system_hush(void)
{
    fflush(stderr);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    standard_error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (nowhere >= 0 && standard_error >= 0)
        dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        close(nowhere);
}

void device_system_unhush(void)
{
    if (standard_error < 0)
        return;
    fflush(stderr);
    dup2(standard_error, STDERR_FILENO);
    close(standard_error);
    standard_error = -1;
}

/* ---- stopping, on a thread that may be left behind ---- */

struct stop {
    PaStream *stream;
    void (*release)(void *context);
    void *context;
    atomic_bool done;
};

static void *stop_main(void *argument)
{
    struct stop *stop = argument;
    if (stop->stream)
        Pa_CloseStream(stop->stream); /* aborts it first; what fails here has gone */
    Pa_Terminate();
    if (stop->release)
        stop->release(stop->context);
    stop->done = true;
    return NULL;
}

/* A stop that hung when it was waited for; while it does, PortAudio cannot be started. */
static struct stop *left_behind;

static bool wait_for(const struct stop *stop, int64_t limit_ns)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t deadline = monotonic_ns() + limit_ns;
    while (!stop->done && monotonic_ns() < deadline) {
        device_jack_wake();
        nanosleep(&pause, NULL);
    }
    return stop->done;
}

static bool start_thread(struct stop *stop)
{
    pthread_t thread;
    if (thread_start(&thread, "halo stop", THREAD_AS_CALLER, stop_main, stop) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

void device_system_stop(PaStream *stream, void (*release)(void *context), void *context)
{
    struct stop *stop = calloc(1, sizeof *stop);
    if (stop)
        *stop = (struct stop){.stream = stream, .release = release, .context = context};
    if (!stop || !start_thread(stop)) {
        free(stop); /* and the stream stays as it is */
        return;
    }
    device_system_hush();
    bool done = wait_for(stop, STOP_NS);
    device_system_unhush();
    if (done)
        free(stop);
    else
        left_behind = stop;
}

/* What hung may have come to its end since. */
static bool is_clear(void)
{
    if (left_behind && wait_for(left_behind, AGAIN_NS)) {
        free(left_behind);
        left_behind = NULL;
    }
    return !left_behind;
}

/* Has ALSA a device called "default"? Where it has none, PortAudio ends the program (an
 * assertion in pa_linux_alsa.c, BuildDeviceList), as in a container without ALSA's files.
 * ALSA's library comes with PortAudio, its headers need not be there. */
static bool alsa_has_default(void)
{
    union {
        void *address;
        int (*update)(void);
        int (*search)(void *tree, const char *key, void **node);
    } update = {dlsym(RTLD_DEFAULT, "snd_config_update")},
      search = {dlsym(RTLD_DEFAULT, "snd_config_search")};
    void **tree = dlsym(RTLD_DEFAULT, "snd_config"), *node;
    if (!update.address || !search.address || !tree)
        return true; /* a PortAudio without ALSA */
    return update.update() >= 0 && *tree && search.search(*tree, "pcm.default", &node) == 0;
}

enum status device_system_start(void)
{
    if (!is_clear())
        return fail(
            STATUS_FAILED,
            "the sound system hangs since a device went; if that goes on, start halo again");
    device_system_hush();
#ifdef HALO_PORTAUDIO_JACK
    PaJack_SetClientName("halo");
#endif
    bool has_default = alsa_has_default();
    device_jack_adopt(true);
    PaError error = has_default ? Pa_Initialize() : paNoError;
    device_jack_adopt(false);
    device_system_unhush();
    if (!has_default)
        return fail(STATUS_FAILED, "ALSA has no device called default: its configuration is "
                                   "missing; install libasound2-data, or mend ALSA_CONFIG_PATH");
    if (error != paNoError)
        return fail(STATUS_FAILED, "cannot start the sound system: %s", Pa_GetErrorText(error));
    return STATUS_OK;
}
