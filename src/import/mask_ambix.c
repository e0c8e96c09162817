/* Configurations of the decoders ambix_binaural and ambix_decoder: a matrix from ambisonic channels
 * (ACN, SN3D) to loudspeakers. With #HRTF lines also the responses from the loudspeakers to two
 * ears. Settings hold for the matrices after them. Unknown settings are refused; the plugins use
 * the default for them. */
#include "base/plural.h"
#include "import/mask_config.h"
#include "import/mask_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define refuse(reading, ...) mask_config_refuse((reading)->config, __VA_ARGS__)

enum { EARS = 2, FUMA_DEGREE_MOST = 3 };

enum ambix_scale { SCALE_SN3D, SCALE_N3D, SCALE_FUMA };
enum ambix_sequence { SEQUENCE_ACN, SEQUENCE_FUMA, SEQUENCE_SID };

struct ambix_row {
    size_t line, count;
    double gains[MATRIX_CHANNELS_MOST]; /* gain of each ambisonic channel, by ACN */
};

struct ambix_hrtf {
    size_t line;
    const struct mask *mask;
    double gain, milliseconds;
    bool is_exchanged;
};

struct ambix {
    struct mask_config *config;
    enum ambix_scale scale;
    enum ambix_sequence sequence;
    double matrix_gain, hrtf_gain;
    bool inverts_phase, flips, flops, flaps;
    size_t row_count, hrtf_count;
    struct ambix_row rows[MATRIX_CHANNELS_MOST];
    struct ambix_hrtf hrtfs[MATRIX_CHANNELS_MOST];
};

/* ---- spherical harmonics: channel `acn` has degree l and order m, acn = l l + l + m ---- */

struct harmonic {
    int degree, order;
};

static struct harmonic harmonic_of(size_t acn)
{
    int degree = 0;
    while ((size_t)((degree + 1) * (degree + 1)) <= acn)
        degree++;
    return (struct harmonic){degree, (int)acn - degree * (degree + 1)};
}

/* The place of a harmonic among those of its degree. They are ordered outwards from m = 0 (FuMa: R
 * S T U V) or inwards (SID, and FuMa's X Y Z), cosine before sine. */
static size_t place_in(enum ambix_sequence sequence, size_t acn)
{
    struct harmonic h = harmonic_of(acn);
    size_t first = (size_t)(h.degree * h.degree), m = (size_t)abs(h.order);
    if (sequence == SEQUENCE_ACN)
        return acn;
    if (sequence == SEQUENCE_SID || h.degree == 1)
        return first + 2 * ((size_t)h.degree - m) + (h.order < 0);
    return first + 2 * m - (h.order > 0);
}

/* The factor from SN3D to FuMa for a channel (MaxN, and the root of one half for W). */
static double fuma_factor(struct harmonic h)
{
    static const double factors[FUMA_DEGREE_MOST + 1][FUMA_DEGREE_MOST + 1] = {
        {M_SQRT1_2},
        {1, 1},
        {1, 1.1547005383792515, 1.1547005383792515},
        {1, 1.1858541225631423, 1.3416407864998738, 1.2649110640673518},
    };
    return factors[h.degree][abs(h.order)];
}

static double scale_of(const struct ambix *reading, struct harmonic h)
{
    if (reading->scale == SCALE_FUMA)
        return fuma_factor(h);
    return reading->scale == SCALE_N3D ? sqrt(2 * h.degree + 1) : 1;
}

/* A harmonic's sign in a mirror image (M. Chapman, "Symmetries of Spherical Harmonics", 2009). */
static int sign_of(const struct ambix *reading, struct harmonic h)
{
    bool odd = h.order % 2 != 0, sine = h.order < 0;
    bool negative = reading->inverts_phase && odd;
    negative ^= reading->flips && sine;
    negative ^= reading->flops && sine != odd;
    negative ^= reading->flaps && (h.degree + h.order) % 2 != 0;
    return negative ? -1 : 1;
}

/* ---- settings ---- */

static enum status parse_number(struct ambix *reading, const char *text, void *to)
{
    double *value = to;
    if (!mask_config_number(text, value))
        return refuse(reading, "a gain must be a number, not '%.40s'", text);
    if (*value == 0) /* the plugins take 0 as no gain given */
        *value = 1;
    return STATUS_OK;
}

static enum status parse_flag(struct ambix *reading, const char *text, void *to)
{
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return refuse(reading, "the setting is 0 or 1, not '%.40s'", text);
    *(bool *)to = *text == '1';
    return STATUS_OK;
}

static enum status parse_choice(struct ambix *reading, const char *text, const char *const names[3],
                                unsigned *choice)
{
    for (*choice = 0; *choice < 3; ++*choice)
        if (strcasecmp(text, names[*choice]) == 0)
            return STATUS_OK;
    return refuse(reading, "the setting is %s, %s or %s, not '%.40s'", names[0], names[1], names[2],
                  text);
}

