/* libFuzzer target for what a SOFA file may hold once libmysofa has decoded it, in a process of its
 * own: counts that do not fit, positions and delays of any value.
 *
 * Input: a byte each for measurements, receivers, emitters, taps, the kinds of text, options, an
 * array that is too short; then the values of the arrays as bytes. */
#include "fuzz_mask_check.h"
#include "import/mask_matrix.h"
#include "import/sofa_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 8 };

static void set_text(char text[SOFA_TEXT], const char *value)
{
    snprintf(text, SOFA_TEXT, "%s", value);
}

/* Small numbers mostly, with fractions; 127 is not one. */
static float value_of(uint8_t byte)
{
    return byte == 127 ? strtof("nan", NULL) : (float)(int8_t)byte * (byte & 1 ? 3.25f : 1);
}

static void fill(struct sofa_array *array, size_t count, const uint8_t **data, size_t *size)
{
    array->count = count;
    array->values = calloc(count ? count : 1, sizeof(float));
    if (!array->values)
        abort();
    for (size_t i = 0; i < count && *size > 0; i++, ++*data, --*size)
        array->values[i] = value_of(**data);
}

static void make(struct sofa_file *file, const uint8_t *data, size_t size)
{
    const uint8_t *head = data, kinds = head[4];
    size_t m = head[0] % 12, r = head[1] % 4, e = head[2] % 3, n = head[3] % 16;
    const size_t places = kinds & 1 ? 3 : 3 * m;
    const size_t counts[SOFA_VARIABLES] = {
        [SOFA_SOURCE] = 3 * m,
        [SOFA_RECEIVER] = 3 * r,
        [SOFA_LISTENER] = 3,
        [SOFA_VIEW] = places,
        [SOFA_UP] = 3,
        [SOFA_RATE] = 1,
        [SOFA_DELAY] = kinds & 2 ? r : m * r * e,
        [SOFA_IR] = m * r * e * n,
    };
    file->measurements = m;
    file->receivers = r;
    file->emitters = e;
    file->taps = n;
    set_text(file->convention, "Any");
    set_text(file->data_type, kinds & 4 ? "FIR" : "FIR-E");
    set_text(file->api, kinds & 8 ? "ARI SOFA API for Matlab/Octave 1.0.1" : "");
    data += HEAD;
    size -= HEAD;
    for (size_t i = 0; i < SOFA_VARIABLES; i++) {
        fill(&file->arrays[i], counts[i] - (head[6] == i && counts[i] > 0), &data, &size);
        set_text(file->arrays[i].type, kinds & 16 ? "spherical" : "cartesian");
    }
    set_text(file->arrays[SOFA_IR].dimensions, kinds & 32 ? "M,R,E,N" : "M,R,N,E");
    set_text(file->arrays[SOFA_DELAY].dimensions, kinds & 2 ? "I,R" : "M,R,E");
    if (file->arrays[SOFA_RATE].count > 0)
        file->arrays[SOFA_RATE].values[0] = head[7] ? 100 * head[7] : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sofa_file file = {0};
    struct mask *mask = NULL;
    char message[1024] = "";
    if (size < HEAD)
        return 0;
    struct mask_load_options options = {
        .sound.channels = data[5] % 16,
        .directions = {.has_direction = data[5] & 16,
                       .azimuth = (int8_t)data[5],
                       .elevation = data[5] % 90,
                       .speakers = data[5] & 32 ? "5.1.4" : NULL,
                       .interpolate = data[5] & 64 ? MASK_INTERPOLATE_LINEAR : 0},
    };
    make(&file, data, size);
    note_verbosity(VERBOSITY_QUIET);
    log_capture(message, sizeof message);
    enum status status = mask_sofa_make("a.sofa", &file, &options, &mask);
    log_capture(NULL, 0);
    if ((status != STATUS_OK) != (message[0] != '\0')) /* an error text, and only on failure */
        abort();
    if (status == STATUS_OK)
        fuzz_mask_check(mask);
    mask_destroy(mask);
    sofa_file_free(&file);
    return 0;
}
