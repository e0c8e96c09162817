/* libFuzzer target for the figures that are kept of a machine. */
#include "convolve/machine_speed.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct machine_speed speed = machine_speed_default;
    char *text = fuzz_text(data, size);
    if (machine_speed_parse(text, size, "halo 1, 4 of processor A, gpu B", &speed))
        for (size_t f = 0; f < SPEED_FIGURES; f++)
            if (!(speed.value[f] > 0 && speed.value[f] < 1e3))
                abort();
    free(text);
    return 0;
}
