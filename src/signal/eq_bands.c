#include "signal/eq_bands.h"

#include "base/decimal.h"
#include "base/text_stream.h"

#include <math.h>
#include <stdlib.h>

static const double SECTION_END = 1e-7; /* -140 dB, at which a section counts as decayed */

const struct eq_band_kind eq_band_kinds[] = {
    {"PK", BIQUAD_PEAK, true, M_SQRT1_2},
    {"LS", BIQUAD_LOW_SHELF, true, M_SQRT1_2},
    {"HS", BIQUAD_HIGH_SHELF, true, M_SQRT1_2},
    {"LP", BIQUAD_LOWPASS, false, M_SQRT1_2},
    {"HP", BIQUAD_HIGHPASS, false, M_SQRT1_2},
    {"BP", BIQUAD_BANDPASS, false, M_SQRT1_2},
    {"NO", BIQUAD_NOTCH, false, 30},
    {0},
};

const struct eq_band_kind *eq_band_kind_of(enum biquad_kind kind)
{
    for (const struct eq_band_kind *at = eq_band_kinds; at->name; at++)
        if (at->kind == kind)
            return at;
    return NULL;
}

struct biquad eq_band_section(const struct eq_band *band, double rate)
{
    return biquad_make(band->kind, band->hertz, band->db, band->q, rate);
}

bool eq_bands_add(struct eq_bands *bands, const struct eq_band *band, double rate)
{
    const struct eq_band_kind *kind = eq_band_kind_of(band->kind);
    bool fits = kind && bands->count < EQ_BANDS_MOST && band->hertz >= 1 &&
                band->hertz < rate / 2 && fabs(band->db) <= EQ_DB_MOST && band->q >= EQ_Q_LEAST &&
                band->q <= EQ_Q_MOST;
    if (!fits)
        return false;
    bands->bands[bands->count] = *band;
    if (!kind->has_gain)
        bands->bands[bands->count].db = 0;
    bands->count++;
    return true;
}

double eq_bands_taps(const struct eq_bands *bands, double rate)
{
    double slowest = 0;
    for (size_t i = 0; i < bands->count; i++) {
        struct biquad section = eq_band_section(&bands->bands[i], rate);
        slowest = fmax(slowest, biquad_pole(&section));
    }
    return EQ_TAPS_LEAST + (slowest > 0 ? 1.25 * log(SECTION_END) / log(slowest) : 0);
}

/* Prints a number with the fewest digits that keep its value. */
static void print_number(double value, FILE *stream)
{
    char text[32];
    double again = NAN;
    for (int digits = 6; digits <= 17 && again != value; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (!decimal_parse(text, &again))
            break;
    }
    fputs(text, stream);
}

static void print_band(const struct eq_band *band, FILE *stream)
{
    const struct eq_band_kind *kind = eq_band_kind_of(band->kind);
    fprintf(stream, "%s ", kind->name);
    print_number(band->hertz, stream);
    if (kind->has_gain) {
        fputc(' ', stream);
        print_number(band->db, stream);
    }
    if (band->q != kind->q) {
        fputc(' ', stream);
        print_number(band->q, stream);
    }
}

enum status eq_bands_print(const struct eq_bands *bands, double rate, char **text)
{
    size_t size = 0;
    static const struct eq_band flat = {BIQUAD_PEAK, 1000, 0, M_SQRT1_2};
    FILE *stream = text_stream_open(text, &size);
    if (!stream)
        return fail_memory("an equaliser");
    fputs("parametric:", stream);
    for (size_t i = 0; i < bands->count; i++) {
        fputs(i > 0 ? "; " : "", stream);
        print_band(&bands->bands[i], stream);
    }
    if (bands->count == 0)
        print_band(&flat, stream);
    if (eq_bands_taps(bands, rate) > EQ_TAPS_MOST)
        fprintf(stream, ",taps=%d", EQ_TAPS_MOST);
    if (bands->preamp != 0) {
        fputs(",gain=", stream);
        print_number(bands->preamp, stream);
    }
    if (text_stream_finish(stream) == 0)
        return STATUS_OK;
    free(*text);
    return fail_memory("an equaliser");
}
