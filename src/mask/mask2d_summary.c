#include "mask/mask2d_summary.h"

#include "base/json_text.h"
#include "mask/mask2d_design.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HEAD = 19 };

struct sums {
    double all;
    double magnitudes;
    double least;
    double most;
};

static struct sums sums_of(const struct mask2d *mask)
{
    struct sums sums = {.least = INFINITY, .most = -INFINITY};
    for (size_t i = 0; i < mask->rows * mask->columns; i++) {
        double tap = (double)mask->taps[i];
        sums.all += tap;
        sums.magnitudes += fabs(tap);
        sums.least = fmin(sums.least, tap);
        sums.most = fmax(sums.most, tap);
    }
    if (fabs(sums.all) < 1e-6 * sums.magnitudes) /* what rounding leaves of nothing */
        sums.all = 0;
    return sums;
}

/* ---- for people ---- */

static void print_gain(const char *what, double sum)
{
    printf("  %-*s%.6g", HEAD, what, sum);
    if (fabs(sum) > 0)
        printf(" (%.1f dB)\n", round(10 * audio_to_db(fabs(sum))) / 10 + 0.0);
    else
        puts(" (nothing)");
}

void mask2d_summary_print(const char *text, const struct mask2d *mask)
{
    struct sums sums = sums_of(mask);
    size_t down = mask->rows / 2, across = mask->columns / 2;
    printf("%s\n", text);
    printf("  %-*s%s of two dimensions, for --spectral\n", HEAD, "kind",
           mask2d_design_is_spec(text) ? "made, a mask" : "text, a mask");
    printf("  %-*s%zu row%s of time x %zu column%s of frequency, origin at row %zu, column %zu\n",
           HEAD, "size", mask->rows, mask->rows == 1 ? "" : "s", mask->columns,
           mask->columns == 1 ? "" : "s", down, across);
    printf("  %-*s%zu ahead and %zu back in time, %zu up and %zu down in frequency\n", HEAD,
           "reaches", down, mask->rows - 1 - down, across, mask->columns - 1 - across);
    print_gain("gain at DC", sums.all);
    print_gain("sum of magnitudes", sums.magnitudes);
    printf("  %-*s%.6g to %.6g\n", HEAD, "coefficients", sums.least, sums.most);
    if (mask->is_separable)
        printf("  %-*syes: %zu + %zu products for %zu\n", HEAD, "separable", mask->rows,
               mask->columns, mask->rows * mask->columns);
    else
        printf("  %-*sno\n", HEAD, "separable");
}

/* ---- for programs ---- */

static json_t *db_or_null(double sum)
{
    return fabs(sum) > 0 ? json_real(audio_to_db(fabs(sum))) : json_null();
}

json_t *mask2d_summary_object(const char *text, const struct mask2d *mask)
{
    struct sums sums = sums_of(mask);
    return json_pack("{s:o, s:s, s:I, s:I, s:[I, I], s:b, s:f, s:f, s:o, s:f, s:f}", "mask",
                     json_text(text), "format", "mask2d", "rows", (json_int_t)mask->rows, "columns",
                     (json_int_t)mask->columns, "origin", (json_int_t)(mask->rows / 2),
                     (json_int_t)(mask->columns / 2), "separable", mask->is_separable, "sum",
                     sums.all, "magnitudes", sums.magnitudes, "gain_db", db_or_null(sums.all),
                     "least", sums.least, "most", sums.most);
}

/* ---- as a picture ---- */

/* Of the coefficients that a character stands for, the one of the largest magnitude. */
static float cell_at(const struct mask2d *mask, size_t row, size_t column, size_t step)
{
    float cell = 0;
    for (size_t i = row; i < row + step && i < mask->rows; i++)
        for (size_t j = column; j < column + step && j < mask->columns; j++)
            if (fabsf(mask->taps[i * mask->columns + j]) > fabsf(cell))
                cell = mask->taps[i * mask->columns + j];
    return cell;
}

static size_t step_for(size_t count, size_t capacity)
{
    return capacity ? (count + capacity - 1) / capacity : count;
}

void mask2d_print_picture(const struct mask2d *mask, size_t width, size_t height)
{
    static const char shades[] = ".:-=+*#%@";
    enum { SHADES = sizeof shades - 1 };
    struct sums sums = sums_of(mask);
    double peak = fmax(fabs(sums.least), fabs(sums.most));
    size_t high = step_for(mask->columns, height), wide = step_for(mask->rows, width / 2);
    size_t step = high > wide ? high : wide;
    for (size_t line = mask->columns; line > 0; line--) {
        if ((line - 1) % step != 0)
            continue;
        for (size_t i = 0; i < mask->rows; i += step) {
            double cell = (double)cell_at(mask, i, line - 1, step);
            int shade = peak > 0 ? (int)ceil(fabs(cell) / peak * SHADES) : 0;
            printf("%c%c", cell < 0 ? '-' : ' ', shade ? shades[shade - 1] : ' ');
        }
        puts("");
    }
    printf("time to the right, frequency up; %c is %.6g%s%s\n", shades[SHADES - 1], peak,
           sums.least < 0 ? ", - before it is below 0" : "",
           step > 1 ? "; largest of several" : "");
}
