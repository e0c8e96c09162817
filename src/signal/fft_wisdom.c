#include "signal/fft_wisdom.h"

#include "base/build_info.h"
#include "base/cache_file.h"
#include "base/status.h"

#include <errno.h>
#include <fftw3.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 1 << 24, HEADER_MOST = 512, SUM_DIGITS = 16 };

/* The first processor's name; "": unknown. */
static void read_model(char model[], size_t size)
{
    static const char key[] = "model name";
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    *model = '\0';
    while (file && !*model && fgets(line, sizeof line, file)) {
        const char *colon = strchr(line, ':');
        if (colon && strncmp(line, key, sizeof key - 1) == 0)
            snprintf(model, size, "%s", colon + strspn(colon, ": "));
    }
    if (file)
        fclose(file);
    model[strcspn(model, "\n")] = '\0';
}

/* What FFTW's code depends on; a virtual machine may hide it from the same processor. */
static const char *vectors(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") ? "avx512"
           : __builtin_cpu_supports("avx2")  ? "avx2"
           : __builtin_cpu_supports("avx")   ? "avx"
                                             : "sse2";
#else
    return "";
#endif
}

/* The line without its checksum. */
static size_t make_header(char header[HEADER_MOST])
{
    char model[256];
    read_model(model, sizeof model);
    return (size_t)snprintf(header, HEADER_MOST, "halo %s, %s, processor %s %s, checksum ",
                            HALO_VERSION, fftwf_version, model, vectors());
}

/* FNV-1a: two texts of one length that differ in one byte never agree. */
static uint64_t add_to_sum(uint64_t sum, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return sum;
}

/* The whole first line, for this wisdom. */
static size_t make_line(char line[HEADER_MOST + SUM_DIGITS + 2], const char *wisdom, size_t size)
{
    size_t length = make_header(line);
    uint64_t sum = add_to_sum(UINT64_C(0xcbf29ce484222325), line, length);
    sum = add_to_sum(sum, wisdom, size);
    return length +
           (size_t)snprintf(line + length, SUM_DIGITS + 2, "%0*" PRIx64 "\n", SUM_DIGITS, sum);
}

const char *fft_wisdom_check(const char *text, size_t size)
{
    char line[HEADER_MOST + SUM_DIGITS + 2];
    const char *end = memchr(text, '\n', size);
    if (!end || strlen(text) != size)
        return NULL;
    const char *wisdom = end + 1;
    size_t length = make_line(line, wisdom, size - (size_t)(wisdom - text));
    return length == (size_t)(wisdom - text) && memcmp(text, line, length) == 0 ? wisdom : NULL;
}

bool fft_wisdom_read(const char *path)
{
    size_t size;
    char *text = cache_file_read(path, SIZE_MOST, &size);
    const char *wisdom = text ? fft_wisdom_check(text, size) : NULL;
    bool is_read = wisdom && fftwf_import_wisdom_from_string(wisdom);
    if (text ? !is_read : errno != ENOENT)
        note_detail("%s is not used: it is damaged, or of another version or processor", path);
    free(text);
    return is_read;
}

bool fft_wisdom_write(const char *path)
{
    char line[HEADER_MOST + SUM_DIGITS + 2];
    (void)fft_wisdom_read(path);
    char *wisdom = fftwf_export_wisdom_to_string();
    size_t size = wisdom ? strlen(wisdom) : 0, length = wisdom ? make_line(line, wisdom, size) : 0;
    char *text = NULL;
    if (!wisdom || asprintf(&text, "%.*s%s", (int)length, line, wisdom) < 0) {
        text = NULL;
        errno = ENOMEM;
    }
    bool is_written = text && cache_file_write(path, text, length + size);
    free(text);
    free(wisdom);
    return is_written;
}
