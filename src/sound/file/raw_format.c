#include "sound/file/raw_format.h"

#include <string.h>
#include <strings.h>

static const struct raw_format formats[] = {
    {.name = "S8", .bytes = 1, .bits = 8},
    {.name = "S16_LE", .others = {"S16LE", "S16"}, .bytes = 2, .bits = 16},
    {.name = "S24_3_LE", .others = {"S24LE3", "S24_3LE"}, .bytes = 3, .bits = 24},
    {.name = "S24_4_RJ_LE", .others = {"S24LE"}, .bytes = 4, .bits = 24},
    {.name = "S24_4_LJ_LE", .bytes = 4, .bits = 32},
    {.name = "S32_LE", .others = {"S32LE", "S32"}, .bytes = 4, .bits = 32},
    {.name = "F32_LE", .others = {"FLOAT32LE", "FLOAT32_LE", "FLOAT_LE", "F32LE"}, .bytes = 4},
    {.name = "F64_LE", .others = {"FLOAT64LE", "FLOAT64_LE", "F64LE", "FLOAT64"}, .bytes = 8},
    {.name = "S16_BE", .others = {"S16BE"}, .bytes = 2, .bits = 16, .is_big_endian = true},
    {.name = "S24_3_BE", .others = {"S24BE3"}, .bytes = 3, .bits = 24, .is_big_endian = true},
    {.name = "S32_BE", .others = {"S32BE"}, .bytes = 4, .bits = 32, .is_big_endian = true},
    {.name = "F32_BE", .others = {"FLOAT_BE", "FLOAT32BE"}, .bytes = 4, .is_big_endian = true},
    {.name = "F64_BE", .others = {"FLOAT64_BE", "FLOAT64BE"}, .bytes = 8, .is_big_endian = true},
};

static bool has_name(const struct raw_format *format, const char *name)
{
    if (strcasecmp(format->name, name) == 0)
        return true;
    for (size_t i = 0; i < 4 && format->others[i]; i++)
        if (strcasecmp(format->others[i], name) == 0)
            return true;
    return false;
}

const struct raw_format *raw_format_named(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (has_name(&formats[i], name))
            return &formats[i];
    return NULL;
}

const char *raw_format_names(void)
{
    return "S8, S16_LE, S24_3_LE, S24_4_RJ_LE, S24_4_LJ_LE, S32_LE, F32_LE, F64_LE, S16_BE, "
           "S24_3_BE, S32_BE, F32_BE, F64_BE";
}

double raw_format_decode(const struct raw_format *format, const unsigned char *sample)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < format->bytes; i++)
        bits = bits << 8 | sample[format->is_big_endian ? i : format->bytes - 1 - i];
    if (format->bits == 0 && format->bytes == 8) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (format->bits == 0) {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        return (double)value;
    }
    /* The sign bit goes to the top, so that full scale is 2^63 for every width. */
    int64_t value = (int64_t)(bits << (64 - format->bits));
    return (double)value / 0x1p63;
}
