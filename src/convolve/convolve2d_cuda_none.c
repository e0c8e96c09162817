/* Stands in for a GPU's way with pictures where there is none. */
#include "convolve/convolve2d.h"

static bool suits(const struct convolve2d_settings *settings, const struct mask2d *mask)
{
    (void)settings, (void)mask;
    return false;
}

static enum status refuse(const struct convolve2d_settings *settings, const struct mask2d *mask,
                          struct convolve2d **convolve)
{
    (void)settings, (void)mask, (void)convolve;
    return fail(STATUS_FAILED, "this build has no CUDA (halo --version says why); install the CUDA "
                               "Toolkit and build again, or use --backend cpu");
}

const struct convolve2d_kind convolve2d_cuda = {.name = "cuda", .suits = suits, .create = refuse};
