/* What the libFuzzer targets share: input as text or as a file, and the rule that a failure prints
 * one error text and a success none. */
#ifndef HALO_TESTS_FUZZ_H
#define HALO_TESTS_FUZZ_H

#include "base/status.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_message[4096];

static inline void fuzz_begin(void)
{
    note_verbosity(VERBOSITY_QUIET);
    fuzz_message[0] = '\0';
    log_capture(fuzz_message, sizeof fuzz_message);
}

static inline void fuzz_end(enum status status)
{
    log_capture(NULL, 0);
    if ((status == STATUS_OK) != (fuzz_message[0] == '\0'))
        abort();
}

/* A copy with a 0 at its end, for the caller to free. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* An open file with a path; the caller closes it. */
static inline int fuzz_file(const uint8_t *data, size_t size, char path[64])
{
    int fd = memfd_create("input", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

#endif
