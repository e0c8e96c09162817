/* Windows of 88 to 120 taps. */
#include "gpu/kernel_window.cuh"

const struct window_kernels window_kernels_120 = {120, load_window, launch_window<120, 88>};
