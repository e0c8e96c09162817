/* libFuzzer target for the line in front of saved plans of transforms. */
#include "fuzz.h"
#include "signal/fft_wisdom.h"
#include "signal/fftw_library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!library_is_there(&fftw_library))
        abort();
    char *text = fuzz_text(data, size);
    const char *wisdom = fft_wisdom_check(text, size);
    if (wisdom && (wisdom <= text || wisdom > text + size || wisdom[-1] != '\n'))
        abort();
    free(text);
    return 0;
}
