#define FOR_ROWS(width, function, ...)                                                             \
    ((width) == 512    ? function<512>(__VA_ARGS__)                                                \
     : (width) == 1024 ? function<1024>(__VA_ARGS__)                                               \
     : (width) == 2048 ? function<2048>(__VA_ARGS__)                                               \
                       : function<4096>(__VA_ARGS__))

#include "gpu/arrays_long.cuh"

const struct arrays_long arrays_long_double = {long_table_bytes<double2>, long_fill_table<double2>,
                                               long_form<double2>, long_run<double2>};
