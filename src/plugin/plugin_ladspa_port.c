#include "plugin/plugin_ladspa_library.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct span {
    const char *text;
    size_t length;
};

/* ---- brackets ---- */

/* The text within the next pair from *at on; *at moves behind the pair. */
static bool next_brackets(const char **at, struct span *inner)
{
    const char *open = strpbrk(*at, "([");
    const char *close = open ? strchr(open, *open == '(' ? ')' : ']') : NULL;
    if (!close)
        return false;
    *inner = (struct span){open + 1, (size_t)(close - open - 1)};
    *at = close + 1;
    return true;
}

static struct span trimmed(struct span span)
{
    while (span.length && isspace((unsigned char)span.text[0]))
        span.text++, span.length--;
    while (span.length && isspace((unsigned char)span.text[span.length - 1]))
        span.length--;
    return span;
}

static const char *unit_named(struct span span)
{
    static const struct {
        const char *name, *unit;
    } units[] = {
        {"db", "dB"},
        {"hz", "Hz"},
        {"khz", "kHz"},
        {"ms", "ms"},
        {"s", "s"},
        {"sec", "s"},
        {"secs", "s"},
        {"seconds", "s"},
        {"us", "us"},
        {"%", "%"},
        {"percent", "%"},
        {"deg", "degrees"},
        {"degrees", "degrees"},
        {"m", "m"},
        {"cm", "cm"},
        {"mm", "mm"},
        {"inches", "inches"},
        {"octaves", "octaves"},
        {"cents", "cents"},
        {"semitones", "semitones"},
        {"st", "semitones"},
        {"bpm", "BPM"},
        {"samples", "samples"},
        {"frames", "frames"},
    };
    span = trimmed(span);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == span.length &&
            strncasecmp(units[i].name, span.text, span.length) == 0)
            return units[i].unit;
    return NULL;
}

/* "dB" of "Gain [dB]"; NULL: no known unit. */
static enum status name_unit(const char *name, char **unit)
{
    struct span inner;
    const char *found = NULL;
    while (!found && next_brackets(&name, &inner))
        found = unit_named(inner);
    *unit = found ? strdup(found) : NULL;
    return found && !*unit ? fail_memory("a plugin") : STATUS_OK;
}

/* ---- points ---- */

/* "1 = sine", up to the comma. */
static bool read_point(struct span item, float *value, struct span *label)
{
    char *end;
    *value = strtof(item.text, &end);
    while (end > item.text && isspace((unsigned char)*end))
        end++;
    if (end == item.text || *end != '=' || end >= item.text + item.length)
        return false;
    *label = trimmed((struct span){end + 1, (size_t)(item.text + item.length - end - 1)});
    return label->length > 0;
}

static enum status add_point(struct plugin_port *port, float value, struct span label)
{
    struct plugin_point *points =
        realloc(port->points, (port->point_count + 1) * sizeof *port->points);
    if (!points)
        return fail_memory("a plugin");
    port->points = points;
    char *copy = strndup(label.text, label.length);
    if (!copy)
        return fail_memory("a plugin");
    port->points[port->point_count++] = (struct plugin_point){copy, value};
    return STATUS_OK;
}

/* Those of "0 = sine, 1 = square" that lie in the range of the port. */
static enum status parse_points(struct plugin_port *port, struct span list)
{
    for (const char *at = list.text, *end = at + list.length; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct span item = {at, (size_t)((comma ? comma : end) - at)}, label;
        float value;
        if (read_point(item, &value, &label) && value >= port->minimum && value <= port->maximum)
            TRY(add_point(port, value, label));
        at += item.length + 1;
    }
    return STATUS_OK;
}

/* ---- symbols ---- */

static size_t add_letters(char *symbol, size_t length, struct span text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char letter = (unsigned char)text.text[i];
        bool is_plain = letter < 128 && isalnum(letter);
        if (is_plain && length == 0 && isdigit(letter))
            symbol[length++] = '_';
        if (is_plain)
            symbol[length++] = (char)tolower(letter);
        else if (length > 0 && symbol[length - 1] != '_')
            symbol[length++] = '_';
    }
    return length;
}

