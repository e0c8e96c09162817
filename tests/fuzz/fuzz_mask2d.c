/* libFuzzer target for the reader of two-dimensional masks. */
#include "design/mask2d.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Properties of any mask that was read. */
static void check(const struct mask2d *mask)
{
    size_t count = mask->rows * mask->columns;
    if (count == 0 || count > MASK2D_TAPS_MOST)
        abort();
    for (size_t i = 0; i < count; i++)
        if (!isfinite(mask->taps[i]))
            abort();
    for (size_t i = 0; mask->is_separable && i < mask->rows; i++)
        if (!isfinite(mask->down[i]))
            abort();
    for (size_t j = 0; mask->is_separable && j < mask->columns; j++)
        if (!isfinite(mask->across[j]))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[1024] = "";
    struct mask2d *mask = NULL;
    FILE *stream = fdopen(memfd_create("input", 0), "w+b");
    if (!stream || (size > 0 && fwrite(data, size, 1, stream) != 1))
        abort();
    rewind(stream);
    log_capture(message, sizeof message);
    enum status status = mask2d_read("input.mask2d", stream, &mask);
    log_capture(NULL, 0);
    if ((status == STATUS_OK) != (message[0] == '\0')) /* an error text, and only on failure */
        abort();
    if (status == STATUS_OK)
        check(mask);
    mask2d_destroy(mask);
    fclose(stream);
    return 0;
}
