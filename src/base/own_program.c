#include "base/own_program.h"

#include <stdlib.h>

const char *own_program(void)
{
    const char *other = getenv("HALO_PROGRAM");
    return other && *other ? other : "/proc/self/exe";
}
