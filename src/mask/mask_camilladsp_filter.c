/* The filters of a CamillaDSP configuration that are convolution, gain or delay. */
#include "base/files_read.h"
#include "base/text_lines.h"
#include "mask/mask_camilladsp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double SOUND_MM_PER_SECOND = 343e3; /* CamillaDSP's */

enum { NAME_MOST = 1024 };

/* Replace $samplerate$ and $channels$ in a file name. */
static enum status expand_name(struct camilladsp *dsp, const char *from, char *name)
{
    const struct {
        const char *token;
        uint64_t value;
    } tokens[] = {
        {"$samplerate$", dsp->config->rate},
        {"$channels$", dsp->channels},
    };
    size_t length = 0;
    while (*from) {
        char number[24] = {*from};
        size_t skip = 1;
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            if (strncmp(from, tokens[i].token, strlen(tokens[i].token)) == 0) {
                snprintf(number, sizeof number, "%llu", (unsigned long long)tokens[i].value);
                skip = strlen(tokens[i].token);
            }
        size_t more = strlen(number);
        if (length + more >= NAME_MOST)
            return mask_config_refuse(dsp->config, "a file name is too long");
        memcpy(name + length, number, more);
        length += more;
        from += skip;
    }
    name[length] = '\0';
    return STATUS_OK;
}

static enum status parse_name(struct camilladsp *dsp, const yaml_node_t *parameters, char *name)
{
    const yaml_node_t *node = camilladsp_get(dsp, parameters, "filename");
    const char *text = camilladsp_text(node);
    camilladsp_at(dsp, node);
    if (!text || !*text)
        return mask_config_refuse(dsp->config, "a Conv filter has no filename:");
    return expand_name(dsp, text, name);
}

/* One number a line, of `most` lines after `skip`; 0: all. */
static enum status read_lines(struct text_lines *lines, uint64_t skip, uint64_t most,
                              struct mask_values *taps)
{
    char *line;
    for (;;) {
        double value;
        TRY(text_lines_next(lines, &line));
        if (!line || (most && lines->number > skip && lines->number - skip > most))
            return STATUS_OK;
        if (lines->number <= skip)
            continue;
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = '\0';
        if (!*line)
            continue;
        if (!text_number(line, false, &value))
            return text_lines_refuse(lines, "'%.40s' is not a number", line);
        TRY(mask_values_add(taps, value));
    }
}

static enum status read_text(struct camilladsp *dsp, const char *name, uint64_t skip, uint64_t most,
                             struct mask_values *taps)
{
    char *path;
    struct text_lines lines = {0};
    TRY(mask_config_find(dsp->config, name, &path));
    FILE *stream;
    const char *flaw = files_read_open(path, &stream);
    enum status status = flaw ? mask_config_refuse(dsp->config, "cannot open %s: %s", name, flaw)
                              : text_lines_init(&lines, path, stream);
    if (status == STATUS_OK)
        status = read_lines(&lines, skip, most, taps);
    if (status == STATUS_OK && taps->count == 0)
        status = mask_config_refuse(dsp->config, "%s holds no coefficient", name);
    text_lines_free(&lines);
    if (stream)
        fclose(stream);
    free(path);
    return status;
}

static enum status filter_column(struct camilladsp *dsp, size_t output, const struct mask *mask,
                                 size_t column)
{
    return mask_matrix_filter(dsp->config->matrix, output, 1, 0, mask_column(mask, column),
                              mask->taps);
}

/* Filters with `taps`, if they could be read, and frees them. */
static enum status filter_values(struct camilladsp *dsp, size_t output, struct mask_values *taps,
                                 enum status status)
{
    if (status == STATUS_OK)
        status = mask_matrix_filter(dsp->config->matrix, output, 1, 0, taps->values, taps->count);
    free(taps->values);
    return status;
}

static enum status conv_raw(struct camilladsp *dsp, const yaml_node_t *parameters, size_t output)
{
    char name[NAME_MOST];
    struct raw_layout raw = {0};
    const struct mask *mask;
    struct mask_values taps = {0};
    const char *format = camilladsp_text(camilladsp_get(dsp, parameters, "format"));
    TRY(parse_name(dsp, parameters, name));
    TRY(camilladsp_count(dsp, parameters, "skip_bytes_lines", &raw.skip));
    TRY(camilladsp_count(dsp, parameters, "read_bytes_lines", &raw.most));
    if (!format || strcasecmp(format, "TEXT") == 0)
        return filter_values(dsp, output, &taps, read_text(dsp, name, raw.skip, raw.most, &taps));
    raw.format = raw_format_named(format);
    if (!raw.format)
        return mask_config_refuse(dsp->config, "there is no format '%.40s', but TEXT, %s", format,
                                  raw_format_names());
    TRY(mask_config_mask(dsp->config, name, &raw, &mask));
    return filter_column(dsp, output, mask, 0);
}

