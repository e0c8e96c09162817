#include "import/eq_listing.h"

#include "base/decimal.h"
#include "signal/biquad.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- numbers ---- */

enum { GROUP = 3 }; /* digits between separators of thousands */

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789");
}

/* Length of a no-break, narrow no-break or thin space at the start of the text; 0: none. */
static size_t wide_blank(const char *text, bool after_ascii)
{
    static const char *const blanks[] = {"\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89"};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (strncmp(text, blanks[i], strlen(blanks[i])) == 0)
            return strlen(blanks[i]);
    return after_ascii && *text == '\xA0' ? 1 : 0;
}

void eq_number_plain_blanks(char *text)
{
    char *to = text;
    for (const char *from = text; *from;) {
        bool begins = to == text;
        size_t length = wide_blank(from, begins || !(to[-1] & 0x80));
        if (length == 0) {
            *to++ = *from++;
            continue;
        }
        from += length;
        if (begins || !isdigit((unsigned char)to[-1]) || digits_at(from) != GROUP)
            *to++ = ' ';
    }
    *to = '\0';
}

bool eq_number_take(char **rest, const char *word)
{
    char *at = *rest + strspn(*rest, " \t");
    size_t length = strlen(word);
    if (strncasecmp(at, word, length) != 0 || isalpha((unsigned char)at[length]))
        return false;
    *rest = at + length;
    return true;
}

/* Whether the text before `end` ends with `word` in exactly this spelling, apart from blanks. */
static bool is_exact(const char *end, const char *word)
{
    for (size_t left = strlen(word); left > 0;) {
        while (end[-1] == ' ' || end[-1] == '\t')
            end--;
        if (*--end != word[--left])
            return false;
    }
    return true;
}

/* Skips a unit. It may be torn ("100H z"), as Room EQ Wizard does to keep its columns. */
static void skip_unit(char **rest, const char *unit)
{
    char *at = *rest;
    for (; unit && *unit; unit++, at++) {
        at += strspn(at, " \t");
        if (tolower((unsigned char)*at) != tolower((unsigned char)*unit))
            return;
    }
    if (!isalpha((unsigned char)*at))
        *rest = at;
}

/* Copies a number's characters; returns the text after them. NULL: there are none or too many. */
static char *number_at(char *rest, char number[EQ_NUMBER_MOST + 1])
{
    rest += strspn(rest, " \t");
    size_t length = strspn(rest, "+-0123456789.,'");
    if (length > 0 && strchr("eE", rest[length]) && rest[length])
        length += 1 + strspn(rest + length + 1, "+-0123456789");
    if (length == 0 || length > EQ_NUMBER_MOST)
        return NULL;
    memcpy(number, rest, length);
    number[length] = '\0';
    return rest + length;
}

/* Parses a number whose decimal mark is a point or a comma. */
static bool parse(char *number, double *value)
{
    char *mark = strchr(number, ',');
    if (mark)
        *mark = '.';
    return decimal_parse(number, value) && isfinite(*value);
}

/* Whether `length` characters are digits in groups of three: 1,155,000. */
static bool is_grouped(const char *number, size_t length, char separator)
{
    size_t at = digits_at(number);
    bool is_first_good = at >= 1 && at <= GROUP && *number != '0';
    while (at < length && number[at] == separator && digits_at(number + at + 1) == GROUP)
        at += 1 + GROUP;
    return is_first_good && at == length;
}

static void remove_separators(char *number, char separator)
{
    char *to = number;
    for (const char *from = number; *from; from++)
        if (*from != separator)
            *to++ = *from;
    *to = '\0';
}

bool eq_number_read(char **rest, const char *unit, double *value)
{
    char number[EQ_NUMBER_MOST + 1];
    char *after = number_at(*rest, number);
    if (!after || !parse(number, value))
        return false;
    skip_unit(&after, unit);
    *rest = after;
    return true;
}

/* The frequency that Equalizer APO reads in a number; 0: none. */
static double hertz_elsewhere(const char *number)
{
    char text[EQ_NUMBER_MOST + 1], *end;
    double value;
    snprintf(text, sizeof text, "%s", number);
    for (char *at = text; (at = strchr(at, ','));)
        *at = '.';
    size_t length = strlen(text);
    if (strchr(text, '\'') || !decimal_read(text, &end, &value))
        return 0;
    bool is_in_thousands = length >= 5 && text[length - 4] == '.' && !strpbrk(text, "eE");
    return is_in_thousands ? round(value * 1000) : value;
}

