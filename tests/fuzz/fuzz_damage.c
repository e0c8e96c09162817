/* libFuzzer target for damage of compressed sounds: a byte for the kind and the way, then five for
 * each edit. A sound that is not refused has the samples of the whole one. */
#include "damaged.h"
#include "fuzz.h"

enum { EDIT = 5, EDITS_MOST = 16 };

/* libsndfile itself loses what it has of a damaged Vorbis header. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
    return "leak:vorbis_info_init\n";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return damaged_begin() ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct damaged_edit edits[EDITS_MOST];
    size_t count = 0;
    for (size_t at = 1; at + EDIT <= size && count < EDITS_MOST; at += EDIT, count++) {
        memcpy(&edits[count].at, data + at, 4);
        edits[count].bits = data[at + 4];
    }
    if (size == 0)
        return 0;
    note_verbosity(VERBOSITY_QUIET);
    log_capture(fuzz_message, sizeof fuzz_message);
    if (!damaged_holds(data[0] / 2 % DAMAGED_KINDS, edits, count, data[0] & 1))
        abort();
    log_capture(NULL, 0);
    return 0;
}
