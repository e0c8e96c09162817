#include "live/session/live_controls.h"

#include "base/decimal.h"
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

/* ---- bands of equalisers ---- */

enum band_value { BAND_GAIN, BAND_HERTZ, BAND_Q, BAND_VALUES };
static const char *const band_symbols[] = {"gain", "hz", "q"};

struct band_control {
    size_t stage, band;
    enum band_value value;
};

/* Counts the controls of all bands up to number `index` (from 0), which is *found. If there are
 * fewer, counts all. */
static size_t find_band_control(const struct live_controls *controls, size_t index,
                                struct band_control *found)
{
    size_t count = 0, stages = controls->chain ? controls->chain->stages.count : 0;
    for (enum band_value value = BAND_GAIN; value < BAND_VALUES; value++)
        for (size_t stage = 0; stage < stages; stage++) {
            const struct eq_bands *bands = live_chain_bands(controls->chain, stage);
            for (size_t b = 0; bands && b < bands->count; b++) {
                if (value == BAND_GAIN && !eq_band_kind_of(bands->bands[b].kind)->has_gain)
                    continue;
                *found = (struct band_control){stage, b, value};
                if (count++ == index)
                    return count;
            }
        }
    return count;
}

static bool band_control_at(const struct live_controls *controls, size_t index,
                            struct band_control *found)
{
    return find_band_control(controls, index, found) > index;
}

static size_t count_all(const struct live_controls *controls)
{
    struct band_control ignored;
    return controls->count + find_band_control(controls, SIZE_MAX, &ignored);
}

static double *value_of(struct eq_band *band, enum band_value value)
{
    return value == BAND_GAIN ? &band->db : value == BAND_HERTZ ? &band->hertz : &band->q;
}

/* The next of the values first * 2^(i / steps), rounded to four digits. */
static double next_on_grid(double value, double first, int steps, int direction)
{
    double next = first * pow(2, (round(steps * log2(value / first)) + direction) / steps);
    double digit = pow(10, floor(log10(next)) - 3);
    return round(next / digit) * digit;
}

static double next_of_band(const struct eq_band *band, enum band_value value, int direction)
{
    return value == BAND_GAIN    ? band->db + direction
           : value == BAND_HERTZ ? next_on_grid(band->hertz, 1000, 12, direction)
                                 : next_on_grid(band->q, 1, 4, direction);
}

/* Changes a value of a band. Errors: the value is not possible (usage), memory. */
static enum status set_band(const struct live_controls *controls, const struct band_control *at,
                            double wanted)
{
    struct eq_bands now = *live_chain_bands(controls->chain, at->stage),
                    next = {.preamp = now.preamp};
    double rate = controls->chain->request.format.rate;
    *value_of(&now.bands[at->band], at->value) = wanted;
    for (size_t i = 0; i < now.count; i++)
        if (!eq_bands_add(&next, &now.bands[i], rate))
            return fail(CAUSE_USAGE, "eq%zu.%s cannot be %g", at->band + 1, band_symbols[at->value],
                        wanted);
    return live_chain_equalise(controls->chain, at->stage, &next, controls->way);
}

static void step_band(struct live_controls *controls, const struct band_control *at, int direction)
{
    const struct eq_band *band = &live_chain_bands(controls->chain, at->stage)->bands[at->band];
    if (set_band(controls, at, next_of_band(band, at->value, direction)) != STATUS_OK)
        controls->notice = "the band's value cannot go further";
}

/* Sets the control of a band with this symbol, such as eq1.gain. False: there is none. */
static bool set_band_named(struct live_controls *controls, size_t stage, const char *symbol,
                           const char *text, enum status *status)
{
    struct band_control at;
    char own[sizeof controls->symbol];
    double value;
    for (size_t i = 0; band_control_at(controls, i, &at); i++) {
        snprintf(own, sizeof own, "eq%zu.%s", at.band + 1, band_symbols[at.value]);
        if (at.stage + 1 != stage || strcmp(own, symbol) != 0)
            continue;
        controls->chosen = controls->count + i;
        *status = decimal_parse(text, &value) ? set_band(controls, &at, value)
                                              : fail(CAUSE_USAGE, "%s takes a number", own);
        return true;
    }
    return false;
}

/* Shows a band as "1 eq PK 1000 Hz +2.0 dB". */
static struct live_status_control show_band(struct live_controls *controls,
                                            const struct band_control *at)
{
    struct eq_band band = live_chain_bands(controls->chain, at->stage)->bands[at->band];
    const char *name = eq_band_kind_of(band.kind)->name;
    if (at->value == BAND_GAIN)
        snprintf(controls->text, sizeof controls->text, "%zu eq %s %.4g Hz %+.1f dB", at->stage + 1,
                 name, band.hertz, band.db);
    else if (at->value == BAND_HERTZ)
        snprintf(controls->text, sizeof controls->text, "%zu eq %s frequency %.4g Hz",
                 at->stage + 1, name, band.hertz);
    else
        snprintf(controls->text, sizeof controls->text, "%zu eq %s %.4g Hz Q %.3g", at->stage + 1,
                 name, band.hertz, band.q);
    snprintf(controls->symbol, sizeof controls->symbol, "eq%zu.%s", at->band + 1,
             band_symbols[at->value]);
    return (struct live_status_control){
        .text = controls->text,
        .stage = at->stage + 1,
        .symbol = controls->symbol,
        .value = *value_of(&band, at->value),
    };
}

/* ---- keys ---- */

const char *live_controls_keys(const struct live_controls *controls)
{
    return count_all(controls) > 0 ? "  c control  + - change  b bypass" : "";
}

bool live_controls_key(struct live_controls *controls, int key)
{
    if (key <= 0 || key > 127 || !strchr("cC+=-b", key))
        return false;
    size_t count = count_all(controls);
    if (count == 0) {
        controls->notice = "no controls: the chain has no plugins and no equaliser";
        return true;
    }
    controls->chosen %= count; /* bands may be gone */
    struct band_control band = {0};
    struct stage_control *chosen = NULL;
    if (controls->chosen < controls->count)
        chosen = &controls->controls[controls->chosen];
    else
        (void)band_control_at(controls, controls->chosen - controls->count, &band);
    struct stage_control *bypass = bypass_of(controls, chosen ? chosen->stage : band.stage);
    int direction = key == '-' ? -1 : 1;
    if (key == 'c')
        controls->chosen = (controls->chosen + 1) % count;
    else if (key == 'C')
        controls->chosen = (controls->chosen + count - 1) % count;
    else if (key != 'b' && !chosen)
        step_band(controls, &band, direction);
    else if (key != 'b')
        change(controls, chosen, next_value(chosen, direction));
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
    enum status status;
    if (set_band_named(controls, stage, symbol, text, &status))
        return status;
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
    struct band_control band = {0};
    size_t count = count_all(controls);
    if (count == 0)
        return (struct live_status_control){0};
    controls->chosen %= count;
    if (controls->chosen >= controls->count &&
        band_control_at(controls, controls->chosen - controls->count, &band))
        return show_band(controls, &band);
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
