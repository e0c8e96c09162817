#include "mask/sofa_file.h"

#include "base/machine.h"
#include "signal/audio.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef HALO_WITH_SOFA
#include "mask/mysofa_library.h"
#endif

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

#ifdef HALO_WITH_SOFA

enum { BYTES_A_SECOND = 16 << 20 }; /* a sixth of what it decodes on a slow machine */
static const off_t BYTES_MOST = (off_t)1 << 30;

/* ---- in the child: an answer is a struct sofa_file, then the values of its arrays ---- */

/* No core file, no endless loop, and no more memory than a mask may take. */
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

/* Leaves the process by _exit, which runs no code of the parent's: 0 done, 1 failed. */
static _Noreturn void decode(int input, size_t size, int output)
{
    struct sofa_file file;
    int error;
    memset(&file, 0, sizeof file); /* with its padding, which is written */
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

/* The child may have gone wrong before it wrote: its pointers are not used, its texts end here. */
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

/* The end of a child that a host of plugins has waited for counts as a refusal. */
static bool wait_for(pid_t child)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    return ended == child && WIFSIGNALED(status);
}

/* libmysofa wants a number of taps, which data by frequency lack. These begin with their
 * attributes, as text. */
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
