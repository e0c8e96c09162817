/* libFuzzer target for the reader of frequency responses, for what sees them among masks, and for
 * the encodings of text. */
#include "base/plain_text.h"
#include "import/mask_reader.h"
#include "import/response_file.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Properties of any response that was read. */
static void check(const struct response_file *response)
{
    const struct level_curve *curve = &response->curve;
    if (level_curve_count(curve) < 2 || response->chosen < 2 ||
        response->chosen > response->columns)
        abort();
    for (size_t i = 0; i < level_curve_count(curve); i++)
        if (!isfinite(curve->octaves.values[i]) || !isfinite(curve->levels.values[i]) ||
            (i > 0 && curve->octaves.values[i] <= curve->octaves.values[i - 1]))
            abort();
    if (!isfinite(level_curve_mean(curve)) || !isfinite(level_curve_at(curve, 0)) ||
        !isfinite(level_curve_at(curve, 440)) || !isfinite(level_curve_at(curve, INFINITY)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[1024] = "";
    struct response_file response;
    struct mask *mask = NULL;
    const struct mask_load_options options = {0};
    FILE *stream = fdopen(memfd_create("input", 0), "w+b");
    if (!stream || (size > 0 && fwrite(data, size, 1, stream) != 1))
        abort();
    rewind(stream);
    const char *column = size % 4 == 0 ? "raw" : size % 4 == 1 ? "3" : NULL;
    if (plain_text_convert(&stream).text || ftello(stream) != 0)
        abort();
    log_capture(message, sizeof message);
    enum status status = response_file_read("input.cal", stream, column, &response);
    log_capture(NULL, 0);
    if ((status == STATUS_OK) != (message[0] == '\0')) /* an error text, and only on failure */
        abort();
    if (status == STATUS_OK)
        check(&response);
    if (status == STATUS_OK)
        response_file_free(&response);
    rewind(stream);
    log_capture(message, sizeof message);
    if (mask_reader_read(&mask_reader_response, "input.cal", stream, &options, &mask) ==
            STATUS_OK &&
        mask)
        abort();
    log_capture(NULL, 0);
    fclose(stream);
    return 0;
}
