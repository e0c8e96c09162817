/* A mask that many convolvers use, one after the other or at once, with what each kind of them made
 * of it, so that the next one need not.
 *
 * A *form* is what a convolver computed of the mask, such as its spectra: immutable, found by a
 * key, the bytes of a struct without padding, and owned by the mask. Threads: any, but
 * mask_share_begin and mask_share_end, which the mask's owner calls.
 */
#ifndef HALO_MASK_SHARE_H
#define HALO_MASK_SHARE_H

#include "base/status.h"
#include "mask/mask.h"

enum { MASK_FORM_KEY = 64 }; /* bytes, at most */

/* From now on mask_destroy calls give_back(owner, mask) instead. Errors: memory. */
MUST_CHECK enum status
mask_share_begin(struct mask *mask, void (*give_back)(void *owner, struct mask *mask), void *owner);

/* Free all forms: the mask has one owner again. */
void mask_share_end(struct mask *mask);

/* For mask_destroy. False: it is not shared. */
bool mask_share_give_back(struct mask *mask);

/* NULL: there is none of that key, or the mask is not shared. */
void *mask_share_form(const struct mask *mask, const void *key, size_t size);

/* The mask, which is shared, owns `form` from now on and frees it by destroy(); `bytes` are what it
 * takes. False: it does not: there is one of that key, or no memory. */
bool mask_share_keep(const struct mask *mask, const void *key, size_t size, void *form,
                     size_t bytes, void (*destroy)(void *form));

/* What the mask takes with its forms. */
size_t mask_share_bytes(const struct mask *mask);

#endif