/* With or without the text in brackets; units are always left out. NULL: memory. */
static char *symbol_of(const char *name, bool with_brackets)
{
    char *symbol = malloc(strlen(name) + sizeof "_port"); /* "_" may come before a digit */
    size_t length = 0;
    struct span inner;
    const char *at = name, *next = name;
    while (symbol && next_brackets(&next, &inner)) {
        length = add_letters(symbol, length, (struct span){at, (size_t)(inner.text - at)});
        if (with_brackets && !unit_named(inner))
            length = add_letters(symbol, length, inner);
        at = next - 1; /* the closing bracket, which becomes "_" */
    }
    if (!symbol)
        return NULL;
    length = add_letters(symbol, length, (struct span){at, strlen(at)});
    while (length > 0 && symbol[length - 1] == '_')
        length--;
    symbol[length] = '\0';
    return length > 0 ? symbol : strcpy(symbol, "port");
}

static size_t count_alike(const struct plugin_info *info, size_t before, const char *symbol)
{
    size_t count = 0;
    for (size_t i = 0; i < before; i++)
        count += info->ports[i].symbol && strcmp(info->ports[i].symbol, symbol) == 0;
    return count;
}

/* Replace the symbol, taking over `symbol`; NULL: memory ran out. */
static enum status rename_port(struct plugin_port *port, char *symbol)
{
    if (!symbol)
        return fail_memory("a plugin");
    free(port->symbol);
    port->symbol = symbol;
    return STATUS_OK;
}

/* Add the brackets where two ports share the short symbol. */
static enum status lengthen_alike(struct plugin_info *info)
{
    bool *alike = calloc(info->port_count + 1, sizeof *alike);
    if (!alike)
        return fail_memory("a plugin");
    for (size_t i = 0; i < info->port_count; i++)
        alike[i] = count_alike(info, info->port_count, info->ports[i].symbol) > 1;
    enum status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < info->port_count; i++)
        if (alike[i])
            status = rename_port(&info->ports[i], symbol_of(info->ports[i].name, true));
    free(alike);
    return status;
}

/* The first of gain, gain_2, gain_3 that no earlier port has. */
static enum status number_alike(struct plugin_info *info, size_t index)
{
    struct plugin_port *port = &info->ports[index];
    char *symbol = NULL;
    for (size_t number = 2; count_alike(info, index, symbol ? symbol : port->symbol); number++) {
        free(symbol);
        if (asprintf(&symbol, "%s_%zu", port->symbol, number) < 0)
            return fail_memory("a plugin");
    }
    return symbol ? rename_port(port, symbol) : STATUS_OK;
}

static enum status name_symbols(struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(rename_port(&info->ports[i], symbol_of(info->ports[i].name, false)));
    TRY(lengthen_alike(info));
    for (size_t i = 0; i < info->port_count; i++)
        TRY(number_alike(info, i));
    return STATUS_OK;
}

/* ---- ranges ---- */

static void set_bounds(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->minimum = -INFINITY;
    port->maximum = INFINITY;
    if ((hints & LADSPA_HINT_BOUNDED_BELOW) && isfinite(hint->LowerBound))
        port->minimum = hint->LowerBound;
    if ((hints & LADSPA_HINT_BOUNDED_ABOVE) && isfinite(hint->UpperBound))
        port->maximum = hint->UpperBound;
    if (port->minimum > port->maximum) { /* invalid: treated as unbounded */
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
    }
    /* Bounds of integers lie slightly outside; multiples of the rate are not known yet. */
    if (port->is_integer && !port->counts_in_rate &&
        ceilf(port->minimum) <= floorf(port->maximum)) {
        port->minimum = ceilf(port->minimum);
        port->maximum = floorf(port->maximum);
    }
}

/* Low, middle and high as ladspa.h defines them; without a bound or its logarithm the nearest
 * value. */
static float between(const struct plugin_port *port, float share)
{
    float low = port->minimum, high = port->maximum;
    if (!isfinite(low) || !isfinite(high))
        return isfinite(low) ? low : isfinite(high) ? high : 0;
    if (port->is_logarithmic && low > 0)
        return expf(logf(low) * (1 - share) + logf(high) * share);
    return low * (1 - share) + high * share;
}