/* Reads a frequency in Hz. As in Equalizer APO, a separator before exactly three last digits is one
 * between thousands, unless the digits before it are 0 or more than three. `grouped`: the number as
 * written if there is such a separator or Equalizer APO reads another frequency, else "". */
static bool read_hertz(char **rest, double *value, char grouped[EQ_NUMBER_MOST + 1])
{
    char number[EQ_NUMBER_MOST + 1];
    char *after = number_at(*rest, number);
    char written[EQ_NUMBER_MOST + 1];
    *grouped = '\0';
    if (!after)
        return false;
    strcpy(written, number);
    size_t length = strlen(number), first = strcspn(number, ".,'");
    char separator = number[first];
    size_t last = separator ? (size_t)(strrchr(number, separator) - number) : length;
    size_t end = last + strcspn(number + last + (last < length), ".,'") + (last < length);
    bool is_doubtful = false;
    if (separator && is_grouped(number, end, separator)) {
        is_doubtful = first == last && end == length;
        remove_separators(number, separator);
    }
    if (!parse(number, value))
        return false;
    if (is_doubtful || hertz_elsewhere(written) != *value)
        strcpy(grouped, written);
    skip_unit(&after, "Hz");
    *rest = after;
    return true;
}

enum { ORDER_MOST = 1024 };
static const double GAIN_MOST = 200; /* dB */

enum width {
    WIDTH_NONE,
    WIDTH_Q,
    WIDTH_OCTAVES,
    /* Behringer's unit, as REW models it: 60 are sqrt(2) times the frequency, in Hz */
    WIDTH_SIXTIETHS,
    WIDTH_SLOPE, /* dB per octave */
};

enum {
    CORNER = 1,   /* of shelves: Fc is the start of the slope, not its middle */
    FOREIGN = 2,  /* Equalizer APO does not have the kind */
    LINKWITZ = 4, /* a Linkwitz transform, which is of no other kind */
};
struct eq_kind {
    const char *name;
    enum biquad_kind kind;
    unsigned flags;
};

static const struct eq_kind kinds[] = {
    {"PK", BIQUAD_PEAK, 0},
    {"PEQ", BIQUAD_PEAK, 0},
    {"Modal", BIQUAD_PEAK, 0},
    {"PA", BIQUAD_PEAK, FOREIGN},
    {"LP", BIQUAD_LOWPASS, 0},
    {"LPQ", BIQUAD_LOWPASS, 0},
    {"LP1", BIQUAD_LOWPASS_FIRST, FOREIGN},
    {"HP", BIQUAD_HIGHPASS, 0},
    {"HPQ", BIQUAD_HIGHPASS, 0},
    {"HP1", BIQUAD_HIGHPASS_FIRST, FOREIGN},
    {"BP", BIQUAD_BANDPASS, 0},
    {"NO", BIQUAD_NOTCH, 0},
    {"AP", BIQUAD_ALLPASS, 0},
    {"LS", BIQUAD_LOW_SHELF, CORNER},
    {"HS", BIQUAD_HIGH_SHELF, CORNER},
    {"LSC", BIQUAD_LOW_SHELF, 0},
    {"HSC", BIQUAD_HIGH_SHELF, 0},
    {"LSQ", BIQUAD_LOW_SHELF, FOREIGN},
    {"HSQ", BIQUAD_HIGH_SHELF, FOREIGN},
    {"Notch", BIQUAD_NOTCH, FOREIGN},
    {"NotchQ", BIQUAD_NOTCH, FOREIGN},
    {"Allpass", BIQUAD_ALLPASS, FOREIGN},
    {"L-T", BIQUAD_PEAK, FOREIGN | LINKWITZ},
};

struct eq_values {
    bool has_frequency, is_gain_known;
    enum width decided_by; /* the key that set the width, even if it is 0 */
    double frequency, gain, width;
    enum width width_is;
    double wanted_frequency, wanted_q; /* parameters of a Linkwitz transform */
};

