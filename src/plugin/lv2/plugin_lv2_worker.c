#include "plugin/lv2/plugin_lv2.h"

#include "base/realtime.h"
#include "base/ring.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAIL_BYTES = 1 << 16, /* most bytes that wait in one direction */
    /* most requests done after one run: each response may cause another request */
    REQUESTS_MOST = 256,
    POLL_MS = 5
};

/* Messages in a ring, each after its length; a message that does not fit is refused whole. */
struct mail {
    struct ring *bytes;
    unsigned char *packet;   /* buffer of the writer: length and message */
    unsigned char *received; /* buffer of the reader: message */
};

struct lv2_worker {
    LV2_Worker_Schedule feature;
    const LV2_Worker_Interface *interface; /* NULL: the plugin has no worker extension */
    LV2_Handle plugin;
    struct mail requests;
    struct mail responses;
    bool has_thread;
    bool is_paused;    /* the thread is paused, and lv2_worker_respond does the work */
    atomic_bool leave; /* asks the thread to end */
    pthread_t thread;
    pthread_mutex_t working; /* held by the thread while it works; never by the step */
};

static enum status mail_init(struct mail *mail)
{
    mail->packet = calloc(1, MAIL_BYTES);
    mail->received = calloc(1, MAIL_BYTES);
    if (!mail->packet || !mail->received)
        return fail_memory("a plugin's worker");
    return ring_create(1, MAIL_BYTES, "a plugin's worker", &mail->bytes);
}

static void mail_free(struct mail *mail)
{
    ring_destroy(mail->bytes);
    free(mail->packet);
    free(mail->received);
}

static LV2_Worker_Status mail_send(struct mail *mail, uint32_t size, const void *data)
{
    size_t length = sizeof size + size;
    if (length > MAIL_BYTES || ring_writable(mail->bytes) < length)
        return LV2_WORKER_ERR_NO_SPACE;
    memcpy(mail->packet, &size, sizeof size);
    if (size)
        memcpy(mail->packet + sizeof size, data, size);
    ring_write(mail->bytes, mail->packet, length);
    return LV2_WORKER_SUCCESS;
}

/* Read the next message into mail->received. False: there is none. */
HALO_REALTIME static bool mail_receive(struct mail *mail, uint32_t *size)
{
    if (ring_read(mail->bytes, size, sizeof *size) != sizeof *size)
        return false;
    ring_read(mail->bytes, mail->received, *size);
    return true;
}

static LV2_Worker_Status schedule(LV2_Worker_Schedule_Handle handle, uint32_t size,
                                  const void *data)
{
    struct lv2_worker *worker = handle;
    return mail_send(&worker->requests, size, data);
}

static LV2_Worker_Status respond(LV2_Worker_Respond_Handle handle, uint32_t size, const void *data)
{
    struct lv2_worker *worker = handle;
    return mail_send(&worker->responses, size, data);
}

HALO_REALTIME static bool do_request(struct lv2_worker *worker)
{
    uint32_t size;
    if (!mail_receive(&worker->requests, &size))
        return false;
    worker->interface->work(worker->plugin, respond, worker, size,
                            size ? worker->requests.received : NULL);
    return true;
}

HALO_REALTIME static bool deliver(struct lv2_worker *worker)
{
    uint32_t size;
    bool any = false;
    for (size_t i = 0; i < REQUESTS_MOST && mail_receive(&worker->responses, &size); i++) {
        if (worker->interface->work_response)
            worker->interface->work_response(worker->plugin, size,
                                             size ? worker->responses.received : NULL);
        any = true;
    }
    return any;
}

HALO_REALTIME bool lv2_worker_respond(struct lv2_worker *worker)
{
    if (!worker->interface)
        return false;
    bool works = !worker->has_thread || worker->is_paused, any = deliver(worker);
    for (size_t i = 0; works && i < REQUESTS_MOST && do_request(worker); i++) {
        deliver(worker);
        any = true;
    }
    if (worker->interface->end_run)
        worker->interface->end_run(worker->plugin);
    return any;
}

static void *worker_main(void *argument)
{
    struct lv2_worker *worker = argument;
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    while (!atomic_load(&worker->leave)) {
        pthread_mutex_lock(&worker->working);
        bool busy = do_request(worker);
        pthread_mutex_unlock(&worker->working);
        if (!busy)
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

enum status lv2_worker_create(struct lv2_worker **result)
{
    struct lv2_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return fail_memory("a plugin's worker");
    worker->feature = (LV2_Worker_Schedule){.handle = worker, .schedule_work = schedule};
    pthread_mutex_init(&worker->working, NULL);
    if (mail_init(&worker->requests) != STATUS_OK || mail_init(&worker->responses) != STATUS_OK) {
        lv2_worker_destroy(worker);
        return STATUS_FAILED;
    }
    *result = worker;
    return STATUS_OK;
}

LV2_Worker_Schedule *lv2_worker_feature(struct lv2_worker *worker)
{
    return &worker->feature;
}

void lv2_worker_serve(struct lv2_worker *worker, LilvInstance *instance)
{
    const LV2_Worker_Interface *interface =
        lilv_instance_get_extension_data(instance, LV2_WORKER__interface);
    worker->interface = interface && interface->work ? interface : NULL;
    worker->plugin = lilv_instance_get_handle(instance);
}

/* The thread has ordinary priority, since it loads files. */
enum status lv2_worker_start(struct lv2_worker *worker)
{
    if (!worker->interface)
        return STATUS_OK;
    worker->has_thread =
        thread_start(&worker->thread, "halo lv2 worker", THREAD_ORDINARY, worker_main, worker) == 0;
    return worker->has_thread ? STATUS_OK : fail(CAUSE_NO_MEMORY, "cannot start a plugin's worker");
}

void lv2_worker_pause(struct lv2_worker *worker)
{
    pthread_mutex_lock(&worker->working);
    worker->is_paused = true;
}

void lv2_worker_resume(struct lv2_worker *worker)
{
    worker->is_paused = false;
    pthread_mutex_unlock(&worker->working);
}

bool lv2_worker_serves(const struct lv2_worker *worker)
{
    return worker->interface != NULL;
}

void lv2_worker_forget(struct lv2_worker *worker)
{
    uint32_t size;
    while (mail_receive(&worker->requests, &size) || mail_receive(&worker->responses, &size))
        continue;
}

void lv2_worker_stop(struct lv2_worker *worker)
{
    if (!worker || !worker->has_thread)
        return;
    atomic_store(&worker->leave, true);
    pthread_join(worker->thread, NULL);
    worker->has_thread = false;
}

void lv2_worker_destroy(struct lv2_worker *worker)
{
    if (!worker)
        return;
    mail_free(&worker->requests);
    mail_free(&worker->responses);
    pthread_mutex_destroy(&worker->working);
    free(worker);
}
