#include "convolve/convolve2d.h"

#include "convolve/convolver.h"

#include <string.h>

#ifdef HALO_NO_CUDA
const struct convolve2d_kind convolve2d_cuda = {.name = "cuda"}; /* empty: create refuses */
#endif

/* In auto's order of preference. */
static const struct convolve2d_kind *const kinds[] = {&convolve2d_cuda, &convolve2d_cpu};
enum { KINDS = sizeof kinds / sizeof *kinds };

size_t convolve2d_before(const struct mask2d *mask)
{
    return mask->rows - 1 - mask->rows / 2;
}

static ptrdiff_t reflect(ptrdiff_t at, ptrdiff_t count)
{
    ptrdiff_t period = 2 * (count - 1);
    if (period == 0)
        return 0;
    at = (at % period + period) % period;
    return at < count ? at : period - at;
}

ptrdiff_t convolve2d_column(enum convolve2d_boundary boundary, ptrdiff_t at, size_t columns)
{
    ptrdiff_t count = (ptrdiff_t)columns;
    if (at >= 0 && at < count)
        return at;
    switch (boundary) {
    case CONVOLVE2D_REPLICATE:
        return at < 0 ? 0 : count - 1;
    case CONVOLVE2D_REFLECT:
        return reflect(at, count);
    case CONVOLVE2D_ZERO:
        break;
    }
    return -1;
}

static const struct convolve2d_kind *choose(const struct convolve2d_settings *settings,
                                            const struct mask2d *mask)
{
    bool is_auto = strcmp(settings->backend, "auto") == 0;
    for (size_t k = 0; k < KINDS; k++)
        if (is_auto ? kinds[k]->create && (!kinds[k]->suits || kinds[k]->suits(settings, mask))
                    : strcmp(kinds[k]->name, settings->backend) == 0)
            return kinds[k];
    return NULL;
}

enum status convolve2d_create(const struct convolve2d_settings *settings, const struct mask2d *mask,
                              struct convolve2d **result)
{
    const struct convolve2d_kind *kind = choose(settings, mask);
    if (!kind)
        return fail(CAUSE_USAGE, "no backend '%s' for 2-D masks", settings->backend);
    if (!kind->create)
        return fail_no_cuda();
    struct convolve2d *convolve;
    bool free_to_choose = strcmp(settings->backend, "auto") == 0 && kind != &convolve2d_cpu;
    log_as_notes(free_to_choose);
    enum status status = kind->create(settings, mask, &convolve);
    log_as_notes(false);
    if (status != STATUS_OK && free_to_choose) {
        kind = &convolve2d_cpu;
        status = kind->create(settings, mask, &convolve);
    }
    if (status != STATUS_OK)
        return status;
    convolve->kind = kind;
    convolve->settings = *settings;
    convolve->before = convolve2d_before(mask);
    convolve->after = mask->rows / 2;
    *result = convolve;
    return STATUS_OK;
}

void convolve2d_destroy(struct convolve2d *convolve)
{
    if (convolve)
        convolve->kind->destroy(convolve);
}
