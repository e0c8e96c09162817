#include "import/sofa_file.h"

#ifdef HALO_WITH_SOFA
#include "import/mysofa_library.h" /* before complex.h, since it uses the name I */
#endif

#include "base/machine.h"
#include "base/plural.h"
#include "import/mask_matrix.h"
#include "signal/audio.h"
#include "signal/fft_double.h"
#include "signal/window.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

bool sofa_file_is_one(FILE *stream)
{
    static const char hdf5[] = "\x89HDF\r\n\x1a\n";
    char head[sizeof hdf5 - 1];
    return fread(head, 1, sizeof head, stream) == sizeof head &&
           memcmp(head, hdf5, sizeof head) == 0;
}

void sofa_file_free(struct sofa_file *file)
{
    for (size_t i = 0; i < SOFA_VARIABLES; i++) {
        free(file->arrays[i].values);
        file->arrays[i].values = NULL;
    }
}

struct sofa_direction sofa_direction_of(double azimuth, double elevation)
{
    static const double degree = M_PI / 180;
    double level = cos(elevation * degree);
    return (struct sofa_direction){
        {level * cos(azimuth * degree), level * sin(azimuth * degree), sin(elevation * degree)}, 1};
}

bool sofa_position(const struct sofa_array *array, const char *type, size_t index, double xyz[3])
{
    size_t first = array->count == 3 ? 0 : 3 * index;
    if (array->count < first + 3)
        return false;
    const float *values = array->values + first;
    struct sofa_direction direction = sofa_direction_of((double)values[0], (double)values[1]);
    bool is_spherical = strcmp(type, "spherical") == 0;
    for (size_t i = 0; i < 3; i++)
        xyz[i] = is_spherical ? direction.at[i] * (double)values[2] : (double)values[i];
    return isfinite(xyz[0] * xyz[0] + xyz[1] * xyz[1] + xyz[2] * xyz[2]);
}

#ifdef HALO_WITH_SOFA

enum { BYTES_A_SECOND = 16 << 20 }; /* a sixth of the speed of decoding on a slow machine */
static const off_t BYTES_MOST = (off_t)1 << 30;

/* ---- in the child: the answer is a struct sofa_file, then the values of its arrays ---- */

/* Limits the child: no core file, no endless loop, no more memory than a mask may take. */
static void limit_child(size_t size)
{
    rlim_t seconds = 2 + size / BYTES_A_SECOND;
    const struct rlimit no_core = {0}, cpu = {seconds, seconds};
    unsigned long long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    if (sizes && fscanf(sizes, "%llu", &pages) == 1) {
        uint64_t most = pages * (uint64_t)sysconf(_SC_PAGESIZE) + memory_limit();
        const struct rlimit memory = {most, most};
        setrlimit(RLIMIT_AS, &memory);
    }
    if (sizes)
        fclose(sizes);
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu);
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, SIG_DFL);
}

static void copy_attribute(struct MYSOFA_ATTRIBUTE *attributes, const char *name, char *text)
{
    for (; attributes; attributes = attributes->next)
        if (attributes->name && attributes->value && strcmp(attributes->name, name) == 0)
            snprintf(text, SOFA_TEXT, "%s", attributes->value);
}

static void copy_api(struct MYSOFA_ATTRIBUTE *attributes, char *text)
{
    char name[SOFA_TEXT] = "", version[SOFA_TEXT] = "";
    copy_attribute(attributes, "APIName", name);
    copy_attribute(attributes, "APIVersion", version);
    snprintf(text, SOFA_TEXT, "%.47s %.15s", name, version);
}

