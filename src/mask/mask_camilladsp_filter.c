/* The filters of a CamillaDSP configuration that are convolution, gain or delay. */
#include "base/text_lines.h"
#include "mask/mask_camilladsp.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const double SOUND_MM_PER_SECOND = 343e3; /* CamillaDSP's */

enum { NAME_MOST = 1024 };

/* $samplerate$ and $channels$ in a name stand for those. */
static enum status expand_name(struct camilladsp *camilladsp, const char *from, char *name)
{
    const struct {
        const char *token;
        uint64_t value;
    } tokens[] = {
        {"$samplerate$", camilladsp->config->rate},
        {"$channels$", camilladsp->channels},
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
            return mask_config_refuse(camilladsp->config, "a name that is too long");
        memcpy(name + length, number, more);
        length += more;
        from += skip;
    }
    name[length] = '\0';
    return STATUS_OK;
}

static enum status parse_name(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                             char *name)
{
    const yaml_node_t *node = camilladsp_get(camilladsp, parameters, "filename");
    const char *text = camilladsp_text(node);
    camilladsp_at(camilladsp, node);
    if (!text || !*text)
        return mask_config_refuse(camilladsp->config, "a Conv filter without filename:");
    return expand_name(camilladsp, text, name);
}

/* ---- coefficients from files ---- */

/* `most` lines after `skip`, a number each; 0: all. */
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

static enum status read_text(struct camilladsp *camilladsp, const char *name, uint64_t skip,
                             uint64_t most, struct mask_values *taps)
{
    char *path;
    struct text_lines lines = {0};
    enum status status = mask_config_find(camilladsp->config, name, &path);
    if (status != STATUS_OK)
        return status;
    FILE *stream = fopen(path, "rb");
    status = stream ? text_lines_init(&lines, path, stream)
                    : mask_config_refuse(camilladsp->config, "cannot open %s: %s", name,
                                         strerror(errno));
    if (status == STATUS_OK)
        status = read_lines(&lines, skip, most, taps);
    if (status == STATUS_OK && taps->count == 0)
        status = mask_config_refuse(camilladsp->config, "%s holds no coefficient", name);
    text_lines_free(&lines);
    if (stream)
        fclose(stream);
    free(path);
    return status;
}

static enum status conv_raw(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                            size_t output)
{
    char name[NAME_MOST];
    struct raw_layout raw = {0};
    const struct mask *mask;
    struct mask_values taps = {0};
    const char *format = camilladsp_text(camilladsp_get(camilladsp, parameters, "format"));
    enum status status = parse_name(camilladsp, parameters, name);
    if (status == STATUS_OK)
        status = camilladsp_count(camilladsp, parameters, "skip_bytes_lines", &raw.skip);
    if (status == STATUS_OK)
        status = camilladsp_count(camilladsp, parameters, "read_bytes_lines", &raw.most);
    if (status != STATUS_OK)
        return status;
    if (!format || strcasecmp(format, "TEXT") == 0) {
        status = read_text(camilladsp, name, raw.skip, raw.most, &taps);
        if (status == STATUS_OK)
            status = mask_matrix_filter(camilladsp->matrix, output, 1, 0, taps.values, taps.count);
        free(taps.values);
        return status;
    }
    raw.format = raw_format_named(format);
    if (!raw.format)
        return mask_config_refuse(camilladsp->config, "there is no format '%.40s', but TEXT, %s",
                                  format, raw_format_names());
    status = mask_config_mask(camilladsp->config, name, &raw, &mask);
    return status == STATUS_OK ? mask_matrix_filter(camilladsp->matrix, output, 1, 0,
                                                    mask_column(mask, 0), mask->taps)
                               : status;
}

static enum status conv_wav(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                            size_t output)
{
    char name[NAME_MOST];
    uint64_t channel = 0;
    const struct mask *mask;
    TRY(parse_name(camilladsp, parameters, name));
    TRY(camilladsp_count(camilladsp, parameters, "channel", &channel));
    TRY(mask_config_mask(camilladsp->config, name, NULL, &mask));
    if (channel >= mask->columns)
        return mask_config_refuse(camilladsp->config, "%s has channels 0 to %zu, not %llu", name,
                                  mask->columns - 1, (unsigned long long)channel);
    return mask_matrix_filter(camilladsp->matrix, output, 1, 0, mask_column(mask, (size_t)channel),
                              mask->taps);
}

