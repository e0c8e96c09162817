/* The device of halo live while it runs: it can be lost and return, change its rate, or get a
 * longer buffer. Also chooses what is heard on it (--for-device). */
#include "base/monotonic.h"
#include "base/plural.h"
#include "chain/stage_mask.h"
#include "live/session/live_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A device that loses WIDEN_LOST blocks in WIDEN_SECONDS gets a longer latency, if possible. */
enum { WIDEN_LOST = 3, WIDEN_MOST = 8 /* times in all */ };
static const double WIDEN_SECONDS = 10;

/* If a close hangs for this many seconds, halo ends. Libraries of sound servers may deadlock when
 * the server ends; only a new process can use them again. A service is started again. */
static const double HANGS_SECONDS = 20;

/* ---- the chain for another rate or period ---- */

/* Loads a mask again that was loaded while the stream ran. */
static enum status load_again(struct live_chain *chain, const struct live_chain *old, size_t choice,
                              const struct choices_way *way)
{
    struct mask *mask;
    if (!old->replaced[choice])
        return STATUS_OK;
    TRY(stage_mask_read(old->replaced[choice], &chain->mask_format,
                        &chain->request.options->settings, &mask));
    return live_chain_put(chain, choice, old->replaced[choice], mask, way);
}

/* Makes the chain for the device. Masks loaded while the stream ran are loaded again. The first
 * choice comes last: it is heard, so it can be replaced only once until the stream runs. */
static enum status make_chain(const struct live_session *session, struct live_chain *chain)
{
    const struct stream_session *stream = &session->stream;
    const struct live_chain *old = &stream->chain;
    const struct live_chain_request request =
        live_session_chain_request(session, old->filter->inputs);
    TRY(live_chain_init(chain, &request));
    for (size_t i = old->choice_count; i-- > 0;)
        TRY(load_again(chain, old, i, &stream->way));
    return STATUS_OK;
}

/* ---- the stream with the new chain ---- */

/* Judges the proof of the sound so far and shows a failure at once. During a reopening messages are
 * captured, and dropped if it succeeds; this one must not be. */
static enum status judge_until_now(const struct live_session *session)
{
    char reason[512] = "";
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = proof_judge(&session->proof, LIVE_UNPROVEN);
    log_keep_again(&before);
    if (status != STATUS_OK)
        view_warning(session->stream.view, "%s", reason);
    return status;
}

/* Adds the proof of the old chain. If the rate has changed, frames are counted differently: the
 * proof so far is reported, and a new one begins. */
static void prove_until_now(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    if (!session->options->proof.wanted)
        return;
    live_session_prove(session, &stream->chain, live_frames(stream->live));
    if (stream->info.rate == stream->chain.request.format.rate)
        return;
    proof_print(&session->proof);
    enum status status = judge_until_now(session);
    session->unproven = session->unproven == STATUS_OK ? status : session->unproven;
    session->proof = (struct proof_result){0};
}

/* The frame at the new rate for the present time, rounded down to the begin of a block. */
static uint64_t begin_at_rate(const struct live_session *session, const struct live_chain *chain,
                              uint32_t before)
{
    double frames = (double)live_frames(session->stream.live);
    double ratio = (double)session->stream.info.rate / (double)before;
    uint64_t begin = (uint64_t)llround(frames * ratio);
    return begin - begin % chain->filter->block;
}

static enum status follow(struct live_session *session, uint32_t before)
{
    struct stream_session *stream = &session->stream;
    struct live_chain chain;
    live_edit_interrupt(session);
    /* first, since it may complete a change, and then another chain has to be made again */
    live_preset_start_again(session);
    enum status status = make_chain(session, &chain);
    if (status != STATUS_OK) {
        live_chain_free(&chain);
        return status;
    }
    prove_until_now(session);
    live_session_end_recordings(session);
    live_control_end_loads(session); /* the masks were requested for the old rate */
    struct live_settings settings = live_session_settings(session);
    settings.begin = chain.since = begin_at_rate(session, &chain, before);
    return stream_session_exchange(stream, &chain, &settings);
}

/* Whether the chain should get another block: one that does not divide the period adds a block of
 * delay. While recording, the block stays, since the log has only one. */
static bool wants_other_block(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    size_t block = stream->chain.filter->block, period = stream->info.period;
    bool delays = live_adapter_latency(stream->live) > 0 || period % block != 0;
    return delays && !stream->info.varies && !stream->log &&
           live_session_chain_request(session, 1).block != stream->chain.request.block;
}

static bool fits_device(const struct live_session *session)
{
    const struct stream_session *stream = &session->stream;
    return stream->info.rate == stream->chain.request.format.rate && !wants_other_block(session);
}

