/* Biquads for miniDSP's "advanced" mode, as REW and others export them:
 *
 *   biquad1,
 *   b0=1.0008505,
 *   b1=-1.9974894,
 *   b2=0.9966390,
 *   a1=1.9974894,
 *   a2=-0.9975295,
 *   biquad2,
 *   ...
 *
 * y[i] = b0 x[i] + b1 x[i-1] + b2 x[i-2] + a1 y[i-1] + a2 y[i-2]. The signs of a1 and a2 are
 * opposite to a transfer function's. The file does not give its rate. The user must, since a wrong
 * rate would move all frequencies. */
#include "import/mask_config.h"
#include "import/mask_matrix.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define refuse(file, ...) mask_config_refuse((file)->config, __VA_ARGS__)

enum { BIQUADS_MOST = 1000, VALUES = 5 };
static const char *const names[VALUES] = {"b0", "b1", "b2", "a1", "a2"};

struct minidsp {
    struct mask_config *config;
    size_t biquads; /* biquads that have begun so far */
    size_t values;  /* values of the current biquad */
    double value[VALUES];
};

/* Whether a word is "biquad" and more. The digits after it are not read. */
static bool is_title(const char *word)
{
    return strncasecmp(word, "biquad", 6) == 0 && isdigit((unsigned char)word[6]);
}

static const char *skip_remarks(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (!*text || !strchr("#*", *text))
            return text;
        text += strcspn(text, "\n");
    }
}

static enum status apply(struct minidsp *file)
{
    const double *v = file->value;
    const struct biquad biquad = {{v[0], v[1], v[2]}, {-v[3], -v[4]}};
    const struct biquad other = {{v[0], v[1], v[2]}, {v[3], v[4]}};
    if (file->values == 0 && file->biquads == 0)
        return STATUS_OK;
    if (file->values < VALUES)
        return refuse(file, "a biquad ends here without its %s", names[file->values]);
    if (!(biquad_pole(&biquad) < 1) && biquad_pole(&other) < 1)
        return refuse(
            file, "its a1 and a2 have the signs of a transfer function; miniDSP uses the opposite "
                  "signs: export them for miniDSP, or change the signs");
    return mask_matrix_biquads(file->config->matrix, 0, &biquad, 1);
}

static enum status read_word(struct minidsp *file, const char *word)
{
    if (is_title(word)) {
        TRY(apply(file));
        file->values = 0;
        return ++file->biquads <= BIQUADS_MOST ? STATUS_OK
                                               : refuse(file, "more than %d biquads", BIQUADS_MOST);
    }
    const char *name = file->values < VALUES ? names[file->values] : "biquad and its number";
    size_t length = strlen(name);
    if (file->biquads == 0 || file->values == VALUES || strncasecmp(word, name, length) != 0 ||
        word[length] != '=')
        return refuse(file, "'%.40s' where %s must be", word, name);
    if (!mask_config_number(word + length + 1, &file->value[file->values]))
        return refuse(file, "'%.40s' is not a number", word + length + 1);
    file->values++;
    return STATUS_OK;
}

static enum status read_lines(struct minidsp *file)
{
    for (char *line; (line = mask_config_line(file->config));) {
        if (!*skip_remarks(line))
            continue;
        for (char *at = line; (at = strpbrk(at, ",\r"));)
            *at = ' ';
        for (const char *word; (word = mask_config_word(&line));)
            TRY(read_word(file, word));
    }
    return apply(file);
}

static enum status read_minidsp(struct mask_config *config, struct mask **mask)
{
    struct minidsp file = {.config = config};
    if (!config->options->raw.rate)
        return mask_config_refuse(config,
                                  "biquads are for one rate, which the file does not say: "
                                  "rate=48000 (miniDSP 2x4 and others of 48 kHz) or rate=96000 "
                                  "(2x4 HD, Flex, SHD)");
    TRY(mask_config_settle_rate(config));
    TRY(mask_matrix_create(config, 1, 1, &config->matrix));
    TRY(mask_matrix_connect(config->matrix));
    TRY(read_lines(&file));
    return mask_matrix_to_column(config->matrix, mask);
}

static bool is_minidsp(const struct mask_config *config)
{
    const char *text = skip_remarks(config->text);
    if (!is_title(text))
        return false;
    text += 6 + strspn(text + 6, "0123456789");
    text += strspn(text, ", \t\r\n");
    return strncasecmp(text, "b0=", 3) == 0;
}

const struct mask_reader mask_reader_minidsp = {
    .kind = "miniDSP biquads",
    .is_my_config = is_minidsp,
    .read_config = read_minidsp,
};
