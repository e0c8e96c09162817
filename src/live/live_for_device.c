/* --for-device: what is heard depends on the device that is played to. */
#include "base/plural.h"
#include "live/live_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one rule ---- */

/* NAME=N is a mask of what the command line asks for; the others are chains of their own. */
struct device_rule {
    size_t length; /* of NAME */
    bool is_mask;
    size_t number; /* of the mask; 0: dry */
    enum preset_place place;
    const char *text; /* of its source */
};

static const struct {
    const char *mark;
    enum preset_place place;
} chain_marks[] = {{"=preset:", PRESET_SAVED}, {"=chain:", PRESET_CHAIN_FILE}};

static bool read_chain(const char *text, struct device_rule *rule)
{
    for (size_t i = 0; i < sizeof chain_marks / sizeof *chain_marks; i++) {
        const char *at = strstr(text, chain_marks[i].mark);
        if (!at || at == text || !at[strlen(chain_marks[i].mark)])
            continue;
        *rule = (struct device_rule){.length = (size_t)(at - text),
                                     .place = chain_marks[i].place,
                                     .text = at + strlen(chain_marks[i].mark)};
        return strlen(rule->text) < PATH_MAX;
    }
    return false;
}

/* False: it is of none of the forms. */
static bool read_rule(const char *text, struct device_rule *rule)
{
    const char *equals = strrchr(text, '=');
    char *end = NULL;
    if (read_chain(text, rule))
        return true;
    if (!equals || equals == text || equals[1] < '0' || equals[1] > '9')
        return false;
    *rule = (struct device_rule){.length = (size_t)(equals - text), .is_mask = true};
    rule->number = strtoul(equals + 1, &end, 10);
    return *end == '\0' && rule->number <= LIVE_CHOICES_MOST;
}

enum status live_for_device_parse(void *context, const struct option_row *row, const char *value)
{
    struct live_options *options = context;
    struct device_rule rule;
    if (!read_rule(value, &rule))
        return fail(CAUSE_USAGE,
                    "--%s is NAME=N, NAME=preset:PRESET or NAME=chain:FILE, a device and the "
                    "number of a mask or a chain, not '%s'",
                    row->name, value);
    if (rule.place == PRESET_SAVED && !rule.is_mask)
        TRY(preset_check_name(rule.text));
    if (options->for_device_count == LIVE_FOR_DEVICE_MOST)
        return fail(CAUSE_USAGE, "--%s can be given %d times at most", row->name,
                    LIVE_FOR_DEVICE_MOST);
    options->for_device[options->for_device_count++] = value;
    return STATUS_OK;
}

static struct preset_source source_of(const struct device_rule *rule,
                                      const struct preset_source *first)
{
    struct preset_source source = *first;
    source.mask = rule->is_mask ? (int)rule->number : PRESET_OWN_MASK;
    if (!rule->is_mask) {
        source.place = rule->place;
        snprintf(source.text, sizeof source.text, "%s", rule->text);
    }
    return source;
}

/* ---- the rule for a device ---- */

/* Whether the first `length` characters of `rule` are a part of `name`. */
static bool is_part(const char *rule, size_t length, const char *name)
{
    char part[sizeof(((struct device_info *)NULL)->output)];
    snprintf(part, sizeof part, "%.*s", (int)length, rule);
    return length < sizeof part && strcasestr(name, part);
}

/* False: no rule fits the device that is played to. */
static bool find_source(const struct live_session *session, struct preset_source *source)
{
    const struct live_options *options = session->options;
    for (size_t i = 0; i < options->for_device_count; i++) {
        struct device_rule rule;
        if (!read_rule(options->for_device[i], &rule) ||
            !is_part(options->for_device[i], rule.length, session->stream.info.output))
            continue;
        *source = source_of(&rule, &session->presets.first);
        return true;
    }
    return false;
}

/* Whether it is heard, and stays: else its masks cannot be chosen from yet. */
static bool is_heard(const struct live_session *session, const struct preset_source *source)
{
    const struct live_presets *presets = &session->presets;
    return !presets->next.is_asked && !presets->current.is_asked &&
           preset_source_is(source, live_preset_last_asked(session));
}