static enum status parse_scale(struct ambix *reading, const char *text, void *to)
{
    static const char *const names[] = {"sn3d", "n3d", "fuma"};
    unsigned choice;
    TRY(parse_choice(reading, text, names, &choice));
    *(enum ambix_scale *)to = (enum ambix_scale)choice;
    return STATUS_OK;
}

static enum status parse_sequence(struct ambix *reading, const char *text, void *to)
{
    static const char *const names[] = {"acn", "fuma", "sid"};
    unsigned choice;
    TRY(parse_choice(reading, text, names, &choice));
    *(enum ambix_sequence *)to = (enum ambix_sequence)choice;
    return STATUS_OK;
}

static const struct ambix_setting {
    const char *name;
    /* NULL: the setting is ignored */
    enum status (*parse)(struct ambix *reading, const char *text, void *to);
    size_t offset;
} settings[] = {
    {"/debug_msg", NULL, 0},
    {"/dec_mat_gain", parse_number, offsetof(struct ambix, matrix_gain)},
    {"/global_hrtf_gain", parse_number, offsetof(struct ambix, hrtf_gain)},
    {"/coeff_scale", parse_scale, offsetof(struct ambix, scale)},
    {"/coeff_seq", parse_sequence, offsetof(struct ambix, sequence)},
    {"/invert_condon_shortley", parse_flag, offsetof(struct ambix, inverts_phase)},
    {"/flip", parse_flag, offsetof(struct ambix, flips)},
    {"/flop", parse_flag, offsetof(struct ambix, flops)},
    {"/flap", parse_flag, offsetof(struct ambix, flaps)},
};

static enum status parse_setting(struct ambix *reading, char *line)
{
    const char *name = mask_config_word(&line);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (strcasecmp(name, settings[i].name) == 0)
            return settings[i].parse ? settings[i].parse(reading, mask_config_name(line),
                                                         (char *)reading + settings[i].offset)
                                     : STATUS_OK;
    return refuse(reading, "ambiX decoders have no setting '%.40s'", name);
}

/* ---- responses: name [gain [delay in ms [exchange the ears]]] ---- */

/* The end of a file name, which may have blanks and ends with its suffix. NULL: there is none. */
static char *end_of_name(char *line)
{
    static const char *const endings[] = {".wav", ".aiff"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *found = strcasestr(line, endings[i]);
        if (found)
            return found + strlen(endings[i]);
    }
    return NULL;
}

static enum status parse_value(struct ambix *reading, char **rest, const char *what, double *value)
{
    const char *word = mask_config_word(rest);
    if (!word || mask_config_number(word, value))
        return STATUS_OK;
    return refuse(reading, "the %s must be a number, not '%.40s'", what, word);
}

static enum status parse_hrtf(struct ambix *reading, char *line)
{
    struct mask_config *config = reading->config;
    char *rest = end_of_name(line);
    double exchange = 0;
    if (!rest || reading->hrtf_count == MATRIX_CHANNELS_MOST)
        return mask_config_refuse(config,
                                  rest ? "more than %d responses"
                                       : "a .wav or .aiff file with its gain is expected",
                                  MATRIX_CHANNELS_MOST);
    struct ambix_hrtf *hrtf = &reading->hrtfs[reading->hrtf_count];
    *hrtf = (struct ambix_hrtf){.line = config->line, .gain = 1};
    if (*rest)
        *rest++ = '\0';
    TRY(parse_value(reading, &rest, "gain", &hrtf->gain));
    TRY(parse_value(reading, &rest, "delay", &hrtf->milliseconds));
    TRY(parse_value(reading, &rest, "exchange of ears", &exchange));
    if (hrtf->milliseconds < 0)
        return mask_config_refuse(config, "a delay of %g ms", hrtf->milliseconds);
    TRY(mask_config_mask(config, line, NULL, &hrtf->mask));
    if (hrtf->mask->columns != EARS)
        return mask_config_refuse(config, "%s has %zu channel%s where a response has two ears",
                                  line, hrtf->mask->columns, plural_s(hrtf->mask->columns));
    hrtf->is_exchanged = exchange > 0;
    reading->hrtf_count++;
    return STATUS_OK;
}

/* ---- the matrix, which has a row for each loudspeaker ---- */

static enum status parse_gains(struct ambix *reading, char *line, struct ambix_row *row)
{
    for (const char *word; (word = mask_config_word(&line)); row->count++) {
        if (row->count == MATRIX_CHANNELS_MOST)
            return refuse(reading, "more than %d gains", MATRIX_CHANNELS_MOST);
        if (!mask_config_number(word, &row->gains[row->count]))
            return refuse(reading, "a gain must be a number, not '%.40s'", word);
    }
    return STATUS_OK;
}

