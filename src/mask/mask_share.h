/* A mask that many convolvers use, one after the other or at once. It keeps the forms that
 * convolvers made of it, so that later ones need not compute them.
 *
 * A *form* is a convolver's result for the mask, such as its spectra. It is immutable, is found by
 * a key (the bytes of a struct without padding), and belongs to the mask. Threads: any, except that
 * only the mask's owner calls mask_share_begin and mask_share_end.
 */
#ifndef HALO_MASK_SHARE_H
#define HALO_MASK_SHARE_H

#include "base/status.h"
#include "mask/mask.h"

enum { MASK_FORM_KEY = 64 }; /* bytes, the most */

/* From now on, mask_destroy calls give_back(owner, mask) instead of freeing it. Errors: memory. */
MUST_CHECK enum status
mask_share_begin(struct mask *mask, void (*give_back)(void *owner, struct mask *mask), void *owner);

/* Frees all forms. The mask has one owner again. */
void mask_share_end(struct mask *mask);

/* For mask_destroy: gives a shared mask back to its owner. False: the mask is not shared. */
bool mask_share_give_back(struct mask *mask);

/* Finds a form by its key. NULL: there is none, or the mask is not shared. */
void *mask_share_form(const struct mask *mask, const void *key, size_t size);

/* Gives a form of `bytes` bytes to a shared mask, which frees it by destroy(). False: the caller
 * keeps the form, since there is one with that key, or there is no memory. */
bool mask_share_keep(const struct mask *mask, const void *key, size_t size, void *form,
                     size_t bytes, void (*destroy)(void *form));

/* Bytes of the mask and its forms. */
size_t mask_share_bytes(const struct mask *mask);

#endif