static void report_change(const struct stream_session *stream, uint32_t rate, size_t block,
                          bool records)
{
    if (stream->info.rate != rate)
        view_warning(stream->view, "the rate is %u Hz now, no longer %u%s", stream->info.rate, rate,
                     records ? ": the recording ends" : "");
    else
        view_message(stream->view, "blocks have %zu frames now, no longer %zu",
                     stream->chain.filter->block, block);
}

/* Makes the chain and its masks again if rate or period changed, with the present choices and
 * controls. If the rate changed, recordings end. On failure all stays as it was. */
static enum status follow_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    const struct device_info info = stream->info;
    uint32_t before = stream->chain.request.format.rate;
    size_t block = stream->chain.filter->block;
    bool records = session->recordings[0].recorder || session->recordings[1].recorder;
    device_info(stream->device, &stream->info);
    if (fits_device(session))
        return STATUS_OK;
    enum status status = follow(session, before);
    if (status == STATUS_OK)
        report_change(stream, before, block, records);
    else
        stream->info = info;
    return status;
}

/* ---- opening the device again: it was lost, or gets a longer buffer ---- */

/* Opens the device, and makes a new chain if its rate has changed. */
static enum status reopen_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    struct device_request request = stream->options->device;
    if (!request.output_map_count)
        request.channels_out = stream->info.channels_out;
    if (!request.input_map_count)
        request.channels_in = stream->chain.filter->inputs;
    if (!request.driver && !stream->info.has_bridge)
        request.driver = stream->info.host_api; /* the default may have changed */
    request.returns = true;
    request.layout_out = stream->chain.layout;
    request.latency_least = stream->latency_least;
    TRY(device_open(&request, &stream->device));
    enum status status = follow_device(session);
    if (status != STATUS_OK)
        stream_session_stop_device(stream);
    return status;
}

/* Tries to open the device again. `cause` is entered in the ledger. Returns false if it fails. */
static bool try_device(struct live_session *session, enum outage_cause cause)
{
    struct stream_session *stream = &session->stream;
    char reason[sizeof session->away];
    if (stream->stuck)
        return false;
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = reopen_device(session);
    log_keep_again(&before);
    if (status != STATUS_OK) {
        if (strcmp(reason, session->away) != 0)
            view_message(stream->view, "still waiting: %s", reason);
        snprintf(session->away, sizeof session->away, "%s", reason);
        return false;
    }
    session->away[0] = '\0';
    live_log_outage(stream->log,
                    ledger_add_away(&stream->load.ledger, live_frames(stream->live), cause));
    const struct live_event rise = {.what = LIVE_RISE};
    (void)live_send(stream->live, &rise);
    device_run(stream->device, live_step, stream->live);
    return true;
}

/* Makes a new chain for the open device. If it fails, closes the device. False: halo must end. */
static bool change_chain(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    stream_session_halt(stream);
    bool is_done = !stream->stuck && follow_device(session) == STATUS_OK;
    if (is_done)
        device_run(stream->device, live_step, stream->live);
    else
        stream_session_stop_device(stream);
    return is_done || session->options->reconnect;
}

static bool loses_blocks(struct live_session *session)
{
    uint64_t lost = session->stream.load.ledger.lost;
    double now = monotonic_seconds();
    bool many = lost >= session->lost_before + WIDEN_LOST;
    if (many || now - session->counted_at > WIDEN_SECONDS) {
        session->counted_at = now;
        session->lost_before = lost;
    }
    return many;
}

/* Opens the device again with a longer buffer. False: not needed, not possible, or failed. */
static bool widen(struct live_session *session, bool is_lost)
{
    struct stream_session *stream = &session->stream;
    double wider = fmin(2 * stream->info.buffer, stream->info.buffer_most);
    bool many = loses_blocks(session);
    if (stream->info.buffer == 0 || stream->leaving || session->widened == WIDEN_MOST ||
        !(is_lost || (many && wider > stream->info.buffer)))
        return false;
    stream->latency_least = wider;
    session->widened++;
    stream_session_stop_device(stream);
    if (!try_device(session, is_lost ? OUTAGE_AWAY : OUTAGE_REOPENED))
        return false;
    session->lost_before = stream->load.ledger.lost;
    view_warning(stream->view,
                 "the device lost sound: its buffer is %.0f ms now, as with --latency "
                 "%.0f",
                 1e3 * stream->info.buffer, 1e3 * stream->info.buffer);
    return true;
}

/* Opens two devices again, after the rate of one has changed: they need a new bridge. Returns false
 * after a failure; the device is then closed. */
static bool open_again(struct live_session *session)
{
    stream_session_stop_device(&session->stream);
    if (!try_device(session, OUTAGE_REOPENED))
        return false;
    view_warning(session->stream.view, "one of the two devices has another rate now: they were "
                                       "opened again");
    return true;
}

