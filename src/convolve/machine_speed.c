#include "convolve/machine_speed.h"

#include "base/build_info.h"
#include "base/cache_file.h"
#include "base/machine.h"
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MEASURED_MOST = 8, /* of a figure; then it stays */
    FILE_MOST = 1 << 13,
    SUM_DIGITS = 16,
    SUM_LINE = SUM_DIGITS + 5,
};

static const double FEMTO = 1e-15; /* a file has whole multiples: the same in every locale */

/* Its name in the file, and what machines may have. */
static const struct {
    const char *name;
    double least, most;
} rows[SPEED_FIGURES] = {
    [SPEED_STEP] = {"step", 1e-2, 1e2},       [SPEED_FORM] = {"form", 1e-11, 1e-5},
    [SPEED_READ] = {"read", 1e-11, 1e-5},     [SPEED_WRITE] = {"write", 1e-11, 1e-5},
    [SPEED_CONTEXT] = {"context", 1e-3, 100}, [SPEED_SET_UP] = {"set-up", 1e-11, 1e-5},
    [SPEED_UPLOAD] = {"upload", 1e-12, 1e-5}, [SPEED_CARRY] = {"carry", 1e-12, 1e-5},
    [SPEED_POINT] = {"point", 1e-13, 1e-6},   [SPEED_BLOCK] = {"block", 1e-7, 1},
};

const struct machine_speed machine_speed_default = {
    .value = {[SPEED_STEP] = 1.36,
              [SPEED_FORM] = 9.6e-9,
              [SPEED_READ] = 1.25e-9,
              [SPEED_WRITE] = 1.9e-9,
              [SPEED_CONTEXT] = 0.22,
              [SPEED_SET_UP] = 2e-9,
              [SPEED_UPLOAD] = 2e-10,
              [SPEED_CARRY] = 4e-10,
              [SPEED_POINT] = 2e-11,
              [SPEED_BLOCK] = 8e-5},
};

const char *machine_speed_figure(enum machine_figure figure)
{
    return rows[figure].name;
}

static bool is_plausible(enum machine_figure figure, double value)
{
    return value >= rows[figure].least && value <= rows[figure].most; /* no NaN is */
}

bool machine_speed_add(struct machine_speed *speed, enum machine_figure figure, double value)
{
    unsigned before = speed->measured[figure];
    if (before >= MEASURED_MOST || !is_plausible(figure, value))
        return false;
    speed->value[figure] = (speed->value[figure] * before + value) / (before + 1);
    speed->measured[figure]++;
    return true;
}

bool machine_speed_is_measured(const struct machine_speed *speed)
{
    bool is_measured = false;
    for (size_t f = 0; f < SPEED_FIGURES; f++)
        is_measured = is_measured || speed->measured[f] > 0;
    return is_measured;
}

/* ---- the file ---- */

void machine_speed_key(char key[MACHINE_KEY])
{
    char processor[MACHINE_TEXT], gpus[MACHINE_TEXT];
    machine_processor(processor);
    machine_gpus(gpus);
    snprintf(key, MACHINE_KEY, "halo %s, %zu of processor %s, gpu %s", HALO_VERSION,
             machine_processors(), processor, gpus);
}

void machine_speed_name(const char *key, char name[32])
{
    snprintf(name, 32, "speed-%0*" PRIx64, SUM_DIGITS,
             cache_file_sum(CACHE_FILE_SUM, key, strlen(key)));
}

/* The last line: of all before it. */
static size_t format_sum(const char *text, size_t size, char *line)
{
    return (size_t)snprintf(line, SUM_LINE + 1, "sum %0*" PRIx64 "\n", SUM_DIGITS,
                            cache_file_sum(CACHE_FILE_SUM, text, size));
}

/* The key, the figures, the sum. */
static size_t format(const char *key, const struct machine_speed *speed, char text[FILE_MOST])
{
    size_t length = (size_t)snprintf(text, FILE_MOST, "%s\n", key);
    for (size_t f = 0; f < SPEED_FIGURES; f++)
        length += (size_t)snprintf(text + length, FILE_MOST - length, "%s %.0f fs %u\n",
                                   rows[f].name, speed->value[f] / FEMTO, speed->measured[f]);
    return length + format_sum(text, length, text + length);
}

static bool parse_figure(const char *line, enum machine_figure figure, struct machine_speed *speed)
{
    char name[16];
    uint64_t value;
    unsigned measured;
    if (sscanf(line, "%15s %19" SCNu64 " fs %9u", name, &value, &measured) != 3 ||
        strcmp(name, rows[figure].name) != 0)
        return false;
    speed->value[figure] = FEMTO * (double)value;
    speed->measured[figure] = measured;
    return is_plausible(figure, speed->value[figure]);
}

bool machine_speed_parse(const char *text, size_t size, const char *key,
                         struct machine_speed *speed)
{
    struct machine_speed parsed;
    char sum[SUM_LINE + 1];
    size_t length = strlen(key);
    if (strlen(text) != size || size < SUM_LINE || strncmp(text, key, length) != 0)
        return false;
    format_sum(text, size - SUM_LINE, sum);
    const char *line = text + length, *end = text + size - SUM_LINE;
    for (size_t f = 0; f < SPEED_FIGURES; f++) {
        if (*line != '\n' || !parse_figure(line + 1, (enum machine_figure)f, &parsed))
            return false;
        line += 1 + strcspn(line + 1, "\n");
    }
    if (line + 1 != end || strcmp(end, sum) != 0)
        return false;
    *speed = parsed;
    return true;
}

bool machine_speed_read(const char *path, const char *key, struct machine_speed *speed)
{
    size_t size;
    char *text = cache_file_read(path, FILE_MOST - 1, &size);
    bool is_read = text && machine_speed_parse(text, size, key, speed);
    if (text ? !is_read : errno != ENOENT)
        note_detail("%s is not used: it is damaged, or of another machine", path);
    free(text);
    return is_read;
}

bool machine_speed_write(const char *path, const char *key, const struct machine_speed *speed)
{
    char text[FILE_MOST];
    return cache_file_write(path, text, format(key, speed, text));
}

/* ---- this machine ---- */

static struct {
    char key[MACHINE_KEY];
    char path[CACHE_FILE_PATH]; /* "": there is no cache folder */
    struct machine_speed speed;
} own;

static void read_own(void)
{
    char name[32];
    own.speed = machine_speed_default;
    machine_speed_key(own.key);
    machine_speed_name(own.key, name);
    if (!cache_file_path(own.path, name))
        *own.path = '\0';
    else
        (void)machine_speed_read(own.path, own.key, &own.speed);
}

const struct machine_speed *machine_speed_now(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_own);
    return &own.speed;
}

void machine_speed_keep(const struct machine_speed *measured, bool again)
{
    bool is_new = false;
    if (!again && !machine_may_have_gpu())
        return; /* a file would only cost time */
    (void)machine_speed_now();
    if (*own.path && !again)
        (void)machine_speed_read(own.path, own.key, &own.speed); /* another's since */
    for (size_t f = 0; f < SPEED_FIGURES; f++) {
        if (measured->measured[f] == 0)
            continue;
        if (again)
            own.speed.measured[f] = 0;
        is_new |= machine_speed_add(&own.speed, (enum machine_figure)f, measured->value[f]);
        if (again)
            own.speed.measured[f] = MEASURED_MOST;
    }
    if (is_new && *own.path && !machine_speed_write(own.path, own.key, &own.speed))
        note_detail("cannot keep what was measured in %s: %s", own.path, strerror(errno));
}
