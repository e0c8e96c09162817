/* The part of the sandbox that Landlock makes. Declared here, since the headers of a system may be
 * older than its kernel: https://docs.kernel.org/userspace-api/landlock.html */
#include "plugin/plugin_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 }; /* on all processors */
enum { ASK_VERSION = 1, PATH_BENEATH = 1 };

enum {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_FOLDER = 1 << 3,
    MAKE_CHARACTER_DEVICE = 1 << 6,
    MAKE_BLOCK_DEVICE = 1 << 11,
    RIGHTS_OF_1 = (1 << 13) - 1,
    REFER = 1 << 13,    /* version 2 */
    TRUNCATE = 1 << 14, /* 3 */
    IOCTL = 1 << 15,    /* 5 */

    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL,
    READ = READ_FILE | READ_FOLDER,
    OWN = (RIGHTS_OF_1 | REFER | TRUNCATE) & ~(EXECUTE | MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE),

    TCP = 3,   /* bind, connect: version 4 */
    SCOPE = 3, /* abstract UNIX sockets, signals: version 6 */
};

struct landlock_ruleset {
    uint64_t files, net, scope;
};

struct landlock_path {
    uint64_t rights;
    int32_t below;
} __attribute__((packed));

static int landlock_version(void)
{
    return (int)syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
}

bool sandbox_offers_files(void)
{
    return landlock_version() >= 1;
}

static struct landlock_ruleset ruleset_of(int version)
{
    struct landlock_ruleset set = {.files = RIGHTS_OF_1};
    set.files |= version >= 2 ? REFER : 0;
    set.files |= version >= 3 ? TRUNCATE : 0;
    set.files |= version >= 5 ? IOCTL : 0;
    set.net = version >= 4 ? TCP : 0;
    set.scope = version >= 6 ? SCOPE : 0;
    return set;
}

/* Old kernels refuse fields that they do not know, even zeros behind the structure of their time.
 */
static size_t size_for(int version)
{
    return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

/* What is not there, or not for us to open, needs no rule. Returns 0, or -1 and errno. */
static int permit(int ruleset, const char *path, uint64_t rights)
{
    struct stat about;
    int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return 0;
    struct landlock_path rule = {.rights = rights, .below = place};
    int failed = fstat(place, &about);
    if (!failed && !S_ISDIR(about.st_mode))
        rule.rights &= OF_FILES;
    if (!failed && S_ISCHR(about.st_mode)) /* /dev/null and the like */
        rule.rights |= WRITE_FILE;
    if (!failed)
        failed = (int)syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
    int error = errno;
    close(place);
    errno = error;
    return failed;
}

/* Returns 0, or -1 and errno. */
static int restrict_files(int ruleset, uint64_t known, const char *folder,
                          const struct plugin_reads *reads)
{
    for (size_t i = 0; i < reads->count; i++)
        if (permit(ruleset, reads->paths[i], READ & known) != 0)
            return -1;
    if (permit(ruleset, folder, OWN & known) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(RESTRICT_SELF, ruleset, 0);
}

enum status sandbox_enter_files(const char *folder, const struct plugin_reads *reads)
{
    int version = landlock_version();
    struct landlock_ruleset set = ruleset_of(version);
    int ruleset = (int)syscall(CREATE_RULESET, &set, size_for(version), 0);
    int failed = ruleset < 0 ? -1 : restrict_files(ruleset, set.files, folder, reads);
    int error = errno;
    if (ruleset >= 0)
        close(ruleset);
    /* The kernel keeps the rule of a folder in /proc only as long as somebody has it open. */
    int kept = failed ? -1 : open("/proc/self", O_PATH | O_CLOEXEC);
    (void)kept;
    return failed ? fail_errno(error, "cannot keep a plugin from files (Landlock)") : STATUS_OK;
}

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

/* In place of the C library's, which take /tmp whatever TMPDIR says: in the sandbox there is only
 * TMPDIR to write to, and lilv takes such a file for a manifest that a bundle computes. The program
 * exports them, so that libraries find them first. */
__attribute__((visibility("default"))) FILE *tmpfile(void)
{
    return temporary_stream();
}

/* What libraries call that were built for files of more than 2 GiB. */
__attribute__((visibility("default"))) FILE *tmpfile64(void)
{
    return temporary_stream();
}
