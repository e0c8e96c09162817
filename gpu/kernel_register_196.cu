/* Windows of 124 to 196 taps. */
#include "gpu/kernel_window.cuh"

const struct window_kernels window_kernels_196 = {196, load_window, launch_window<196, 124>};
