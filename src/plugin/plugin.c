#include "plugin/plugin.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#if defined HALO_NO_LV2 || defined HALO_NO_LADSPA
static enum status refuse_describe(const char *id, struct plugin_info **info)
{
    (void)info;
    return fail(CAUSE_UNSUPPORTED,
                "cannot load %s: this halo was built without plugins of that kind; install lilv "
                "(liblilv-dev) for LV2 or ladspa.h (ladspa-sdk) for LADSPA and build it again",
                id);
}

static enum status list_none(const struct plugin_found *found)
{
    (void)found;
    return STATUS_OK;
}
#endif
#ifdef HALO_NO_LV2
const struct plugin_kind plugin_lv2 = {
    .name = "lv2", .argument = "URI", .describe = refuse_describe, .list = list_none};
#endif
#ifdef HALO_NO_LADSPA
const struct plugin_kind plugin_ladspa = {
    .name = "ladspa", .argument = "LIBRARY:LABEL", .describe = refuse_describe, .list = list_none};
#endif

static const struct plugin_kind *const kinds[] = {&plugin_lv2, &plugin_ladspa, &plugin_clap,
                                                  &plugin_vst3};
enum { KINDS = sizeof kinds / sizeof *kinds };

const struct plugin_kind *plugin_kind_at(size_t index)
{
    return index < KINDS ? kinds[index] : NULL;
}

const struct plugin_kind *plugin_kind_named(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

static void port_free(struct plugin_port *port)
{
    for (size_t i = 0; i < port->point_count; i++)
        free(port->points[i].label);
    free(port->points);
    free(port->symbol);
    free(port->name);
    free(port->unit);
    free(port->group);
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void plugin_contents_free(struct plugin_contents *contents)
{
    free_texts(contents->ids, contents->count);
    free_texts(contents->served, contents->served_count);
    *contents = (struct plugin_contents){0};
}

void plugin_info_destroy(struct plugin_info *info)
{
    if (!info)
        return;
    for (size_t i = 0; i < info->port_count; i++)
        port_free(&info->ports[i]);
    for (size_t i = 0; i < info->parameter_count; i++) {
        free(info->parameters[i].uri);
        free(info->parameters[i].name);
    }
    for (size_t i = 0; i < info->preset_count; i++) {
        free(info->presets[i].uri);
        free(info->presets[i].name);
    }
    free_texts(info->features, info->feature_count);
    free_texts(info->holders, info->holder_count);
    free(info->ports);
    free(info->parameters);
    free(info->presets);
    free(info->id);
    free(info->name);
    free(info->maker);
    free(info->category);
    free(info->file);
    free(info->refusal);
    free(info);
}

struct plugin_range plugin_port_range(const struct plugin_port *port, uint32_t rate)
{
    float bounds = port->counts_in_rate ? (float)rate : 1;
    float initial = port->initial * (port->initial_counts_in_rate ? (float)rate : 1);
    struct plugin_range range = {.minimum = port->minimum * bounds,
                                 .maximum = port->maximum * bounds};
    range.initial = fmaxf(range.minimum, fminf(range.maximum, initial));
    return range;
}

enum cause plugin_cause(long long number)
{
    bool is_one = number > CAUSE_OTHER && number < CAUSE_SOME_FAILED;
    return is_one ? (enum cause)number : CAUSE_OTHER;
}

enum status plugin_usable(const struct plugin_info *info)
{
    return info->refusal ? fail(CAUSE_UNSUPPORTED, "cannot run %s: %s", info->id, info->refusal)
                         : STATUS_OK;
}

enum status plugin_create(const struct plugin_info *info, const struct plugin_settings *settings,
                          struct plugin **plugin)
{
    TRY(plugin_usable(info));
    if (info->holder_count > 0)
        TRY(info->kind->use(info->holders, info->holder_count));
    return info->kind->create(info, settings, plugin);
}

void plugin_destroy(struct plugin *plugin)
{
    if (plugin)
        plugin->kind->destroy(plugin);
}

enum status plugin_ports_init(struct plugin *plugin, uint32_t rate)
{
    const struct plugin_info *info = plugin->info;
    plugin->controls = calloc(info->port_count + 1, sizeof *plugin->controls);
    plugin->in_ports = calloc(info->port_count + 1, sizeof *plugin->in_ports);
    plugin->out_ports = calloc(info->port_count + 1, sizeof *plugin->out_ports);
    if (!plugin->controls || !plugin->in_ports || !plugin->out_ports)
        return fail_memory("a plugin's ports");
    for (uint32_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (port->type == PLUGIN_AUDIO && port->is_input)
            plugin->in_ports[plugin->inputs++] = i;
        else if (port->type == PLUGIN_AUDIO)
            plugin->out_ports[plugin->outputs++] = i;
        else if (plugin_port_is_control(port))
            plugin->controls[i] = plugin_port_range(port, rate).initial;
    }
    return STATUS_OK;
}

void plugin_ports_free(struct plugin *plugin)
{
    free(plugin->controls);
    free(plugin->in_ports);
    free(plugin->out_ports);
}

HALO_REALTIME uint64_t plugin_latency(const struct plugin *plugin)
{
    const struct plugin_info *info = plugin->info;
    for (size_t i = 0; i < info->port_count; i++) {
        float frames = plugin->controls[i];
        if (info->ports[i].is_latency && frames >= 0.5F && frames < PLUGIN_LATENCY_MOST)
            return (uint64_t)(frames + 0.5F);
    }
    return 0;
}

char *plugin_places_next(const char **list)
{
    while (**list == ':')
        ++*list;
    size_t length = strcspn(*list, ":");
    const char *from = *list, *home = getenv("HOME");
    bool is_home = home && from[0] == '~' && (length == 1 || from[1] == '/');
    char *place = NULL;
    *list += length;
    if (length > 0 && asprintf(&place, "%s%.*s", is_home ? home : "", (int)(length - is_home),
                               from + is_home) < 0)
        return NULL;
    return place;
}

static int is_shown(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

enum status plugin_places_each(const char *folder,
                               enum status (*visit)(void *context, const char *path), void *context)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, is_shown, by_bytes);
    enum status status = STATUS_OK;
    for (int i = 0; i < count; i++) {
        char *path;
        if (status == STATUS_OK && asprintf(&path, "%s/%s", folder, entries[i]->d_name) < 0) {
            status = fail_memory("a list of plugins");
        } else if (status == STATUS_OK) {
            status = visit(context, path);
            free(path);
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}

/* ---- what a plugin prints ---- */

void plugin_output_init(struct plugin_output *output, const char *name)
{
    *output = (struct plugin_output){.name = name};
}

static void end_line(struct plugin_output *output)
{
    while (output->length > 0 && output->line[output->length - 1] == ' ')
        output->length--;
    output->line[output->length] = '\0';
    const char *line = output->line + strspn(output->line, " ");
    output->length = 0;
    if (!*line)
        return;
    snprintf(output->last, sizeof output->last, "%s", line);
    if (output->lines++ < OUTPUT_MOST && output->name)
        note_detail("%s says: %s", output->name, line);
}

void plugin_output_take(struct plugin_output *output, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n' || output->length == OUTPUT_LINE - 1)
            end_line(output);
        if (bytes[i] != '\n')
            output->line[output->length++] = iscntrl((unsigned char)bytes[i]) ? ' ' : bytes[i];
    }
}

/* ---- warnings ---- */

enum { WARNINGS_MOST = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *warnings[WARNINGS_MOST]; /* warnings printed so far; guarded by `lock` */
static size_t warning_count;          /* guarded by `lock` */

/* Take the line. Returns whether it is new and fewer than WARNINGS_MOST were printed. */
static bool remember(char *line)
{
    pthread_mutex_lock(&lock);
    bool is_new = warning_count < WARNINGS_MOST;
    for (size_t i = 0; is_new && i < warning_count; i++)
        is_new = strcmp(warnings[i], line) != 0;
    if (is_new)
        warnings[warning_count++] = line;
    pthread_mutex_unlock(&lock);
    if (!is_new)
        free(line);
    return is_new;
}

void plugin_output_warn(const char *name, const char *line)
{
    char *text;
    bool is_named = strncmp(line, name, strlen(name)) == 0;
    if (asprintf(&text, "%s%s%s", is_named ? "" : name, is_named ? "" : ": ", line) < 0)
        return;
    if (remember(text))
        warning("%s", text);
}

void plugin_output_end(struct plugin_output *output)
{
    end_line(output);
    if (output->lines > OUTPUT_MOST && output->name)
        note_detail("%s says: %zu more lines", output->name, output->lines - OUTPUT_MOST);
    output->lines = 0;
}

/* ---- brackets ---- */

bool name_next_brackets(const char **at, struct name_span *inner)
{
    const char *open = strpbrk(*at, "([");
    const char *close = open ? strchr(open, *open == '(' ? ')' : ']') : NULL;
    if (!close)
        return false;
    *inner = (struct name_span){open + 1, (size_t)(close - open - 1)};
    *at = close + 1;
    return true;
}

struct name_span name_trimmed(struct name_span span)
{
    while (span.length && isspace((unsigned char)span.text[0]))
        span.text++, span.length--;
    while (span.length && isspace((unsigned char)span.text[span.length - 1]))
        span.length--;
    return span;
}

const char *name_unit_in(struct name_span span)
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
    span = name_trimmed(span);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i].name) == span.length &&
            strncasecmp(units[i].name, span.text, span.length) == 0)
            return units[i].unit;
    return NULL;
}