static void copy_head(const struct MYSOFA_HRTF *hrtf, struct sofa_file *file)
{
    const struct MYSOFA_ARRAY *from[SOFA_VARIABLES] = {
        [SOFA_SOURCE] = &hrtf->SourcePosition,
        [SOFA_RECEIVER] = &hrtf->ReceiverPosition,
        [SOFA_LISTENER] = &hrtf->ListenerPosition,
        [SOFA_VIEW] = &hrtf->ListenerView,
        [SOFA_UP] = &hrtf->ListenerUp,
        [SOFA_RATE] = &hrtf->DataSamplingRate,
        [SOFA_DELAY] = &hrtf->DataDelay,
        [SOFA_IR] = &hrtf->DataIR,
    };
    file->measurements = hrtf->M;
    file->receivers = hrtf->R;
    file->emitters = hrtf->E;
    file->taps = hrtf->N;
    copy_attribute(hrtf->attributes, "SOFAConventions", file->convention);
    copy_attribute(hrtf->attributes, "DataType", file->data_type);
    copy_attribute(hrtf->attributes, "DatabaseName", file->database);
    copy_attribute(hrtf->attributes, "ListenerShortName", file->listener);
    copy_api(hrtf->attributes, file->api);
    for (size_t i = 0; i < SOFA_VARIABLES; i++) {
        file->arrays[i].count = from[i]->values ? from[i]->elements : 0;
        file->arrays[i].values = from[i]->values;
        copy_attribute(from[i]->attributes, "DIMENSION_LIST", file->arrays[i].dimensions);
        copy_attribute(from[i]->attributes, "Type", file->arrays[i].type);
    }
}

static bool write_all(int output, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t written = write(output, at, size);
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

/* Decodes the file and leaves by _exit, which runs no code of the parent. 0: done, 1: failed. */
static _Noreturn void decode(int input, size_t size, int output)
{
    struct sofa_file file;
    int error;
    memset(&file, 0, sizeof file); /* clears the padding, which is written, too */
    limit_child(size);
    const char *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, input, 0);
    struct MYSOFA_HRTF *hrtf = bytes == MAP_FAILED ? NULL : mysofa_load_data(bytes, size, &error);
    if (!hrtf)
        _exit(1);
    copy_head(hrtf, &file);
    bool written = write_all(output, &file, sizeof file);
    for (size_t i = 0; written && i < SOFA_VARIABLES; i++)
        written = write_all(output, file.arrays[i].values, file.arrays[i].count * sizeof(float));
    _exit(written ? 0 : 1);
}

/* ---- in the parent ---- */

static bool read_all(int answer, void *bytes, size_t size, off_t *at)
{
    for (char *to = bytes; size > 0;) {
        ssize_t got = pread(answer, to, size, *at);
        if (got <= 0)
            return false;
        to += got;
        *at += got;
        size -= (size_t)got;
    }
    return true;
}

static enum status read_values(struct sofa_file *file, int answer, off_t end, off_t at, bool *whole)
{
    for (size_t i = 0; i < SOFA_VARIABLES && *whole; i++) {
        struct sofa_array *array = &file->arrays[i];
        *whole = array->count <= (uint64_t)(end - at) / sizeof(float);
        if (!*whole || array->count == 0)
            continue;
        array->values = malloc(array->count * sizeof(float));
        if (!array->values)
            return fail_memory("a mask");
        *whole = read_all(answer, array->values, array->count * sizeof(float), &at);
    }
    return STATUS_OK;
}

/* Reads the answer of a child that may have failed: uses no pointers, terminates the texts. */
static enum status read_answer(struct sofa_file *file, int answer, bool *whole)
{
    struct stat about;
    off_t at = 0;
    *whole = fstat(answer, &about) == 0 && read_all(answer, file, sizeof *file, &at);
    if (!*whole)
        memset(file, 0, sizeof *file);
    file->convention[SOFA_TEXT - 1] = file->data_type[SOFA_TEXT - 1] = '\0';
    file->database[SOFA_TEXT - 1] = file->listener[SOFA_TEXT - 1] = '\0';
    file->api[SOFA_TEXT - 1] = '\0';
    for (size_t i = 0; i < SOFA_VARIABLES; i++) {
        file->arrays[i].values = NULL;
        file->arrays[i].dimensions[SOFA_TEXT - 1] = file->arrays[i].type[SOFA_TEXT - 1] = '\0';
    }
    return *whole ? read_values(file, answer, about.st_size, at, whole) : STATUS_OK;
}

/* Waits for the child. If a plugin's host has already waited for it, that counts as a refusal. */
static bool wait_for(pid_t child)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    return ended == child && WIFSIGNALED(status);
}

