/* tmpfile() and tmpfile64() in place of the C library's, which take /tmp whatever TMPDIR says: in the
 * sandbox there is only TMPDIR to write to, and lilv takes such a file for a manifest that a bundle
 * computes. The program exports them, so that libraries find them first. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* -1 and errno: none could be made there. */
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
        file = open_nameless(P_tmpdir); /* in the sandbox, this is refused */
    FILE *stream = file >= 0 ? fdopen(file, "w+") : NULL;
    if (file >= 0 && !stream)
        close(file);
    return stream;
}

__attribute__((visibility("default"))) FILE *tmpfile(void)
{
    return temporary_stream();
}

/* What libraries call that were built for files of more than 2 GiB. */
__attribute__((visibility("default"))) FILE *tmpfile64(void)
{
    return temporary_stream();
}