/* ---- symbols ---- */

static size_t add_letters(char *symbol, size_t length, struct name_span text)
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

/* Make a symbol of a name, with or without text in brackets, always without units. NULL: memory. */
static char *symbol_of(const char *name, bool with_brackets)
{
    char *symbol = malloc(strlen(name) + sizeof "_port"); /* "_" may come before a digit */
    size_t length = 0;
    struct name_span inner;
    const char *at = name, *next = name;
    while (symbol && name_next_brackets(&next, &inner)) {
        length = add_letters(symbol, length, (struct name_span){at, (size_t)(inner.text - at)});
        if (with_brackets && !name_unit_in(inner))
            length = add_letters(symbol, length, inner);
        at = next - 1; /* continue at the closing bracket, which becomes "_" */
    }
    if (!symbol)
        return NULL;
    length = add_letters(symbol, length, (struct name_span){at, strlen(at)});
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

/* Replace the symbol of a port by `symbol`, which it then owns. NULL: memory ran out, an error. */
static enum status rename_port(struct plugin_port *port, char *symbol)
{
    if (!symbol)
        return fail_memory("a plugin");
    free(port->symbol);
    port->symbol = symbol;
    return STATUS_OK;
}

/* If ports share a symbol, make their symbols again with the text in brackets. */
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

/* Give a port the first of the symbols gain, gain_2, gain_3, ... that no earlier port has. */
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

enum status plugin_port_symbols(struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(rename_port(&info->ports[i], symbol_of(info->ports[i].name, false)));
    TRY(lengthen_alike(info));
    for (size_t i = 0; i < info->port_count; i++)
        TRY(number_alike(info, i));
    return STATUS_OK;
}