static bool is_shelf(const struct eq_kind *kind)
{
    return kind->kind == BIQUAD_LOW_SHELF || kind->kind == BIQUAD_HIGH_SHELF;
}

static bool has_gain(const struct eq_kind *kind)
{
    return (kind->kind == BIQUAD_PEAK && !(kind->flags & LINKWITZ)) || is_shelf(kind);
}

static bool is_blank(char c)
{
    return c == '\0' || c == ' ' || c == '\t';
}

/* The middle frequency of a shelf's slope, from its start (Behringer DCX2496, Equalizer APO). */
static double shelf_middle(const struct eq_kind *kind, const struct eq_values *values, double slope)
{
    double factor = pow(10, fabs(values->gain) / 80 / slope);
    return kind->kind == BIQUAD_LOW_SHELF ? values->frequency * factor : values->frequency / factor;
}

/* The Q of a shelf. Also sets its frequency to the middle of the slope. */
static double shelf_q(const struct eq_kind *kind, struct eq_values *values)
{
    double a = pow(10, values->gain / 40), q = values->width;
    double slope = values->width_is == WIDTH_SLOPE ? q / 12 : 0.9;
    if (values->width_is == WIDTH_Q)
        slope = 1 / ((1 / (q * q) - 2) / (a + 1 / a) + 1);
    else
        q = biquad_slope_to_q(slope, values->gain);
    if ((kind->flags & CORNER) && (values->width_is == WIDTH_Q || values->width_is == WIDTH_SLOPE))
        values->frequency = shelf_middle(kind, values, slope);
    return q;
}

static double width_to_q(const struct eq_kind *kind, struct eq_values *values, double rate)
{
    if (is_shelf(kind))
        return shelf_q(kind, values);
    if (values->width_is == WIDTH_OCTAVES)
        return biquad_octaves_to_q(values->width, values->frequency, rate);
    if (values->width_is == WIDTH_SIXTIETHS)
        return 60 / (values->width * M_SQRT2);
    if (values->width_is == WIDTH_Q)
        return values->width;
    return kind->kind == BIQUAD_NOTCH ? 30 : M_SQRT1_2;
}

/* ---- text ---- */

/* Notes that Equalizer APO expects a word in this spelling before `end`. */
static void mind(struct eq_filter *filter, const char *end, const char *word)
{
    if (!filter->foreign && !is_exact(end, word))
        filter->foreign = word;
}

static bool take(struct eq_filter *filter, char **text, const char *word)
{
    bool is_there = eq_number_take(text, word);
    if (is_there)
        mind(filter, *text, word);
    return is_there;
}

/* The length of a kind's name at the start of the text; 0: none. REW writes blanks in names ("LP
 * Q"); a number after the Q is its value. A slope may follow a shelf's name (LS 6dB, LS6dB). */
static size_t kind_at(const struct eq_kind *kind, const char *text)
{
    const char *at = text;
    bool is_torn = false;
    for (const char *name = kind->name; *name; name++, at++) {
        size_t blanks = name > kind->name ? strspn(at, " \t") : 0;
        is_torn |= blanks > 0;
        at += blanks;
        if (tolower((unsigned char)*at) != tolower((unsigned char)*name))
            return 0;
    }
    const char *next = at + strspn(at, " \t");
    bool ends = is_blank(*at) || (is_shelf(kind) && !isalpha((unsigned char)*at));
    return ends && (!is_torn || !*next || isalpha((unsigned char)*next)) ? (size_t)(at - text) : 0;
}

static enum status parse_kind(const struct mask_config *config, char **text,
                              struct eq_filter *filter, const struct eq_kind **kind)
{
    char *name = *text + strspn(*text, " \t");
    size_t longest = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = kind_at(&kinds[i], name);
        if (length > longest) {
            longest = length;
            *kind = &kinds[i];
        }
    }
    if (longest == 0)
        return mask_config_refuse(
            config, "an equaliser's filter of the kind '%.*s' cannot be read as a mask",
            (int)strcspn(name, " \t"), name);
    *text = name + longest;
    mind(filter, *text, (*kind)->name);
    if ((*kind)->flags & FOREIGN)
        filter->foreign = (*kind)->name;
    return STATUS_OK;
}