/* "Headphones: chain phones.yml" */
static void tell(const struct live_session *session, const struct preset_source *source)
{
    char label[PRESET_LABEL_MOST] = "dry";
    const struct live_chain *chain = &session->stream.chain;
    bool is_mask = is_heard(session, source) && source->mask > 0;
    if (is_mask && (size_t)source->mask <= chain->choice_count)
        snprintf(label, sizeof label, "%s", chain->names[source->mask - 1]);
    else if (source->mask != 0)
        preset_source_describe(source, label);
    view_message(session->stream.view, "%s: %s", session->stream.info.output, label);
}

/* ---- at the start ---- */

enum status live_for_device_begin(struct live_session *session)
{
    struct preset_source source;
    struct preset *preset = NULL;
    snprintf(session->played_to, sizeof session->played_to, "%s", session->stream.info.output);
    if (!find_source(session, &source))
        return STATUS_OK;
    TRY(live_preset_load_source(session->options, &source, &preset));
    live_preset_use(session, preset);
    session->presets.is_for_device = true;
    return STATUS_OK;
}

static enum status check_rule(const struct live_session *session, const char *text)
{
    struct device_rule rule;
    struct preset *preset = NULL;
    size_t outputs = 0, there = session->stream.chain.filter->outputs;
    if (!read_rule(text, &rule))
        return STATUS_OK;
    const struct preset_source source = source_of(&rule, &session->presets.first);
    TRY(live_preset_load_source(session->options, &source, &preset));
    const struct live_chain_request request =
        preset_chain_request(preset, &session->stream.chain.request);
    enum status status = preset_source_is(&source, live_preset_last_asked(session))
                             ? STATUS_OK
                             : live_chain_count_outputs(&request, &outputs);
    preset_destroy(preset);
    if (status == STATUS_OK && outputs > 0 && outputs != there)
        status = fail(CAUSE_USAGE,
                      "it makes %zu channel%s, and what it begins with %zu; all need as many",
                      outputs, plural_s(outputs), there);
    return status;
}

/* Where the device stays what it is. */
static void note_if_unfollowed(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    const char *why = stream->options->device.output
                          ? "the device to play to is named"
                          : "only PipeWire tells when the default device changes";
    if (session->options->for_device_count == 0 || stream->info.follows_default)
        return;
    if (session->presets.is_for_device)
        note("--for-device has no effect after the start: %s", why);
    else
        note("--for-device has no effect: no rule is for %s, and %s", stream->info.output, why);
}

enum status live_for_device_check(const struct live_session *session)
{
    const struct live_options *options = session->options;
    for (size_t i = 0; i < options->for_device_count; i++) {
        char where[PATH_MAX];
        snprintf(where, sizeof where, "--for-device %s", options->for_device[i]);
        const char *before = log_prefix(where);
        enum status status = check_rule(session, options->for_device[i]);
        log_prefix(before);
        TRY(status);
    }
    if (session->presets.is_for_device)
        tell(session, &session->presets.preset->source);
    note_if_unfollowed(session);
    return STATUS_OK;
}

/* ---- while it runs ---- */

/* Another mask of what is heard, or another chain. */
static void change_to(struct live_session *session, const struct preset_source *source)
{
    size_t number = source->mask > 0 ? (size_t)source->mask : 0;
    tell(session, source);
    if (!is_heard(session, source))
        live_preset_ask_for_device(session, source);
    else if (source->mask == PRESET_OWN_MASK)
        stream_session_set_dry(&session->stream, false);
    else if (live_control_choose(session, number) != STATUS_OK)
        view_warning(session->stream.view, "the mask stays");
}

void live_for_device_update(struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    struct preset_source source = session->presets.first;
    if (!stream->device || strcmp(session->played_to, stream->info.output) == 0)
        return;
    snprintf(session->played_to, sizeof session->played_to, "%s", stream->info.output);
    bool fits = find_source(session, &source);
    if (fits || session->presets.is_for_device)
        change_to(session, &source);
    session->presets.is_for_device = fits;
}
