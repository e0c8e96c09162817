/* Words that depend on a number: "1 mask", "2 masks"; "there is 1", "there are 2". */
#ifndef HALO_PLURAL_H
#define HALO_PLURAL_H

#include <stdint.h>

/* The plural ending of a noun: "" for 1, else "s". */
static inline const char *plural_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static inline const char *plural_are(uint64_t count)
{
    return count == 1 ? "is" : "are";
}

#endif
