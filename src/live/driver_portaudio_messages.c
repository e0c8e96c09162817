#undef _FORTIFY_SOURCE /* vfprintf is defined here */
#include "live/driver_portaudio_messages.h"

#include "base/status.h"
#include "live/portaudio_library.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES_MOST = 4, MESSAGE_SIZE = 200 };

/* A message is written once, by the thread that claimed its place, and read after it is `ready`. */
struct message {
    _Atomic(const char *) format; /* which tells messages apart; NULL: a free place */
    char text[MESSAGE_SIZE];
    atomic_bool ready;
    bool reported; /* the control thread's */
};

static struct message alsa[MESSAGES_MOST], portaudio[MESSAGES_MOST];
static _Atomic(const void *) speaker; /* where PortAudio's library lies; NULL: nothing is caught */

/* `error`: an errno, negative or not; 0: none. */
static void keep(struct message *messages, int error, const char *format, va_list arguments)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++) {
        struct message *message = &messages[i];
        const char *other = NULL;
        if (atomic_compare_exchange_strong(&message->format, &other, format)) {
            int length = vsnprintf(message->text, MESSAGE_SIZE, format, arguments);
            if (error != 0 && length >= 0 && length < MESSAGE_SIZE)
                snprintf(message->text + length, (size_t)(MESSAGE_SIZE - length), ": %s",
                         strerror(error < 0 ? -error : error));
            message->text[strcspn(message->text, "\n")] = '\0';
            atomic_store(&message->ready, true);
            return;
        }
        if (other == format)
            return;
    }
}

static void keep_of_alsa(const char *file, int line, const char *function, int error,
                         const char *format, ...)
{
    va_list arguments;
    (void)file, (void)line, (void)function;
    va_start(arguments, format);
    keep(alsa, error, format, arguments);
    va_end(arguments);
}

/* The start in memory of the library or program that has this address; NULL: none. */
static const void *owner_of(const void *address)
{
    Dl_info info;
    return address && dladdr(address, &info) ? info.dli_fbase : NULL;
}

/* PortAudio has no way to have its messages elsewhere. ELF resolves this name to us before the C
 * library; all other calls, other libraries' of the same words, too, go on to that. */
__attribute__((visibility("default"))) int vfprintf(FILE *stream, const char *format,
                                                    va_list arguments)
{
    static int (*_Atomic beneath)(FILE *, const char *, va_list);
    const void *caught = speaker;
    if (caught && stream == stderr && strncmp(format, "Expression '", 12) == 0 &&
        owner_of(__builtin_return_address(0)) == caught) {
        keep(portaudio, 0, format, arguments);
        return (int)strlen(format);
    }
    int (*next)(FILE *, const char *, va_list) = beneath;
    if (!next) {
        *(void **)&next = dlsym(RTLD_NEXT, "vfprintf");
        beneath = next;
    }
    return next(stream, format, arguments);
}

static void set_alsa_handler(void)
{
    union {
        void *address;
        int (*set)(void (*handler)(const char *file, int line, const char *function, int error,
                                   const char *format, ...));
    } alsa_lib = {library_symbol(&portaudio_library,
                                 "snd_lib_error_set_handler")}; /* its headers may be missing */
    if (alsa_lib.address)
        alsa_lib.set(keep_of_alsa);
}

void portaudio_messages_catch(void)
{
    set_alsa_handler();
    speaker = owner_of(library_symbol(&portaudio_library, "Pa_Initialize"));
}

static void report(struct message *messages, void (*print)(const char *format, ...),
                   const char *source)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        if (!messages[i].reported && atomic_load(&messages[i].ready)) {
            messages[i].reported = true;
            print("%s: %s", source, messages[i].text);
        }
}

void portaudio_messages_report(void)
{
    report(alsa, note, "ALSA");
    report(portaudio, note_detail, "PortAudio");
}

static void forget(struct message *messages)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        if (atomic_load(&messages[i].ready)) {
            messages[i].reported = false;
            messages[i].ready = false;
            messages[i].format = NULL;
        }
}

void portaudio_messages_forget(void)
{
    forget(alsa);
    forget(portaudio);
}
