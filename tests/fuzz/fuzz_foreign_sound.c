/* libFuzzer target for the bytes by which foreign sounds are recognised: the first half begins the
 * file, the second ends it. */
#include "sound/file/sound_format.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct foreign_sound sound = {0};
    size_t half = size / 2;
    uint8_t *begin = malloc(half + !half), *end = malloc(size - half + !(size - half));
    if (!begin || !end)
        abort();
    memcpy(begin, data, half);
    memcpy(end, data + half, size - half);
    if (foreign_sound_recognise(begin, half, end, size - half, &sound) &&
        (!sound.name || strncmp(sound.codec, "pcm_", 4) != 0))
        abort();
    free(begin);
    free(end);
    return 0;
}
