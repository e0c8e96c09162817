#include "signal/fft_wisdom.h"

#include "base/build_info.h"
#include "base/cache_file.h"
#include "base/machine.h"
#include "base/status.h"
#include "signal/fftw_library.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MOST = 1 << 24, HEADER_MOST = 512, SUM_DIGITS = 16 };

/* The line without its checksum. */
static size_t make_header(char header[HEADER_MOST])
{
    char processor[MACHINE_TEXT]; /* with what FFTW's code depends on */
    machine_processor(processor);
    return (size_t)snprintf(header, HEADER_MOST, "halo %s, %s, processor %s, checksum ",
                            HALO_VERSION, fftwf_version, processor);
}

/* The whole first line, for this wisdom. */
static size_t make_line(char line[HEADER_MOST + SUM_DIGITS + 2], const char *wisdom, size_t size)
{
    size_t length = make_header(line);
    uint64_t sum = cache_file_sum(cache_file_sum(CACHE_FILE_SUM, line, length), wisdom, size);
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

static int in_order(const void *a, const void *b)
{
    const char *const *left = a, *const *right = b;
    return strcmp(*left, *right);
}

/* Between the first line and the last: FFTW writes its plans in the order of a hash table, which is
 * another one each time. False: no memory, and they stay as they are. */
static bool sort_plans(char *wisdom)
{
    char *first = strchr(wisdom, '\n'), *last = strrchr(wisdom, ')'), *rest;
    size_t size = first && last > first ? (size_t)(last - ++first) : 0, count = 0;
    char *copy = size ? strndup(first, size) : NULL;
    const char **lines = copy ? calloc(size, sizeof *lines) : NULL;
    if (lines) {
        for (char *at = strtok_r(copy, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest))
            lines[count++] = at;
        qsort(lines, count, sizeof *lines, in_order);
        for (size_t i = 0; i < count; i++) {
            first = stpcpy(first, lines[i]);
            *first++ = '\n'; /* in place of the one that was there, or of the 0 */
        }
    }
    free(lines);
    free(copy);
    return lines || size == 0;
}

static bool holds(const char *path, const char *text, size_t size)
{
    size_t there;
    char *now = cache_file_read(path, SIZE_MOST, &there);
    bool is_same = now && there == size && memcmp(now, text, size) == 0;
    free(now);
    return is_same;
}

bool fft_wisdom_write(const char *path)
{
    char line[HEADER_MOST + SUM_DIGITS + 2];
    (void)fft_wisdom_read(path);
    char *wisdom = fftwf_export_wisdom_to_string(), *text = NULL;
    bool is_sorted = wisdom && sort_plans(wisdom);
    size_t size = wisdom ? strlen(wisdom) : 0, length = wisdom ? make_line(line, wisdom, size) : 0;
    if (!is_sorted || asprintf(&text, "%.*s%s", (int)length, line, wisdom) < 0) {
        text = NULL;
        errno = ENOMEM;
    }
    bool is_written =
        text && (holds(path, text, length + size) || cache_file_write(path, text, length + size));
    free(text);
    free(wisdom);
    return is_written;
}
