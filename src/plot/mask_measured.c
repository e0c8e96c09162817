#include "plot/mask_measured.h"

#include "base/printable.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL = 9, OCTAVES = 10, FIRST_THIRD = 1, THIRDS_IN_OCTAVE = 3, CELL_TEXT = 16 };

enum status mask_measured_read(const struct mask *mask, struct measurement **measurement)
{
    TRY(measurement_parse(mask->measured, measurement));
    const struct measurement *read = *measurement;
    if (!read || read->path_count == 0 ||
        (read->path_count == mask->columns && read->rate == mask->rate))
        return STATUS_OK;
    measurement_destroy(*measurement);
    *measurement = NULL;
    return STATUS_OK;
}

static void print_line(int head, const char *name, const char *text)
{
    if (*text)
        printf("  %-*s%s\n", head, name, printable(text));
}

static void print_circumstances(const struct measurement *measurement, int head)
{
    char line[MEASURED_LINE];
    measurement_describe(measurement, line);
    print_line(head, "made by", line);
    print_line(head, "timing", measurement->timing);
    *line = '\0';
    if (fabs(measurement->drift) > 0) /* not NAN */
        snprintf(line, sizeof line, "the input's clock is %.2f ppm %s", fabs(measurement->drift),
                 measurement->drift > 0 ? "faster" : "slower");
    print_line(head, "clocks", line);
    print_line(head, "calibration", measurement->calibration);
    *line = '\0';
    if (!isnan(measurement->full_scale))
        snprintf(line, sizeof line, "%.1f dB SPL", measurement->full_scale);
    print_line(head, "full scale", line);
}

static void print_cell(const char *format, double value)
{
    char text[CELL_TEXT] = "-";
    if (isfinite(value))
        snprintf(text, sizeof text, format, value);
    printf("%*s", CELL, text);
}

/* The mean power of an octave's thirds, or the least, or the largest. */
static double mean_of(const double *levels)
{
    double power = 0, known = 0;
    for (size_t t = 0; t < THIRDS_IN_OCTAVE; t++)
        if (!isnan(levels[t])) {
            power += pow(10, levels[t] / 10);
            known++;
        }
    return 10 * log10(power / known);
}

static double least_of(const double *levels)
{
    return fmin(fmin(levels[0], levels[1]), levels[2]); /* without NAN */
}

static double largest_of(const double *levels)
{
    return fmax(fmax(levels[0], levels[1]), levels[2]);
}

/* Prints an octave: its level, and the worst third of the others. `spl`: SPL of a level of 0 dB. */
static void print_octave(const struct measured_path *path, size_t octave, double spl, int head)
{
    size_t from = FIRST_THIRD + octave * THIRDS_IN_OCTAVE;
    double thd[THIRDS_IN_OCTAVE];
    char name[CELL_TEXT];
    if (isnan(largest_of(path->level + from)) && isnan(largest_of(path->snr + from)))
        return;
    for (size_t t = 0; t < THIRDS_IN_OCTAVE; t++)
        thd[t] = measured_thd(path, from + t);
    snprintf(name, sizeof name, "%g Hz", 31.25 * exp2((double)octave));
    printf("    %-*s", head - 2, octave == 0 ? "31.5 Hz" : octave == 1 ? "63 Hz" : name);
    print_cell("%.1f dB", mean_of(path->level + from));
    if (!isnan(spl))
        print_cell("%.1f dB", mean_of(path->level + from) + spl);
    print_cell("%.0f dB", least_of(path->snr + from));
    print_cell(" %.2g %%", 100 * pow(10, largest_of(thd) / 20));
    for (size_t n = 0; n < MEASURED_ORDERS; n++)
        print_cell(" %.1f dB", largest_of(path->distortion[n] + from));
    puts("");
}

static void print_path(const struct measurement *measurement, size_t index, int head)
{
    const struct measured_path *path = &measurement->paths[index];
    double spl = measurement->full_scale + measurement->level;
    char title[40] = "octave";
    if (measurement->path_count > 1)
        snprintf(title, sizeof title, "octave, ch. %zu", index + 1);
    printf("  %-*s%*s", head, title, CELL, "level");
    if (!isnan(spl))
        printf("%*s", CELL, "SPL");
    printf("%*s%*s%*s%*s%*s%*s\n", CELL, "SNR", CELL, "THD", CELL, "2nd", CELL, "3rd", CELL, "4th",
           CELL, "5th");
    printf("    %-*s%*s", head - 2, "all", CELL, "-");
    if (!isnan(spl))
        printf("%*s", CELL, "-");
    print_cell("%.0f dB", path->snr_all);
    puts("");
    for (size_t octave = 0; octave < OCTAVES; octave++)
        print_octave(path, octave, spl, head);
}

void mask_measured_print(const struct measurement *measurement, int head)
{
    print_circumstances(measurement, head);
    for (size_t p = 0; p < measurement->path_count; p++)
        print_path(measurement, p, head);
}
