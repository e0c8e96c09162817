#include "live/choice_loader.h"

#include "base/thread.h"
#include "chain/stage_mask.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct choice_loader {
    char *text;
    struct stream_format format;
    struct stage_settings settings;
    struct mask *mask;
    char reason[CHOICE_LOADER_REASON];
    atomic_bool is_read;
    atomic_int users; /* its thread and its owner; the last one frees it */
};

static void release(struct choice_loader *loader)
{
    if (atomic_fetch_sub(&loader->users, 1) > 1)
        return;
    mask_destroy(loader->mask);
    free(loader->text);
    free(loader);
}

static void *read_mask(void *context)
{
    struct choice_loader *loader = context;
    const struct log_keeper before = log_keep_in(loader->reason, sizeof loader->reason);
    if (stage_mask_read(loader->text, &loader->format, &loader->settings, &loader->mask) !=
        STATUS_OK)
        loader->mask = NULL;
    log_keep_again(&before);
    atomic_store(&loader->is_read, true);
    release(loader);
    return NULL;
}

enum status choice_loader_start(const char *text, const struct stream_format *format,
                                const struct stage_settings *settings,
                                struct choice_loader **result)
{
    pthread_t thread;
    struct choice_loader *loader = calloc(1, sizeof *loader);
    if (!loader || !(loader->text = strdup(text))) {
        free(loader);
        return fail_memory("a mask");
    }
    loader->format = *format;
    loader->settings = *settings;
    atomic_init(&loader->users, 2);
    int error = thread_start(&thread, "halo load", THREAD_ORDINARY, read_mask, loader);
    if (error != 0) {
        atomic_store(&loader->users, 1);
        release(loader);
        return fail(CAUSE_NO_MEMORY, "cannot start a thread for a mask: %s", thread_error(error));
    }
    pthread_detach(thread);
    *result = loader;
    return STATUS_OK;
}

bool choice_loader_take(struct choice_loader *loader, struct mask **mask,
                        char reason[CHOICE_LOADER_REASON])
{
    if (!atomic_load(&loader->is_read))
        return false;
    memcpy(reason, loader->reason, sizeof loader->reason);
    *mask = loader->mask;
    loader->mask = NULL;
    release(loader);
    return true;
}

void choice_loader_abandon(struct choice_loader *loader)
{
    if (loader)
        release(loader);
}
