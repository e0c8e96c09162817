#include "view/view.h"

#include "base/build_info.h"
#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "signal/audio.h"
#include "view/view_kind.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the plain view: a line per change (for screen readers and logs), or per interval ---- */

enum { ITEM_MOST = 320 /* bytes of an item's text, with its 0 */ };

struct plain_item {
    /* Writes the text of the item; "": there is nothing to say. */
    void (*print)(const struct live_status *status, char text[ITEM_MOST]);
    const char *usual; /* text that is not printed at the start */
    double rest;       /* least seconds between two lines about the item */
};

enum { ITEMS = 12 };

struct plain {
    struct view view;
    char items[ITEMS][ITEM_MOST]; /* text of each item, as printed last */
    double printed[ITEMS];        /* when each item was printed, in monotonic seconds; 0: not yet */
    uint64_t lines;               /* hash of status->lines, as printed last */
    bool has_begun;
};

static uint64_t clips_of(const struct live_status *status)
{
    uint64_t clips = 0;
    for (size_t c = 0; c < status->inputs; c++)
        clips += status->in[c].clips;
    for (size_t c = 0; c < status->outputs; c++)
        clips += status->out[c].clips;
    return clips;
}

/* ---- the plain view: a line per interval ---- */

/* FNV-1a. It detects changed lines without keeping a copy. */
static uint64_t hash_lines(const char *const *lines, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i++)
        for (const char *byte = lines[i]; *byte; byte++)
            hash = (hash ^ (unsigned char)*byte) * 0x100000001b3;
    return hash;
}

static double loudest_db(const struct meter_reading *readings, size_t channels)
{
    float most = 0;
    for (size_t c = 0; c < channels; c++)
        most = fmaxf(most, readings[c].hold);
    return audio_to_db(most);
}

static void print_choice(const struct live_status *status)
{
    if (status->preset)
        printf("  preset %s", printable(status->preset));
    if (status->coming_preset)
        printf(" -> %s ...", printable(status->coming_preset));
    if (status->choices == 0)
        return;
    if (status->hidden)
        printf("  ?");
    else if (status->chosen == 0 || status->chosen > status->choices)
        printf("  0 dry");
    else
        printf("  %zu %s", status->chosen, printable(status->names[status->chosen - 1]));
    if (status->switching)
        printf(" ...");
}

static void print_state(const struct live_status *status)
{
    if (status->gain_db != 0)
        printf("  gain %+.1f dB", status->gain_db);
    if (status->reduction_db < -0.05)
        printf("  limiter %.1f dB", status->reduction_db);
    if (status->feedback_seen)
        printf("  FEEDBACK: MUTED");
    else if (status->muted)
        printf("  MUTED");
}

static void print_line(const struct live_status *status)
{
    printf("%.1f s  in %.1f", status->seconds, loudest_db(status->in, status->inputs));
    if (!status->hidden)
        printf("  out %.1f", loudest_db(status->out, status->outputs));
    printf(" dBFS");
    print_choice(status);
    if (status->control.text)
        printf("  [%s]", printable(status->control.text));
    print_state(status);
    if (!isnan(status->load_now))
        printf("  load %.0f %%, worst %.0f %%", 100 * status->load_now, 100 * status->load_worst);
    if (status->late || status->lost)
        printf("  late %llu lost %llu", (unsigned long long)status->late,
               (unsigned long long)status->lost);
    if (status->has_bridge)
        printf("  clocks %+.1f ppm, bridge %zu", status->ratio_ppm, status->latency_bridge);
    uint64_t clips = clips_of(status);
    if (clips)
        printf("  clips %llu", (unsigned long long)clips);
    if (status->recording)
        printf("  recorded %.1f s", status->recorded);
    putchar('\n');
}

/* ---- the plain view: a line per change ---- */

static void print_device(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "device %s, %u Hz, blocks of %zu frames",
             status->device ? status->device : "none", status->rate, status->block);
}

static void print_latency(const struct live_status *status, char text[ITEM_MOST])
{
    size_t frames = live_status_latency(status);
    snprintf(text, ITEM_MOST, "latency %.1f ms, %zu frames",
             status->rate ? 1e3 * (double)frames / status->rate : 0, frames);
}

static void print_preset(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "preset %s", status->preset ? status->preset : "none");
}

static void print_mask(const struct live_status *status, char text[ITEM_MOST])
{
    bool is_dry = status->chosen == 0 || status->chosen > status->choices;
    if (status->choices == 0 || status->hidden)
        text[0] = '\0';
    else
        snprintf(text, ITEM_MOST, "%s %zu %s", is_dry ? "signal" : "mask",
                 is_dry ? 0 : status->chosen, is_dry ? "dry" : status->names[status->chosen - 1]);
}

