#include "sound/stated_layout.h"

#include "base/plural.h"

static void note_layout(const char *input, const struct stream_format *format)
{
    char text[CHANNEL_LAYOUT_TEXT];
    note_detail("%s: channel layout %s", input,
                channel_layout_name(format->layout, format->channels, text));
}

/* Ambisonics of Furse and Malham may lack the height of higher orders. */
static bool fits(struct channel_layout layout, size_t channels, size_t named)
{
    bool is_mixed = layout.ambisonic == AMBISONIC_FUMA && channels <= named;
    return !channel_layout_is_known(layout) || channels == named || is_mixed;
}

enum status stated_layout_apply(const char *name, const char *input, struct stream_format *format)
{
    struct channel_layout layout, own = format->layout;
    size_t named;
    char text[CHANNEL_LAYOUT_TEXT];
    if (!name) {
        note_layout(input, format);
        return STATUS_OK;
    }
    TRY(channel_layout_parse(name, &layout, &named));
    if (!fits(layout, format->channels, named))
        return fail(CAUSE_USAGE, "--layout %s is for %zu channel%s, but %s has %zu", name, named,
                    plural_s(named), input, format->channels);
    bool contradicts = channel_layout_is_known(own) && !channel_layout_equals(own, layout) &&
                       !channel_layout_equals(own, channel_layout_implied(format->channels));
    if (contradicts)
        note("%s says that its channels are %s; --layout takes them for %s", input,
             channel_layout_name(own, format->channels, text), name);
    format->layout = layout;
    note_layout(input, format);
    return STATUS_OK;
}