/* The name of a convention with data by frequency; or NULL. Such files have no taps, and libmysofa
 * refuses them. They begin with their attributes, as text. */
static const char *other_convention(int input)
{
    static const char *const names[] = {
        "SimpleFreeFieldHRTF",  "SimpleFreeFieldTF",  "FreeFieldDirectivityTF",
        "FreeFieldHRTF",        "GeneralTF-E",        "GeneralTF",
        "SimpleFreeFieldHRSOS", "SimpleFreeFieldSOS", "GeneralSOS",
    };
    enum { HEAD = 1 << 20 };
    char *head = malloc(HEAD);
    ssize_t size = head ? pread(input, head, HEAD, 0) : 0;
    const char *found = NULL;
    for (size_t i = 0; size > 0 && !found && i < sizeof names / sizeof *names; i++)
        found = memmem(head, (size_t)size, names[i], strlen(names[i])) ? names[i] : NULL;
    free(head);
    return found;
}

static enum status refuse(const char *name, int input, bool crashed)
{
    const char *convention = crashed ? NULL : other_convention(input);
    if (convention)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read mask %s: it is of the convention %s; halo reads impulse "
                    "responses, FIR and FIR-E",
                    name, convention);
    return fail(CAUSE_DAMAGED, "cannot read mask %s: %s", name,
                crashed ? "libmysofa crashed on it, or ran too long; is it a whole SOFA file?"
                        : "it is HDF5, but libmysofa finds no SOFA file (AES69) in it");
}

static enum status load_isolated(const char *name, int input, size_t size, int answer,
                                 struct sofa_file *file)
{
    bool whole;
    pid_t child = fork();
    if (child == 0)
        decode(input, size, answer);
    if (child < 0)
        return fail_errno(errno, "cannot read mask %s: cannot start a process to decode it", name);
    bool crashed = wait_for(child);
    TRY(read_answer(file, answer, &whole));
    return whole && !crashed ? STATUS_OK : refuse(name, input, crashed);
}

enum status sofa_file_load(const char *name, FILE *stream, struct sofa_file *file)
{
    struct stat about;
    *file = (struct sofa_file){0};
    TRY(library_open(&mysofa_library));
    if (fstat(fileno(stream), &about) != 0 || about.st_size > BYTES_MOST)
        return fail(CAUSE_UNSUPPORTED, "cannot read mask %s: a SOFA file of more than %lld bytes",
                    name, (long long)BYTES_MOST);
    int answer = memfd_create("halo sofa", MFD_CLOEXEC);
    if (answer < 0)
        return fail_errno(errno, "cannot read mask %s", name);
    enum status status = load_isolated(name, fileno(stream), (size_t)about.st_size, answer, file);
    close(answer);
    return status;
}

#else

enum status sofa_file_load(const char *name, FILE *stream, struct sofa_file *file)
{
    (void)stream;
    *file = (struct sofa_file){0};
    return fail(CAUSE_UNSUPPORTED,
                "cannot read mask %s: this halo was built without libmysofa, which reads SOFA",
                name);
}

#endif

enum { SINC_HALF = 32, BLOCK_LEAST = 512 };
static const double sinc_beta = 9, whole = 1e-4, rounding = 1e-9;

static bool is_for_each_emitter(const struct sofa_file *file)
{
    return strcmp(file->data_type, "FIR-E") == 0 || strcmp(file->data_type, "FIRE") == 0;
}

/* How many delays there are, by the file's dimensions: I,R or M,R; with emitters also I,R,E. */
static size_t delays_of(const struct sofa_file *file)
{
    const char *dimensions = file->arrays[SOFA_DELAY].dimensions;
    return (strchr(dimensions, 'M') ? file->measurements : 1) * file->receivers *
           (strchr(dimensions, 'E') ? file->emitters : 1);
}

