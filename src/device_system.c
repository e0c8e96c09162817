#include "device_system.h"

#include "device_jack.h"
#include "monotonic.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#ifdef HALO_PORTAUDIO_JACK
#include <pa_jack.h>
#endif

enum { STOP_SECONDS = 2, LOOK_NS = 2000000 };

static bool left_behind; /* a stop that hangs: PortAudio cannot be started again */

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

enum status device_system_start(void)
{
    if (left_behind)
        return fail(STATUS_FAILED, "the sound system hangs since a device went; start halo again");
    device_system_hush();
#ifdef HALO_PORTAUDIO_JACK
    PaJack_SetClientName("halo");
#endif
    device_jack_adopt(true);
    PaError error = Pa_Initialize();
    device_jack_adopt(false);
    device_system_unhush();
    if (error != paNoError)
        return fail(STATUS_FAILED, "cannot start the sound system: %s", Pa_GetErrorText(error));
    return STATUS_OK;
}

/* ---- stopping, on a thread that may be left behind ---- */

struct stop {
    PaStream *stream;
    atomic_bool done;
};

static void *stop_main(void *argument)
{
    struct stop *stop = argument;
    if (stop->stream)
        Pa_CloseStream(stop->stream); /* aborts it first; what fails here has gone */
    Pa_Terminate();
    stop->done = true;
    return NULL;
}

static bool wait_for(struct stop *stop)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    int64_t deadline = monotonic_ns() + STOP_SECONDS * INT64_C(1000000000);
    while (!stop->done && monotonic_ns() < deadline) {
        device_jack_wake();
        nanosleep(&pause, NULL);
    }
    return stop->done;
}

bool device_system_stop(PaStream *stream)
{
    struct stop *stop = calloc(1, sizeof *stop);
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the control thread's */
    if (stop)
        stop->stream = stream;
    bool started = stop && pthread_create(&thread, NULL, stop_main, stop) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    left_behind = true;
    if (started) {
        device_system_hush();
        left_behind = !wait_for(stop);
        device_system_unhush();
        if (left_behind)
            pthread_detach(thread);
        else
            pthread_join(thread, NULL);
    }
    if (!started || !left_behind)
        free(stop);
    return !left_behind;
}
