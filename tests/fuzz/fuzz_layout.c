/* libFuzzer target for names of channel layouts, and for map= of a mask of two channels on a sound
 * of 5.1. */
#include "chain/mask_options.h"
#include "fuzz.h"

enum { CHANNELS = 6, TAPS = 4 };

static void read_layout(const char *text)
{
    struct channel_layout layout, again;
    size_t channels, same;
    char name[CHANNEL_LAYOUT_TEXT];
    fuzz_begin();
    enum status status = channel_layout_parse(text, &layout, &channels);
    if (status == STATUS_OK && channel_layout_is_known(layout)) {
        channel_layout_name(layout, channels, name);
        if (channel_layout_parse(name, &again, &same) != STATUS_OK || same != channels ||
            !channel_layout_equals(layout, again))
            abort();
    }
    fuzz_end(status);
}

static void check(const struct mask *mask)
{
    if (mask->path_count != CHANNELS || mask->inputs != CHANNELS || mask->outputs != CHANNELS)
        abort();
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input >= CHANNELS || mask->paths[p].column >= mask->columns)
            abort();
}

static void read_map(char *text)
{
    struct mask_map_pairs map = {0};
    struct stream_format format = {.rate = 48000, .channels = CHANNELS}, guessed = {0};
    struct mask *mask = NULL;
    fuzz_begin();
    format.layout = channel_layout_usual(CHANNELS);
    enum status status = mask_create("mask", 2, TAPS, &mask);
    for (char *word; status == STATUS_OK && (word = strsep(&text, ";"));)
        status = mask_map_add(&map, word);
    if (status == STATUS_OK)
        mask_map_guess_sound(&map, &guessed);
    if (status == STATUS_OK)
        status = mask_map_route(&map, &format, mask);
    if (status == STATUS_OK)
        status = mask_map_pass(&format, mask);
    if (status == STATUS_OK)
        check(mask);
    mask_destroy(mask);
    fuzz_end(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    read_layout(text);
    read_map(text);
    free(text);
    return 0;
}