static enum status check_delays(const char *name, const struct sofa_file *file)
{
    const struct sofa_array *delay = &file->arrays[SOFA_DELAY];
    if (delay->count > 0 && delay->count != delays_of(file))
        return fail(CAUSE_DAMAGED, "cannot read mask %s: %zu delays of the dimensions %s", name,
                    delay->count, delay->dimensions);
    for (size_t i = 0; i < delay->count; i++)
        if (!(delay->values[i] >= 0 && delay->values[i] <= MATRIX_TAPS_MOST))
            return fail(CAUSE_DAMAGED, "cannot read mask %s: a delay of %g frames", name,
                        (double)delay->values[i]);
    return STATUS_OK;
}

static bool is_product(size_t count, const size_t factors[4])
{
    for (size_t i = 0; i < 4; i++) {
        if (factors[i] == 0 || count % factors[i] != 0)
            return false;
        count /= factors[i];
    }
    return count == 1;
}

enum status sofa_response_check(const char *name, const struct sofa_file *file)
{
    bool is_each = is_for_each_emitter(file);
    const char *dimensions = file->arrays[SOFA_IR].dimensions;
    if (!is_each && strcmp(file->data_type, "FIR") != 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read mask %s: it is of the convention %s with data of the type %s; "
                    "halo reads impulse responses, FIR and FIR-E",
                    name, file->convention, file->data_type);
    if (!is_each && file->emitters != 1)
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: it is of the convention %s with %zu emitters, but has "
                    "no responses for each",
                    name, file->convention, file->emitters);
    size_t factors[] = {file->measurements, file->receivers, file->emitters, file->taps};
    if (!is_product(file->arrays[SOFA_IR].count, factors))
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: %zu samples are not %zu measurement%s of %zu "
                    "receiver%s, %zu emitter%s and %zu tap%s",
                    name, file->arrays[SOFA_IR].count, file->measurements,
                    plural_s(file->measurements), file->receivers, plural_s(file->receivers),
                    file->emitters, plural_s(file->emitters), file->taps, plural_s(file->taps));
    if (is_each && strcmp(dimensions, "M,R,E,N") != 0 && strcmp(dimensions, "M,R,N,E") != 0)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: responses of the dimensions '%s'", name,
                    dimensions);
    return check_delays(name, file);
}

/* The taps of a response, `*step` apart. */
static const float *taps_of(const struct sofa_response *response, size_t *step)
{
    const struct sofa_file *file = response->file;
    const struct sofa_array *all = &file->arrays[SOFA_IR];
    size_t pair = response->measurement * file->receivers + response->receiver;
    bool taps_last = strcmp(all->dimensions, "M,R,N,E") != 0;
    *step = taps_last ? 1 : file->emitters;
    return all->values + pair * file->emitters * file->taps +
           response->emitter * (taps_last ? file->taps : 1);
}

double sofa_response_delay(const struct sofa_response *response)
{
    const struct sofa_file *file = response->file;
    const struct sofa_array *delay = &file->arrays[SOFA_DELAY];
    bool is_each = strchr(delay->dimensions, 'E') != NULL;
    size_t at = strchr(delay->dimensions, 'M') ? response->measurement * file->receivers : 0;
    at += response->receiver;
    at = is_each ? at * file->emitters + response->emitter : at;
    return delay->count > 0 ? (double)delay->values[at] : 0;
}

/* ---- how far apart two responses are ---- */

/* Correlates two responses for lags up to `most`. Their spectra are added block by block, so the
 * work grows with the taps and not with the lags. */
struct lag_search {
    size_t most, block;
    struct fft_double *a, *b;
    double complex *sum;
};

static void correlation_free(struct lag_search *correlation)
{
    fft_double_destroy(correlation->a);
    fft_double_destroy(correlation->b);
    free(correlation->sum);
}

static enum status correlation_init(struct lag_search *correlation, size_t most)
{
    size_t length = fft_double_fitting(4 * most + BLOCK_LEAST);
    *correlation = (struct lag_search){.most = most, .block = length - 2 * most};
    correlation->sum = calloc(length / 2 + 1, sizeof *correlation->sum);
    if (!correlation->sum)
        return fail_memory("a mask");
    TRY(fft_double_create(length, &correlation->a));
    return fft_double_create(length, &correlation->b);
}