static void print_control(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "%s%s", status->control.text ? "control " : "",
             status->control.text ? status->control.text : "");
}

static void print_gain(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "gain %+.1f dB", status->gain_db);
}

static void print_mute(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "%s",
             status->feedback_seen ? "FEEDBACK: muted"
             : status->muted       ? "muted"
                                   : "not muted");
}

static void print_limiter(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "the limiter %s",
             status->reduction_db < -0.05 ? "turns down" : "rests");
}

static void print_late(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "blocks late %llu, lost %llu", (unsigned long long)status->late,
             (unsigned long long)status->lost);
}

static void print_clips(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "clips %llu", (unsigned long long)clips_of(status));
}

static void print_recording(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "%s%s", status->recording ? "recording " : "not recording",
             status->recording ? status->recording : "");
}

static void print_hidden(const struct live_status *status, char text[ITEM_MOST])
{
    snprintf(text, ITEM_MOST, "masks are %s", status->hidden ? "hidden" : "shown");
}

static const struct plain_item plain_items[ITEMS] = {
    {print_device, NULL, 0},
    {print_latency, NULL, 1},
    {print_hidden, "masks are shown", 0},
    {print_preset, "preset none", 0},
    {print_mask, NULL, 0},
    {print_control, NULL, 1},
    {print_gain, "gain +0.0 dB", 1},
    {print_mute, "not muted", 0},
    {print_limiter, "the limiter rests", 5},
    {print_late, "blocks late 0, lost 0", 5},
    {print_clips, "clips 0", 5},
    {print_recording, "not recording", 0},
};

static void print_item(struct plain *plain, size_t item, const struct live_status *status,
                       double now)
{
    const struct plain_item *about = &plain_items[item];
    char text[ITEM_MOST], *last = plain->items[item];
    about->print(status, text);
    bool is_usual = !plain->has_begun && about->usual && strcmp(text, about->usual) == 0;
    bool is_new = strcmp(text, last) != 0;
    if (!is_new || (plain->printed[item] > 0 && now < plain->printed[item] + about->rest))
        return;
    memcpy(last, text, sizeof text);
    if (is_usual || !*text)
        return;
    plain->printed[item] = now;
    printf("%.1f s  %s\n", status->seconds, printable(text));
}

/* ---- the plain view ---- */

static void plain_show(struct view *view, const struct live_status *status)
{
    struct plain *plain = (struct plain *)view;
    uint64_t lines = hash_lines(status->lines, status->line_count);
    double now = monotonic_seconds();
    if (view->interval_given)
        print_line(status);
    /* then only warnings are printed; they tell what spoils the sound */
    bool quiet = note_verbosity_now() <= VERBOSITY_QUIET;
    for (size_t i = 0; i < ITEMS && !view->interval_given && !quiet; i++)
        print_item(plain, i, status, now);
    for (size_t i = 0; i < status->line_count && lines != plain->lines; i++)
        puts(printable(status->lines[i]));
    fflush(stdout);
    plain->lines = lines;
    plain->has_begun = true;
}

const struct view_kind view_plain = {
    .size = sizeof(struct plain),
    .show = plain_show,
    .interval = 0.2,
};

/* ---- the JSON view: an object per interval ---- */

struct json_view {
    struct view view;
    _Atomic double seconds; /* seconds of the stream, as shown last */
};

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *meters(const struct meter_reading *readings, size_t channels)
{
    json_t *array = json_array();
    for (size_t c = 0; c < channels; c++)
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:o}", "peak_db",
                                               json_finite(audio_to_db(readings[c].peak)), "rms_db",
                                               json_finite(audio_to_db(readings[c].rms)), "hold_db",
                                               json_finite(audio_to_db(readings[c].hold)), "clips",
                                               integer(readings[c].clips)));
    return array;
}

static json_t *control(const struct live_status_control *control)
{
    if (!control->text)
        return json_null();
    return json_pack("{s:o, s:I, s:o, s:o, s:b, s:b}", "text", json_text(control->text), "stage",
                     (json_int_t)control->stage, "symbol", json_text(control->symbol), "value",
                     json_finite(control->value), "bypassed", control->bypassed, "failed",
                     control->failed);
}

static json_t *stream_fields(const struct live_status *status)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "event", "status", "seconds",
                     json_finite(status->seconds), "frames", integer(status->frames), "rate",
                     integer(status->rate), "block", integer(status->block), "device",
                     json_text(status->device), "backend", json_text(status->backend), "in",
                     meters(status->in, status->inputs), "out",
                     status->hidden ? json_null() : meters(status->out, status->outputs));
}