static enum status conv_values(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                               size_t output)
{
    const yaml_node_t *list = camilladsp_get(camilladsp, parameters, "values");
    struct mask_values taps = {0};
    enum status status = STATUS_OK;
    const yaml_node_t *node;
    camilladsp_at(camilladsp, list);
    if (!camilladsp_is_list(list))
        return mask_config_refuse(camilladsp->config, "a Conv filter without values:");
    for (size_t i = 0; status == STATUS_OK && (node = camilladsp_item(camilladsp, list, i)); i++) {
        double value;
        const char *text = camilladsp_text(node);
        if (!text || !text_number(text, false, &value))
            status = mask_config_refuse(camilladsp->config, "'%.40s' is not a coefficient",
                                        text ? text : "a list");
        else
            status = mask_values_add(&taps, value);
    }
    if (status == STATUS_OK && taps.count == 0)
        status = mask_config_refuse(camilladsp->config, "values: is empty");
    if (status == STATUS_OK)
        status = mask_matrix_filter(camilladsp->matrix, output, 1, 0, taps.values, taps.count);
    free(taps.values);
    return status;
}

static enum status parse_conv(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                             size_t output)
{
    const char *type = camilladsp_text(camilladsp_get(camilladsp, parameters, "type"));
    if (type && (strcmp(type, "Raw") == 0 || strcmp(type, "File") == 0))
        return conv_raw(camilladsp, parameters, output);
    if (type && strcmp(type, "Wav") == 0)
        return conv_wav(camilladsp, parameters, output);
    if (type && strcmp(type, "Values") == 0)
        return conv_values(camilladsp, parameters, output);
    if (!parameters || (type && strcmp(type, "Dummy") == 0))
        return STATUS_OK; /* a single tap of 1 */
    return mask_config_refuse(camilladsp->config, "a Conv filter of the type %.40s",
                              type ? type : "(none)");
}

/* ---- gain and delay ---- */

static enum status parse_gain(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                             size_t output)
{
    double factor = 1;
    TRY(camilladsp_gain(camilladsp, parameters, &factor));
    return mask_matrix_gain(camilladsp->matrix, output, factor, 0);
}

static enum status parse_delay(struct camilladsp *camilladsp, const yaml_node_t *parameters,
                              size_t output)
{
    double delay = 0, rate = camilladsp->config->rate;
    bool subsample = false;
    const char *unit = camilladsp_text(camilladsp_get(camilladsp, parameters, "unit"));
    TRY(camilladsp_number(camilladsp, parameters, "delay", &delay));
    TRY(camilladsp_bool(camilladsp, parameters, "subsample", &subsample));
    double a_second = !unit || strcmp(unit, "ms") == 0 ? 1e3
                      : strcmp(unit, "us") == 0        ? 1e6
                      : strcmp(unit, "mm") == 0        ? SOUND_MM_PER_SECOND
                      : strcmp(unit, "samples") == 0   ? rate
                                                       : 0;
    bool in_samples = unit && strcmp(unit, "samples") == 0;
    if (!in_samples && a_second == 0)
        return mask_config_refuse(camilladsp->config, "there is no unit %.40s of delays", unit);
    if (!in_samples && rate == 0)
        return mask_config_refuse(camilladsp->config, "a delay, and no samplerate:");
    double frames = in_samples ? delay : delay / a_second * rate;
    if (!(frames >= 0 && frames <= MATRIX_TAPS_MOST))
        return mask_config_refuse(camilladsp->config, "a delay of %g samples", frames);
    if (subsample && fabs(frames - rint(frames)) > 1e-6)
        return mask_config_refuse(camilladsp->config, "a fractional delay (subsample: "
                                                      "true) cannot be read as a mask");
    return mask_matrix_gain(camilladsp->matrix, output, 1, (uint64_t)rint(frames));
}

enum status camilladsp_filter(struct camilladsp *camilladsp, const yaml_node_t *filter,
                              const char *name, size_t output)
{
    const yaml_node_t *parameters = camilladsp_get(camilladsp, filter, "parameters");
    const char *type = camilladsp_text(camilladsp_get(camilladsp, filter, "type"));
    camilladsp_at(camilladsp, filter);
    if (type && strcmp(type, "Conv") == 0)
        return parse_conv(camilladsp, parameters, output);
    if (type && strcmp(type, "Gain") == 0)
        return parse_gain(camilladsp, parameters, output);
    if (type && strcmp(type, "Delay") == 0)
        return parse_delay(camilladsp, parameters, output);
    return mask_config_refuse(camilladsp->config,
                              "filter %.100s of the type %.40s cannot be read as a mask", name,
                              type ? type : "(none)");
}