static enum status conv_wav(struct camilladsp *dsp, const yaml_node_t *parameters, size_t output)
{
    char name[NAME_MOST];
    uint64_t channel = 0;
    const struct mask *mask;
    TRY(parse_name(dsp, parameters, name));
    TRY(camilladsp_count(dsp, parameters, "channel", &channel));
    TRY(mask_config_mask(dsp->config, name, NULL, &mask));
    if (channel >= mask->columns)
        return mask_config_refuse(dsp->config, "%s has channels 0 to %zu, not %llu", name,
                                  mask->columns - 1, (unsigned long long)channel);
    return filter_column(dsp, output, mask, (size_t)channel);
}

static enum status conv_values(struct camilladsp *dsp, const yaml_node_t *parameters, size_t output)
{
    const yaml_node_t *list = camilladsp_get(dsp, parameters, "values");
    struct mask_values taps = {0};
    enum status status = STATUS_OK;
    const yaml_node_t *node;
    camilladsp_at(dsp, list);
    if (!camilladsp_is_list(list))
        return mask_config_refuse(dsp->config, "a Conv filter has no values:");
    for (size_t i = 0; status == STATUS_OK && (node = camilladsp_item(dsp, list, i)); i++) {
        double value;
        const char *text = camilladsp_text(node);
        if (!text || !text_number(text, false, &value))
            status = mask_config_refuse(dsp->config, "'%.40s' is not a coefficient",
                                        text ? text : "a list");
        else
            status = mask_values_add(&taps, value);
    }
    if (status == STATUS_OK && taps.count == 0)
        status = mask_config_refuse(dsp->config, "values: is empty");
    return filter_values(dsp, output, &taps, status);
}

static enum status parse_conv(struct camilladsp *dsp, const yaml_node_t *parameters, size_t output)
{
    const char *type = camilladsp_text(camilladsp_get(dsp, parameters, "type"));
    if (type && (strcmp(type, "Raw") == 0 || strcmp(type, "File") == 0))
        return conv_raw(dsp, parameters, output);
    if (type && strcmp(type, "Wav") == 0)
        return conv_wav(dsp, parameters, output);
    if (type && strcmp(type, "Values") == 0)
        return conv_values(dsp, parameters, output);
    if (!parameters || (type && strcmp(type, "Dummy") == 0))
        return STATUS_OK; /* a single tap of 1 */
    return mask_config_refuse(dsp->config, "a Conv filter of the type %.40s",
                              type ? type : "(none)");
}

static enum status parse_delay(struct camilladsp *dsp, const yaml_node_t *parameters, size_t output)
{
    double delay = 0, rate = dsp->config->rate;
    bool subsample = false;
    const char *unit = camilladsp_text(camilladsp_get(dsp, parameters, "unit"));
    TRY(camilladsp_number(dsp, parameters, "delay", &delay));
    TRY(camilladsp_bool(dsp, parameters, "subsample", &subsample));
    double a_second = !unit || strcmp(unit, "ms") == 0 ? 1e3
                      : strcmp(unit, "us") == 0        ? 1e6
                      : strcmp(unit, "mm") == 0        ? SOUND_MM_PER_SECOND
                      : strcmp(unit, "samples") == 0   ? rate
                                                       : 0;
    bool in_samples = unit && strcmp(unit, "samples") == 0;
    if (!in_samples && a_second == 0)
        return mask_config_refuse(dsp->config, "%.40s is not a unit of delays", unit);
    if (!in_samples && rate == 0)
        return mask_config_refuse(dsp->config, "a delay needs samplerate:");
    double frames = in_samples ? delay : delay / a_second * rate;
    if (!(frames >= 0 && frames <= MATRIX_TAPS_MOST))
        return mask_config_refuse(dsp->config, "a delay of %g samples", frames);
    if (subsample && fabs(frames - rint(frames)) > 1e-6)
        return mask_config_refuse(dsp->config, "a fractional delay (subsample: "
                                               "true) cannot be read as a mask");
    return mask_matrix_gain(dsp->config->matrix, output, 1, (uint64_t)rint(frames));
}

enum status camilladsp_filter(struct camilladsp *dsp, const yaml_node_t *filter, const char *name,
                              size_t output)
{
    const yaml_node_t *parameters = camilladsp_get(dsp, filter, "parameters");
    const char *type = camilladsp_text(camilladsp_get(dsp, filter, "type"));
    double factor = 1;
    camilladsp_at(dsp, filter);
    if (type && strcmp(type, "Conv") == 0)
        return parse_conv(dsp, parameters, output);
    if (type && strcmp(type, "Gain") == 0) {
        TRY(camilladsp_gain(dsp, parameters, &factor));
        return mask_matrix_gain(dsp->config->matrix, output, factor, 0);
    }
    if (type && strcmp(type, "Delay") == 0)
        return parse_delay(dsp, parameters, output);
    return mask_config_refuse(dsp->config,
                              "filter %.100s of the type %.40s cannot be read as a mask", name,
                              type ? type : "(none)");
}