static json_t *choice_fields(const struct live_status *status)
{
    return json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:b, s:o, s:o, s:b, s:b, s:o, s:o}", "preset",
        json_text(status->preset), "coming_preset", json_text(status->coming_preset), "choices",
        json_texts(status->names, status->choices), "hidden", status->hidden, "chosen",
        status->hidden ? json_null() : integer(status->chosen), "switching", status->switching,
        "control", control(&status->control), "gain_db", json_finite(status->gain_db), "muted",
        status->muted, "howled", status->feedback_seen, "reduction_db",
        json_finite(status->reduction_db), "ceiling_db", json_finite(status->ceiling_db));
}

static json_t *health_fields(const struct live_status *status)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "load_now", json_finite(status->load_now), "load_p99", json_finite(status->load_p99),
        "load_worst", json_finite(status->load_worst), "late",
        status->hidden ? json_null() : integer(status->late), "lost",
        status->hidden ? json_null() : integer(status->lost), "latency",
        integer(live_status_latency(status)), "latency_input", integer(status->latency_input),
        "latency_mask", integer(status->latency_mask), "latency_plugins",
        integer(status->latency_plugins), "latency_output", integer(status->latency_output),
        "latency_adapter", integer(status->latency_adapter), "latency_bridge",
        integer(status->latency_bridge), "ratio_ppm",
        status->has_bridge ? json_finite(status->ratio_ppm) : json_null(), "recording",
        json_text(status->recording), "recorded", json_finite(status->recorded), "osc_refused",
        integer(status->osc_refused), "lines", json_texts(status->lines, status->line_count));
}

/* Uses one puts(), since any thread may print a message. */
static void print_object(json_t *root)
{
    char *text = json_line(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text)
        return;
    puts(text);
    fflush(stdout);
    free(text);
}

json_t *view_status_json(const struct live_status *status)
{
    json_t *root = stream_fields(status);
    json_object_update_new(root, choice_fields(status));
    json_object_update_new(root, health_fields(status));
    return root;
}

static void json_show(struct view *view, const struct live_status *status)
{
    atomic_store(&((struct json_view *)view)->seconds, status->seconds);
    print_object(view_status_json(status));
}

static void json_message(struct view *view, const char *text)
{
    print_object(json_pack("{s:s, s:f, s:o}", "event", "message", "seconds",
                           atomic_load(&((struct json_view *)view)->seconds), "text",
                           json_text(text)));
}

const struct view_kind view_json = {
    .size = sizeof(struct json_view),
    .show = json_show,
    .message = json_message,
    .interval = 1,
};

/* Bytes that terminals send for special keys (ECMA-48, as in xterm). */
static const struct {
    const char *bytes;
    int key;
} sequences[] = {
    {"\033[A", VIEW_KEY_UP},
    {"\033OA", VIEW_KEY_UP},
    {"\033[B", VIEW_KEY_DOWN},
    {"\033OB", VIEW_KEY_DOWN},
    {"\033[C", VIEW_KEY_RIGHT},
    {"\033OC", VIEW_KEY_RIGHT},
    {"\033[D", VIEW_KEY_LEFT},
    {"\033OD", VIEW_KEY_LEFT},
    {"\033[H", VIEW_KEY_HOME},
    {"\033OH", VIEW_KEY_HOME},
    {"\033[F", VIEW_KEY_END},
    {"\033OF", VIEW_KEY_END},
    {"\033[5~", VIEW_KEY_PAGE_UP},
    {"\033[6~", VIEW_KEY_PAGE_DOWN},
    {"\177", VIEW_KEY_BACKSPACE},
    {"\b", VIEW_KEY_BACKSPACE},
    {"\r", '\n'},
};

/* Prepares the terminal for keys. A background process reads no keys. */
static void open_keys(struct view_keys *keys)
{
    *keys = (struct view_keys){.ended = false};
    if (!isatty(STDIN_FILENO))
        return;
    keys->ended = !terminal_is_ours();
    if (keys->ended)
        return;
    terminal_keep(NULL);
    terminal_take_keys();
}

/* Reads bytes that have arrived. Standard input stays blocking, since others may share it. */
static void fill(struct view_keys *keys)
{
    struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t capacity = sizeof keys->bytes - keys->count;
    if (keys->ended || capacity == 0 || poll(&ready, 1, 0) <= 0)
        return;
    ssize_t got = read(STDIN_FILENO, keys->bytes + keys->count, capacity);
    if (got > 0)
        keys->count += (size_t)got;
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        keys->ended = true;
}

static int consume(struct view_keys *keys, size_t bytes, int key)
{
    keys->count -= bytes;
    memmove(keys->bytes, keys->bytes + bytes, keys->count);
    return key;
}

