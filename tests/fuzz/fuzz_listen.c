/* libFuzzer target for listen scripts. */
#include "fuzz.h"
#include "listen/listen_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct listen_script script;
    char *text = fuzz_text(data, size);
    size_t choices = size % 9 + 1;
    double apart = 0.05;
    fuzz_begin();
    enum status status = listen_script_parse(text, choices, apart, &script);
    fuzz_end(status);
    for (size_t i = 0; status == STATUS_OK && i < script.count; i++)
        if (script.switches[i].choice >= choices || !(script.switches[i].seconds >= 0) ||
            (i > 0 && !(script.switches[i].seconds - script.switches[i - 1].seconds >= apart)))
            abort();
    free(text);
    return 0;
}