/* Transforms `count` taps from `first` on, perhaps negative. Taps outside the response are 0. */
static void transform(const struct sofa_response *response, int64_t first, size_t count,
                      struct fft_double *fft)
{
    size_t step;
    const float *taps = taps_of(response, &step);
    double *samples = fft_double_samples(fft);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    for (size_t k = 0; k < count; k++) {
        int64_t tap = first + (int64_t)k;
        if (tap >= 0 && tap < (int64_t)response->file->taps)
            samples[k] = (double)taps[(size_t)tap * step];
    }
    fft_double_forward(fft);
}

/* Returns [most + lag]: the sum over k of a[k] b[k + lag], times the length of the transforms. */
static const double *correlate(struct lag_search *correlation, const struct sofa_response *a,
                               const struct sofa_response *b)
{
    size_t length = fft_double_length(correlation->a);
    for (size_t from = 0; from < a->file->taps; from += correlation->block) {
        transform(a, (int64_t)from, correlation->block, correlation->a);
        transform(b, (int64_t)from - (int64_t)correlation->most, length, correlation->b);
        for (size_t i = 0; i <= length / 2; i++)
            correlation->sum[i] +=
                conj(fft_double_bins(correlation->a)[i]) * fft_double_bins(correlation->b)[i];
    }
    memcpy(fft_double_bins(correlation->a), correlation->sum,
           (length / 2 + 1) * sizeof *correlation->sum);
    fft_double_inverse(correlation->a);
    return fft_double_samples(correlation->a);
}

/* The place of the largest correlation; of those equal but for rounding, the one of least lag. */
static size_t find_largest(const double *at_lag, size_t middle, size_t most)
{
    size_t best = middle;
    double largest = at_lag[middle];
    for (size_t away = 1; away <= most; away++)
        for (size_t side = 0; side < 2; side++) {
            size_t lag = side ? middle + away : middle - away;
            if (at_lag[lag] - largest > rounding * fabs(at_lag[lag])) {
                best = lag;
                largest = at_lag[lag];
            }
        }
    return best;
}

enum status sofa_response_lag(const struct sofa_response *a, const struct sofa_response *b,
                              double most, double *lag)
{
    struct lag_search correlation;
    size_t end = (size_t)fmin(most, (double)a->file->taps), middle = end + 1;
    enum status status = correlation_init(&correlation, middle);
    if (status == STATUS_OK) {
        const double *at_lag = correlate(&correlation, a, b);
        size_t best = find_largest(at_lag, middle, end);
        double before = at_lag[best - 1], after = at_lag[best + 1];
        double bend = before - 2 * at_lag[best] + after;
        double between = bend < 0 ? (before - after) / (2 * bend) : 0;
        *lag = (double)best - (double)middle + fmax(-0.5, fmin(between, 0.5)) +
               sofa_response_delay(b) - sofa_response_delay(a);
    }
    correlation_free(&correlation);
    return status;
}

size_t sofa_delay_margin(double delay)
{
    return fabs(delay - rint(delay)) <= whole ? 0 : SINC_HALF;
}

void sofa_response_add(const struct sofa_response *response, double weight, double delay,
                       double *column)
{
    double kernel[2 * SINC_HALF] = {weight}, *to = column + (size_t)rint(delay);
    size_t length = 1;
    if (sofa_delay_margin(delay) > 0) {
        double first = floor(delay), late = delay - first;
        length = 2 * SINC_HALF;
        to = column + (size_t)first - (SINC_HALF - 1);
        for (size_t i = 0; i < length; i++) {
            double at = (double)i - (SINC_HALF - 1) - late, place = at / SINC_HALF;
            kernel[i] = weight * sin(M_PI * at) / (M_PI * at) *
                        window_kaiser(sinc_beta, fmax(0, 1 - place * place));
        }
    }
    size_t step;
    const float *taps = taps_of(response, &step);
    for (size_t k = 0; k < response->file->taps; k++) {
        double tap = (double)taps[k * step];
        for (size_t i = 0; i < length; i++)
            to[k + i] += kernel[i] * tap;
    }
}
