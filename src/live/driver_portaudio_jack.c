#include "live/driver_portaudio_jack.h"

#include <dlfcn.h>
#include <pthread.h>

/* Without JACK's header, which may be missing; unchanged since 2002. Exported, so that PortAudio
 * finds these before JACK's. */
#define FOUND_FIRST __attribute__((visibility("default")))
typedef void shutdown_callback(void *context);
FOUND_FIRST void jack_on_shutdown(void *client, shutdown_callback *callback, void *context);
FOUND_FIRST int jack_port_unregister(void *client, void *port);
FOUND_FIRST int jack_deactivate(void *client);
FOUND_FIRST int jack_client_close(void *client);

static _Thread_local bool adopting;

static struct {
    pthread_mutex_t lock;
    void *client;                /* lock; PortAudio's */
    shutdown_callback *callback; /* lock; PortAudio's, and its context */
    void *context;               /* lock */
    bool gone;                   /* lock; the server */
    bool leaving;                /* lock; PortAudio is freeing what its callback uses */
} jack = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* JACK's own function of that name. */
union beneath {
    void *address;
    void (*on_shutdown)(void *client, shutdown_callback *callback, void *context);
    int (*unregister)(void *client, void *port);
    int (*end)(void *client);
};

static union beneath beneath(const char *name)
{
    return (union beneath){dlsym(RTLD_NEXT, name)};
}

static void wake(void)
{
    if (jack.client && jack.gone && !jack.leaving)
        jack.callback(jack.context);
}

static void server_gone(void *client)
{
    pthread_mutex_lock(&jack.lock);
    if (client == jack.client)
        jack.gone = true;
    wake();
    pthread_mutex_unlock(&jack.lock);
}

void jack_on_shutdown(void *client, shutdown_callback *callback, void *context)
{
    union beneath real = beneath("jack_on_shutdown");
    if (!adopting) {
        real.on_shutdown(client, callback, context);
        return;
    }
    pthread_mutex_lock(&jack.lock);
    jack.client = client;
    jack.callback = callback;
    jack.context = context;
    jack.gone = jack.leaving = false;
    pthread_mutex_unlock(&jack.lock);
    real.on_shutdown(client, server_gone, client);
}

static bool is_leaving(const void *client)
{
    pthread_mutex_lock(&jack.lock);
    bool ours = client == jack.client;
    if (ours)
        jack.leaving = true;
    pthread_mutex_unlock(&jack.lock);
    return ours;
}

int jack_port_unregister(void *client, void *port)
{
    union beneath real = beneath("jack_port_unregister");
    bool ours = is_leaving(client);
    int result = real.unregister(client, port);
    return ours ? 0 : result;
}

int jack_deactivate(void *client)
{
    union beneath real = beneath("jack_deactivate");
    bool ours = is_leaving(client);
    int result = real.end(client);
    return ours ? 0 : result;
}

int jack_client_close(void *client)
{
    union beneath real = beneath("jack_client_close");
    bool ours = is_leaving(client);
    int result = real.end(client);
    if (!ours)
        return result;
    pthread_mutex_lock(&jack.lock);
    jack.client = NULL;
    pthread_mutex_unlock(&jack.lock);
    return 0;
}

void portaudio_jack_adopt(bool begin)
{
    adopting = begin;
}

void portaudio_jack_wake(void)
{
    pthread_mutex_lock(&jack.lock);
    wake();
    pthread_mutex_unlock(&jack.lock);
}
