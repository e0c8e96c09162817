/* An equaliser as a gain and bands; each band is a section of biquad.h. Threads: any. */
#ifndef HALO_EQ_BANDS_H
#define HALO_EQ_BANDS_H

#include "base/status.h"
#include "signal/biquad.h"

enum {
    EQ_BANDS_MOST = 64,
    EQ_TAPS_MOST = 8192, /* taps of a mask whose bands are changed while it sounds */
    EQ_TAPS_LEAST = 64,
};
#define EQ_DB_MOST 120.0 /* largest gain of a band or preamp, in dB */
#define EQ_Q_LEAST 0.01
#define EQ_Q_MOST 1000.0

struct eq_band {
    enum biquad_kind kind;
    double hertz;
    double db; /* 0 if the kind has no gain */
    double q;
};

struct eq_bands {
    double preamp; /* dB */
    size_t count;
    struct eq_band bands[EQ_BANDS_MOST];
};

/* A kind of band, as `parametric:` writes it. */
struct eq_band_kind {
    const char *name; /* two letters */
    enum biquad_kind kind;
    bool has_gain;
    double q; /* Q if a text has none */
};

/* All kinds. The last one has no name. */
extern const struct eq_band_kind eq_band_kinds[];

/* NULL: bands cannot have this kind. */
const struct eq_band_kind *eq_band_kind_of(enum biquad_kind kind);

struct biquad eq_band_section(const struct eq_band *band, double rate);

/* Adds a band. False: the kind or a value is not possible, or there are too many bands. */
bool eq_bands_add(struct eq_bands *bands, const struct eq_band *band, double rate);

/* Taps until the slowest band has decayed, with a margin for other bands and a fade-out. */
double eq_bands_taps(const struct eq_bands *bands, double rate);

/* Prints the spec of a mask that has the bands and at most EQ_TAPS_MOST taps:
 * "parametric:PK 1000 -6 1.4; HS 8000 2 0.7,gain=-3". Numbers are exact. The caller frees *text.
 * Errors: memory. */
MUST_CHECK enum status eq_bands_print(const struct eq_bands *bands, double rate, char **text);

#endif