/* Reads a width. A width of 0 counts as none, as in Equalizer APO. */
static bool parse_width(char **text, const char *unit, enum width width, struct eq_values *values)
{
    bool ok = eq_number_read(text, unit, &values->width);
    values->width_is = values->width > 0 ? width : WIDTH_NONE;
    return ok;
}

/* Equalizer APO looks for each key by itself, in any order. Slope goes before bandwidth, bandwidth
 * before Q. If a key is repeated, the first counts. Shelves have no bandwidth. */
static void keep_width(const struct eq_kind *kind, struct eq_values *values,
                       const struct eq_values *read, enum width by)
{
    if (by <= values->decided_by || (is_shelf(kind) && by == WIDTH_OCTAVES))
        return;
    values->decided_by = by;
    values->width = read->width;
    values->width_is = read->width_is;
}

static void keep_first(double *value, bool *is_known, double read)
{
    if (!*is_known)
        *value = read;
    *is_known = true;
}

/* Reads a bandwidth, as in BW Oct 0.5, BW Oct 1/2 or BW/60 30. */
static bool parse_bandwidth(char **text, struct eq_values *values, struct eq_filter *filter)
{
    double divisor;
    if (take(filter, text, "Oct")) {
        bool ok = parse_width(text, NULL, WIDTH_OCTAVES, values);
        if (!ok || **text != '/')
            return ok;
        ++*text;
        filter->foreign = "Oct 1/N";
        ok = eq_number_read(text, NULL, &divisor) && divisor > 0;
        values->width = ok ? values->width / divisor : 0;
        return ok;
    }
    filter->foreign = "BW/60";
    if (strncmp(*text, "/60", 3) != 0)
        return false;
    *text += 3;
    return parse_width(text, NULL, WIDTH_SIXTIETHS, values);
}

/* Reads a word and its value. False: no number follows. *is_known: whether the word is known. */
static bool parse_value(char **text, const struct eq_kind *kind, struct eq_values *values,
                        struct eq_filter *filter, bool *is_known)
{
    bool ok;
    char again[EQ_NUMBER_MOST + 1];
    struct eq_values read = {0};
    *is_known = true;
    if (take(filter, text, "Fc")) {
        ok = read_hertz(text, &read.frequency, values->has_frequency ? again : filter->grouped);
        keep_first(&values->frequency, &values->has_frequency, read.frequency);
        mind(filter, *text, "Hz");
        return ok;
    }
    if (take(filter, text, "Gain")) {
        ok = eq_number_read(text, "dB", &read.gain);
        keep_first(&values->gain, &values->is_gain_known, read.gain);
        if (has_gain(kind))
            mind(filter, *text, "dB");
        return ok;
    }
    if (take(filter, text, "Q")) {
        ok = parse_width(text, NULL, WIDTH_Q, &read);
        keep_width(kind, values, &read, WIDTH_Q);
        return ok;
    }
    if (take(filter, text, "BW")) {
        ok = parse_bandwidth(text, &read, filter);
        keep_width(kind, values, &read, WIDTH_OCTAVES);
        return ok;
    }
    if ((kind->flags & LINKWITZ) && eq_number_take(text, "Fp"))
        return read_hertz(text, &values->wanted_frequency, again);
    if ((kind->flags & LINKWITZ) && eq_number_take(text, "Qp"))
        return eq_number_read(text, NULL, &values->wanted_q);
    *is_known = false;
    return true;
}

/* Skips the values that REW adds for setting the device: Fc 129.1Hz ( 125 +2 ). */
static char *skip_parentheses(char *text)
{
    char *word = text + strspn(text, " \t"), *end = *word == '(' ? strchr(word, ')') : NULL;
    return end ? end + 1 : text;
}

