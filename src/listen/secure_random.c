#include "listen/secure_random.h"

#include <sodium.h>

enum status secure_random_start(void)
{
    if (sodium_init() < 0)
        return fail(STATUS_FAILED, "cannot draw trials: the system has no random source");
    return STATUS_OK;
}

uint32_t secure_random_below(uint32_t bound)
{
    return randombytes_uniform(bound);
}

void secure_random_hex(size_t bytes, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < 2 * bytes; i++)
        hex[i] = digits[randombytes_uniform(16)];
    hex[2 * bytes] = '\0';
}