/* Opens the device again if needed. False: it is lost, and --reconnect is missing or no help. */
static bool keep_device(struct live_session *session)
{
    struct stream_session *stream = &session->stream;
    bool had_device = stream->device;
    enum device_state state = had_device ? device_state(stream->device) : DEVICE_RUNNING;
    bool is_lost = state == DEVICE_LOST;
    if (had_device && widen(session, is_lost))
        return true;
    if (state == DEVICE_CHANGED && open_again(session))
        return true;
    if (is_lost || (had_device && !stream->device)) {
        session->interruptions++;
        stream_session_stop_device(stream);
        if (session->options->reconnect)
            view_warning(stream->view, "the device is lost; waiting for it to return");
        return session->options->reconnect;
    }
    if (!stream->device && try_device(session, OUTAGE_AWAY))
        view_warning(stream->view, "the device is back");
    else if (stream->device && !fits_device(session))
        return change_chain(session);
    return stream->device || device_hangs() < HANGS_SECONDS;
}

enum status live_device_check(struct stream_session *stream)
{
    const char *name = stream->device_name;
    if (keep_device((struct live_session *)stream))
        return STATUS_OK;
    if (device_hangs() >= HANGS_SECONDS)
        return fail(CAUSE_DEVICE, "the sound system hangs since %s was lost: start halo again",
                    name);
    return fail(CAUSE_DEVICE, "the device %s is lost; --reconnect waits until it returns", name);
}

/* ---- --for-device: one rule ---- */

/* A rule NAME=WHAT. NAME=N: a mask of the command line's chain. Other forms: another chain. */
struct device_rule {
    size_t length; /* length of NAME */
    bool is_mask;
    size_t number; /* number of the mask; 0: dry */
    enum preset_place place;
    const char *text; /* name of the preset, or path of the chain file */
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

/* Parses a rule. Returns false if it has none of the forms. */
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

/* Whether `name` contains the first `length` characters of `rule`. */
static bool is_part(const char *rule, size_t length, const char *name)
{
    char part[sizeof(((struct device_info *)NULL)->output)];
    snprintf(part, sizeof part, "%.*s", (int)length, rule);
    return length < sizeof part && strcasestr(name, part);
}

/* Finds the source of the first rule that fits the output device, a rule of a command before those
 * of the options. Returns false if none fits. */
static bool find_source(const struct live_session *session, struct preset_source *source)
{
    const struct live_options *options = session->options;
    for (size_t i = 0; i < session->rule_count; i++)
        if (strcmp(session->rules[i].device, session->stream.info.output) == 0) {
            *source = (struct preset_source){.place = PRESET_SAVED, .mask = PRESET_OWN_MASK};
            strcpy(source->text, session->rules[i].preset);
            return true;
        }
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

/* Whether `source` is heard and no other change is requested. Only then its masks can be chosen. */
static bool is_heard(const struct live_session *session, const struct preset_source *source)
{
    const struct stream_session *stream = &session->stream;
    return !stream->next[STREAM_PRESET].is_asked && !stream->current[STREAM_PRESET].is_asked &&
           preset_source_is(source, live_preset_last_asked(session));
}

/* Shows "Headphones: chain phones.yml". */
static void show_source(const struct live_session *session, const struct preset_source *source)
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
                      "it makes %zu channel%s, and the first one %zu; all need the same number",
                      outputs, plural_s(outputs), there);
    return status;
}

/* Notes that rules have no effect if the output device cannot change by itself. */
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
        show_source(session, &session->presets.preset->source);
    note_if_unfollowed(session);
    return STATUS_OK;
}

/* ---- while it runs ---- */

enum status live_for_device_add(struct live_session *session, const char *preset)
{
    const char *device = session->stream.info.output;
    char path[PATH_MAX];
    size_t at = 0;
    TRY(preset_path(preset, path));
    if (access(path, F_OK) != 0)
        return preset_refuse(preset);
    while (at < session->rule_count && strcmp(session->rules[at].device, device) != 0)
        at++;
    if (at == LIVE_FOR_DEVICE_MOST)
        return fail(CAUSE_USAGE, "%d devices have a preset already", LIVE_FOR_DEVICE_MOST);
    session->rule_count = at == session->rule_count ? at + 1 : session->rule_count;
    snprintf(session->rules[at].device, sizeof session->rules[at].device, "%s", device);
    snprintf(session->rules[at].preset, sizeof session->rules[at].preset, "%s", preset);
    session->presets.is_for_device = true;
    view_message(session->stream.view,
                 "%s has preset %s until halo ends; --for-device '%s=preset:%s' keeps it", device,
                 preset, device, preset);
    return STATUS_OK;
}

/* Changes to another mask of the present chain, or to another chain. */
static void change_to(struct live_session *session, const struct preset_source *source)
{
    size_t number = source->mask > 0 ? (size_t)source->mask : 0;
    live_edit_interrupt(session);
    show_source(session, source);
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