static enum status parse_values(const struct mask_config *config, const struct eq_kind *kind,
                                char *text, struct eq_values *values, struct eq_filter *filter)
{
    bool is_known, ok = true;
    text += strspn(text, " \t");
    if (is_shelf(kind) && !isalpha((unsigned char)*text)) {
        ok = parse_width(&text, "dB", WIDTH_SLOPE, values);
        values->decided_by = WIDTH_SLOPE;
        mind(filter, text, "dB");
    }
    while (ok) {
        text = skip_parentheses(text);
        char *word = text + strspn(text, " \t");
        if (!*word || eq_number_take(&word, "T60")) /* the target of REW's modal filters */
            return STATUS_OK;
        ok = parse_value(&text, kind, values, filter, &is_known);
        if (!is_known)
            return mask_config_refuse(config, "'%.*s' is not Fc, Gain, Q, BW Oct or BW/60",
                                      (int)strcspn(word, " \t"), word);
        if (ok && !is_blank(*text) && !isalpha((unsigned char)*text))
            ok = false;
    }
    return mask_config_refuse(config, "a number is missing or wrong before '%.40s'", text);
}

static enum status check(const struct mask_config *config, const struct eq_kind *kind,
                         const struct eq_values *values)
{
    if (!(values->frequency > 0))
        return mask_config_refuse(config, "%s has no frequency (Fc)", kind->name);
    if (fabs(values->gain) > GAIN_MOST)
        return mask_config_refuse(config, "a gain of %g dB", values->gain);
    if (values->width < 0)
        return mask_config_refuse(config, "%s with a width of %g: Q, BW or slope must be above 0",
                                  kind->name, values->width);
    if (kind->flags & LINKWITZ &&
        !(values->width_is == WIDTH_Q && values->wanted_frequency > 0 && values->wanted_q > 0))
        return mask_config_refuse(config, "L-T takes Fc and Q of the box, and Fp and Qp wanted");
    if (values->width_is == WIDTH_NONE &&
        (kind->kind == BIQUAD_PEAK || kind->kind == BIQUAD_ALLPASS))
        return mask_config_refuse(config, "%s without Q or BW Oct", kind->name);
    if (values->gain != 0 && !has_gain(kind))
        note("mask %s: line %zu: %s has no gain; the %g dB are left out, as in Equalizer APO",
             config->file, config->line, kind->name, values->gain);
    return STATUS_OK;
}

/* ---- filters ---- */

static enum status alloc_filter(struct eq_filter *filter, size_t order)
{
    filter->coefficients = calloc(2 * (order + 1), sizeof(double));
    if (!filter->coefficients)
        return fail_memory("a mask");
    filter->difference = (struct difference){order + 1, order + 1, filter->coefficients,
                                             filter->coefficients + order + 1};
    return STATUS_OK;
}

static enum status make_biquad(const struct mask_config *config, char *text, double rate,
                               struct eq_filter *filter)
{
    struct eq_values values = {0};
    const struct eq_kind *kind = NULL;
    TRY(parse_kind(config, &text, filter, &kind));
    TRY(parse_values(config, kind, text, &values, filter));
    TRY(check(config, kind, &values));
    double asked = fmax(values.frequency, values.wanted_frequency);
    double q = width_to_q(kind, &values, rate);
    if (!(fmax(asked, values.frequency) < rate / 2))
        return mask_config_refuse(
            config,
            asked == hertz_elsewhere(filter->grouped)
                ? "a filter at %g Hz needs more than a rate of %g Hz; the separator in "
                  "%s is one between thousands, as in Equalizer APO: leave it out"
                : "a filter at %g Hz needs more than a rate of %g Hz: rate=48000, or "
                  "another one, makes the mask at that%s",
            asked, rate, filter->grouped);
    if (!(q > 0 && isfinite(q)))
        return mask_config_refuse(config, "the width or slope is not possible");
    TRY(alloc_filter(filter, 2));
    struct biquad biquad =
        kind->flags & LINKWITZ
            ? biquad_linkwitz_transform(values.frequency, q, values.wanted_frequency,
                                        values.wanted_q, rate)
            : biquad_make(kind->kind, values.frequency, values.gain, q, rate);
    filter->is_band = !(kind->flags & LINKWITZ);
    filter->band = (struct eq_band){kind->kind, values.frequency, values.gain, q};
    memcpy(filter->coefficients, biquad.b, sizeof biquad.b);
    filter->coefficients[3] = 1;
    memcpy(filter->coefficients + 4, biquad.a, sizeof biquad.a);
    return STATUS_OK;
}

