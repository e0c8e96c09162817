#include "mask_load.h"

#include "chain/stage_mask.h"
#include "command.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void mask_save(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(command_path(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

void mask_save_text(const char *name, const char *text)
{
    mask_save(name, text, strlen(text));
}

struct mask *mask_loaded(const char *name, const struct mask_load_options *options)
{
    static const struct mask_load_options none = {0};
    struct mask *mask;
    ck_assert_msg(mask_load_with(command_path(name), options ? options : &none, &mask) == STATUS_OK,
                  "%s was not read", name);
    return suite_mask(mask);
}

struct mask *mask_loaded_text(const char *text, uint32_t rate, size_t channels)
{
    mask_save_text("text.txt", text);
    return mask_loaded("text.txt",
                       &(struct mask_load_options){.sound = {.rate = rate, .channels = channels}});
}

static char noted[1 << 16];
static char failed[1024];

/* The working folder is the same again before an assertion can fail. */
static enum status study(const char *spec, const struct stream_format *sound, struct mask **mask)
{
    static const struct stream_format unknown = {0};
    enum verbosity verbosity = note_verbosity_now();
    int folder = command_enter();
    noted[0] = '\0';
    note_verbosity(VERBOSITY_NORMAL);
    log_capture_notes(noted, sizeof noted - 1);
    log_capture(failed, sizeof failed);
    enum status status = stage_mask_study(spec, sound ? sound : &unknown, mask);
    log_capture(NULL, 0);
    log_capture_notes(NULL, 0);
    note_verbosity(verbosity);
    if (noted[0])
        strcat(noted, "\n");
    command_leave(folder);
    return status;
}

struct mask *mask_of_spec(const char *spec, const struct stream_format *sound)
{
    struct mask *mask;
    ck_assert_msg(study(spec, sound, &mask) == STATUS_OK, "%s: %s", spec, failed);
    return suite_mask(mask);
}

const char *mask_said(const char *spec, const struct stream_format *sound)
{
    (void)mask_of_spec(spec, sound);
    return noted;
}

void mask_spec_refused(int status, const char *expected, const char *spec,
                       const struct stream_format *sound)
{
    struct mask *mask;
    int got = (int)study(spec, sound, &mask);
    ck_assert_msg(status ? got == status : got != STATUS_OK, "%s: status %d: %s", spec, got,
                  failed);
    ck_assert_msg(strstr(failed, expected), "%s: '%s' lacks '%s'", spec, failed, expected);
}

void mask_refused(const char *name, const char *text, const char *expected)
{
    mask_save_text(name, text);
    mask_spec_refused(0, expected, name, NULL);
}

void mask_expect_taps(const struct mask *mask, size_t column, size_t count, const double *taps)
{
    ck_assert_uint_le(count, mask->taps);
    for (size_t k = 0; k < mask->taps; k++) {
        double tap = (double)mask_column(mask, column)[k], wanted = k < count ? taps[k] : 0;
        ck_assert_msg(fabs(tap - wanted) <= 2e-7 * fabs(wanted), "tap %zu is %.9g, not %.9g", k,
                      tap, wanted);
    }
}

void mask_expect_path(const struct mask *mask, size_t input, size_t output, size_t count,
                      const double *taps)
{
    size_t found = 0;
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input == input && mask->paths[p].output == output) {
            mask_expect_taps(mask, mask->paths[p].column, count, taps);
            found++;
        }
    ck_assert_msg(found == 1, "%zu paths from %zu to %zu", found, input, output);
}

double mask_magnitude(const struct mask *mask, size_t column, double frequency)
{
    double complex sum = 0;
    for (size_t k = 0; k < mask->taps; k++)
        sum += (double)mask_column(mask, column)[k] *
               cexp(-2 * M_PI * I * frequency * (double)k / (double)mask->rate);
    return 20 * log10(cabs(sum));
}
