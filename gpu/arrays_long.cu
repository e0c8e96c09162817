#define FOR_ROWS(width, function, ...)                                                             \
    ((width) == 2048 ? function<2048>(__VA_ARGS__) : function<4096>(__VA_ARGS__))

#include "gpu/arrays_long.cuh"

const struct arrays_long arrays_long_single = {long_table_bytes<float2>, long_fill_table<float2>,
                                               long_form<float2>, long_run<float2>};