/* Whether just one blank is before each coefficient, since Equalizer APO reads no further. */
static bool is_spaced_as_its_own(const char *text)
{
    for (; *text; text += strcspn(text, " \t")) {
        const char *next = text + strspn(text, " \t");
        if (*next && (next != text + 1 || *text != ' '))
            return false;
        text = next;
    }
    return true;
}

/* Reads the numerator's coefficients, then the denominator's. */
static enum status parse_coefficients(const struct mask_config *config, char *text, size_t count,
                                      double *coefficients)
{
    size_t found = 0;
    for (const char *word; (word = mask_config_word(&text)); found++) {
        double value;
        if (!mask_config_number(word, &value))
            return mask_config_refuse(config, "the coefficient '%.40s' is not a number", word);
        if (found < count)
            coefficients[found] = value;
    }
    if (found != count)
        return mask_config_refuse(config, "%zu coefficients, but its order takes %zu", found,
                                  count);
    return STATUS_OK;
}

static enum status make_recursive(const struct mask_config *config, char *text,
                                  struct eq_filter *filter)
{
    uint64_t order = 0;
    const char *word = take(filter, &text, "Order") ? mask_config_word(&text) : NULL;
    if (!word || !mask_config_count(word, &order) || order < 1 || order > ORDER_MOST)
        return mask_config_refuse(config, "IIR takes an Order from 1 to %d", ORDER_MOST);
    if (!take(filter, &text, "Coefficients"))
        return mask_config_refuse(config, "IIR without Coefficients");
    if (!is_spaced_as_its_own(text))
        filter->foreign = "wide blanks";
    size_t count = 2 * ((size_t)order + 1);
    TRY(alloc_filter(filter, (size_t)order));
    TRY(parse_coefficients(config, text, count, filter->coefficients));
    double scale = filter->coefficients[order + 1];
    for (size_t i = 0; i < count; i++) {
        filter->coefficients[i] /= scale;
        if (!isfinite(filter->coefficients[i]))
            return mask_config_refuse(config, "a0 of IIR, %g, divides all others and is too small",
                                      scale);
    }
    return STATUS_OK;
}

enum status eq_listing_filter(const struct mask_config *config, char *text, double rate,
                              struct eq_filter *filter)
{
    *filter = (struct eq_filter){0};
    bool is_on = take(filter, &text, "ON");
    if (!is_on && !eq_number_take(&text, "OFF"))
        return mask_config_refuse(config, "a filter must be ON or OFF, not '%.*s'",
                                  (int)strcspn(text + strspn(text, " \t"), " \t"),
                                  text + strspn(text, " \t"));
    if (!is_on || eq_number_take(&text, "None"))
        return STATUS_OK;
    filter->is_on = true;
    enum status status = take(filter, &text, "IIR") ? make_recursive(config, text, filter)
                                                    : make_biquad(config, text, rate, filter);
    if (status != STATUS_OK)
        eq_filter_free(filter);
    return status;
}

void eq_filter_free(struct eq_filter *filter)
{
    free(filter->coefficients);
    filter->coefficients = NULL;
}

enum status eq_filter_apply(const struct eq_filter *filter, struct mask_matrix *matrix,
                            const bool *is_selected)
{
    const struct difference *difference = &filter->difference;
    if (!filter->is_on)
        return STATUS_OK;
    return mask_matrix_recursive_where(
        matrix, is_selected,
        &(struct recursive){difference_run, difference, difference->a_count - 1});
}

void eq_filter_note_grouped(const struct eq_filter *filter, const struct mask_config *config,
                            bool has_noted[2])
{
    char number[EQ_NUMBER_MOST + 1], again[EQ_NUMBER_MOST + 1], *rest = number;
    double ours, theirs = hertz_elsewhere(filter->grouped);
    strcpy(number, filter->grouped);
    if (!*number || !read_hertz(&rest, &ours, again) || has_noted[ours == theirs])
        return;
    has_noted[ours == theirs] = true;
    if (ours == theirs)
        note("mask %s: line %zu: the separator of %s Hz is taken as one between thousands, as "
             "Equalizer APO does",
             config->file, config->line, number);
    else
        note("mask %s: line %zu: %s Hz is taken as %.10g Hz, where Equalizer APO takes %.10g Hz",
             config->file, config->line, number, ours, theirs);
}
