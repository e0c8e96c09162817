#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { REASON_SIZE = 512 };

static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

void *library_symbol(const struct library *library, const char *name)
{
    void *symbol = NULL;
    for (size_t i = 0; i < LIBRARY_FILES_MOST && library->handles[i] && !symbol; i++)
        symbol = dlsym(library->handles[i], name);
    return symbol;
}

/* Opens the library's files. *error: of the failed system call, since dlopen() sets none. */
static bool open_files(struct library *library, char reason[REASON_SIZE], int *error)
{
    for (size_t i = 0; i < LIBRARY_FILES_MOST && library->files[i]; i++) {
        errno = 0;
        if (!library->handles[i])
            library->handles[i] = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
        if (library->handles[i])
            continue;
        *error = errno;
        const char *text = dlerror();
        snprintf(reason, REASON_SIZE, "%s", text ? text : library->files[i]);
        return false;
    }
    return true;
}

static bool find_symbols(struct library *library, char reason[REASON_SIZE])
{
    for (size_t i = 0; i < library->count; i++) {
        void *symbol = dlsym(RTLD_DEFAULT, library->names[i]);
        if (!symbol)
            symbol = library_symbol(library, library->names[i]);
        if (!symbol) {
            snprintf(reason, REASON_SIZE, "%s has no %s", library->files[0], library->names[i]);
            return false;
        }
        memcpy((char *)library->symbols + i * sizeof symbol, &symbol, sizeof symbol);
    }
    return true;
}

static bool open_once(struct library *library, char reason[REASON_SIZE], int *error)
{
    *reason = '\0';
    if (atomic_load_explicit(&library->is_open, memory_order_acquire))
        return true;
    pthread_mutex_lock(&opening);
    bool is_open = atomic_load(&library->is_open) ||
                   (open_files(library, reason, error) && find_symbols(library, reason));
    atomic_store_explicit(&library->is_open, is_open, memory_order_release);
    pthread_mutex_unlock(&opening);
    return is_open;
}

enum status library_open(struct library *library)
{
    char reason[REASON_SIZE];
    int error = 0;
    if (open_once(library, reason, &error))
        return STATUS_OK;
    enum cause cause = cause_of_errno(error);
    if (cause == CAUSE_NO_MEMORY || cause == CAUSE_TEMPORARY)
        return fail(cause, "cannot use %s: %s", library->title, reason);
    const char *package = library->package;
    return fail(CAUSE_MISSING, "cannot use %s: %s; install %s%s", library->title, reason,
                *package ? "the package " : "it", package);
}

bool library_of_choice(struct library *library, bool named, enum status *status)
{
    log_as_notes(!named);
    enum status opened = library ? library_open(library) : STATUS_OK;
    log_as_notes(false);
    *status = named ? opened : STATUS_OK;
    return opened == STATUS_OK;
}

bool library_is_there(struct library *library)
{
    char reason[REASON_SIZE];
    int error;
    return open_once(library, reason, &error);
}