static void set_initial(LADSPA_PortRangeHintDescriptor hints, struct plugin_port *port)
{
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float share;
    } shares[] = {
        {LADSPA_HINT_DEFAULT_MINIMUM, 0},   {LADSPA_HINT_DEFAULT_LOW, 0.25F},
        {LADSPA_HINT_DEFAULT_MIDDLE, 0.5F}, {LADSPA_HINT_DEFAULT_HIGH, 0.75F},
        {LADSPA_HINT_DEFAULT_MAXIMUM, 1},
    };
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float value;
    } values[] = {
        {LADSPA_HINT_DEFAULT_0, 0},
        {LADSPA_HINT_DEFAULT_1, 1},
        {LADSPA_HINT_DEFAULT_100, 100},
        {LADSPA_HINT_DEFAULT_440, 440},
    };
    LADSPA_PortRangeHintDescriptor reported = hints & LADSPA_HINT_DEFAULT_MASK;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (reported == values[i].hint) {
            port->initial = values[i].value;
            return;
        }
    /* Without a hint: the middle of the range; of a half-open range the value nearest 0. */
    port->initial = isfinite(port->minimum) && isfinite(port->maximum)
                        ? between(port, 0.5F)
                        : fmaxf(port->minimum, fminf(port->maximum, 0));
    port->initial_counts_in_rate = port->counts_in_rate;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (reported == shares[i].hint)
            port->initial = between(port, shares[i].share);
}

static void set_range(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->is_toggle = (hints & LADSPA_HINT_TOGGLED);
    port->is_integer = (hints & LADSPA_HINT_INTEGER) && !port->is_toggle;
    port->is_logarithmic = (hints & LADSPA_HINT_LOGARITHMIC) && !port->is_toggle;
    port->counts_in_rate = (hints & LADSPA_HINT_SAMPLE_RATE) && !port->is_toggle;
    set_bounds(hint, port);
    bool has_default = (hints & LADSPA_HINT_DEFAULT_MASK);
    if (port->is_toggle) {
        port->minimum = 0;
        port->maximum = 1;
    }
    set_initial(hints, port);
    if (port->is_toggle)
        port->initial = has_default && port->initial > 0 ? 1 : 0;
    else if (port->is_integer && !port->counts_in_rate)
        port->initial = roundf(port->initial);
    if (!port->initial_counts_in_rate && !port->counts_in_rate)
        port->initial = fmaxf(port->minimum, fminf(port->maximum, port->initial));
}

/* ---- ports ---- */

static bool reports_latency(const struct plugin_port *port)
{
    const char *name = port->name + (port->name[0] == '_');
    return port->type == PLUGIN_CONTROL && !port->is_input && strcasecmp(name, "latency") == 0;
}

static bool is_side_chain(const struct plugin_port *port)
{
    static const char *const names[] = {"sidechain", "side chain", "side-chain"};
    bool has_word = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        has_word |= strcasestr(port->name, names[i]) != NULL;
    return port->type == PLUGIN_AUDIO && port->is_input && has_word;
}

static enum status describe_port(const LADSPA_Descriptor *descriptor, size_t index,
                                 struct plugin_port *port)
{
    static const LADSPA_PortRangeHint nothing;
    LADSPA_PortDescriptor kind = descriptor->PortDescriptors[index];
    const char *name = descriptor->PortNames ? descriptor->PortNames[index] : NULL;
    port->type = LADSPA_IS_PORT_AUDIO(kind) ? PLUGIN_AUDIO : PLUGIN_CONTROL;
    port->is_input = LADSPA_IS_PORT_INPUT(kind);
    port->name = strdup(name ? name : "");
    if (!port->name)
        return fail_memory("a plugin");
    port->is_latency = reports_latency(port);
    port->is_side_chain = is_side_chain(port);
    if (port->type == PLUGIN_AUDIO) {
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
        return STATUS_OK;
    }
    set_range(descriptor->PortRangeHints ? &descriptor->PortRangeHints[index] : &nothing, port);
    TRY(name_unit(port->name, &port->unit));
    struct span inner;
    for (const char *at = port->name; port->is_input && next_brackets(&at, &inner);)
        TRY(parse_points(port, inner));
    return STATUS_OK;
}

enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor, struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(describe_port(descriptor, i, &info->ports[i]));
    return name_symbols(info);
}