/* Takes a UTF-8 character. An invalid byte counts as one character. */
static int next_character(struct view_keys *keys)
{
    unsigned char first = keys->bytes[0];
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > keys->count)
        length = 1;
    int key = length == 1 ? first : first & (0x7f >> length);
    for (size_t i = 1; i < length; i++)
        key = key << 6 | (keys->bytes[i] & 0x3f);
    return consume(keys, length, key);
}

static int next_key(struct view_keys *keys)
{
    if (keys->count < 8)
        fill(keys);
    if (keys->count == 0)
        return VIEW_KEY_NONE;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        size_t length = strlen(sequences[i].bytes);
        if (length <= keys->count && memcmp(keys->bytes, sequences[i].bytes, length) == 0)
            return consume(keys, length, sequences[i].key);
    }
    return next_character(keys);
}

enum { LINE_MOST = 1400 };                 /* bytes of a message */
enum { TICK_LEAST = 25, TICK_MOST = 200 }; /* ms between two rounds, at least and at most */

static const struct view_kind *const kinds[] = {
#ifdef HALO_WITH_SCREEN
    [VIEW_SCREEN] = &view_screen,
#endif
    [VIEW_PLAIN] = &view_plain,
    [VIEW_JSON] = &view_json,
};

enum status view_open(enum view_choice choice, double interval, struct view **result)
{
    const struct view_kind *screen = kinds[VIEW_SCREEN];
    if (choice == VIEW_AUTO)
        choice = screen && screen->is_possible() ? VIEW_SCREEN : VIEW_PLAIN;
    const struct view_kind *kind = kinds[choice];
    if (!kind)
        return fail(CAUSE_UNSUPPORTED, "cannot show a screen: halo was built without ncurses");
    struct view *view = calloc(1, kind->size);
    if (!view)
        return fail_memory("the view");
    enum status status = kind->open ? kind->open(view) : STATUS_OK;
    if (status != STATUS_OK) {
        free(view);
        return status;
    }
    view->kind = kind;
    view->interval_given = interval > 0;
    view->interval = view->interval_given && choice != VIEW_SCREEN ? interval : kind->interval;
    if (!kind->key)
        open_keys(&view->keys);
    *result = view;
    return STATUS_OK;
}

void view_close(struct view *view)
{
    if (!view)
        return;
    if (view->kind->close)
        view->kind->close(view);
    else
        terminal_restore();
    free(view);
}

struct live_status view_visible(const struct live_status *status)
{
    struct live_status shown = *status;
    if (!status->hidden)
        return shown;
    shown.chosen = 0;
    shown.switching = false;
    shown.control = (struct live_status_control){0};
    shown.outputs = 0;
    shown.out = NULL;
    shown.reduction_db = NAN;
    shown.late = shown.lost = 0; /* a long mask may cause more of them, so they would reveal it */
    shown.load_now = shown.load_p99 = shown.load_worst = NAN;
    return shown;
}

int view_tick(const struct view *view)
{
    int half = (int)fmin(1e3 * view->interval / 2, TICK_MOST);
    return half > TICK_LEAST ? half : TICK_LEAST;
}

bool view_is_due(const struct view *view)
{
    return monotonic_seconds() >= view->next;
}

void view_show(struct view *view, const struct live_status *status)
{
    double now = monotonic_seconds();
    if (now < view->next)
        return;
    /* lines keep to the clock and do not drift; after a pause the clock starts again */
    view->next += view->interval;
    if (view->next <= now)
        view->next = now + view->interval;
    struct live_status shown = view_visible(status);
    view->kind->show(view, &shown);
}

int view_columns(const struct view *view)
{
    return view && view->kind->width ? view->kind->width() : INT_MAX;
}

int view_rows(const struct view *view)
{
    return view && view->kind->height ? view->kind->height() : INT_MAX;
}

static void show_line(struct view *view, void (*print)(const char *format, ...), const char *format,
                      va_list arguments)
{
    char line[LINE_MOST];
    vsnprintf(line, sizeof line, format, arguments);
    if (view && view->hear)
        view->hear(view->hear_context, print == warning, line);
    if (view && view->kind->message)
        view->kind->message(view, line);
    else
        print("%s", line);
}

void view_message(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    show_line(view, note, format, arguments);
    va_end(arguments);
}

void view_warning(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    show_line(view, warning, format, arguments);
    va_end(arguments);
}

void view_hear(struct view *view, void (*hear)(void *context, bool is_warning, const char *text),
               void *context)
{
    view->hear_context = context;
    view->hear = hear;
}

void view_object(struct view *view, json_t *object)
{
    if (view && view->kind == &view_json)
        print_object(object);
    else
        json_decref(object);
}

int view_key(struct view *view)
{
    return view->kind->key ? view->kind->key(view) : next_key(&view->keys);
}

int view_key_fd(const struct view *view)
{
    return view->keys.ended ? -1 : STDIN_FILENO;
}
