/* The masks that a stream can sound through: prepared ahead, switched to one at a time.
 *
 * They belong to one convolver, the first being the one that it was created with. A switch
 * that is asked for while another is under way follows it, the last one asked for winning.
 * A mask may be replaced by another, which fades in where it is the one that sounds.
 * Choices count from 0 here. Threads: the control thread, which calls choices_poll often.
 */
#ifndef HALO_CHOICES_H
#define HALO_CHOICES_H

#include "convolve/convolver.h"
#include "mask/mask.h"

struct choices;

/* How a switch is done. */
struct choices_way {
    uint64_t frames;
    enum switch_shape shape;
};

/* masks[0] is the convolver's; the others are prepared. Errors: memory, masks that do not go
 * together. */
MUST_CHECK enum status choices_create(struct filter *convolver, struct mask *const *masks,
                                      size_t count, struct choices **choices);
void choices_destroy(struct choices *choices); /* before the convolver */

/* From now on, or from `at` on where that is later. */
void choices_ask(struct choices *choices, size_t choice, uint64_t at,
                 const struct choices_way *way);

/* Another mask for a choice, which fades in where the choice sounds, unless `way` is NULL and
 * the switch to it is still to be asked for. `mask` may go afterwards. Errors: memory, a mask that
 * does not fit, a change that is under way; the old one goes on then. */
MUST_CHECK enum status choices_replace(struct choices *choices, size_t choice,
                                       const struct mask *mask, const struct choices_way *way);

/* Goes on with what was asked for. True: a switch has come to its end that began at *at, and
 * *choice sounds. Errors of switching do not occur. */
bool choices_poll(struct choices *choices, size_t *choice, uint64_t *at);

size_t choices_asked(const struct choices *choices); /* the last one asked for */
size_t
choices_sounding(const struct choices *choices); /* or that does no longer, within a switch */
bool choices_are_switching(const struct choices *choices);

#endif
