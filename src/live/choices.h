/* The masks that a stream can switch between, prepared for one convolver.
 *
 * The first is the convolver's own. A switch requested during another one follows it; only the
 * last request counts. A mask can be replaced; if it sounds, the new one fades in.
 * Choices count from 0. Threads: the control thread, which calls choices_poll often.
 */
#ifndef HALO_CHOICES_H
#define HALO_CHOICES_H

#include "convolve/convolver.h"
#include "mask/mask.h"

struct choices;

struct choices_way {
    uint64_t frames;
    enum switch_shape shape;
};

/* masks[0] is the convolver's; the others get prepared. Errors: memory, incompatible masks. */
MUST_CHECK enum status choices_create(struct filter *convolver, struct mask *const *masks,
                                      size_t count, struct choices **choices);
void choices_destroy(struct choices *choices); /* before the convolver */

/* Switch now, or at frame `at` if that is later; see also CONVOLVER_HELD. */
void choices_ask(struct choices *choices, size_t choice, uint64_t at,
                 const struct choices_way *way);

/* Replace a choice's mask; if it sounds the new one fades in (`way` NULL: at the next
 * choices_ask). `mask` may be destroyed afterwards. Errors, which leave the old one: memory, a mask
 * that does not fit, a switch in progress. */
MUST_CHECK enum status choices_replace(struct choices *choices, size_t choice,
                                       const struct mask *mask, const struct choices_way *way);

/* Advance pending switches. True: the switch that began at frame *at ended, and *choice sounds. */
bool choices_poll(struct choices *choices, size_t *choice, uint64_t *at);

/* While no step runs: whether a switch to *choice has begun, at frame *at, and not ended. */
bool choices_are_within_switch(const struct choices *choices, size_t *choice, uint64_t *at);

size_t choices_asked(const struct choices *choices);    /* the last request */
size_t choices_sounding(const struct choices *choices); /* during a switch: the old one */
bool choices_are_switching(const struct choices *choices);

#endif
