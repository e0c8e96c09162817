#include "live/session/live_controls.h"

#include "base/text_stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double STEPS = 50; /* steps in the range of a control */

/* Finds the control that a word of a spec sets, without a message. */
static bool find_word(const struct stage_list *stages, size_t stage, const char *word,
                      struct stage_control *control)
{
    char name[256], ignored[8];
    size_t length = strcspn(word, "=");
    if (length >= sizeof name || strchr(word, ':'))
        return false;
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const struct log_keeper before = log_keep_in(ignored, sizeof ignored);
    bool found = stage_controls_find(stages, stage, name, control) == STATUS_OK;
    log_keep_again(&before);
    return found;
}

/* Whether a word of the stage's spec sets the control. */
static bool is_named(const struct stage_list *stages, const struct stage_control *control)
{
    struct stage_control one;
    bool named = false;
    char **words = spec_split(stages->stages[control->stage].text);
    for (size_t w = 1; words && words[0] && words[w] && !named; w++)
        named = find_word(stages, control->stage, words[w], &one) && one.kind == control->kind &&
                one.port_index == control->port_index;
    free(words);
    return named;
}

enum status live_controls_init(struct live_controls *controls, const struct stage_list *stages,
                               struct live *live)
{
    struct stage_control one;
    *controls = (struct live_controls){.stages = stages, .live = live};
    while (stage_controls_at(stages, controls->count, &one))
        controls->count++;
    controls->controls = calloc(controls->count + 1, sizeof *controls->controls);
    controls->changed = calloc(controls->count + 1, sizeof *controls->changed);
    if (!controls->controls || !controls->changed)
        return fail_memory("controls");
    size_t place = 0;
    for (int named = 1; named >= 0; named--)
        for (size_t i = 0; i < controls->count; i++)
            if (stage_controls_at(stages, i, &one) && is_named(stages, &one) == named)
                controls->controls[place++] = one;
    return STATUS_OK;
}

void live_controls_free(struct live_controls *controls)
{
    free(controls->controls);
    free(controls->changed);
    *controls = (struct live_controls){0};
}

/* Rounds down to 1, 2 or 5 times a power of ten. */
static double round_step(double step)
{
    double ten = pow(10, floor(log10(step)));
    double times = step / ten;
    return ten * (times >= 5 ? 5 : times >= 2 ? 2 : 1);
}

/* The nearest point of the enumeration in that direction, or the present value. */
static double next_point(const struct stage_control *control, int direction)
{
    double best = control->value;
    for (size_t i = 0; i < control->port->point_count; i++) {
        double ahead = direction * ((double)control->port->points[i].value - control->value);
        if (ahead > 0 && (best == control->value || ahead < direction * (best - control->value)))
            best = control->port->points[i].value;
    }
    return best;
}

static double next_number(const struct stage_control *control, int direction)
{
    double value = control->value, least = control->range.minimum, most = control->range.maximum;
    if (control->port->is_integer)
        return rint(value) + direction;
    if (control->port->is_logarithmic && least > 0 && isfinite(most) && value > 0)
        return value * pow(most / least, direction / STEPS);
    double range = isfinite(most - least) ? most - least : fmax(1, fabs(value));
    return range > 0 ? value + direction * round_step(range / STEPS) : value;
}

static double next_value(const struct stage_control *control, int direction)
{
    const struct plugin_port *port = control->port;
    if (port->is_toggle)
        return control->value > 0 ? 0 : 1;
    if (port->is_enumeration && port->point_count > 0)
        return next_point(control, direction);
    return next_number(control, direction);
}

static void change(struct live_controls *controls, struct stage_control *control, double wanted)
{
    float value = stage_controls_fit(control, wanted);
    const struct live_event event = {.what = LIVE_STAGE_CONTROL,
                                     .value = (double)value,
                                     .stage = control->stage,
                                     .kind = control->kind,
                                     .port = control->port_index};
    if (value == control->value)
        return;
    if (live_send(controls->live, &event)) {
        control->value = value;
        controls->changed[control - controls->controls] = true;
    } else {
        controls->notice = "too many changes at once: one was ignored";
    }
}

static struct stage_control *bypass_of(struct live_controls *controls, size_t stage)
{
    for (size_t i = 0; i < controls->count; i++)
        if (controls->controls[i].stage == stage &&
            controls->controls[i].kind == STAGE_CONTROL_BYPASS)
            return &controls->controls[i];
    return NULL;
}

const char *live_controls_keys(const struct live_controls *controls)
{
    return controls->count > 0 ? "  c control  + - change  b bypass" : "";
}

bool live_controls_key(struct live_controls *controls, int key)
{
    if (key <= 0 || key > 127 || !strchr("cC+=-b", key))
        return false;
    if (controls->count == 0) {
        controls->notice = "no controls: the chain has no plugins";
        return true;
    }
    struct stage_control *chosen = &controls->controls[controls->chosen];
    struct stage_control *bypass = bypass_of(controls, chosen->stage);
    if (key == 'c')
        controls->chosen = (controls->chosen + 1) % controls->count;
    else if (key == 'C')
        controls->chosen = (controls->chosen + controls->count - 1) % controls->count;
    else if (key != 'b')
        change(controls, chosen, next_value(chosen, key == '-' ? -1 : 1));
    else if (bypass)
        change(controls, bypass, bypass->value > 0 ? 0 : 1);
    return true;
}

