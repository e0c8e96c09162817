/* Windows of 4 to 84 taps. */
#include "gpu/kernel_window.cuh"

const struct window_kernels window_kernels_84 = {84, load_window, launch_window<84, 4>};
