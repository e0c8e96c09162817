#include "mask/mask_share.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct mask_form {
    unsigned char key[MASK_FORM_KEY];
    size_t key_size;
    void *form;
    void (*destroy)(void *form);
    struct mask_form *next;
};

struct mask_share {
    void (*give_back)(void *owner, struct mask *mask);
    void *owner;
    pthread_mutex_t lock;
    struct mask_form *forms; /* protected by `lock` */
    size_t bytes;            /* protected by `lock`: bytes of all forms */
};

enum status mask_share_begin(struct mask *mask, void (*give_back)(void *owner, struct mask *mask),
                             void *owner)
{
    struct mask_share *share = calloc(1, sizeof *share);
    if (!share)
        return fail_memory("a mask");
    share->give_back = give_back;
    share->owner = owner;
    pthread_mutex_init(&share->lock, NULL);
    mask->share = share;
    return STATUS_OK;
}

void mask_share_end(struct mask *mask)
{
    struct mask_share *share = mask->share;
    mask->share = NULL;
    if (!share)
        return;
    while (share->forms) {
        struct mask_form *form = share->forms;
        share->forms = form->next;
        form->destroy(form->form);
        free(form);
    }
    pthread_mutex_destroy(&share->lock);
    free(share);
}

bool mask_share_give_back(struct mask *mask)
{
    if (!mask->share)
        return false;
    mask->share->give_back(mask->share->owner, mask);
    return true;
}

/* Finds a form. The lock is held. */
static struct mask_form *find(const struct mask_share *share, const void *key, size_t size)
{
    struct mask_form *form = share->forms;
    while (form && (form->key_size != size || memcmp(form->key, key, size) != 0))
        form = form->next;
    return form;
}

void *mask_share_form(const struct mask *mask, const void *key, size_t size)
{
    struct mask_share *share = mask->share;
    if (!share)
        return NULL;
    pthread_mutex_lock(&share->lock);
    const struct mask_form *found = find(share, key, size);
    pthread_mutex_unlock(&share->lock);
    return found ? found->form : NULL;
}

bool mask_share_keep(const struct mask *mask, const void *key, size_t size, void *form,
                     size_t bytes, void (*destroy)(void *form))
{
    struct mask_share *share = mask->share;
    struct mask_form *entry = calloc(1, sizeof *entry);
    if (!entry)
        return false;
    *entry = (struct mask_form){.key_size = size, .form = form, .destroy = destroy};
    memcpy(entry->key, key, size);
    pthread_mutex_lock(&share->lock);
    bool is_new = !find(share, key, size);
    if (is_new) {
        entry->next = share->forms;
        share->forms = entry;
        share->bytes += bytes;
    }
    pthread_mutex_unlock(&share->lock);
    if (!is_new)
        free(entry);
    return is_new;
}

size_t mask_share_bytes(const struct mask *mask)
{
    size_t bytes = mask->columns * mask->taps * sizeof *mask->coefficients;
    if (!mask->share)
        return bytes;
    pthread_mutex_lock(&mask->share->lock);
    bytes += mask->share->bytes;
    pthread_mutex_unlock(&mask->share->lock);
    return bytes;
}
