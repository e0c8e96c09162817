/* libFuzzer target for states of halo.clap: what is accepted is in range, and printed it is the
 * same again. */
#include "clap_effect.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), printed[SAVED_STATE_MOST];
    struct saved_state state, again;
    if (saved_state_parse(&state, text)) {
        for (size_t p = 0; p < EFFECT_CONTROLS; p++)
            if (state.values[p] != clap_effect_param_clamped(p, state.values[p]))
                abort();
        size_t length = saved_state_print(&state, printed);
        if (length >= sizeof printed || length != strlen(printed))
            abort();
        if (!saved_state_parse(&again, printed) || strcmp(state.file, again.file) != 0 ||
            memcmp(state.values, again.values, sizeof state.values) != 0)
            abort();
    }
    free(text);
    return 0;
}
