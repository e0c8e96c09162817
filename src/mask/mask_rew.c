/* Impulse responses that REW (Room EQ Wizard) exports as text.
 *
 * Lines that begin with `*` are remarks, others in the header are `VALUE // LABEL`. After
 * `* Data start` comes one sample a line. A normalised response is multiplied by its original peak,
 * so that levels of different exports match. Decimals have a point or a comma. */
#include "base/plain_text.h"
#include "base/text_lines.h"
#include "mask/mask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_LINES_MOST = 1000, HEAD_BYTES = 4096 };

struct rew {
    struct text_lines lines;
    bool is_normalised;
    bool says_normalised; /* or not */
    double peak;          /* before normalisation; 0: unknown */
    double interval;      /* seconds */
    double start;         /* seconds: time of the first sample */
    double length;        /* samples; 0: unknown */
    struct mask_values samples;
};

static enum status is_rew(const char *file, FILE *stream, const struct mask_load_options *options,
                          bool *mine)
{
    (void)file, (void)options;
    if (!mask_looks_like_text(stream))
        return STATUS_OK;
    char head[HEAD_BYTES + 1];
    size_t size = fread(head, 1, HEAD_BYTES, stream);
    head[size] = '\0';
    const char *begin = head + plain_text_mark(head);
    begin += strspn(begin, " \t\r\n");
    *mine = *begin == '*' && (strstr(begin, "// Sample interval") ||
                              strstr(begin, "* Data start") || strstr(begin, "saved by REW"));
    return STATUS_OK;
}

static void read_remark(struct rew *rew, const char *line)
{
    const char *text = line + 1 + strspn(line + 1, " \t");
    if (strncmp(text, "IR is normalised", 16) == 0 || strncmp(text, "IR is normalized", 16) == 0)
        rew->is_normalised = rew->says_normalised = true;
    else if (strncmp(text, "IR is not normali", 17) == 0)
        rew->says_normalised = true;
}

static enum status read_label(struct rew *rew, char *line)
{
    struct {
        const char *label;
        double *value;
    } labels[] = {
        {"Peak value before normali", &rew->peak},
        {"Sample interval", &rew->interval},
        {"Start time", &rew->start},
        {"Response length", &rew->length},
    };
    char *slashes = strstr(line, "//");
    if (!slashes)
        return text_lines_refuse(&rew->lines, "neither a remark (*) nor VALUE // LABEL: '%.40s'",
                                 line);
    const char *label = slashes + 2 + strspn(slashes + 2, " \t");
    *slashes = '\0';
    line[strcspn(line, " \t")] = '\0';
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (strncmp(label, labels[i].label, strlen(labels[i].label)) == 0 &&
            !text_number(line, true, labels[i].value))
            return text_lines_refuse(&rew->lines, "'%.40s' is not a number", line);
    return STATUS_OK;
}

static enum status read_header(struct rew *rew)
{
    char *line;
    for (;;) {
        TRY(text_lines_next(&rew->lines, &line));
        if (!line)
            return fail(CAUSE_DAMAGED, "cannot read mask %s: it has no '* Data start'",
                        rew->lines.file);
        line += strspn(line, " \t");
        if (strncmp(line, "* Data start", 12) == 0)
            return STATUS_OK;
        if (*line == '*')
            read_remark(rew, line);
        else if (*line)
            TRY(read_label(rew, line));
        if (rew->lines.number > HEADER_LINES_MOST)
            return text_lines_refuse(&rew->lines, "no '* Data start' up to here");
    }
}

static enum status read_samples(struct rew *rew)
{
    char *line;
    for (;;) {
        double value;
        TRY(text_lines_next(&rew->lines, &line));
        if (!line)
            return STATUS_OK;
        line += strspn(line, " \t");
        line[strcspn(line, " \t")] = '\0';
        if (!*line || *line == '*')
            continue;
        if (!text_number(line, true, &value))
            return text_lines_refuse(&rew->lines, "'%.40s' is not a number", line);
        TRY(mask_values_add(&rew->samples, value));
    }
}

static enum status find_gain(const struct rew *rew, double *gain)
{
    bool is_normalised = rew->is_normalised;
    if (!rew->says_normalised) /* versions before 5.20 always normalise */
        is_normalised =
            rew->peak != 0 &&
            fabs(audio_peak_in_double(rew->samples.values, rew->samples.count) - 1) < 1e-3;
    *gain = 1;
    if (!is_normalised)
        return STATUS_OK;
    if (rew->peak == 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read mask %s: it is normalised without its original peak; export it "
                    "without normalisation",
                    rew->lines.file);
    *gain = fabs(rew->peak);
    note_detail("mask %s was normalised: multiplied by its peak, %g", rew->lines.file, *gain);
    return STATUS_OK;
}

static enum status read_file(struct rew *rew, bool allow_truncated, struct mask **mask)
{
    TRY(read_header(rew));
    TRY(read_samples(rew));
    double gain = 1, hertz = rew->interval > 0 ? 1 / rew->interval : 0;
    if (rew->samples.count == 0)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: no sample after '* Data start'",
                    rew->lines.file);
    if (rew->length != 0 && rew->length != (double)rew->samples.count && !allow_truncated)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it states %.0f samples and holds %zu",
                    rew->lines.file, rew->length, rew->samples.count);
    if (!(hertz >= 1 && hertz <= MASK_RATE_MOST))
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it has no valid sample interval (%g s)",
                    rew->lines.file, rew->interval);
    TRY(find_gain(rew, &gain));
    TRY(mask_create(rew->lines.file, 1, rew->samples.count, mask));
    (*mask)->rate = (uint32_t)lrint(hertz);
    for (size_t k = 0; k < rew->samples.count; k++)
        (*mask)->coefficients[k] = rew->samples.values[k] * gain;
    if (rew->start < 0)
        note_detail("mask %s: REW has time zero at tap %.0f", rew->lines.file,
                    -rew->start * (*mask)->rate);
    return STATUS_OK;
}

static enum status read_rew(const char *file, FILE *stream, const struct mask_load_options *options,
                            struct mask **mask)
{
    struct rew rew = {0};
    enum status status = text_lines_init(&rew.lines, file, stream);
    if (status == STATUS_OK)
        status = read_file(&rew, options->allow_truncated, mask);
    text_lines_free(&rew.lines);
    free(rew.samples.values);
    return status;
}

const struct mask_reader mask_reader_rew = {
    .kind = "REW text",
    .is_mine = is_rew,
    .read = read_rew,
};