static size_t index_of(const struct live_controls *controls, size_t stage,
                       enum stage_control_kind kind, size_t port)
{
    size_t i = 0;
    while (i < controls->count &&
           (controls->controls[i].stage != stage || controls->controls[i].kind != kind ||
            controls->controls[i].port_index != port))
        i++;
    return i;
}

enum status live_controls_set(struct live_controls *controls, size_t stage, const char *symbol,
                              const char *text)
{
    struct stage_control control;
    float value;
    TRY(stage_controls_find(controls->stages, stage - 1, symbol, &control));
    TRY(stage_controls_parse(controls->stages, &control, text, &value));
    controls->chosen = index_of(controls, control.stage, control.kind, control.port_index);
    change(controls, &controls->controls[controls->chosen], (double)value);
    return STATUS_OK;
}

const char *live_controls_symbol(const struct live_controls *controls,
                                 const struct live_event *event)
{
    size_t i = index_of(controls, event->stage, event->kind, event->port);
    return controls->controls[i].port->symbol;
}

/* ---- changed controls as words of a spec ---- */

/* Whether a word of a spec sets a control that was changed since. */
static bool is_replaced(const struct live_controls *controls, size_t stage, const char *word)
{
    struct stage_control control;
    bool is_control = find_word(controls->stages, stage, word, &control);
    size_t i =
        is_control ? index_of(controls, stage, control.kind, control.port_index) : controls->count;
    return i < controls->count && controls->changed[i];
}

static void print_word(const char *word, FILE *stream)
{
    for (; *word; word++) {
        if (*word == ',')
            fputc('\\', stream);
        fputc(*word, stream);
    }
}

static void print_changed(const struct stage_control *control, FILE *stream)
{
    if (control->kind == STAGE_CONTROL_BYPASS)
        fprintf(stream, ",@bypass=%s", control->value > 0 ? "on" : "off");
    else
        fprintf(stream, ",%s=%.9g", control->port->symbol, (double)control->value);
}

enum status live_controls_spec(const struct live_controls *controls, size_t stage, const char *spec,
                               char **text)
{
    size_t size = 0;
    *text = NULL;
    char **words = spec_split(spec);
    FILE *stream = text_stream_open(text, &size);
    for (size_t w = 0; words && stream && words[w]; w++) {
        if (w > 0 && is_replaced(controls, stage, words[w]))
            continue;
        fputs(w > 0 ? "," : "", stream);
        print_word(words[w], stream);
    }
    for (size_t i = 0; stream && i < controls->count; i++)
        if (controls->changed[i] && controls->controls[i].stage == stage)
            print_changed(&controls->controls[i], stream);
    bool failed = text_stream_finish(stream) != 0 || !stream || !words;
    free(words);
    if (failed)
        free(*text);
    return failed ? fail_memory("a preset") : STATUS_OK;
}

/* ---- for display ---- */

/* Short name of a stage: the last part of a URI, or the label after a library's ':'. */
static const char *short_name(const struct stage *stage)
{
    const struct stage_info info = stage_describe(stage);
    const char *id = info.id ? info.id : stage->ops->option;
    const char *slash = strrchr(id, '/'), *colon = strrchr(id, ':');
    const char *tail = slash ? slash + 1 : colon ? colon + 1 : id;
    return *tail ? tail : id;
}

static const char *label_of(const struct stage_control *control)
{
    const struct plugin_port *port = control->port;
    for (size_t i = 0; port->is_enumeration && i < port->point_count; i++)
        if (port->points[i].value == control->value)
            return port->points[i].label;
    if (port->is_toggle)
        return control->value > 0 ? "on" : "off";
    return NULL;
}

/* Writes text such as "2 eg-amp gain -6 dB". */
static void put_text(struct live_controls *controls, const struct stage_control *control,
                     const char *state)
{
    const struct stage *stage = &controls->stages->stages[control->stage];
    const char *label = label_of(control), *unit = control->port->unit;
    char number[32];
    double value = (double)control->value;
    if (unit && strcasecmp(unit, "Hz") == 0 && fabs(value) >= 1000) {
        unit = "kHz";
        value /= 1000;
    }
    snprintf(number, sizeof number, fabs(value) >= 1e4 ? "%.0f" : "%.4g", value);
    snprintf(controls->text, sizeof controls->text, "%zu %s %s %s%s%s%s", control->stage + 1,
             short_name(stage), control->port->symbol, label ? label : number,
             unit && !label ? " " : "", unit && !label ? unit : "", state);
}

struct live_status_control live_controls_show(struct live_controls *controls)
{
    if (controls->count == 0)
        return (struct live_status_control){0};
    const struct stage_control *control = &controls->controls[controls->chosen];
    const struct stage_control *bypass = bypass_of(controls, control->stage);
    const struct filter *mixed = controls->stages->stages[control->stage].mixed;
    bool failed = mixed && stage_mix_is_left_out(mixed);
    bool bypassed = bypass && bypass->value > 0;
    put_text(controls, control, failed ? "  FAILED" : bypassed ? "  BYPASSED" : "");
    return (struct live_status_control){
        .text = controls->text,
        .stage = control->stage + 1,
        .symbol = control->port->symbol,
        .value = (double)control->value,
        .bypassed = bypassed,
        .failed = failed,
    };
}
