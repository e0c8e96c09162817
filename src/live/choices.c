#include "live/choices.h"

#include <stdlib.h>

struct choices {
    struct filter *convolver;
    size_t count;
    struct convolver_mask **masks;
    size_t sounding;
    size_t asked;
    uint64_t at; /* of the requested switch */
    struct choices_way way;
    bool waiting;   /* a request is not sent yet */
    bool switching; /* to `going` */
    size_t going;
    const struct convolver_mask *heard;
    struct convolver_mask *replaced; /* released once it is silent; NULL: none */
};

enum status choices_create(struct filter *convolver, struct mask *const *masks, size_t count,
                           struct choices **result)
{
    enum status status = STATUS_OK;
    struct choices *choices = calloc(1, sizeof *choices);
    if (!choices || !(choices->masks = calloc(count, sizeof *choices->masks))) {
        status = fail_memory("masks to choose from");
        goto fail;
    }
    choices->convolver = convolver;
    choices->count = count;
    choices->masks[0] = convolver_first_mask(convolver);
    choices->heard = choices->masks[0];
    for (size_t i = 1; i < count; i++)
        if ((status = convolver_prepare(convolver, masks[i], &choices->masks[i])))
            goto fail;
    *result = choices;
    return STATUS_OK;
fail:
    choices_destroy(choices); /* the masks go with the convolver */
    return status;
}

void choices_destroy(struct choices *choices)
{
    if (!choices)
        return;
    free(choices->masks);
    free(choices);
}

void choices_ask(struct choices *choices, size_t choice, uint64_t at, const struct choices_way *way)
{
    choices->asked = choice;
    choices->at = at;
    choices->way = *way;
    choices->waiting = true;
}

enum status choices_replace(struct choices *choices, size_t choice, const struct mask *mask,
                            const struct choices_way *way)
{
    if (choices->replaced || choices->switching)
        return fail(CAUSE_BUSY, "cannot replace mask %s: a switch is in progress; try again",
                    mask->name);
    struct convolver_mask *prepared;
    TRY(convolver_prepare(choices->convolver, mask, &prepared));
    struct convolver_mask *old = choices->masks[choice];
    choices->masks[choice] = prepared;
    if (choices->heard != old) {
        convolver_release(choices->convolver, old);
        return STATUS_OK;
    }
    choices->replaced = old;
    if (way && !choices->waiting)
        choices_ask(choices, choice, 0, way);
    return STATUS_OK;
}

static void send(struct choices *choices)
{
    const struct convolver_switch to = {
        .to = choices->masks[choices->asked],
        .at = choices->at,
        .frames = choices->way.frames,
        .shape = choices->way.shape,
    };
    choices->waiting = false;
    if (to.to == choices->heard || convolver_switch(choices->convolver, &to) != STATUS_OK)
        return;
    choices->going = choices->asked;
    choices->switching = true;
}

bool choices_poll(struct choices *choices, size_t *choice, uint64_t *at)
{
    bool ended = choices->switching && convolver_switched(choices->convolver, at);
    if (ended) {
        choices->switching = false;
        choices->sounding = *choice = choices->going;
        choices->heard = choices->masks[choices->sounding];
        convolver_release(choices->convolver, choices->replaced);
        choices->replaced = NULL;
    }
    if (choices->waiting && !choices->switching)
        send(choices);
    return ended;
}

bool choices_are_within_switch(const struct choices *choices, size_t *choice, uint64_t *at)
{
    *choice = choices->going;
    return choices->switching && convolver_is_within_switch(choices->convolver, at);
}

size_t choices_asked(const struct choices *choices)
{
    return choices->asked;
}

size_t choices_sounding(const struct choices *choices)
{
    return choices->sounding;
}

bool choices_are_switching(const struct choices *choices)
{
    return choices->switching || choices->waiting;
}
