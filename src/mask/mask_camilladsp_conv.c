/* The Conv filters of a CamillaDSP configuration. */
#include "base/files_read.h"
#include "base/text_lines.h"
#include "mask/mask_camilladsp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static enum status parse_name(struct camilladsp *dsp, const yaml_node_t *parameters, char *name)
{
    const yaml_node_t *node = camilladsp_get(dsp, parameters, "filename");
    const char *text = camilladsp_text(node);
    camilladsp_at(dsp, node);
    if (!text || !*text)
        return mask_config_refuse(dsp->config, "a Conv filter has no filename:");
    return camilladsp_expand(dsp, text, name);
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
        for (size_t end = strlen(line); end > 0 && strchr(" \t", line[end - 1]);)
            line[--end] = '\0';
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
    struct flaw flaw = files_read_open_text(path, &stream);
    enum status status = flaw.text ? mask_config_refuse_for(flaw.cause, dsp->config,
                                                            "cannot open %s: %s", name, flaw.text)
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

static enum status filter_column(struct camilladsp *dsp, const struct mask *mask, size_t column)
{
    return camilladsp_apply(dsp, 1, 0, mask_column(mask, column), mask->taps);
}

static enum status conv_raw(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    char name[CAMILLADSP_NAME_MOST];
    struct raw_layout raw = {0};
    const struct mask *mask;
    struct mask_values taps = {0};
    const char *format = camilladsp_text(camilladsp_get(dsp, parameters, "format"));
    TRY(parse_name(dsp, parameters, name));
    TRY(camilladsp_count(dsp, parameters, "skip_bytes_lines", &raw.skip));
    TRY(camilladsp_count(dsp, parameters, "read_bytes_lines", &raw.most));
    if (!format || strcasecmp(format, "TEXT") == 0) {
        enum status status = read_text(dsp, name, raw.skip, raw.most, &taps);
        if (status == STATUS_OK)
            status = camilladsp_apply(dsp, 1, 0, taps.values, taps.count);
        free(taps.values);
        return status;
    }
    raw.format = raw_format_named(format);
    if (!raw.format)
        return mask_config_refuse(dsp->config, "there is no format '%.40s', but TEXT, %s", format,
                                  raw_format_names());
    TRY(mask_config_mask(dsp->config, name, &raw, &mask));
    return filter_column(dsp, mask, 0);
}

static enum status conv_wav(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    char name[CAMILLADSP_NAME_MOST];
    uint64_t channel = 0;
    const struct mask *mask;
    TRY(parse_name(dsp, parameters, name));
    TRY(camilladsp_count(dsp, parameters, "channel", &channel));
    TRY(mask_config_mask_any_rate(dsp->config, name, NULL, &mask));
    if (mask->rate != dsp->config->rate && dsp->config->rate)
        note("mask %s: the taps of %s, of %u Hz, are taken as of %u Hz, as CamillaDSP does",
             dsp->config->file, name, mask->rate, dsp->config->rate);
    if (channel >= mask->columns)
        return mask_config_refuse(dsp->config, "%s has channels 0 to %zu, not %llu", name,
                                  mask->columns - 1, (unsigned long long)channel);
    return filter_column(dsp, mask, (size_t)channel);
}

static enum status conv_values(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    struct mask_values taps = {0};
    (void)camilladsp_get(dsp, parameters, "length"); /* of version 1: zeros after them */
    enum status status = camilladsp_numbers(dsp, parameters, "values", &taps);
    if (status == STATUS_OK && taps.count == 0)
        status = mask_config_refuse(dsp->config, "a Conv filter has no values:");
    if (status == STATUS_OK)
        status = camilladsp_apply(dsp, 1, 0, taps.values, taps.count);
    free(taps.values);
    return status;
}

enum status camilladsp_conv(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    const char *type = camilladsp_text(camilladsp_get(dsp, parameters, "type"));
    if (type && (strcmp(type, "Raw") == 0 || strcmp(type, "File") == 0))
        return conv_raw(dsp, parameters);
    if (type && strcmp(type, "Wav") == 0)
        return conv_wav(dsp, parameters);
    if (type && strcmp(type, "Values") == 0)
        return conv_values(dsp, parameters);
    if (!parameters || (type && strcmp(type, "Dummy") == 0))
        return (void)camilladsp_get(dsp, parameters, "length"), STATUS_OK; /* one tap of 1 */
    return mask_config_refuse(dsp->config, "there is no Conv filter of the type %.40s",
                              type ? type : "(none)");
}
