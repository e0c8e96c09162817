/* Replaces tmpfile() and tmpfile64() of the C library, which use /tmp and ignore TMPDIR. In the
 * sandbox only TMPDIR can be written, and lilv needs a temporary file for a manifest that a bundle
 * computes. The program exports both, so that libraries find them first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Create a file without a name in a folder. -1 and errno: failed. */
static int open_nameless(const char *folder)
{
    char *path;
    if (asprintf(&path, "%s/halo-XXXXXX", folder) < 0)
        return -1;
    int file = mkostemp(path, O_CLOEXEC);
    int error = errno;
    if (file >= 0)
        unlink(path);
    free(path);
    errno = error;
    return file;
}

static FILE *temporary_stream(void)
{
    const char *folder = getenv("TMPDIR");
    int file = folder && *folder ? open_nameless(folder) : -1;
    if (file < 0)
        file = open_nameless(P_tmpdir); /* the sandbox refuses this */
    FILE *stream = file >= 0 ? fdopen(file, "w+") : NULL;
    if (file >= 0 && !stream)
        close(file);
    return stream;
}

__attribute__((visibility("default"))) FILE *tmpfile(void)
{
    return temporary_stream();
}

/* Libraries built for files of more than 2 GiB call this instead of tmpfile(). */
__attribute__((visibility("default"))) FILE *tmpfile64(void)
{
    return temporary_stream();
}