static enum status parse_row(struct ambix *reading, char *line)
{
    struct ambix_row given = {0}, *row = &reading->rows[reading->row_count];
    if (reading->row_count == MATRIX_CHANNELS_MOST)
        return refuse(reading, "more than %d rows", MATRIX_CHANNELS_MOST);
    TRY(parse_gains(reading, line, &given));
    int degree = harmonic_of(given.count - 1).degree;
    size_t all = (size_t)((degree + 1) * (degree + 1));
    if (reading->scale == SCALE_FUMA && degree > FUMA_DEGREE_MOST)
        return refuse(reading, "%zu gains, where FuMa's scale ends at 16", given.count);
    *row = (struct ambix_row){.line = reading->config->line, .count = given.count};
    if (reading->sequence != SEQUENCE_ACN)
        row->count = all < MATRIX_CHANNELS_MOST ? all : MATRIX_CHANNELS_MOST;
    for (size_t acn = 0; acn < row->count; acn++) {
        struct harmonic h = harmonic_of(acn);
        size_t place = place_in(reading->sequence, acn);
        if (place < MATRIX_CHANNELS_MOST)
            row->gains[acn] = reading->matrix_gain * scale_of(reading, h) * sign_of(reading, h) *
                              given.gains[place];
    }
    reading->row_count++;
    return STATUS_OK;
}

/* ---- sections; each ends at the next # ---- */

static enum status ignore(struct ambix *reading, char *line)
{
    (void)reading, (void)line;
    return STATUS_OK;
}

static const struct ambix_section {
    const char *name;
    enum status (*parse)(struct ambix *reading, char *line);
} sections[] = {
    {"#GLOBAL", parse_setting},
    {"#HRTF", parse_hrtf},
    {"#DECODERMATRIX", parse_row},
};

static const struct ambix_section *section_at(const char *line)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strncmp(line, sections[i].name, strlen(sections[i].name)) == 0)
            return &sections[i];
    return NULL;
}

static enum status parse_lines(struct ambix *reading)
{
    enum status (*parse)(struct ambix *reading, char *line) = ignore;
    char *line;
    while ((line = mask_config_line(reading->config))) {
        line += strspn(line, " \t");
        const struct ambix_section *section = section_at(line);
        if (*line == '#') {
            parse = section ? section->parse : ignore;
            continue;
        }
        char *comment = strstr(line, "//");
        if (comment)
            *comment = '\0';
        if (line[strspn(line, " \t")])
            TRY(parse(reading, line));
    }
    return STATUS_OK;
}

/* ---- the mask ---- */

static enum status add_loudspeaker(struct ambix *reading, size_t speaker)
{
    static const double one = 1;
    struct mask_matrix *matrix = reading->config->matrix;
    const struct ambix_row *row = &reading->rows[speaker];
    const struct ambix_hrtf *hrtf = reading->hrtf_count > 0 ? &reading->hrtfs[speaker] : NULL;
    reading->config->line = hrtf ? hrtf->line : row->line;
    for (size_t input = 0; input < row->count; input++) {
        if (row->gains[input] == 0)
            continue;
        if (!hrtf)
            TRY(mask_matrix_add(matrix, input, speaker, row->gains[input], 0, &one, 1));
        for (size_t ear = 0; hrtf && ear < EARS; ear++)
            TRY(mask_matrix_add(matrix, input, hrtf->is_exchanged ? 1 - ear : ear,
                                row->gains[input] * hrtf->gain * reading->hrtf_gain,
                                (uint64_t)fmin(hrtf->milliseconds * 1e-3 * hrtf->mask->rate, 1e15),
                                mask_column(hrtf->mask, ear), hrtf->mask->taps));
    }
    return STATUS_OK;
}

static enum status make_mask(struct ambix *reading, struct mask **mask)
{
    struct mask_config *config = reading->config;
    size_t inputs = 0;
    config->line = 0;
    if (reading->row_count == 0)
        return mask_config_refuse(config, "it has no rows of a #DECODERMATRIX");
    if (reading->hrtf_count > 0 && reading->hrtf_count != reading->row_count)
        return mask_config_refuse(config, "%zu responses for %zu rows of the matrix",
                                  reading->hrtf_count, reading->row_count);
    for (size_t i = 0; i < reading->row_count; i++)
        inputs = reading->rows[i].count > inputs ? reading->rows[i].count : inputs;
    TRY(mask_matrix_create(config, inputs, reading->hrtf_count > 0 ? EARS : reading->row_count,
                           &config->matrix));
    for (size_t i = 0; i < reading->row_count; i++)
        TRY(add_loudspeaker(reading, i));
    config->line = 0;
    return mask_matrix_to_mask(config->matrix, mask);
}

static bool is_ambix(const struct mask_config *config)
{
    for (const char *line = config->text; line; line = strchr(line, '\n')) {
        line += strspn(line, " \t\r\n");
        const struct ambix_section *section = section_at(line);
        if (section && section->parse == parse_row)
            return true;
    }
    return false;
}

static enum status read_ambix(struct mask_config *config, struct mask **mask)
{
    struct ambix *reading = calloc(1, sizeof *reading);
    if (!reading)
        return fail_memory("a mask");
    reading->config = config;
    reading->matrix_gain = reading->hrtf_gain = 1;
    enum status status = parse_lines(reading);
    if (status == STATUS_OK)
        status = make_mask(reading, mask);
    free(reading);
    return status;
}

const struct mask_reader mask_reader_ambix = {
    .kind = "ambiX decoder",
    .is_my_config = is_ambix,
    .read_config = read_ambix,
};
